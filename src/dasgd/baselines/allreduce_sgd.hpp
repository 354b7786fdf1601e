/**
 * @file allreduce_sgd.hpp
 *
 * Synchronous mini-batch SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ALLREDUCE_SGD_HPP
#define DASGD_BASELINES_ALLREDUCE_SGD_HPP

#include "../optimizer/baseline.hpp"
#include "baseline_training.hpp"

namespace dasgd {

/**
 * Synchronous mini-batch SGD: in every round each rank computes a gradient, all
 * are averaged by MPI_Allreduce(), and all ranks take the same step.  With n
 * ranks it does what ens::SGD does with n times the batch size, and waits for
 * the slowest rank in every round.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
using AllreduceSGD = Baseline<Synchronous<AllreduceTraits>,
    UpdatePolicyType, DecayPolicyType>;

} // namespace dasgd

#endif
