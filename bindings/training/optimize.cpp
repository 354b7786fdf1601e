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

template<typename OptimizerType, typename MatType>
typename MatType::elem_type Optimize(OptimizerType& optimizer,
                                     AnyFunctionFor<MatType>& function,
                                     MatType& iterate,
                                     ProgressLine& progress)
{
  EpochsTold epochs;
  return optimizer.Optimize(function, iterate, progress, epochs);
}

#define DASGD_OPTIMIZE(OPTIMIZER) \
    template double Optimize(OPTIMIZER&, AnyFunctionFor<arma::mat>&, \
        arma::mat&, ProgressLine&); \
    template float Optimize(OPTIMIZER&, AnyFunctionFor<arma::fmat>&, \
        arma::fmat&, ProgressLine&);
DASGD_OPTIMIZE(DASGD<>)
DASGD_OPTIMIZE(DASGD<ens::MomentumUpdate>)
DASGD_OPTIMIZE(DASGD<ens::AdamUpdate>)
#undef DASGD_OPTIMIZE

} // namespace cli
} // namespace dasgd
