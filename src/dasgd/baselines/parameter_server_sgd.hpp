/**
 * @file parameter_server_sgd.hpp
 *
 * Asynchronous SGD with a parameter server.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_PARAMETER_SERVER_SGD_HPP
#define DASGD_BASELINES_PARAMETER_SERVER_SGD_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * Asynchronous SGD with a parameter server: ServerRank() keeps the model and
 * computes no gradients; the others send it theirs and get the model back, each
 * at its own pace.  DelayAdaptive() shortens the steps of late gradients
 * (Mishchenko et al., "Asynchronous SGD beats minibatch SGD under arbitrary
 * delays", 2022); MaxDistance() discards gradients of models that are far from
 * the server's (Cohen et al., "Asynchronous stochastic optimization robust to
 * arbitrary delays", 2021).
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using ParameterServerSGD = Baseline<AsynchronousBaseline<ServerTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
