/**
 * @file check_training.hpp
 *
 * Checks the parameters of optimizer_params.hpp, and starts the ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_CHECK_TRAINING_HPP
#define DASGD_BINDINGS_TRAINING_CHECK_TRAINING_HPP

#include <cstddef>

namespace mlpack { namespace util { class Params; } }

namespace dasgd {
namespace cli {

/**
 * Check the parameter "ranks".  Bindings without it, or with a list of numbers
 * for it, pass.
 *
 * @return How many are asked for; 1 if the parameter was not given.
 */
size_t CheckRanks(mlpack::util::Params& params);

/**
 * Check the shared parameters, before any data is read: mistakes are the same
 * on all ranks.  To be called first in a binding.
 */
void CheckTraining(mlpack::util::Params& params);

/**
 * Start the ranks if the parameter "ranks" asks for it, and set random numbers
 * for all ranks alike, from the parameter "seed".  To be called after the
 * checks, before data is read; only the ranks return from it.
 *
 * @return The seed for the order of points; it is not 0.
 */
size_t Seed(mlpack::util::Params& params);

} // namespace cli
} // namespace dasgd

#endif
