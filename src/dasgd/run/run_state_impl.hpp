/**
 * @file run_state_impl.hpp
 *
 * Implementation of the state of a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_RUN_STATE_IMPL_HPP
#define DASGD_RUN_RUN_STATE_IMPL_HPP

// In case it hasn't been included yet.
#include "run_state.hpp"

namespace dasgd {

template<typename ElemType>
RunState<ElemType>::RunState(const RunSnapshot& start,
                             const size_t rank,
                             std::vector<bool> computes,
                             const RunLimits& limits) :
    start(start),
    limits(limits),
    rank(rank),
    ranks(start.held.size()),
    computing(Refine(start, computes)),
    computes(computes[rank]),
    work(Divide(start, rank, computes, limits)),
    progress(ranks, work.EpochPoints(), start.sharing),
    tolerance(limits.tolerance),
    version(ranks, 0)
{
  progress.Restore(start.progress);
  for (size_t i = 0; i < ranks; ++i)
    if (!computes[i])
      progress.Absent(i);
  work.Walk(start.progress.points[rank]);
  ExpectEpochs();
  if (std::isfinite(start.judged))
    tolerance.Last() = ElemType(start.judged);
  lastObjective = ElemType(start.lastObjective);
  hasLast = start.hasLast;
  epoch = progress.CurrentEpoch();
  ownEpoch = start.progress.latest[rank];
  const auto own = start.progress.open.find(ownEpoch);
  if (own != start.progress.open.end())
  {
    ownPoints = own->second.points[rank];
    ownObjective = ElemType(own->second.objectives[rank]);
  }
  if (start.finished && start.reason == StopReason::Tolerance)
    Judge(StopReason::Tolerance, start.stopValue, "");
}

template<typename ElemType>
void RunState<ElemType>::Describe(const ElemType objective,
                                  ManifestEntry& entry)
{
  if (batch.epoch != ownEpoch)
  {
    ownEpoch = batch.epoch;
    ownPoints = 0;
    ownObjective = 0;
  }
  ownPoints += batch.size;
  ownObjective += objective;
  entry.points = work.Walked();
  entry.epoch = ownEpoch;
  entry.epochPoints = ownPoints;
  entry.epochObjective = double(ownObjective);
}

template<typename ElemType>
bool RunState<ElemType>::CloseEpoch()
{
  double sum = 0;
  if (judged || !progress.CloseEpoch(sum))
    return false;
  lastObjective = ElemType(sum);
  hasLast = true;
  ++epoch;
  return true;
}

template<typename ElemType>
ElemType RunState<ElemType>::Objective(const bool stopped,
                                       const Fact& stop,
                                       const bool keepsLast) const
{
  if (stopped && (stop.reason == StopReason::Tolerance ||
      stop.reason == StopReason::NonFinite))
    return ElemType(stop.value);
  if (progress.CurrentStarted())
    return ElemType(progress.CurrentObjective());
  // Nothing of a next epoch is known.  At one rank do as ens::SGD does: it
  // forgets the last epoch's objective at the end of that epoch.
  const bool forgets = (ranks == 1) && (!keepsLast ||
      progress.Points() != (work.Before() > 0 ? work.Budget() :
      limits.maxIterations));
  return (hasLast && !forgets) ? lastObjective : ElemType(0);
}

template<typename ElemType>
RunSnapshot RunState<ElemType>::Snapshot() const
{
  RunSnapshot now = start;
  now.progress = progress.Save();
  now.judged = double(tolerance.Last());
  now.lastObjective = double(lastObjective);
  now.hasLast = hasLast;
  now.version = version;
  now.gradients = Gradients();
  now.points = start.points + progress.Points() - start.progress.Known();
  return now;
}

template<typename ElemType>
size_t RunState<ElemType>::Refine(const RunSnapshot& start,
                                  std::vector<bool>& computes)
{
  size_t count = 0;
  for (size_t i = 0; i < computes.size(); ++i)
  {
    if (start.data == Data::Replicated && count >= start.held[i])
      computes[i] = false;
    count += computes[i];
  }
  return count;
}

template<typename ElemType>
Work RunState<ElemType>::Divide(const RunSnapshot& start,
                                const size_t rank,
                                const std::vector<bool>& computes,
                                const RunLimits& limits)
{
  std::vector<size_t> points;
  size_t place = 0;
  for (size_t i = 0; i < computes.size(); ++i)
  {
    if (!computes[i])
      continue;
    if (i < rank)
      ++place;
    points.push_back(size_t(start.held[i]));
  }
  // A rank that computes nothing is given a place, for it has to know how
  // long an epoch is.
  return Work(points, std::min(place, points.size() - 1), start.data,
      start.sharing, size_t(start.batchSize),
      size_t(start.Budget(limits.maxIterations)), start.progress.before);
}

template<typename ElemType>
void RunState<ElemType>::ExpectEpochs()
{
  const std::uint64_t lead = 16; // Frames under way hold about as many.
  const std::uint64_t batches = (work.EpochPoints() + start.batchSize - 1) /
      start.batchSize;
  // Each rank has a batch of its own, be it a smaller one.
  tolerance.Expect(std::max<std::uint64_t>(computing, batches),
      (limits.inRounds || computing < 2) ? 0 : computing * lead);
}

} // namespace dasgd

#endif
