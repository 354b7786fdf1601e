/**
 * @file classifier.hpp
 *
 * Checks that the programs for classification have in common.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_CLASSIFIER_HPP
#define DASGD_BINDINGS_TRAINING_CLASSIFIER_HPP

#include "confusion.hpp"

#include <data/labels.hpp>

namespace mlpack { namespace util { class Params; } }

namespace dasgd {
namespace cli {

/**
 * The checks on what was given that mlpack's programs for classification make.
 * Warns if nothing will be saved, or nothing done.
 */
void CheckClassifier(mlpack::util::Params& params);

//! Throw unless the points of all ranks have as many dimensions.  Collective.
void AgreeOnDimensions(const size_t dimensions, const std::string& name);

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

//! The numbers from 0 on, so many.
std::set<size_t> FirstNumbers(const size_t count);

} // namespace cli
} // namespace dasgd

#endif
