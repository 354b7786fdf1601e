/**
 * @file points.hpp
 *
 * Points and labels from matrices or IDX files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_POINTS_HPP
#define DASGD_BINDINGS_FFN_POINTS_HPP

#include "layers.hpp"

#include <armadillo>

#include <string>

namespace dasgd {
namespace ffn {

//! Points, one in each column, with their labels, if there are any.
struct Points
{
  arma::mat values;
  arma::Row<size_t> labels;
  //! The shape of a point, as far as the file tells.
  Shape shape;
};

//! All of a text file.
std::string ReadText(const std::string& path, const std::string& name);

/**
 * Read points, and their labels: from a file of their own, or from the last
 * column of the points.
 *
 * @param points,labels Values of the parameters; labels may be empty.
 * @param pointsName,labelsName The parameters, for messages.
 * @param labelled Must there be labels?  If so, and no file is given for them,
 *     they are the last column.
 * @param scale Factor for the values of a matrix.
 */
Points ReadPoints(const std::string& points,
                  const std::string& labels,
                  const std::string& pointsName,
                  const std::string& labelsName,
                  const bool labelled,
                  const bool sharded,
                  const double scale);

} // namespace ffn
} // namespace dasgd

#endif
