/**
 * @file dpsgd.hpp
 *
 * Synchronous SGD with averaging between neighbours.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_DPSGD_HPP
#define DASGD_BASELINES_DPSGD_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * Decentralized parallel SGD (Lian et al., "Can decentralized algorithms
 * outperform centralized algorithms?", 2017): in every round each rank averages
 * its model with those of its neighbours and takes a step.  In the end all
 * models become their mean.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using DPSGD = Baseline<AsynchronousBaseline<DpsgdTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
