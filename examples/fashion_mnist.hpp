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

#include <data/idx_file.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

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
    // DASGD_DATA, or where Debian's package puts the files.
    const char* given = std::getenv("DASGD_DATA");
    const std::string folder = given && *given ? given :
        "/usr/share/datasets/fashion-mnist";
    try
    {
      Read(folder + "/" + part, count, first);
    }
    catch (const std::runtime_error& error)
    {
      throw std::runtime_error("Fashion-MNIST: " + std::string(error.what()) +
          "; install Debian's package dataset-fashion-mnist ("
          "cmake/dependencies.sh --quickstart does), or set DASGD_DATA to the "
          "folder that holds the four files *-ubyte.gz");
    }
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

 private:
  void Read(const std::string& stem, const size_t count, const size_t first)
  {
    dasgd::IdxFile imageFile(stem + "-images-idx3-ubyte.gz", 3);
    dasgd::IdxFile labelFile(stem + "-labels-idx1-ubyte.gz", 1);
    const size_t points = imageFile.Sizes()[0];
    const size_t pixels = imageFile.EntrySize();
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
};

} // namespace example

#endif
