/**
 * @file shake_hands.hpp
 *
 * What all ranks of a training must agree on, policies included.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SHAKE_HANDS_HPP
#define DASGD_OPTIMIZER_SHAKE_HANDS_HPP

#include "../wire/checkpoint.hpp"
#include "agreement.hpp"
#include "describe.hpp"
#include "policy_parameters.hpp"

namespace dasgd {

/**
 * Compare with all other ranks; throws on all of them if something is off.
 *
 * @param failure What went wrong on this rank before.
 * @param kept See Callbacks::Kept().
 */
template<typename AlgorithmType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename ElemType>
Agreed ShakeHands(const MpiCommunicator& comm,
                  const Settings<UpdatePolicyType, DecayPolicyType>& settings,
                  const typename AlgorithmType::Options& options,
                  const size_t rows,
                  const size_t cols,
                  const size_t points,
                  const std::string& failure,
                  ElemType,
                  const std::string& kept)
{
  Handshake handshake;
  RequireCommon(settings, AlgorithmType::Name(), rows, cols, points, handshake);
  handshake.Require("the element type", TypeName<ElemType>());
  handshake.Require("the update policy", TypeName<UpdatePolicyType>());
  handshake.Require("the decay policy", TypeName<DecayPolicyType>());
  const auto require = [&](const std::string& name, const auto value)
  { handshake.Require(name, value); };
  VisitParameters("UpdatePolicy()", settings.UpdatePolicy(), require);
  VisitParameters("DecayPolicy()", settings.DecayPolicy(), require);
  handshake.Require("callbacks that hold the same on all ranks afterwards",
      kept);
  AlgorithmType::Traits::Agree(options, handshake);
  handshake.Problem(failure);
  handshake.Problem(Complaint<AlgorithmType>(settings, options, comm.Size(),
      comm.Rank(), rows * cols * sizeof(ElemType), points));
  Agreed agreed = FinishHandshake(comm, settings, AlgorithmType::Name(), points,
      handshake);
  if (comm.Size() > 1 && settings.Shuffle() && agreed.seed == 0)
  {
    // From rank 0's own random numbers: a program that seeds them gets the same
    // order each time.
    const arma::uvec drawn = arma::randi<arma::uvec>(1,
        arma::distr_param(0, std::numeric_limits<int>::max()));
    agreed.seed = comm.Gather(std::uint64_t(drawn[0])).front();
  }
  return agreed;
}

//! What must be the same when a training is resumed: the user's tags, and the
//! policies with their parameters.
template<typename UpdatePolicyType, typename DecayPolicyType>
void AddTags(const Settings<UpdatePolicyType, DecayPolicyType>& of,
             Checkpoint& about)
{
  about.tags = of.CheckpointTags();
  const auto add = [&](const std::string& name, const auto value)
  { about.tags.emplace_back(name, ExactText(value)); };
  about.tags.emplace_back("the update policy", TypeName<UpdatePolicyType>());
  about.tags.emplace_back("the decay policy", TypeName<DecayPolicyType>());
  VisitParameters("UpdatePolicy()", of.UpdatePolicy(), add);
  VisitParameters("DecayPolicy()", of.DecayPolicy(), add);
}

} // namespace dasgd

#endif
