/**
 * @file cifar10.hpp
 *
 * Reads CIFAR-10: 50,000 photographs to train with and 10,000 to test with,
 * 32 x 32 pixels in colour, in ten classes; from the data set's official binary
 * files, which fetch_cifar.sh fetches.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_PAPER_CIFAR10_HPP
#define DASGD_EXAMPLES_PAPER_CIFAR10_HPP

#include <armadillo>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

/**
 * Images, one in each column, with values from 0 to 1; and what they show.
 *
 * The order within a column is x + 32 * (y + 32 * channel), with channels red,
 * green, blue: it suits mlpack's Convolution with InputDimensions() of
 * { 32, 32, 3 }.  That counts the first of them as rows, so it sees pictures
 * transposed, which makes no difference as long as its kernels are square.
 */
struct Cifar10
{
  static constexpr size_t width = 32;
  static constexpr size_t channels = 3;
  static constexpr size_t values = width * width * channels;
  static constexpr size_t classes = 10;

  //! 3072 x images.
  arma::fmat trainImages, testImages;
  //! 1 x images, from 0 to 9: as NegativeLogLikelihood wants them.
  arma::fmat trainLabels, testLabels;
};

namespace cifar10 {

//! One byte for the label, then one for each value.
constexpr size_t recordBytes = 1 + Cifar10::values;

[[noreturn]] inline void Fail(const std::filesystem::path& path,
                              const std::string& what)
{
  throw std::runtime_error("CIFAR-10: " + path.string() + " " + what +
      "; run examples/paper/fetch_cifar.sh FOLDER, which checks the six files "
      "in FOLDER and fetches them if one is missing or damaged");
}

/**
 * Number of images in a file.  The official files have 10,000; any other whole
 * number is good, too.
 */
inline size_t Count(const std::filesystem::path& path)
{
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    Fail(path, std::filesystem::exists(path, error) ? "is no regular file" :
        "does not exist");
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error)
    Fail(path, "cannot be examined: " + error.message());
  if (bytes == 0 || bytes % recordBytes != 0)
    Fail(path, "has " + std::to_string(bytes) + " bytes; expected a multiple "
        "of " + std::to_string(recordBytes) + " above 0 (officially 30730000)");
  return size_t(bytes / recordBytes);
}

/**
 * Read the first images of a file.
 *
 * @param first Column in which the first goes.
 * @param count How many to read; not more than Count(path).
 */
inline void Read(const std::filesystem::path& path,
                 const size_t first,
                 const size_t count,
                 arma::fmat& images,
                 arma::fmat& labels)
{
  std::ifstream file(path, std::ios::binary);
  if (!file)
    Fail(path, "cannot be opened; expected a file that this user may read");

  // One image at a time: a whole file of bytes beside its floats is not needed.
  std::vector<unsigned char> record(recordBytes);
  for (size_t i = 0; i < count; ++i)
  {
    if (!file.read(reinterpret_cast<char*>(record.data()), recordBytes))
      Fail(path, "ends within image " + std::to_string(i) + "; expected " +
          std::to_string(count) + " images");
    if (record[0] >= Cifar10::classes)
      Fail(path, "gives image " + std::to_string(i) + " the label " +
          std::to_string(record[0]) + "; expected 0 to 9");
    labels(0, first + i) = float(record[0]);
    std::transform(record.begin() + 1, record.end(),
        images.begin_col(first + i),
        [](const unsigned char value) { return float(value) / 255; });
  }
}

} // namespace cifar10

//! Where fetch_cifar.sh puts the files unless told otherwise.
inline std::string Cifar10Folder()
{
  const char* folder = std::getenv("DASGD_CIFAR");
  if (folder && *folder)
    return folder;
  const char* home = std::getenv("HOME");
  if (home && *home)
    return std::string(home) + "/.cache/dasgd/cifar-10-batches-bin";
  throw std::runtime_error("CIFAR-10: neither DASGD_CIFAR nor HOME is set; set "
      "DASGD_CIFAR to the folder that holds data_batch_1.bin and the others");
}

/**
 * Read CIFAR-10.  The whole of it takes 737 MB of memory.
 *
 * All six files must be there and have a possible size, whatever the limit.
 *
 * @param folder Where data_batch_1.bin to data_batch_5.bin and test_batch.bin
 *     are.
 * @param trainCount How many training images to read at most: the first.
 * @throw std::runtime_error If something is missing or damaged.
 */
inline Cifar10 LoadCifar10(
    const std::string& folder = Cifar10Folder(),
    const size_t trainCount = std::numeric_limits<size_t>::max())
{
  const std::filesystem::path root = folder;
  std::error_code error;
  if (!std::filesystem::is_directory(root, error))
    cifar10::Fail(root, std::filesystem::exists(root, error) ?
        "is no folder" : "does not exist; expected a folder");

  const size_t batches = 5;
  std::vector<std::filesystem::path> paths;
  std::vector<size_t> counts;
  size_t available = 0;
  for (size_t i = 0; i < batches; ++i)
  {
    paths.push_back(root / ("data_batch_" + std::to_string(i + 1) + ".bin"));
    counts.push_back(cifar10::Count(paths[i]));
    available += counts[i];
  }
  const std::filesystem::path testPath = root / "test_batch.bin";
  const size_t testCount = cifar10::Count(testPath);

  Cifar10 data;
  const size_t wanted = std::min(trainCount, available);
  data.trainImages.set_size(Cifar10::values, wanted);
  data.trainLabels.set_size(1, wanted);
  size_t done = 0;
  for (size_t i = 0; i < batches && done < wanted; ++i)
  {
    const size_t count = std::min(counts[i], wanted - done);
    cifar10::Read(paths[i], done, count, data.trainImages, data.trainLabels);
    done += count;
  }

  data.testImages.set_size(Cifar10::values, testCount);
  data.testLabels.set_size(1, testCount);
  cifar10::Read(testPath, 0, testCount, data.testImages, data.testLabels);
  return data;
}

} // namespace example

#endif
