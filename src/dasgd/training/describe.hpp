/**
 * @file describe.hpp
 *
 * Settings of a run: what is wrong with them, and what a report says of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_DESCRIBE_HPP
#define DASGD_TRAINING_DESCRIBE_HPP

#include "../staleness/theory.hpp"
#include "choices.hpp"
#include "step_choice.hpp"

namespace dasgd {

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

/**
 * What a report says of the settings of a run.
 *
 * @param boards How many boards there were, if any: what cannot have shared
 *     memory does without.
 */
template<typename AlgorithmType>
Report Describe(
    const CommonSettings& settings,
    const StepDescription& steps,
    const typename AlgorithmType::Options& options,
    const Placement& placement,
    const size_t boards,
    const StepChoice& step,
    const size_t elements,
    const size_t elementBytes,
    const size_t epochPoints)
{
  const dasgd::Topology topology = (boards > 0) ? dasgd::Topology::Complete() :
      placement.topology;
  dasgd::Report report;
  report.algorithm = AlgorithmType::Name();
  report.topology = (boards > 0) ? placement.BoardsName() :
      AlgorithmType::TopologyName(topology, options);
  report.whyTopology = placement.WhyTopology(ChosenTopology<AlgorithmType>(
      settings));
  report.boards = boards;
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
  report.stepSize = step.size;
  report.autoStep = step.automatic;
  report.stepScale = steps.Scale(settings.BatchSize());
  report.smoothness = step.smoothness;
  report.smoothnessFrom = step.smoothnessFrom;
  if constexpr (!IsDasgd<AlgorithmType>)
  {
    report.outsideTheorem = "it covers DASGD";
    return report;
  }
  const theory::StalenessPair expected = theory::ExpectedStaleness(
      topology, placement.machines.size());
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

//! Which setting a baseline was given that only DASGD has, or nothing.
template<typename AlgorithmType>
std::string ValidateForBaseline(const CommonSettings& settings)
{
  const auto only = [](const std::string& setting, const std::string& remedy)
  {
    return setting + ", but is one of DASGD; leave it at " + remedy + " for " +
        AlgorithmType::Name() + ".";
  };
  if (settings.UsesAutoStep())
    return "StepSize() is AutoStep, which knows DASGD only; give a number.";
  if (settings.Overlap() != Overlap::Auto)
  {
    return only(std::string("Overlap() is ") + ToString(settings.Overlap()),
        "auto");
  }
  const std::pair<const char*, double> ours[] = {
      { "StalenessDamping()", settings.StalenessDamping() },
      { "LookAhead()", settings.LookAhead() } };
  for (const auto& [setting, value] : ours)
  {
    if (value != Automatic)
    {
      return only(std::string(setting) + " is " + report::Short(value),
          "Automatic");
    }
  }
  if (settings.ExchangeShare() != DefaultExchangeShare)
  {
    return only("ExchangeShare() is " +
        report::Short(settings.ExchangeShare()),
        report::Short(DefaultExchangeShare));
  }
  return "";
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
  std::string complaint = settings.Validate(steps.plain, steps.updatePolicy);
  if (complaint.empty() && !IsDasgd<AlgorithmType>)
    complaint = ValidateForBaseline<AlgorithmType>(settings);
  if (!complaint.empty())
    return complaint;
  if (settings.LookAhead() > 0 && !steps.looksAhead)
  {
    return "LookAhead() is " + report::Short(settings.LookAhead()) + ", but "
        "the update policy is " + steps.updatePolicy + ", which has no form "
        "that looks ahead; leave it at dasgd::Automatic, or at 0.";
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
