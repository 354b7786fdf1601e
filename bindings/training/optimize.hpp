/**
 * @file optimize.hpp
 *
 * The optimizers of the command line programs, compiled once for all of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TRAINING_OPTIMIZE_HPP
#define DASGD_BINDINGS_TRAINING_OPTIMIZE_HPP

#include "any_function.hpp"

#include <terminal/progress_line.hpp>

#include <dasgd.hpp>

namespace dasgd {
namespace cli {

//! optimizer.Optimize(function, iterate, progress), which also tells the
//! function of epochs.
#define DASGD_OPTIMIZE(OPTIMIZER, MATRIX) \
    MATRIX::elem_type Optimize(OPTIMIZER& optimizer, \
                               AnyFunctionFor<MATRIX>& function, \
                               MATRIX& iterate, \
                               ProgressLine& progress);
DASGD_OPTIMIZE(DASGD<>, arma::mat)
DASGD_OPTIMIZE(DASGD<ens::MomentumUpdate>, arma::mat)
DASGD_OPTIMIZE(DASGD<ens::AdamUpdate>, arma::mat)
DASGD_OPTIMIZE(DASGD<>, arma::fmat)
DASGD_OPTIMIZE(DASGD<ens::MomentumUpdate>, arma::fmat)
DASGD_OPTIMIZE(DASGD<ens::AdamUpdate>, arma::fmat)
#undef DASGD_OPTIMIZE

} // namespace cli
} // namespace dasgd

#endif
