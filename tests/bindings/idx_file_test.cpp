/**
 * @file idx_file_test.cpp
 *
 * IDX files, plain and compressed; and what is said when they are damaged.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <data/idx_file.hpp>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

using Texts = std::vector<std::string>;

//! A folder that is gone, with all in it, at the end of the test.
class TemporaryFolder
{
 public:
  TemporaryFolder() :
      folder(std::filesystem::temp_directory_path() / ("dasgd_idx_" +
          std::to_string(std::random_device()())))
  {
    std::filesystem::create_directory(folder);
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder()
  {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  std::string Path(const std::string& name) const
  {
    return (folder / name).string();
  }

  //! Write a file as it is.
  std::string Plain(const std::string& name, const std::string& content) const
  {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  //! Write a file through gzip.
  std::string Packed(const std::string& name, const std::string& content) const
  {
    const gzFile file = gzopen(Path(name).c_str(), "wb");
    gzwrite(file, content.data(), unsigned(content.size()));
    gzclose(file);
    return Path(name);
  }

 private:
  std::filesystem::path folder;
};

//! Header of an IDX file.
std::string Header(const std::vector<size_t>& sizes, const char type = 8)
{
  std::string header = { 0, 0, type, char(sizes.size()) };
  for (const size_t size : sizes)
  {
    for (int shift = 24; shift >= 0; shift -= 8)
      header += char((size >> shift) & 255);
  }
  return header;
}

//! Bytes 0, 1, 2, ...
std::string Bytes(const size_t count)
{
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += char(i % 256);
  return bytes;
}

//! The message of the std::runtime_error that a call must end in.
template<typename CallType>
std::string Message(const CallType& call)
{
  try
  {
    call();
  }
  catch (const std::runtime_error& error)
  {
    return error.what();
  }
  return "(nothing was thrown)";
}

std::string ImagesMessage(const std::string& path)
{
  size_t width, height;
  return Message([&]() { LoadIdxImages(path, width, height); });
}

std::string LabelsMessage(const std::string& path)
{
  return Message([&]() { LoadIdxLabels(path); });
}

} // namespace

TEST_CASE("Images become columns, line by line", "[idx]")
{
  const TemporaryFolder folder;
  const std::string content = Header({ 2, 3, 4 }) + Bytes(24);
  for (const std::string& path : Texts{ folder.Plain("plain", content),
      folder.Packed("packed", content) })
  {
    size_t width = 0, height = 0;
    const arma::mat images = LoadIdxImages(path, width, height);
    REQUIRE(width == 4);
    REQUIRE(height == 3);
    REQUIRE(images.n_rows == 12);
    REQUIRE(images.n_cols == 2);
    for (size_t i = 0; i < images.n_elem; ++i)
      REQUIRE(images[i] == double(i) / 255);
  }
}

TEST_CASE("Labels become a row", "[idx]")
{
  const TemporaryFolder folder;
  const std::string content = Header({ 300 }) + Bytes(300);
  for (const std::string& path : Texts{ folder.Plain("plain", content),
      folder.Packed("packed", content) })
  {
    const arma::Row<size_t> labels = LoadIdxLabels(path);
    REQUIRE(labels.n_elem == 300);
    for (size_t i = 0; i < labels.n_elem; ++i)
      REQUIRE(labels[i] == i % 256);
  }
}

TEST_CASE("Values are read and passed over in turn", "[idx]")
{
  const TemporaryFolder folder;
  // More than the pieces that are read at a time.
  const size_t many = (size_t(3) << 20) + 5;
  IdxFile file(folder.Packed("many", Header({ 2, 1, 1, many }) +
      Bytes(2 * many)));
  REQUIRE(file.Sizes() == std::vector<size_t>{ 2, 1, 1, many });
  REQUIRE(file.EntrySize() == many);
  REQUIRE(file.Read(3) == std::vector<unsigned char>{ 0, 1, 2 });
  REQUIRE(file.Read(0).empty());
  file.Skip(many - 3);
  REQUIRE(file.Read(1)[0] == many % 256);
  REQUIRE_THAT(Message([&file]() { file.ExpectEnd(); }),
      ContainsSubstring("more values"));
  const std::vector<unsigned char> rest = file.Read(many - 1);
  REQUIRE(rest.size() == many - 1);
  REQUIRE(rest.back() == (2 * many - 1) % 256);
  file.ExpectEnd();
}

TEST_CASE("Headers that are wrong", "[idx]")
{
  const TemporaryFolder folder;
  auto message = [&folder](const std::string& content)
  {
    const std::string path = folder.Plain("wrong", content);
    const std::string said = Message([&path]() { IdxFile file(path); });
    REQUIRE_THAT(said, ContainsSubstring(path));
    return said;
  };

  REQUIRE_THAT(message(""), ContainsSubstring("starts with nothing"));
  REQUIRE_THAT(message("1,2,3\n4,5,6\n"),
      ContainsSubstring("starts with bytes 49 44 50 44"));
  REQUIRE_THAT(message(Header({ 1 }, 0x0D)),
      ContainsSubstring("type 13 (single precision), expected was type 8"));
  REQUIRE_THAT(message(Header({ 1 }, 0x55)),
      ContainsSubstring("type 85 (none that is known)"));
  REQUIRE_THAT(message(Header({})), ContainsSubstring("of 0 dimensions"));
  REQUIRE_THAT(message(Header({ 1, 1, 1, 1, 1 })),
      ContainsSubstring("of 5 dimensions, expected were 1 to 4"));
  REQUIRE_THAT(message(Header({ 1, 2, 3 }).substr(0, 14)),
      ContainsSubstring("ends within its header"));
  const size_t most = 0xffffffff;
  REQUIRE_THAT(message(Header({ most, most, most, most })),
      ContainsSubstring("no computer could hold"));
  REQUIRE_THAT(message(Header({ most, most, most })),
      ContainsSubstring("no computer could hold"));
}

TEST_CASE("Files that cannot be read", "[idx]")
{
  const TemporaryFolder folder;
  REQUIRE_THAT(LabelsMessage(folder.Path("none")),
      ContainsSubstring("cannot be opened (No such file"));
  REQUIRE_THAT(LabelsMessage(folder.Path("none")),
      ContainsSubstring("give the path"));
  // A folder can be opened, but not read.
  REQUIRE_THAT(LabelsMessage(folder.Path("")), ContainsSubstring("cannot be"));
}

TEST_CASE("Labels for images, and images for labels", "[idx]")
{
  const TemporaryFolder folder;
  REQUIRE_THAT(ImagesMessage(folder.Plain("l", Header({ 3 }) + Bytes(3))),
      ContainsSubstring("of 1 dimension(s), expected was 3"));
  REQUIRE_THAT(LabelsMessage(folder.Plain("i", Header({ 1, 1, 1 }) + Bytes(1))),
      ContainsSubstring("of 3 dimension(s), expected was 1"));
  REQUIRE_THAT(ImagesMessage(folder.Plain("n", Header({ 0, 28, 28 }))),
      ContainsSubstring("holds 0 images of 28x28"));
  REQUIRE_THAT(ImagesMessage(folder.Plain("z", Header({ 5, 28, 0 }))),
      ContainsSubstring("holds 5 images of 0x28"));
  REQUIRE_THAT(LabelsMessage(folder.Plain("e", Header({ 0 }))),
      ContainsSubstring("no labels"));
}

TEST_CASE("Promises that the file does not keep", "[idx]")
{
  const TemporaryFolder folder;
  // The first would be 32 exabytes: none of it may be allocated.
  for (const std::vector<size_t>& sizes : { std::vector<size_t>{ 0xffffffff,
      0x8000, 0x8000 }, std::vector<size_t>{ 3, 2, 2 } })
  {
    const std::string content = Header(sizes) + Bytes(11);
    for (const std::string& path : Texts{ folder.Plain("plain", content),
        folder.Packed("packed", content) })
    {
      const std::string message = ImagesMessage(path);
      REQUIRE_THAT(message, ContainsSubstring("ends too early"));
      REQUIRE_THAT(message, ContainsSubstring("after 11 values"));
    }
  }
  const std::string path = folder.Plain("short", Header({ 5 }) + Bytes(4));
  REQUIRE_THAT(LabelsMessage(path), ContainsSubstring("promises 5"));
  REQUIRE_THAT(Message([&path]() { IdxFile(path).Skip(5); }),
      ContainsSubstring("ends too early"));
  REQUIRE_THAT(Message([&path]() { IdxFile(path).Skip(size_t(-1)); }),
      ContainsSubstring("ends too early"));
}

TEST_CASE("What follows the data", "[idx]")
{
  const TemporaryFolder folder;
  const std::string content = Header({ 5 }) + Bytes(6);
  for (const std::string& path : Texts{ folder.Plain("plain", content),
      folder.Packed("packed", content) })
  {
    REQUIRE_THAT(LabelsMessage(path),
        ContainsSubstring("goes on after the 5 values"));
  }
}

TEST_CASE("Compressed files that are damaged", "[idx]")
{
  const TemporaryFolder folder;
  const std::string path = folder.Packed("whole", Header({ 5000 }) +
      Bytes(5000));
  std::string packed(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(&packed[0],
      std::streamsize(packed.size()));

  // Cut anywhere, the check sum at the end included.
  for (const size_t left : { size_t(5), size_t(20), packed.size() / 2,
      packed.size() - 6, packed.size() - 1 })
  {
    const std::string cut = folder.Plain("cut", packed.substr(0, left));
    REQUIRE_THAT(LabelsMessage(cut), ContainsSubstring("get it again") ||
        ContainsSubstring("is no IDX file"));
  }

  // So large that zlib unpacks right to where it belongs.
  const std::string large = folder.Packed("large", Header({ 70000 }) +
      std::string(70000, '\0'));
  REQUIRE(LoadIdxLabels(large).n_elem == 70000);
  for (size_t missing = 1; missing <= 12; ++missing)
  {
    std::filesystem::resize_file(large, std::filesystem::file_size(large) - 1);
    INFO(missing << " bytes are missing");
    REQUIRE_THAT(LabelsMessage(large), ContainsSubstring("was cut off"));
  }

  std::string wrong = packed;
  wrong[wrong.size() - 8] = char(wrong[wrong.size() - 8] ^ 1);
  REQUIRE_THAT(LabelsMessage(folder.Plain("sum", wrong)),
      ContainsSubstring("cannot be read"));
}

TEST_CASE("Which files are taken for IDX files", "[idx]")
{
  // By name, be there a file or not.
  for (const std::string& name : Texts{ "a-idx3-ubyte", "a-idx1-ubyte.gz",
      "train-images.idx3-ubyte", "a.idx", "a.idx.gz", "a.idx3", "A.IDX1.GZ" })
  {
    REQUIRE(IsIdxFile("/nowhere/" + name));
  }
  for (const std::string& name : Texts{ "a.csv", "a", "idx", "a.idx5",
      "a.idx/b" })
    REQUIRE_FALSE(IsIdxFile("/nowhere/" + name));

  // By content, but for names that say something else.
  const TemporaryFolder folder;
  const std::string content = Header({ 1 }) + Bytes(1);
  REQUIRE(IsIdxFile(folder.Plain("labels", content)));
  REQUIRE(IsIdxFile(folder.Packed("labels.gz", content)));
  REQUIRE(IsIdxFile(folder.Plain("labels.ubyte", content)));
  for (const std::string& known : Texts{ "l.csv", "l.bin", "l.TXT",
      "l.csv.gz" })
    REQUIRE_FALSE(IsIdxFile(folder.Plain(known, content)));
  REQUIRE_FALSE(IsIdxFile(folder.Plain("text", "1,2,3\n")));
  REQUIRE_FALSE(IsIdxFile(folder.Plain("empty", "")));
  REQUIRE_FALSE(IsIdxFile(folder.Plain("float", Header({ 1 }, 0x0D))));
  REQUIRE_FALSE(IsIdxFile(folder.Plain("five", Header({ 1, 1, 1, 1, 1 }))));
  REQUIRE_FALSE(IsIdxFile(folder.Path("")));
}
