/**
 * @file cifar10_test.cpp
 *
 * The reader of CIFAR-10, on small files of the official format.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include "../../examples/paper/cifar10.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace example;
using Catch::Matchers::ContainsSubstring;

namespace {

using Bytes = std::vector<unsigned char>;

//! What the value of an image is, by a rule in which no two places are alike
//! enough to be mistaken for each other.
unsigned char Value(const size_t image,
                    const size_t channel,
                    const size_t y,
                    const size_t x)
{
  return (unsigned char) (image * 37 + channel * 101 + y * 7 + x);
}

//! One image as the official files have it: label, then planes, row by row.
void Append(Bytes& bytes, const size_t image)
{
  bytes.push_back((unsigned char) (image % 10));
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t y = 0; y < 32; ++y)
      for (size_t x = 0; x < 32; ++x)
        bytes.push_back(Value(image, channel, y, x));
}

/**
 * A folder with the six files, gone with the object.  Training images are
 * numbered on from 0 through the files, 2 + (i % 2) in file i from 0; the three
 * test images are 100 to 102.
 */
class Folder
{
 public:
  Folder()
  {
    std::string name =
        (std::filesystem::temp_directory_path() / "cifar10_test_XXXXXX");
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder " + name);
    path = name;

    size_t image = 0;
    for (size_t i = 0; i < 5; ++i)
    {
      Bytes bytes;
      for (size_t k = 0; k < 2 + i % 2; ++k)
        Append(bytes, image++);
      Write("data_batch_" + std::to_string(i + 1) + ".bin", bytes);
    }
    Bytes bytes;
    for (size_t k = 0; k < 3; ++k)
      Append(bytes, 100 + k);
    Write("test_batch.bin", bytes);
  }

  ~Folder()
  {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void Write(const std::string& name, const Bytes& bytes) const
  {
    std::ofstream file(path / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
        std::streamsize(bytes.size()));
    file.close();
    if (!file)
      throw std::runtime_error("cannot write " + (path / name).string());
  }

  Cifar10 Load() const { return LoadCifar10(path.string()); }

  //! What Load() complains of.
  std::string Validate() const
  {
    try
    {
      Load();
    }
    catch (const std::runtime_error& e)
    {
      return e.what();
    }
    return "nothing";
  }

  std::filesystem::path path;
};

//! 2 + 3 + 2 + 3 + 2.
constexpr size_t trainImages = 12;

//! Number of values of a column that are not those of that image.
size_t Wrong(const arma::fmat& images, const size_t column, const size_t image)
{
  size_t wrong = 0;
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t y = 0; y < 32; ++y)
      for (size_t x = 0; x < 32; ++x)
        wrong += images(x + 32 * (y + 32 * channel), column) !=
            float(Value(image, channel, y, x)) / 255;
  return wrong;
}

//! An environment variable with another value, or none, for a while.
class Environment
{
 public:
  Environment(const std::string& name, const char* value) : name(name)
  {
    if (const char* found = getenv(name.c_str()))
    {
      was = found;
      had = true;
    }
    Set(value);
  }

  ~Environment() { Set(had ? was.c_str() : nullptr); }

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void Set(const char* value) const
  {
    if (value)
      setenv(name.c_str(), value, 1);
    else
      unsetenv(name.c_str());
  }

  std::string name, was;
  bool had = false;
};

} // namespace

TEST_CASE("images come in order of files, planes contiguous", "[paper]")
{
  const Folder folder;
  const Cifar10 data = folder.Load();

  REQUIRE(data.trainImages.n_rows == 3072);
  REQUIRE(data.trainImages.n_cols == trainImages);
  REQUIRE(data.trainLabels.n_rows == 1);
  REQUIRE(data.trainLabels.n_cols == trainImages);
  for (size_t i = 0; i < trainImages; ++i)
  {
    CAPTURE(i);
    CHECK(Wrong(data.trainImages, i, i) == 0);
    CHECK(data.trainLabels(0, i) == float(i % 10));
  }

  REQUIRE(data.testImages.n_rows == 3072);
  REQUIRE(data.testImages.n_cols == 3);
  REQUIRE(data.testLabels.n_rows == 1);
  REQUIRE(data.testLabels.n_cols == 3);
  for (size_t i = 0; i < 3; ++i)
  {
    CAPTURE(i);
    CHECK(Wrong(data.testImages, i, 100 + i) == 0);
    CHECK(data.testLabels(0, i) == float(i));
  }
}

TEST_CASE("bytes 0 to 255 become values 0 to 1", "[paper]")
{
  const Folder folder;
  Bytes bytes(3073, 0);
  bytes[0] = 9;
  bytes[1] = 255;
  bytes[2] = 51;
  bytes[3072] = 255;
  folder.Write("test_batch.bin", bytes);

  const Cifar10 data = folder.Load();
  CHECK(data.testLabels(0, 0) == 9.0f);
  CHECK(data.testImages(0, 0) == 1.0f);
  CHECK(data.testImages(1, 0) == 0.2f);
  CHECK(data.testImages(2, 0) == 0.0f);
  CHECK(data.testImages(3071, 0) == 1.0f);
  CHECK(data.trainImages.min() >= 0.0f);
  CHECK(data.trainImages.max() <= 1.0f);
}

