/**
 * @file whole_file_test.cpp
 *
 * Files appear complete or not at all.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/files/whole_file.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.hpp"

using namespace dasgd;
namespace fs = std::filesystem;

namespace {

//! How many names a folder can be asked for before it fails; -1: any number.
int readsLeft = -1;

} // namespace

// In the place of the C library's.
extern "C" dirent* readdir(DIR* folder)
{
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(
      dlsym(RTLD_NEXT, "readdir"));
  if (readsLeft == 0)
  {
    errno = EIO;
    return nullptr;
  }
  if (readsLeft > 0)
    --readsLeft;
  return real(folder);
}

namespace {

//! A folder that is gone at the end.
struct Scratch
{
  fs::path path;

  Scratch()
  {
    std::string name = (fs::temp_directory_path() / "dasgd.XXXXXX").string();
    path = mkdtemp(&name[0]);
  }
  ~Scratch() { fs::remove_all(path); }

  std::string File(const std::string& name) const
  { return (path / name).string(); }

  size_t Entries() const
  {
    return size_t(std::distance(fs::directory_iterator(path),
        fs::directory_iterator()));
  }
};

std::string Read(const std::string& path)
{
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("A file takes the place of the old one only when it is whole",
    "[file]")
{
  const Scratch scratch;
  const std::string target = scratch.File("model.bin");
  std::ofstream(target) << "old";
  {
    WholeFile file(target);
    CHECK(fs::path(file.Path()).extension() == ".bin");
    std::ofstream(file.Path()) << "new, but not finished";
    CHECK(Read(target) == "old");
    CHECK(scratch.Entries() == 2);
  }
  CHECK(Read(target) == "old");
  CHECK(scratch.Entries() == 1);

  SaveFile(target, [](std::ostream& out) { out << "new"; });
  CHECK(Read(target) == "new");
  CHECK(scratch.Entries() == 1);
}

TEST_CASE("What cannot be written is known beforehand", "[file]")
{
  const Scratch scratch;
  CHECK(WholeFile::Problem(scratch.File("model.bin")) == "");
  CHECK(WholeFile::Problem("/dev/null") == "");
  CHECK(WholeFile::Problem(scratch.path.string()) == "it is a directory");
  CHECK(WholeFile::Problem(scratch.File("no/model.bin")) ==
      "No such file or directory");
  CHECK(scratch.Entries() == 0);
  CHECK_THROWS_AS(SaveFile(scratch.File("no/model.bin"),
      [](std::ostream& out) { out << "x"; }), std::runtime_error);
}

TEST_CASE("A link stays a link, and what it points to is written", "[file]")
{
  const Scratch scratch;
  fs::create_directory(scratch.path / "store");
  for (const std::string name : { "there", "yet_to_come" })
  {
    const std::string real = scratch.File("store/" + name);
    if (name == "there")
      std::ofstream(real) << "old";
    fs::create_symlink("store/" + name, scratch.path / name);
    SaveFile(scratch.File(name), [](std::ostream& out) { out << "new"; });
    CHECK(fs::is_symlink(scratch.path / name));
    CHECK(Read(real) == "new");
  }
}

TEST_CASE("What Armadillo leaves behind is cleared away", "[file]")
{
  const Scratch scratch;
  {
    WholeFile file(scratch.File("matrix.csv"));
    std::ofstream(file.Path() + ".tmp_0123") << "half";
  }
  CHECK(scratch.Entries() == 0);
}

TEST_CASE("What others have put in the way is not written to", "[file]")
{
  const std::string part = "." + std::to_string(getpid()) + ".part.model.bin";
  const auto read = [](const Scratch& scratch)
  {
    CHECK(WholeFile::Problem(scratch.File("model.bin")) == "");
    SaveFile(scratch.File("model.bin"),
        [](std::ostream& out) { out << "new"; });
    CHECK(!fs::is_symlink(scratch.path / "model.bin"));
    return Read(scratch.File("model.bin"));
  };
  SECTION("a link to somebody's file")
  {
    const Scratch scratch, elsewhere;
    std::ofstream(elsewhere.File("precious")) << "old";
    fs::create_symlink(elsewhere.path / "precious", scratch.path / part);
    CHECK(read(scratch) == "new");
    CHECK(Read(elsewhere.File("precious")) == "old");
    CHECK(scratch.Entries() == 1);
  }
  SECTION("another name of somebody's file")
  {
    const Scratch scratch;
    std::ofstream(scratch.File("precious")) << "old";
    fs::create_hard_link(scratch.path / "precious", scratch.path / part);
    CHECK(read(scratch) == "new");
    CHECK(Read(scratch.File("precious")) == "old");
  }
  SECTION("what a process of the same number has left")
  {
    const Scratch scratch;
    std::ofstream(scratch.File(part)) << "half";
    CHECK(read(scratch) == "new");
    CHECK(scratch.Entries() == 1);
  }
  SECTION("what cannot be removed")
  {
    const Scratch scratch;
    fs::create_directory(scratch.path / part);
    CHECK(WholeFile::Problem(scratch.File("model.bin")) != "");
    CHECK_THROWS_AS(SaveFile(scratch.File("model.bin"),
        [](std::ostream& out) { out << "new"; }), std::runtime_error);
    CHECK(!fs::exists(scratch.path / "model.bin"));
  }
}

TEST_CASE("A folder that cannot be read to its end harms nobody", "[file]")
{
  const Scratch scratch;
  std::ofstream(scratch.File("a"));
  std::ofstream(scratch.File("b"));
  {
    const WholeFile file(scratch.File("model.bin"));
    readsLeft = 1;
  }
  readsLeft = 1;
  CHECK_NOTHROW(WholeFile::RemoveParts(scratch.File("model.bin")));
  CHECK(readsLeft == 0);
  readsLeft = -1;
  CHECK(scratch.Entries() == 2);
}

TEST_CASE("Devices are written to, and stay what they are", "[file]")
{
  SaveFile("/dev/null", [](std::ostream& out) { out << "x"; });
  CHECK(fs::is_character_file("/dev/null"));
  // A full disk is an error, not a file that ends too early.
  CHECK_THROWS_AS(SaveFile("/dev/full", [](std::ostream& out)
      { out << std::string(100000, 'x'); }), std::runtime_error);
}

TEST_CASE("A stream that leads to a file is written to, not replaced",
    "[file]")
{
  const std::string path = (std::filesystem::temp_directory_path() /
      ("dasgd_stream_" + std::to_string(getpid()))).string();
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, "old\n", 4) == 4);
  for (const std::string folder : { "/proc/self/fd/", "/dev/fd/" })
  {
    const std::string stream = folder + std::to_string(file);
    CHECK(WholeFile::Problem(stream) == "");
    SaveFile(stream, [](std::ostream& out) { out << "new\n"; });
  }
  REQUIRE(write(file, "last\n", 5) == 5);
  close(file);
  std::ifstream read(path);
  const std::string text{ std::istreambuf_iterator<char>(read),
      std::istreambuf_iterator<char>() };
  CHECK(text == "old\nnew\nnew\nlast\n");
  std::filesystem::remove(path);
}

TEST_CASE("A file has the permissions of the one it replaces", "[file]")
{
  const Scratch scratch;
  const std::string target = scratch.File("model.bin");
  for (const mode_t mode : { 0600, 0640, 0664, 0755 })
  {
    std::ofstream(target) << "old";
    REQUIRE(chmod(target.c_str(), mode) == 0);
    {
      WholeFile file(target);
      struct stat part;
      REQUIRE(stat(file.Path().c_str(), &part) == 0);
      // Whoever may not read the file may not read a part of it.
      CHECK((part.st_mode & 07777 & ~mode & ~mode_t(0600)) == 0);
      // As Armadillo does: another file takes the place of the part.
      std::ofstream(file.Path() + ".tmp_0123") << "new";
      fs::rename(file.Path() + ".tmp_0123", file.Path());
      file.Commit();
    }
    struct stat status;
    REQUIRE(stat(target.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == mode);
    CHECK(Read(target) == "new");
  }
  if (geteuid() != 0)
    return;
  // Only root may give a file away.
  REQUIRE(chown(target.c_str(), 12345, 23456) == 0);
  SaveFile(target, [](std::ostream& out) { out << "newer"; });
  struct stat status;
  REQUIRE(stat(target.c_str(), &status) == 0);
  CHECK(status.st_uid == 12345);
  CHECK(status.st_gid == 23456);
  CHECK((status.st_mode & 07777) == 0755);
}

TEST_CASE("A process that dies by a signal leaves no part of a file", "[file]")
{
  const Scratch scratch;
  std::ofstream(scratch.File("other")) << "old";
  const WholeFile mine(scratch.File("mine.bin"));
  const pid_t child = fork();
  if (child == 0)
  {
    std::signal(SIGTERM, [](const int number)
    {
      PartFiles::Remove();
      std::signal(number, SIG_DFL);
      raise(number);
    });
    const WholeFile one(scratch.File("one.bin"));
    const WholeFile two(scratch.File("two.csv"));
    {
      WholeFile done(scratch.File("done.bin"));
      done.Commit();
    }
    std::ofstream(two.Path() + ".tmp_0123") << "half";
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  // What is there: the parent's own part, what was complete, and the rest.
  CHECK(fs::exists(mine.Path()));
  CHECK(fs::exists(scratch.File("done.bin")));
  CHECK(fs::exists(scratch.File("other")));
  CHECK(scratch.Entries() == 3);
}

TEST_CASE("Why a file cannot be written is told", "[file]")
{
  const auto reason = [](const std::string& path, const size_t length)
  {
    try
    {
      SaveFile(path, [&](std::ostream& out)
      {
        out << std::string(length, 'x');
        errno = ENOENT; // Of something else.
      });
    }
    catch (const WriteError& e)
    {
      CHECK(std::string(e.what()).find(path) != std::string::npos);
      return e.Reason();
    }
    return std::string();
  };
  CHECK(reason("/dev/full", 10) == "No space left on device");
  const Scratch scratch;
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 20000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string fits = reason(scratch.File("fits"), 20000);
  const std::string longer = reason(scratch.File("not"), 20001);
  const std::string far = reason(scratch.File("far"), 1000000);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  CHECK(fits == "");
  CHECK(longer == "File too large");
  CHECK(far == "File too large");
  CHECK(scratch.Entries() == 1);
}
