/**
 * @file confusion.hpp
 *
 * How often each class was taken for each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_CONFUSION_HPP
#define DASGD_BINDINGS_TRAINING_CONFUSION_HPP

#include <armadillo>

#include <set>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

//! The numbers from 0 on, so many.
std::set<size_t> FirstNumbers(const size_t count);

//! The part of predictions that are right, from 0 to 1.
double Accuracy(const arma::Row<size_t>& predictions,
                const arma::Row<size_t>& labels);

/**
 * Accuracy and confusion matrix: a row for each class that points have, a
 * column for each that was predicted.  Of more classes than fit on a screen
 * there is the accuracy only.
 *
 * @param classes The labels there are; what else is in `labels` is added.
 * @param names Of the labels, from 0 on; their numbers if there are none.
 */
std::string ConfusionText(const arma::Row<size_t>& predictions,
                          const arma::Row<size_t>& labels,
                          std::set<size_t> classes,
                          const std::vector<std::string>& names = {});

} // namespace cli
} // namespace dasgd

#endif
