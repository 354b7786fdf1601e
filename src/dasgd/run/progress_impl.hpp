/**
 * @file progress_impl.hpp
 *
 * Implementation of what one rank knows of everybody's progress.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_PROGRESS_IMPL_HPP
#define DASGD_RUN_PROGRESS_IMPL_HPP

// In case it hasn't been included yet.
#include "progress.hpp"

namespace dasgd {

DASGD_INLINE Progress::Progress(const size_t ranks,
                                const size_t epochPoints,
                                const Sharing sharing) :
    ranks(ranks), epochPoints(epochPoints), sharing(sharing),
    points(ranks, 0), latest(ranks, 0)
{
  // Memory for the epochs that are under way at a time, unless a rank is far
  // ahead of another.  Thousands of ranks have long epochs.
  spare.reserve(maxOpen);
  const size_t likely = std::max<size_t>(2, std::min<size_t>(16,
      8192 / std::max<size_t>(ranks, 1)));
  for (std::uint64_t epoch = 0; epoch < likely; ++epoch)
    Open(epoch);
  while (!open.empty())
    Close(open.begin());
}

DASGD_INLINE Progress::State Progress::State::Redivide(
    const size_t ranks,
    const std::uint64_t oldEpochPoints,
    const std::uint64_t epochPoints) const
{
  double objective = 0;
  std::uint64_t judged = 0;
  for (const auto& epoch : open)
  {
    objective += epoch.second.Objective();
    judged += epoch.second.total;
  }
  const std::uint64_t known = Known();
  // Ranks that are ahead of others may have begun more than one.
  std::uint64_t inEpoch = known % oldEpochPoints;
  State state;
  state.current = known / oldEpochPoints + 1;
  if (inEpoch >= epochPoints)
  {
    // Of what there is now, the epoch is over.
    inEpoch = 0;
    ++state.current;
  }
  state.before = (state.current - 1) * epochPoints + inEpoch;
  state.points.assign(ranks, 0);
  state.latest.assign(ranks, 0);
  if (inEpoch > 0)
  {
    Epoch& epoch = state.open[state.current];
    epoch.points.assign(ranks + 1, 0);
    epoch.objectives.assign(ranks + 1, 0);
    epoch.points[ranks] = epoch.total = inEpoch;
    if (judged > 0)
      epoch.objectives[ranks] = objective * double(inEpoch) /
          double(judged);
  }
  return state;
}

DASGD_INLINE void Progress::Restore(const State& state)
{
  before = state.before;
  current = state.current;
  points = state.points;
  latest = state.latest;
  known = state.Known();
  while (!open.empty())
    Close(open.begin());
  for (const auto& epoch : state.open)
    Open(epoch.first) = epoch.second;
}

DASGD_INLINE bool Progress::CloseEpoch(double& objective)
{
  const std::uint64_t slowest = *std::min_element(latest.begin(),
      latest.end());
  for (auto it = open.begin(); it != open.end(); )
  {
    const bool complete = (sharing == Sharing::Static) ?
        it->second.total >= epochPoints : known >= it->first * epochPoints;
    if (!complete)
    {
      // Epochs complete in order.  One that everybody has left behind lacks a
      // total that was folded away, and never will be.
      if (it->first >= slowest)
        return false;
      Close(it++);
      continue;
    }

    objective = it->second.Objective();
    if (it->second.total != epochPoints && it->second.total != 0)
      objective *= double(epochPoints) / double(it->second.total);
    current = it->first + 1;
    while (!open.empty() && open.begin()->first < current)
      Close(open.begin());
    return true;
  }
  return false;
}

DASGD_INLINE Progress::Epoch& Progress::Open(const std::uint64_t number)
{
  const auto found = open.find(number);
  if (found != open.end())
    return found->second;
  Epochs::iterator fresh;
  if (spare.empty())
    fresh = open.emplace(number, Epoch()).first;
  else
  {
    spare.back().key() = number;
    fresh = open.insert(std::move(spare.back())).position;
    spare.pop_back();
  }
  fresh->second.objectives.assign(ranks + 1, 0);
  fresh->second.points.assign(ranks + 1, 0);
  fresh->second.total = 0;
  return fresh->second;
}

} // namespace dasgd

#endif
