/**
 * @file local_sgd.hpp
 *
 * SGD with models that are averaged from time to time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_LOCAL_SGD_HPP
#define DASGD_BASELINES_LOCAL_SGD_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * Local SGD (Stich, "Local SGD converges fast and communicates little", 2019):
 * each rank takes Period() steps of its own, then all models become their mean.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using LocalSGD = Baseline<Synchronous<LocalTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
