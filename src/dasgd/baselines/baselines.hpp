/**
 * @file baselines.hpp
 *
 * The optimizers that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_BASELINES_HPP
#define DASGD_BASELINES_BASELINES_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

// ADPSGD<UpdatePolicyType, DecayPolicyType> and the like; what they are is said
// where their algorithms are.
#define DASGD_OPTIMIZER(OPTIMIZER, ALGORITHM) \
  template<typename UpdatePolicyType = ens::VanillaUpdate, \
           typename DecayPolicyType = ens::NoDecay> \
  using OPTIMIZER = Baseline<ALGORITHM, UpdatePolicyType, DecayPolicyType>;
DASGD_EACH_BASELINE(DASGD_OPTIMIZER)
#undef DASGD_OPTIMIZER

} // namespace dasgd

#endif
