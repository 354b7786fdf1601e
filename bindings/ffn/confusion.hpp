/**
 * @file confusion.hpp
 *
 * How often each class was taken for each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_CONFUSION_HPP
#define DASGD_BINDINGS_FFN_CONFUSION_HPP

#include <armadillo>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>

namespace dasgd {
namespace ffn {

/**
 * Accuracy and confusion matrix: a row for each class that points have, a
 * column for each that was predicted.
 *
 * @param predictions,labels Both below the number of classes.
 */
inline std::string ConfusionText(const arma::Row<size_t>& predictions,
                                 const arma::Row<size_t>& labels,
                                 const size_t classes)
{
  arma::Mat<size_t> counts(classes, classes, arma::fill::zeros);
  for (size_t i = 0; i < labels.n_elem; ++i)
    ++counts(labels[i], predictions[i]);

  const size_t width = 2 + std::to_string(std::max<size_t>(classes,
      counts.max())).size();
  std::ostringstream text;
  text << "test accuracy " << std::fixed << std::setprecision(2)
      << 100 * double(arma::trace(counts)) / double(labels.n_elem) << " % ("
      << arma::trace(counts) << " of " << labels.n_elem << ")\n\n"
      << "confusion matrix: rows are classes, columns predictions\n\n"
      << std::setw(6) << "";
  for (size_t j = 0; j < classes; ++j)
    text << std::setw(int(width)) << j;
  text << "   right\n";
  for (size_t i = 0; i < classes; ++i)
  {
    text << std::setw(6) << i;
    for (size_t j = 0; j < classes; ++j)
      text << std::setw(int(width)) << counts(i, j);
    const size_t points = arma::accu(counts.row(i));
    if (points > 0)
    {
      text << std::setw(6) << std::setprecision(1)
          << 100 * double(counts(i, i)) / double(points) << " %";
    }
    text << "\n";
  }
  return text.str();
}

} // namespace ffn
} // namespace dasgd

#endif
