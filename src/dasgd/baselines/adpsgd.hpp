/**
 * @file adpsgd.hpp
 *
 * Asynchronous SGD with averaging between pairs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ADPSGD_HPP
#define DASGD_BASELINES_ADPSGD_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * Asynchronous decentralized parallel SGD (Lian et al., "Asynchronous
 * decentralized parallel stochastic gradient descent", 2018): after each step a
 * rank averages its model with that of a neighbour, chosen at random, and does
 * not wait for it.  In the end all models become their mean.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using ADPSGD = Baseline<AsynchronousBaseline<AdpsgdTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
