/**
 * @file training_end_impl.hpp
 *
 * Implementation of the last phases of Optimize(): what all agree on, the
 * report, and what is returned or thrown.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_TRAINING_END_IMPL_HPP
#define DASGD_TRAINING_TRAINING_END_IMPL_HPP

// In case it hasn't been included yet.
#include "training.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

namespace dasgd {

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::Agree()
{
  AgreeOnStop(comm, outcome);
  if (Interrupted())
    StopSignals::Heeded();
  const std::vector<double> sizes = comm.Gather(settings.stepSize);
  stepChanged = std::any_of(sizes.begin(), sizes.end(),
      [&](const double other) { return other != step.size; });
  // As with ens::SGD, the next Optimize() begins with the step that decay or a
  // callback has left; ranks may have decayed it differently often.
  settings.stepSize = sizes.front();
  if (!outcome.equal)
  {
    outcome.counts.deviation = std::max(outcome.counts.deviation,
        CopyFromRoot(comm, source.Iterate(), elements));
  }
  objective = rank.state->Objective(outcome.stopped, outcome.stop,
      steps.keepsLastObjective);

  const bool failed = Failed();
  SaveLast(failed);
  AgreeOnObjective(failed);
  if (comm.Size() > 1)
    source.AgreeOnKept(comm, batches, outcome.exception);
  Guard(outcome.exception, [&]()
  {
    if (!std::exchange(endTold, true))
      source.EndOptimization();
  });
  // Callbacks may have changed the result.
  if (anyCallbacks)
    BeginAtRoot(comm, source.Iterate(), elements);
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::SaveLast(const bool failed)
{
  if (!keeper.IsOpen())
    return;
  // After an exception of this rank's own, callbacks do not know what came
  // later.
  const bool ended = !failed && !outcome.exception;
  keeper.SaveLast(ended ? &outcome : nullptr);
  keeper.Attempt([&]()
  {
    const std::string path = FullPath(fixed->checkpointFile);
    if (ended && !Interrupted())
      FinishedCheckpoints().insert(path);
    else if (keeper.Written() > 0)
      FinishedCheckpoints().erase(path);
  });
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::AgreeOnObjective(const bool failed)
{
  if (fixed->data == Data::Replicated && comm.Size() > 1)
  {
    // Ranks may have shuffled differently often; after this their data is in
    // one order again, for the objective and for the next training.
    std::uint64_t shuffles = 0;
    for (const std::uint64_t other : comm.Gather(source.Shuffles()))
      shuffles = std::max(shuffles, other);
    Guard(outcome.exception, [&]() { source.ShuffleTo(shuffles); });
  }
  if (fixed->exactObjective && !failed)
  {
    ElemType part = 0;
    Guard(outcome.exception, [&]()
    { part = source.ExactPart(fixed->data, fixed->batchSize); });
    objective = 0;
    for (const double other : comm.Gather(double(part)))
      objective += ElemType(other);
  }
  else if (comm.Size() > 1)
  {
    // With dynamic sharing ranks may see the last epoch differently.
    comm.Broadcast(&objective, sizeof(objective));
  }
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::GatherReport()
{
  Report& report = settings.report;
  report = dasgd::Describe<AlgorithmType>(*fixed, steps, options, placement,
      outcome.boards, step, elements, sizeof(ElemType),
      rank.state->EpochPoints());
  report.overlap = overlap;
  report.damping = damping;
  report.threads = BlasThreads::InUse();
  report.objective = double(objective);
  if (report.outsideTheorem.empty() && stepChanged)
    report.outsideTheorem = StepChanged();
  // Only into the report: if a rank dies in it, some have the estimate and
  // others do not, and all must decide alike when they recover.
  if (steps.Vanilla() && step.smoothness == 0 && outcome.stopped &&
      outcome.stop.reason == StopReason::NonFinite)
  {
    report.smoothness = SmoothnessAt(comm, source, begin);
    if (report.smoothness > 0)
      report.smoothnessFrom = "estimated at the start";
  }
  const Checkpoint& about = keeper.About();
  report.resumed = resumed.due;
  report.resumes = about.resumes;
  report.ranksBefore = resumed.from.held.size();
  report.lost = deaths.lost;
  report.gradientsBefore = about.gradients;
  report.pointsBefore = about.points;
  report.gradientsResumed = resumed.from.gradients;
  report.secondsBefore = resumed.from.seconds;
  if constexpr (IsDasgd<AlgorithmType>)
    ShareCheckpointNews(report);
  GatherCounts(report);
  if (outcome.stopped)
    PutStop(outcome.stop, report);
  NoteShorterSteps(report);
  settings.history.clear();
  if (history)
    GatherHistory(comm, *history, settings.history, report);
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::ShareCheckpointNews(Report& report)
{
  const std::string mine = fixed->checkpointFile + '\n' +
      std::to_string(keeper.Written()) + '\n' +
      std::to_string(deaths.gradientsDropped) + '\n' + keeper.Problem();
  std::istringstream root(comm.Gather(mine).front());
  std::getline(root, report.checkpointFile);
  root >> report.checkpoints >> report.gradientsLost;
  root.ignore();
  std::getline(root, report.checkpointProblem);
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::GatherCounts(Report& report)
{
  const double seconds = std::chrono::duration<double>(
      std::chrono::steady_clock::now() - begunAt).count();
  for (const double other : comm.Gather(seconds))
    report.seconds = std::max(report.seconds, other);
  static_assert(std::is_trivially_copyable<RankReport>::value,
      "RankReport is sent as it is.");
  std::string mine(reinterpret_cast<const char*>(&outcome.counts),
      sizeof(outcome.counts));
  // No callback comes after this.
  const std::string mixed = comm.Call() ? comm.Call()->Close() : "";
  mine += mixed.empty() ? '\0' : '\1';
  mine += mixed.empty() ? ExceptionText(outcome.exception) : mixed;
  for (const std::string& other : comm.Gather(mine))
  {
    RankReport their;
    std::memcpy(&their, other.data(), sizeof(their));
    const std::string thrown = other.substr(sizeof(their) + 1);
    if (other[sizeof(their)] != '\0' && mixedThreads.empty())
    {
      mixedThreads = Name() + "::Optimize(): rank " +
          std::to_string(report.ranks.size()) + ": " + thrown + ".";
    }
    if (!thrown.empty() && !(outcome.stopped &&
        outcome.stop.reason == StopReason::Error))
    {
      outcome.stopped = true;
      outcome.stop = Fact();
      outcome.stop.reason = StopReason::Error;
      outcome.stop.origin = std::uint32_t(report.ranks.size());
      outcome.stop.count = their.computed;
      outcome.stop.text = FactText(thrown);
    }
    report.ranks.push_back(their);
  }
}

template<typename AlgorithmType, typename ElemType>
ElemType Training<AlgorithmType, ElemType>::Return()
{
  if (step.automatic)
    settings.stepSize = step.given;
  if (!mixedThreads.empty())
  {
    comm.Call()->Refuse(mixedThreads);
    mpi::RefuseThreads(mixedThreads);
  }
  if (outcome.exception)
    std::rethrow_exception(outcome.exception);
  if (outcome.stopped && outcome.stop.reason == StopReason::Error)
  {
    throw std::runtime_error(Name() + "::Optimize(): rank " +
        std::to_string(outcome.stop.origin) + " failed at step " +
        std::to_string(outcome.stop.count) + ": " + outcome.stop.text);
  }
  if (comm.Rank() == 0 && settings.messages.advice)
    PrintAdvice(settings.report);
  if (comm.Rank() == 0 && !outcome.stopped)
  {
    source.Inform("maximum iterations (" + std::to_string(
        fixed->maxIterations) + ") reached; terminating optimization.");
  }
  return objective;
}

} // namespace dasgd

#endif
