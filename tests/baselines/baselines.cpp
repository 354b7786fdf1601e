/**
 * @file baselines.cpp
 *
 * The calls that need to be compiled only once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

namespace tests {

double Optimize(dasgd::AllreduceSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::LocalSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::DiLoCo<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::DPSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::ADPSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::SWIFT<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::ParameterServerSGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::AllreduceSGD<ens::MomentumUpdate>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

double Optimize(dasgd::LocalSGD<ens::MomentumUpdate>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{ return optimizer.Optimize(probe, iterate, hooks); }

} // namespace tests
