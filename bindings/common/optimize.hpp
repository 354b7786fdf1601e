/**
 * @file optimize.hpp
 *
 * The optimizers of the command line programs, compiled once for all of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_OPTIMIZE_HPP
#define DASGD_BINDINGS_COMMON_OPTIMIZE_HPP

#include "any_function.hpp"
#include "progress_line.hpp"

#include <dasgd.hpp>

namespace dasgd {
namespace cli {

//! optimizer.Optimize(function, iterate, progress).
double Optimize(DASGD<>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress);
double Optimize(DASGD<ens::MomentumUpdate>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress);
double Optimize(DASGD<ens::AdamUpdate>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress);

} // namespace cli
} // namespace dasgd

#endif
