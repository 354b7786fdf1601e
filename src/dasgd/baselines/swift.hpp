/**
 * @file swift.hpp
 *
 * Asynchronous SGD with averaging of the latest models.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_SWIFT_HPP
#define DASGD_BASELINES_SWIFT_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * SWIFT (Bornstein et al., "SWIFT: rapid decentralized federated learning via
 * wait-free model communication", 2023): after every Period() gradients a rank
 * averages its model with the latest that its neighbours have sent.  In the end
 * all models become their mean.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using SWIFT = Baseline<AsynchronousBaseline<SwiftTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
