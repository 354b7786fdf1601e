/**
 * @file swift.hpp
 *
 * Asynchronous SGD with averaging of the latest models.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SWIFT_HPP
#define DASGD_OPTIMIZER_SWIFT_HPP

#include "rival.hpp"

namespace dasgd {

/**
 * SWIFT (Bornstein et al., "SWIFT: rapid decentralized federated learning via
 * wait-free model communication", 2023): after every Period() gradients a rank
 * averages its model with the latest that its neighbours have sent.  In the end
 * all models become their mean.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using SWIFT = Rival<SwiftAlgorithm, UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
