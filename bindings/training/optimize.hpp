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
//! function of epochs; for DASGD with the policies of '--update', in double and
//! in single precision.
template<typename OptimizerType, typename MatType>
typename MatType::elem_type Optimize(OptimizerType& optimizer,
                                     AnyFunctionFor<MatType>& function,
                                     MatType& iterate,
                                     ProgressLine& progress);

} // namespace cli
} // namespace dasgd

#endif
