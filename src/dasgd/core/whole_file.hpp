/**
 * @file whole_file.hpp
 *
 * A file that appears at once, complete, or not at all.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_WHOLE_FILE_HPP
#define DASGD_CORE_WHOLE_FILE_HPP

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {

//! What to say of a file that cannot be written.
inline std::string CannotWrite(const std::string& path,
                               const std::string& reason)
{
  return "dasgd: cannot write " + path + ": " + reason + "; choose another "
      "place, or make room there";
}

/**
 * Write to Path(), then Commit(): the content goes to disk and takes the place
 * of what was there.  Without Commit() nothing remains.  Devices and pipes are
 * written to directly.
 */
class WholeFile
{
 public:
  explicit WholeFile(const std::string& given) : target(Resolve(given))
  {
    struct stat status;
    direct = stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    path = direct ? target : Temporary(target);
    const int reason = direct ? 0 : Create(path);
    if (reason != 0)
      throw std::runtime_error(CannotWrite(given, std::strerror(reason)));
  }

  ~WholeFile()
  {
    if (direct || committed)
      return;
    unlink(path.c_str());
    // Armadillo writes to a name that begins with the one it is given.
    try
    {
      const std::string start = path.substr(Begin(path)) + ".tmp_";
      RemoveFrom(Folder(path), [&](const std::string& name)
      { return name.compare(0, start.size(), start) == 0; });
    }
    catch (const std::exception&)
    {
      // There is not even memory for a name; then it stays.
    }
  }

  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  //! Where to write.
  const std::string& Path() const { return path; }

  void Commit()
  {
    if (direct)
      return;
    const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool safe = file >= 0 && fsync(file) == 0;
    if (file >= 0)
      close(file);
    if (!safe || std::rename(path.c_str(), target.c_str()) != 0)
    {
      throw std::runtime_error("dasgd: cannot write " + target + ": " +
          std::strerror(errno));
    }
    committed = true;
    // The new name is to outlive a power cut, too.
    const std::string folder = Folder(target);
    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (directory >= 0)
    {
      fsync(directory); // Not all file systems know this.
      close(directory);
    }
  }

  //! Remove what processes that were killed have left of the same file; call it
  //! only if nobody else is writing it.
  static void RemoveParts(const std::string& given)
  {
    const std::string target = Resolve(given);
    const std::string end = ".part." + target.substr(Begin(target));
    RemoveFrom(Folder(target), [&](const std::string& name)
    {
      return name.size() > end.size() + 1 && name[0] == '.' &&
          name.compare(name.size() - end.size(), end.size(), end) == 0 &&
          name.find_first_not_of("0123456789", 1) == name.size() - end.size();
    });
  }

  //! Why a file cannot be written; empty if it can.
  static std::string Problem(const std::string& target)
  {
    struct stat status;
    if (stat(target.c_str(), &status) == 0)
    {
      if (S_ISDIR(status.st_mode))
        return "it is a directory";
      if (access(target.c_str(), W_OK) != 0)
        return std::strerror(errno);
      if (!S_ISREG(status.st_mode))
        return "";
    }
    const std::string probe = Temporary(Resolve(target));
    const int reason = Create(probe);
    if (reason != 0)
      return std::strerror(reason);
    unlink(probe.c_str());
    return "";
  }

 private:
  //! A link stays a link: what it points to is replaced, or made.
  static std::string Resolve(std::string target)
  {
    std::error_code failed;
    for (size_t i = 0; i < 40 && std::filesystem::is_symlink(target, failed);
        ++i)
    {
      const std::filesystem::path next = std::filesystem::read_symlink(target,
          failed);
      if (failed)
        break;
      target = (std::filesystem::path(target).parent_path() / next).string();
    }
    return target;
  }

  /**
   * Make an empty file that is this process's own.  Whoever writes to it later
   * does so by its name, so nobody else may have put a file or a link there.
   *
   * @return Why it cannot be made, as in errno, or 0.
   */
  static int Create(const std::string& name)
  {
    unlink(name.c_str()); // Of a process that had the same number and died.
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL |
        O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
      return errno;
    close(file);
    return 0;
  }

  //! Remove files by their names, as far as they can be listed and removed.
  template<typename ConditionType>
  static void RemoveFrom(const std::string& folder, ConditionType&& condition)
  {
    // A range-based loop would throw where the folder cannot be read on.
    std::error_code failed, ignored;
    std::filesystem::directory_iterator entry(folder, failed);
    for (; !failed && entry != std::filesystem::directory_iterator();
        entry.increment(failed))
    {
      if (condition(entry->path().filename().string()))
        std::filesystem::remove(entry->path(), ignored);
    }
  }

  //! Beside the target, and with its ending, which tells the format.
  static std::string Temporary(const std::string& target)
  {
    return target.substr(0, Begin(target)) + "." + std::to_string(getpid()) +
        ".part." + target.substr(Begin(target));
  }

  //! Where a file's own name begins, after its folder's.
  static size_t Begin(const std::string& target)
  {
    const size_t slash = target.rfind('/');
    return (slash == std::string::npos) ? 0 : slash + 1;
  }

  static std::string Folder(const std::string& target)
  { return (Begin(target) == 0) ? "." : target.substr(0, Begin(target)); }

  std::string target;
  std::string path;
  bool direct = false;
  bool committed = false;
};

//! Write to a file, which appears when it is complete.
template<typename WriterType>
void SaveFile(const std::string& path, WriterType&& writer)
{
  WholeFile file(path);
  std::ofstream stream(file.Path(), std::ios::binary);
  writer(stream);
  stream.close();
  if (!stream)
  {
    throw std::runtime_error(CannotWrite(path, std::strerror(errno)));
  }
  file.Commit();
}

} // namespace dasgd

#endif
