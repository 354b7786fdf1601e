/**
 * @file describe.hpp
 *
 * Settings of a run: what is wrong with them, and what a report says of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_DESCRIBE_HPP
#define DASGD_TRAINING_DESCRIBE_HPP

#include "../dasgd/dasgd_algorithm.hpp"
#include "../report/report.hpp"
#include "../staleness/theory.hpp"
#include "common_settings.hpp"
#include "training_source.hpp"

#include <algorithm>
#include <map>

namespace dasgd {

//! Is it the paper's algorithm?  The theorem speaks of no other, and there is a
//! model in every rank that a run can continue from.
template<typename AlgorithmType>
constexpr bool IsDasgd = std::is_same<AlgorithmType, DasgdAlgorithm>::value;

//! Why the theorem does not cover a run whose step did not stay the same.
inline const char* StepChanged()
{
  return "it covers plain steps of a fixed size, but a callback changed "
      "StepSize()";
}

//! The same for a run whose steps staleness made shorter; if it diverged, the
//! limit is what there is to tell.
inline void NoteShorterSteps(Report& report)
{
  if (report.outsideTheorem.empty() && report.StepFactor() < 1 &&
      report.reason != StopReason::NonFinite)
  {
    report.outsideTheorem = "it covers plain steps of a fixed size, but "
        "StalenessDamping() shortened some";
  }
}

//! The user's topology; algorithms other than DASGD have no use for machines.
template<typename AlgorithmType>
Topology ChosenTopology(const CommonSettings& settings)
{
  return (!IsDasgd<AlgorithmType> && settings.Topology() == Topology::Auto()) ?
      Topology::Complete() : settings.Topology();
}

//! How many ranks there are on each machine.
inline std::map<size_t, size_t> RanksByMachine(
    const std::vector<size_t>& machines)
{
  std::map<size_t, size_t> sizes;
  for (const size_t machine : machines)
    ++sizes[machine];
  return sizes;
}

/**
 * Do the ranks of a machine share one model?  They do if there are several on
 * any, unless the user has chosen how they exchange updates, or wants to know
 * what each of them did.
 */
inline bool SharesBoard(const CommonSettings& settings,
                        const std::vector<size_t>& machines)
{
  return RanksByMachine(machines).size() < machines.size() &&
      settings.Topology() == Topology::Auto() && settings.SharedMemory() &&
      !settings.RecordHistory() && (RanksByMachine(machines).size() > 1 ||
      settings.WireFormat().Type() == WireFormat::Kind::Exact);
}

//! What a report says in place of a topology of ranks.
inline std::string BoardsName(const std::vector<size_t>& machines)
{
  const size_t boards = RanksByMachine(machines).size();
  return (boards == 1) ? "board" : std::to_string(boards) + " boards, " +
      BoardLinks(machines).Between().Name();
}

