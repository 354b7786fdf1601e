/**
 * @file shake_hands.hpp
 *
 * What all ranks of a training must agree on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_SHAKE_HANDS_HPP
#define DASGD_TRAINING_SHAKE_HANDS_HPP

#include "agreement.hpp"
#include "describe.hpp"
#include "training_source.hpp"

namespace dasgd {

/**
 * Compare with all other ranks; throws on all of them if something is off.
 *
 * @param points That this rank holds.
 * @param failure What the user's code has thrown on this rank.
 * @param problem What else went wrong on it before.
 */
template<typename AlgorithmType, typename ElemType>
Agreed ShakeHands(const MpiCommunicator& comm,
                  const CommonSettings& settings,
                  const typename AlgorithmType::Options& options,
                  const Topology& topology,
                  TrainingSource<ElemType>& source,
                  const size_t points,
                  const std::string& failure,
                  const std::string& problem)
{
  Handshake handshake;
  RequireCommon(settings, AlgorithmType::Name(), source.Rows(), source.Cols(),
      points, handshake);
  handshake.Require("the element type", TypeName<ElemType>());
  source.Require(handshake);
  AlgorithmType::Traits::Agree(options, handshake);
  if (comm.Call())
    handshake.Misuse(comm.Call()->Problem());
  handshake.Failure(failure);
  handshake.Problem(problem);
  handshake.Problem(Complaint<AlgorithmType>(settings, source.Steps(), options,
      topology, comm.Size(), comm.Rank(), source.Elements() * sizeof(ElemType),
      points));
  Agreed agreed = FinishHandshake(comm, settings, AlgorithmType::Name(), points,
      handshake);
  // From rank 0's own random numbers: a program that seeds them gets the same
  // order each time.
  if (comm.Size() > 1 && settings.Shuffle() && agreed.seed == 0)
    agreed.seed = comm.Gather(source.DrawSeed()).front();
  return agreed;
}

} // namespace dasgd

#endif
