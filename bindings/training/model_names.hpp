/**
 * @file model_names.hpp
 *
 * The names of columns and classes, in a file beside the model that was trained
 * with them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_MODEL_NAMES_HPP
#define DASGD_BINDINGS_TRAINING_MODEL_NAMES_HPP

#include <data/dataset.hpp>

namespace dasgd {
namespace cli {

//! The names of the model that is the input, if there is one.
DataNames InputNames(mlpack::util::Params& params, const arma::mat& parameters);

//! Write names beside the model that is the output, if it has any; only the
//! rank that writes does so.
void SaveNames(mlpack::util::Params& params,
               const DataNames& names,
               const arma::mat& parameters);

} // namespace cli
} // namespace dasgd

#endif
