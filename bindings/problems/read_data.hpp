/**
 * @file read_data.hpp
 *
 * The points of a study: from known data sets, from the user's files, or drawn.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_READ_DATA_HPP
#define DASGD_BINDINGS_PROBLEMS_READ_DATA_HPP

#include "task.hpp"

#include <string>
#include <vector>

namespace dasgd {
namespace study {

//! Which points are asked for.
struct DataRequest
{
  //! fashion_mnist, cifar10, synthetic, synthetic_sparse or files.
  std::string data;
  std::string folder;
  std::string training, labels, test, testLabels, shape;
  //! At most so many points to train with (0: all), and to test with.
  size_t points = 0;
  size_t testPoints = 0;
  //! To choose step sizes with; 0: a tenth, at least 1000, but at most a sixth
  //! if there are too few.
  size_t validationPoints = 0;
  //! To train with: a multiple of this, so that no batch is a short one.
  size_t batch = 1;
  //! Is the label to be one of two?
  bool binary = false;
  size_t seed = 0;
};

//! Names of the files that a data set has in its folder.
std::vector<std::string> DataFiles(const std::string& data);

/**
 * Read or draw the points, and divide them.
 *
 * @throw std::exception that names the parameter and the remedy.
 */
DataSet ReadData(const DataRequest& request);

} // namespace study
} // namespace dasgd

#endif