TEST_CASE("a limit takes the first training images and all to test with",
    "[paper]")
{
  const Folder folder;
  // Within the first file, at its end, just beyond it, all, and too many.
  for (const size_t limit : { 0, 1, 2, 3, 7, 12, 13, 1000000 })
  {
    CAPTURE(limit);
    const Cifar10 data = LoadCifar10(folder.path.string(), limit);
    const size_t expected = std::min(limit, trainImages);
    REQUIRE(data.trainImages.n_cols == expected);
    REQUIRE(data.trainLabels.n_cols == expected);
    CHECK(data.testImages.n_cols == 3);
    for (size_t i = 0; i < expected; ++i)
    {
      CHECK(Wrong(data.trainImages, i, i) == 0);
      CHECK(data.trainLabels(0, i) == float(i % 10));
    }
  }
}

TEST_CASE("a folder that is missing or a file is named", "[paper]")
{
  const Folder folder;
  const std::string missing = (folder.path / "missing").string();
  CHECK_THROWS_WITH(LoadCifar10(missing),
      ContainsSubstring(missing + " does not exist; expected a folder") &&
      ContainsSubstring("run examples/paper/fetch_cifar.sh"));

  const std::string file = (folder.path / "test_batch.bin").string();
  CHECK_THROWS_WITH(LoadCifar10(file),
      ContainsSubstring(file + " is no folder") &&
      ContainsSubstring("run examples/paper/fetch_cifar.sh"));
}

TEST_CASE("a missing file is named, whatever the limit", "[paper]")
{
  for (const std::string name : { "data_batch_1.bin", "data_batch_5.bin",
      "test_batch.bin" })
  {
    const Folder folder;
    const std::string file = (folder.path / name).string();
    std::filesystem::remove(file);
    CHECK_THROWS_WITH(LoadCifar10(folder.path.string(), 1),
        ContainsSubstring(file + " does not exist") &&
        ContainsSubstring("run examples/paper/fetch_cifar.sh"));

    std::filesystem::create_directory(file);
    CHECK_THAT(folder.Validate(),
        ContainsSubstring(file + " is no regular file"));
  }
}

TEST_CASE("a file that holds no whole number of images is refused", "[paper]")
{
  const Folder folder;
  const std::string name = "data_batch_4.bin";
  const std::string file = (folder.path / name).string();
  for (const size_t size : { 0, 1, 3072, 3074, 2 * 3073 - 1 })
  {
    folder.Write(name, Bytes(size, 0));
    CHECK_THAT(folder.Validate(),
        ContainsSubstring(file + " has " + std::to_string(size) + " bytes") &&
        ContainsSubstring("expected a multiple of 3073 above 0") &&
        ContainsSubstring("run examples/paper/fetch_cifar.sh"));
  }
}

TEST_CASE("a label above 9 is refused with file and image", "[paper]")
{
  const Folder folder;
  Bytes bytes;
  Append(bytes, 0);
  Append(bytes, 1);
  bytes[3073] = 10;
  for (const std::string name : { "data_batch_2.bin", "test_batch.bin" })
  {
    folder.Write(name, bytes);
    CHECK_THAT(folder.Validate(),
        ContainsSubstring((folder.path / name).string() +
            " gives image 1 the label 10; expected 0 to 9") &&
        ContainsSubstring("run examples/paper/fetch_cifar.sh"));
    bytes[3073] = 9;
    folder.Write(name, bytes);
    CHECK(folder.Validate() == "nothing");
    bytes[3073] = 10;
  }
}

TEST_CASE("a file that changes while it is read is noticed", "[paper]")
{
  const Folder folder;
  arma::fmat images(3072, 4), labels(1, 4);
  const std::string file = (folder.path / "test_batch.bin").string();
  CHECK_THROWS_WITH(cifar10::Read(file, 0, 4, images, labels),
      ContainsSubstring(file + " ends within image 3; expected 4 images"));

  std::filesystem::remove(file);
  CHECK_THROWS_WITH(cifar10::Read(file, 0, 3, images, labels),
      ContainsSubstring(file + " cannot be opened"));
}

TEST_CASE("the folder is that of fetch_cifar.sh unless told otherwise",
    "[paper]")
{
  const Environment home("HOME", "/some/home");
  {
    const Environment unset("DASGD_CIFAR", nullptr);
    CHECK(Cifar10Folder() == "/some/home/.cache/dasgd/cifar-10-batches-bin");
  }
  {
    const Environment empty("DASGD_CIFAR", "");
    CHECK(Cifar10Folder() == "/some/home/.cache/dasgd/cifar-10-batches-bin");
    const Environment homeless("HOME", nullptr);
    CHECK_THROWS_WITH(Cifar10Folder(), ContainsSubstring("set DASGD_CIFAR"));
  }

  const Folder folder;
  const Environment set("DASGD_CIFAR", folder.path.c_str());
  CHECK(Cifar10Folder() == folder.path.string());
  CHECK(LoadCifar10().trainImages.n_cols == trainImages);
}
