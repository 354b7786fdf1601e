/**
 * @file confusion.hpp
 *
 * How often each class was taken for each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_CONFUSION_HPP
#define DASGD_BINDINGS_COMMON_CONFUSION_HPP

#include <armadillo>

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace dasgd {
namespace cli {

//! The part of predictions that are right, from 0 to 1.
inline double Accuracy(const arma::Row<size_t>& predictions,
                       const arma::Row<size_t>& labels)
{
  return double(arma::accu(predictions == labels)) /
      double(std::max<size_t>(1, labels.n_elem));
}

/**
 * Accuracy and confusion matrix: a row for each class that points have, a
 * column for each that was predicted.  Of more classes than fit on a screen
 * there is the accuracy only.
 *
 * @param classes The labels there are; what else is in `labels` is added.
 */
inline std::string ConfusionText(const arma::Row<size_t>& predictions,
                                 const arma::Row<size_t>& labels,
                                 std::set<size_t> classes)
{
  classes.insert(labels.begin(), labels.end());
  classes.insert(predictions.begin(), predictions.end());
  std::map<std::pair<size_t, size_t>, size_t> counts;
  size_t most = *classes.rbegin();
  for (size_t i = 0; i < labels.n_elem; ++i)
    most = std::max(most, ++counts[{ labels[i], predictions[i] }]);

  std::ostringstream text;
  text << "test accuracy " << std::fixed << std::setprecision(2)
      << 100 * Accuracy(predictions, labels) << " % ("
      << arma::accu(predictions == labels) << " of " << labels.n_elem << ")\n";
  if (classes.size() > 30)
    return text.str();

  const int width = int(2 + std::to_string(most).size());
  text << "\nconfusion matrix: rows are classes, columns predictions\n\n"
      << std::setw(6) << "";
  for (const size_t predicted : classes)
    text << std::setw(width) << predicted;
  text << "   right\n";
  for (const size_t label : classes)
  {
    text << std::setw(6) << label;
    size_t points = 0;
    for (const size_t predicted : classes)
    {
      const size_t count = counts[{ label, predicted }];
      text << std::setw(width) << count;
      points += count;
    }
    if (points > 0)
    {
      text << std::setw(6) << std::setprecision(1)
          << 100 * double(counts[{ label, label }]) / double(points) << " %";
    }
    text << "\n";
  }
  return text.str();
}

} // namespace cli
} // namespace dasgd

#endif
