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

double Optimize(DASGD<>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress)
{
  return optimizer.Optimize(function, iterate, progress);
}

double Optimize(DASGD<ens::MomentumUpdate>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress)
{
  return optimizer.Optimize(function, iterate, progress);
}

double Optimize(DASGD<ens::AdamUpdate>& optimizer,
                AnyFunction& function,
                arma::mat& iterate,
                ProgressLine& progress)
{
  return optimizer.Optimize(function, iterate, progress);
}

} // namespace cli
} // namespace dasgd
