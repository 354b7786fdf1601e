/**
 * @file optimize.cpp
 *
 * The optimizers of the command line programs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "optimize.hpp"

namespace dasgd {

namespace cli {
namespace {

//! Tells a function of epochs, on rank 0.
struct EpochsTold
{
  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&, FunctionType& function, MatType& iterate,
                const size_t epoch, const double objective)
  {
    function.EpochEnded(iterate, epoch, objective);
    return false;
  }
};

} // namespace
} // namespace cli

template<>
struct OnRankZero<cli::EpochsTold> : std::true_type { };
template<>
struct LeavesIterate<cli::EpochsTold> : std::true_type { };

namespace cli {

#define DASGD_OPTIMIZE(OPTIMIZER, MATRIX) \
    MATRIX::elem_type Optimize(OPTIMIZER& optimizer, \
                               AnyFunctionFor<MATRIX>& function, \
                               MATRIX& iterate, \
                               ProgressLine& progress) \
    { \
      EpochsTold epochs; \
      return optimizer.Optimize(function, iterate, progress, epochs); \
    }
DASGD_OPTIMIZE(DASGD<>, arma::mat)
DASGD_OPTIMIZE(DASGD<ens::MomentumUpdate>, arma::mat)
DASGD_OPTIMIZE(DASGD<ens::AdamUpdate>, arma::mat)
DASGD_OPTIMIZE(DASGD<>, arma::fmat)
DASGD_OPTIMIZE(DASGD<ens::MomentumUpdate>, arma::fmat)
DASGD_OPTIMIZE(DASGD<ens::AdamUpdate>, arma::fmat)
#undef DASGD_OPTIMIZE

} // namespace cli
} // namespace dasgd
