/**
 * @file diloco.hpp
 *
 * SGD with many steps of one's own, and a step with momentum along their mean.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_DILOCO_HPP
#define DASGD_BASELINES_DILOCO_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * DiLoCo (Douillard et al., "DiLoCo: distributed low-communication training of
 * language models", 2023): each rank takes Period() steps of its own; the mean
 * of what they have changed is a gradient, along which all take a step of
 * OuterStepSize() with Nesterov's momentum, OuterMomentum().
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using DiLoCo = Baseline<Synchronous<DilocoTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
