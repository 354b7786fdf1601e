/**
 * @file fashion_mnist.hpp
 *
 * Reads Fashion-MNIST: 60,000 images of clothes to train with and 10,000 to
 * test with, 28 x 28 pixels each, in ten classes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_FASHION_MNIST_HPP
#define DASGD_EXAMPLES_FASHION_MNIST_HPP

#include <armadillo>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

//! A file in the IDX format, compressed: sizes, then one byte for each value.
class IdxFile
{
 public:
  /**
   * @param name Name without folder; that is DASGD_DATA, or where Debian's
   *     package dataset-fashion-mnist puts it.
   * @param dimensions Number of sizes that the file must have.
   */
  IdxFile(const std::string& name, const size_t dimensions)
  {
    const char* folder = std::getenv("DASGD_DATA");
    path = std::string(folder && *folder ? folder :
        "/usr/share/datasets/fashion-mnist") + "/" + name;
    file.reset(gzopen(path.c_str(), "rb"));
    if (!file)
      Fail("cannot be opened");

    if (ReadNumber() != 0x0800 + dimensions)
      Fail("is no IDX file of bytes in " + std::to_string(dimensions) +
          " dimension(s)");
    for (size_t i = 0; i < dimensions; ++i)
      sizes.push_back(ReadNumber());
  }

  //! Size in each dimension; the first is the number of entries.
  const std::vector<size_t>& Sizes() const { return sizes; }

  //! Read values from here on.
  std::vector<unsigned char> Read(const size_t bytes)
  {
    std::vector<unsigned char> values(bytes);
    const int got = gzread(file.get(), values.data(), unsigned(bytes));
    if (got < 0 || size_t(got) != bytes)
      Fail("is damaged or ends too early");
    return values;
  }

  //! Pass over values.
  void Skip(const size_t bytes)
  {
    if (gzseek(file.get(), z_off_t(bytes), SEEK_CUR) < 0)
      Fail("is damaged or ends too early");
  }

  [[noreturn]] void Fail(const std::string& what) const
  {
    throw std::runtime_error("Fashion-MNIST: " + path + " " + what +
        "; install Debian's package dataset-fashion-mnist ("
        "cmake/dependencies.sh --quickstart does), or set DASGD_DATA to the "
        "folder that holds the four files *-ubyte.gz");
  }

 private:
  struct Closer
  {
    void operator()(const gzFile open) const { gzclose(open); }
  };

  size_t ReadNumber()
  {
    size_t number = 0;
    for (const unsigned char byte : Read(4))
      number = number * 256 + byte;
    return number;
  }

  std::string path;
  std::unique_ptr<std::remove_pointer<gzFile>::type, Closer> file;
  std::vector<size_t> sizes;
};

//! Images, one in each column, with values from 0 to 1; and what they show.
struct FashionMnist
{
  arma::mat images;
  arma::Row<size_t> labels;

  /**
   * Read images with their labels.
   *
   * @param part "train" or "t10k", which is the part to test with.
   * @param count How many to read at most.
   * @param first The first to read.
   */
  explicit FashionMnist(const std::string& part,
                        const size_t count = std::numeric_limits<size_t>::max(),
                        const size_t first = 0)
  {
    IdxFile imageFile(part + "-images-idx3-ubyte.gz", 3);
    IdxFile labelFile(part + "-labels-idx1-ubyte.gz", 1);
    const size_t points = imageFile.Sizes()[0];
    const size_t pixels = imageFile.Sizes()[1] * imageFile.Sizes()[2];
    if (pixels != 28 * 28)
      imageFile.Fail("holds images of another size than 28 x 28");
    if (labelFile.Sizes()[0] != points)
      labelFile.Fail("does not have one label for each image");

    const size_t begin = std::min(first, points);
    const size_t size = std::min(count, points - begin);
    imageFile.Skip(begin * pixels);
    labelFile.Skip(begin);
    images.set_size(pixels, size);
    for (size_t i = 0; i < size; ++i)
    {
      const std::vector<unsigned char> image = imageFile.Read(pixels);
      std::transform(image.begin(), image.end(), images.begin_col(i),
          [](const unsigned char value) { return double(value) / 255; });
    }
    const std::vector<unsigned char> read = labelFile.Read(size);
    labels.set_size(size);
    std::copy(read.begin(), read.end(), labels.begin());
  }

  //! Keep two classes only, and call them 0 and 1.
  void Keep(const size_t zero, const size_t one)
  {
    const arma::uvec kept = arma::find(labels == zero || labels == one);
    images = images.cols(kept).eval();
    labels = labels.cols(kept).eval();
    labels.transform([one](const size_t label)
        { return size_t(label == one); });
  }
};

} // namespace example

#endif
