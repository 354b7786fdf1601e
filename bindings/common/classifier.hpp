/**
 * @file classifier.hpp
 *
 * What the programs for classification have in common besides the optimizer:
 * reading training data, and printing the accuracy.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_CLASSIFIER_HPP
#define DASGD_BINDINGS_COMMON_CLASSIFIER_HPP

#include "confusion.hpp"
#include "labels.hpp"

namespace mlpack { namespace util { class Params; } }

namespace dasgd {
namespace cli {

/**
 * The checks on what was given that mlpack's programs for classification make.
 * Warns if nothing will be saved.
 */
void CheckClassifier(mlpack::util::Params& params);

//! Throw unless the points of all ranks have as many dimensions.  Collective.
void AgreeOnDimensions(const size_t dimensions, const std::string& name);

//! Points with a label each, and where they come from, for messages.
struct LabelledPoints
{
  arma::mat points;
  arma::Row<size_t> labels;
  std::string pointsName;
  std::string labelsName;
};

/**
 * The points to train with, if any, and their labels, which may be the last
 * column of the points.  Test labels are counted, too.  Collective: if the data
 * of one rank is wrong, all throw.
 */
LabelledPoints TrainingData(mlpack::util::Params& params);

/**
 * Throw unless points have the dimensions of those that a model is for.
 *
 * @param name The parameter of the points.
 * @param model Where the model comes from: data, a file or a description.
 */
void CheckDimensions(const size_t points,
                     const std::string& name,
                     const size_t trained,
                     const std::string& model);

//! Throw unless points to classify have the dimensions of the model.
void CheckTestDimensions(mlpack::util::Params& params, const size_t trained);

//! The numbers from 0 on, so many.
std::set<size_t> FirstNumbers(const size_t count);

/**
 * With labels of the test points, print how many predictions are right.
 *
 * @return The part that is, from 0 to 1; not a number without labels.
 */
double PrintAccuracy(mlpack::util::Params& params,
                     const arma::Row<size_t>& predictions,
                     const std::set<size_t>& classes);

} // namespace cli
} // namespace dasgd

#endif