//! Why it has become another one on these machines; nothing if it has not.
inline std::string WhyTopology(const Topology& chosen,
                               const Topology& topology,
                               const std::vector<size_t>& machines)
{
  if (chosen == topology)
    return "";
  const std::map<size_t, size_t> sizes = RanksByMachine(machines);
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

//! What a report says of the settings of a run.
template<typename AlgorithmType>
Report Describe(
    const CommonSettings& settings,
    const StepDescription& steps,
    const typename AlgorithmType::Options& options,
    const dasgd::Topology& topology,
    const size_t ranks,
    const size_t elements,
    const size_t elementBytes,
    const size_t epochPoints)
{
  dasgd::Report report;
  report.algorithm = AlgorithmType::Name();
  report.topology = AlgorithmType::TopologyName(topology, options);
  report.finalModel = AlgorithmType::FinalModel(options);
  report.dynamicHelps = AlgorithmType::independent;
  report.measuresStaleness = AlgorithmType::stale;
  report.measuresDeviation = !AlgorithmType::serves;
  report.wireFormat = settings.WireFormat().Name();
  report.data = settings.Data();
  report.sharing = settings.Sharing();
  report.elements = elements;
  report.elementBytes = elementBytes;
  report.epochPoints = epochPoints;
  report.maxIterations = settings.MaxIterations();
  report.stepSize = settings.StepSize();
  report.stepScale = steps.Scale(settings.BatchSize());
  if constexpr (!IsDasgd<AlgorithmType>)
  {
    report.outsideTheorem = "it covers DASGD";
    return report;
  }
  const theory::StalenessPair expected = theory::ExpectedStaleness(
      topology, ranks);
  report.expectedAverage = expected.average;
  report.expectedMax = expected.max;
  report.expectedFromPaper = expected.fromPaper;
  if (!steps.Vanilla())
  {
    report.outsideTheorem = "it covers plain steps of a fixed size, this run "
        "has " + (steps.plain ? "" : steps.updatePolicy) +
        (steps.plain || steps.fixed ? "" : " and ") +
        (steps.fixed ? "" : steps.decayPolicy);
  }
  return report;
}

//! What is wrong with a rank's settings, or nothing.
template<typename AlgorithmType>
std::string Validate(
    const CommonSettings& settings,
    const StepDescription& steps,
    const typename AlgorithmType::Options& options,
    const Topology& topology,
    const size_t ranks,
    const size_t rank,
    const size_t vectorBytes,
    const size_t points)
{
  const std::string complaint = settings.Validate(steps.plain,
      steps.updatePolicy);
  if (!complaint.empty())
    return complaint;
  if (!IsDasgd<AlgorithmType> && settings.UsesAutoStep())
  {
    return "StepSize() is AutoStep, which knows DASGD only; give a number.";
  }
  if (!IsDasgd<AlgorithmType> && settings.Overlap() != Overlap::Auto)
  {
    return std::string("Overlap() is ") + ToString(settings.Overlap()) +
        ", but is one of DASGD; leave it at auto for " + AlgorithmType::Name() +
        ".";
  }
  const std::pair<const char*, double> ours[] = {
      { "StalenessDamping()", settings.StalenessDamping() },
      { "LookAhead()", settings.LookAhead() } };
  for (const auto& [setting, value] : ours)
  {
    if (!IsDasgd<AlgorithmType> && value != Automatic)
    {
      return std::string(setting) + " is " + report::Short(value) + ", but is "
          "one of DASGD; leave it at Automatic for " + AlgorithmType::Name() +
          ".";
    }
  }
  if (settings.LookAhead() > 0 && !steps.looksAhead)
  {
    return "LookAhead() is " + report::Short(settings.LookAhead()) + ", but "
        "the update policy is " + steps.updatePolicy + ", which has no form "
        "that looks ahead; leave it at dasgd::Automatic, or at 0.";
  }
  if (!IsDasgd<AlgorithmType> &&
      settings.ExchangeShare() != DefaultExchangeShare)
  {
    return "ExchangeShare() is " + report::Short(settings.ExchangeShare()) +
        ", but is one of DASGD; leave it at " +
        report::Short(DefaultExchangeShare) + " for " + AlgorithmType::Name() +
        ".";
  }
  for (const int number : settings.StopSignals())
  {
    if (!StopSignals::Possible(number))
    {
      return "StopSignals() has " + std::to_string(number) + ", which cannot "
          "ask a program to end; name signals such as SIGTERM, SIGINT or "
          "SIGUSR1.";
    }
  }
  if (vectorBytes == 0)
    return "the iterate has no elements; give it the shape of the model.";
  const bool sharded = (settings.Data() == Data::Sharded);
  const bool computes = AlgorithmType::Computes(options, ranks, rank);
  if (sharded && !computes && points > 0)
  {
    return "this rank holds " + std::to_string(points) + " points, but it is "
        "ServerRank() and visits none; give them to other ranks.";
  }
  if (points == 0 && (computes || !sharded))
  {
    return "there is no data (NumFunctions() is 0); give this rank at least "
        "one point.";
  }
  try
  {
    topology.Check(ranks);
  }
  catch (const std::exception& e)
  {
    return e.what();
  }
  RunSettings run{ topology, ChooseWindow(settings.Window(), false) };
  run.format = settings.WireFormat();
  run.overlap = IsDasgd<AlgorithmType> && settings.Overlap() != Overlap::Never;
  RankHistory log(1);
  run.history = settings.RecordHistory() ? &log : nullptr;
  run.checkpoint = !settings.CheckpointFile().empty();
  return AlgorithmType::Validate(run, options, ranks, rank, vectorBytes);
}

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

//! What a report says of the reason to stop.
inline void PutStop(const Fact& stop, Report& report)
{
  report.reason = stop.reason;
  report.stopRank = stop.origin;
  report.stopStep = stop.count;
  report.stopText = stop.text;
  report.stopSignal = (stop.reason == StopReason::Signal) ? int(stop.value) : 0;
}

} // namespace dasgd

#endif
