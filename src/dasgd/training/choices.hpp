/**
 * @file choices.hpp
 *
 * What follows from the user's settings and from where ranks run, the same on
 * real and on virtual time: how they exchange, and how steps follow staleness.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_CHOICES_HPP
#define DASGD_TRAINING_CHOICES_HPP

#include "../dasgd/dasgd_algorithm.hpp"
#include "../report/report.hpp"
#include "common_settings.hpp"
#include "training_source.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace dasgd {

//! The user's topology; algorithms other than DASGD have no use for machines.
template<typename AlgorithmType>
Topology ChosenTopology(const CommonSettings& settings)
{
  return (!IsDasgd<AlgorithmType> && settings.Topology() == Topology::Auto()) ?
      Topology::Complete() : settings.Topology();
}

//! Where ranks run, and how they reach each other.
struct Placement
{
  //! The machine of each rank.
  std::vector<size_t> machines;
  //! What the optimizer's topology stands for on these.
  dasgd::Topology topology;
  //! Do the ranks of a machine share a board?
  bool board = false;

  //! How many ranks there are on each machine.
  std::map<size_t, size_t> Sizes() const
  {
    std::map<size_t, size_t> sizes;
    for (const size_t machine : machines)
      ++sizes[machine];
    return sizes;
  }

  //! How many ranks run on a rank's machine?
  size_t RanksBeside(const size_t rank) const
  { return Sizes()[machines[rank]]; }

  //! How many boards are there?
  size_t Boards() const { return board ? Sizes().size() : 0; }

  //! The topology that staleness is expected of: a board reaches all at once.
  dasgd::Topology Exchange() const
  { return board ? dasgd::Topology::Complete() : topology; }

  /**
   * Do the ranks of a machine share one model, as far as one of them knows?
   * They do if there are several on any, unless the user has chosen how they
   * exchange updates, or wants to know what each of them did.
   */
  template<typename AlgorithmType>
  bool SharesBoard(const CommonSettings& settings) const
  {
    const size_t count = Sizes().size();
    return IsDasgd<AlgorithmType> && count < machines.size() &&
        settings.Topology() == dasgd::Topology::Auto() &&
        settings.SharedMemory() && !settings.RecordHistory() && (count > 1 ||
        settings.WireFormat().Type() == WireFormat::Kind::Exact);
  }

  //! What a report says in place of a topology of ranks.
  std::string BoardsName() const
  {
    const size_t boards = Sizes().size();
    return (boards == 1) ? "board" : std::to_string(boards) + " boards, " +
        BoardLinks(machines).Between().Name();
  }

  //! Why the chosen topology has become another one; nothing if it has not.
  std::string WhyTopology(const dasgd::Topology& chosen) const
  {
    if (chosen == topology)
      return "";
    const std::map<size_t, size_t> sizes = Sizes();
    size_t least = machines.size(), most = 0;
    for (const auto& size : sizes)
    {
      least = std::min(least, size.second);
      most = std::max(most, size.second);
    }
    return chosen.Name() + ", for " + std::to_string(sizes.size()) +
        (sizes.size() == 1 ? " machine of " : " machines of ") +
        (least < most ? std::to_string(least) + " to " : "") +
        std::to_string(most) + (most == 1 ? " rank" : " ranks");
  }
};

//! Which ranks compute gradients?
template<typename AlgorithmType>
std::vector<bool> ComputingRanks(const typename AlgorithmType::Options& options,
                                 const size_t ranks)
{
  std::vector<bool> computing(ranks);
  for (size_t i = 0; i < ranks; ++i)
    computing[i] = AlgorithmType::Computes(options, ranks, i);
  return computing;
}

//! When a run ends.
template<typename AlgorithmType>
RunLimits Limits(const CommonSettings& settings)
{
  RunLimits limits;
  limits.maxIterations = settings.MaxIterations();
  limits.tolerance = settings.Tolerance();
  limits.shuffle = settings.Shuffle();
  limits.inRounds = AlgorithmType::inRounds;
  return limits;
}

//! Do ranks or machines send each other updates, and could do so in a thread?
template<typename AlgorithmType>
bool MayOverlap(const Placement& placement)
{
  return IsDasgd<AlgorithmType> && placement.machines.size() > 1 &&
      placement.Boards() != 1;
}

/**
 * Is there an exchange while gradients are computed?  What a machine exchanges
 * concerns all its ranks, so it is not to wait for the gradients of one.
 *
 * @param bytes Of an iterate.
 * @param crowded Do ranks share cores?
 * @param threads May any thread call MPI?
 */
template<typename AlgorithmType>
OverlapChoice ChooseOverlap(const CommonSettings& settings,
                            const Placement& placement,
                            const size_t bytes,
                            const bool crowded,
                            const bool threads)
{
  if (!MayOverlap<AlgorithmType>(placement))
    return OverlapChoice();
  const bool isLong = LongFrame(double(bytes)) && placement.Sizes().size() > 1;
  return OverlapChoice(settings.Overlap(), placement.board || isLong ||
      placement.topology.Hops(placement.machines.size()) > 1, crowded, threads,
      settings.RecordHistory());
}

/**
 * How steps follow staleness: c and the rounds of StalenessResponse.
 *
 * The values of c are measured (doc/staleness.md): a policy that averages over
 * gradients and looks ahead bears more staleness than single gradients do.
 * AutoStep is chosen for the staleness to expect already.
 */
template<typename AlgorithmType>
std::pair<double, double> ChooseResponse(const CommonSettings& settings,
                                         const StepDescription& steps,
                                         const bool autoStep,
                                         const size_t ranks)
{
  if (!IsDasgd<AlgorithmType> || ranks == 1)
    return { 0, 0 };
  const double lookAhead = steps.looksAhead ? settings.LookAhead() : 0;
  double damping = settings.StalenessDamping();
  if (damping == Automatic)
    damping = autoStep ? 0 : (lookAhead != 0) ? 6 : 3;
  return { damping, lookAhead };
}

/**
 * The settings of a run.
 *
 * @param placement Must outlive them.
 * @param autoStep Did AutoStep choose the step?
 * @param overlap Does this rank exchange while it computes?
 * @param allOverlap Do all ranks?
 */
template<typename AlgorithmType>
RunSettings ChooseRun(const CommonSettings& settings,
                      const StepDescription& steps,
                      const Placement& placement,
                      const bool autoStep,
                      const bool overlap,
                      const bool allOverlap)
{
  RunSettings run{ placement.topology, ChooseWindow(settings.Window(),
      allOverlap) };
  run.format = settings.WireFormat();
  run.machines = &placement.machines;
  run.sharedMemory = settings.SharedMemory();
  run.board = placement.board;
  run.maxLead = settings.MaxLead();
  std::tie(run.damping, run.lookAhead) = ChooseResponse<AlgorithmType>(settings,
      steps, autoStep, placement.machines.size());
  run.overlap = overlap;
  // A thread takes little from computing.
  run.share = overlap ? 1 : settings.ExchangeShare();
  return run;
}

} // namespace dasgd

#endif
