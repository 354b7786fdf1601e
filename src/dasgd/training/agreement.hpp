/**
 * @file agreement.hpp
 *
 * What all ranks compare, share and agree on before a run and after it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_AGREEMENT_HPP
#define DASGD_TRAINING_AGREEMENT_HPP

#include "../algorithms/outcome.hpp"
#include "../core/fingerprint.hpp"
#include "../core/vector_ops.hpp"
#include "../checkpoint/checksum.hpp"
#include "common_settings.hpp"
#include "describe.hpp"
#include "handshake.hpp"
#include "training_source.hpp"

#include <algorithm>

namespace dasgd {

//! A number in a message.
std::string NumberText(double number);

//! What all ranks know of each other after the handshake.
struct Agreed
{
  std::vector<size_t> points;
  std::uint64_t seed = 0;
};

//! What all ranks must have in common, whatever the policies are.
void RequireCommon(const CommonSettings& settings,
                   const std::string& name,
                   size_t rows,
                   size_t cols,
                   size_t points,
                   Handshake& handshake);

//! Compare with all other ranks; throws on all of them if something is off.  If
//! Seed() is 0, there is no seed yet.
Agreed FinishHandshake(const MpiCommunicator& comm,
                       const CommonSettings& settings,
                       const std::string& name,
                       size_t points,
                       Handshake& handshake);

//! Do all ranks hold the same data?  Throws on all of them if not.
void CompareData(const MpiCommunicator& comm,
                        const Fingerprint& mine,
                        const std::string& name);

//! Why the run ended becomes the same on all ranks.
void AgreeOnStop(const MpiCommunicator& comm, Outcome& outcome);

//! Rank 0's bytes become everyone's; throws on all ranks if one cannot have
//! them.
void ShareCheckpoint(const MpiCommunicator& comm,
                            const std::string& name,
                            std::vector<std::uint8_t>& bytes);

/**
 * What a topology is for these ranks.  After deaths it may not fit those that
 * are left; another one takes its place then.
 *
 * @param chosen The user's, or what stands for it; see ChosenTopology().
 */
Topology PlaceTopology(const MpiCommunicator& comm,
                       const std::vector<size_t>& machines,
                       const std::string& name,
                       const Topology& chosen);

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
  handshake.Problem(Validate<AlgorithmType>(settings, source.Steps(), options,
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

//! Rank 0's iterate becomes everyone's.  Most programs begin with the same one
//! on all ranks; then it is only compared, by its checksum.
template<typename ElemType>
void BeginAtRoot(const MpiCommunicator& comm,
                 ElemType* iterate,
                 const size_t elements)
{
  if (comm.Size() == 1)
    return;
  const size_t bytes = elements * sizeof(ElemType);
  const std::vector<std::uint64_t> sums = comm.Gather(checkpoint::Checksum(
      reinterpret_cast<const std::uint8_t*>(iterate), bytes));
  if (std::any_of(sums.begin(), sums.end(),
      [&](const std::uint64_t sum) { return sum != sums.front(); }))
    comm.Broadcast(iterate, bytes);
}

//! Rank 0's iterate becomes everyone's; returns how far this one was off.
template<typename ElemType>
double CopyFromRoot(const MpiCommunicator& comm,
                    ElemType* iterate,
                    const size_t elements)
{
  if (comm.Size() == 1)
    return 0;
  // In pieces, so that no other vector of the model's size is needed.
  constexpr size_t piece = size_t(1) << 16;
  std::vector<ElemType> root(std::min(piece, elements));
  double deviation = 0;
  for (size_t done = 0; done < elements; done += piece)
  {
    const size_t count = std::min(piece, elements - done);
    if (comm.Rank() == 0)
      std::copy(iterate + done, iterate + done + count, root.begin());
    comm.Broadcast(root.data(), count * sizeof(ElemType));
    deviation = std::max(deviation, CopyAndCompare(iterate + done, root.data(),
        count));
  }
  return deviation;
}

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "agreement_impl.hpp"
#endif

#endif
