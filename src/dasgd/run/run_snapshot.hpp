/**
 * @file run_snapshot.hpp
 *
 * Where a run is between two updates: what a start, a checkpoint and the
 * recovery after a death have in common.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_RUN_SNAPSHOT_HPP
#define DASGD_RUN_RUN_SNAPSHOT_HPP

#include "../core/fact.hpp"
#include "progress.hpp"
#include "../core/random.hpp"

namespace dasgd {

//! How the work is divided over the ranks.
struct Division
{
  Data data = Data::Replicated;
  Sharing sharing = Sharing::Static;
  std::uint64_t batchSize = 0;
  //! Points that each rank holds.
  std::vector<std::uint64_t> held;

  //! Points in one epoch.
  std::uint64_t EpochPoints() const
  {
    return (data == Data::Sharded) ? std::accumulate(held.begin(), held.end(),
        std::uint64_t(0)) : held.empty() ? 0 : held[0];
  }

  //! May a rank continue where the one with the same number was?
  bool SameDivision(const Division& other) const
  {
    return data == other.data && sharing == other.sharing &&
        batchSize == other.batchSize && held == other.held;
  }
};

/**
 * The state of a run as one rank knows it, without the model.  A model is its
 * start minus the updates that it has applied, so the snapshot of any one rank,
 * with its model, is enough to continue from, on any number of ranks.
 */
struct RunSnapshot : Division
{
  Progress::State progress;
  //! The objective of the epoch that was judged last, as the tolerance rule
  //! keeps it (infinity: none was) and as it is returned.
  double judged = std::numeric_limits<double>::infinity();
  double lastObjective = 0;
  bool hasLast = false;

  //! The seed of the order of points, and how often they had been shuffled
  //! before the work was divided.
  std::uint64_t seed = 0;
  std::uint64_t shuffled = 0;

  //! Gradients of each rank that the model has applied since the work was
  //! divided; and in all, with their points.
  std::vector<std::uint64_t> version;
  std::uint64_t gradients = 0;
  std::uint64_t points = 0;

  //! Is the run over, and why?
  bool finished = false;
  StopReason reason = StopReason::Budget;
  double stopValue = 0;

  //! The start of a run.
  static RunSnapshot Start(const Division& division, const std::uint64_t seed)
  {
    RunSnapshot start;
    static_cast<Division&>(start) = division;
    start.progress.points.assign(division.held.size(), 0);
    start.progress.latest.assign(division.held.size(), 0);
    start.seed = seed;
    return start;
  }

  //! The start of new processes that resume from here, with the work divided as
  //! given.
  RunSnapshot Resume(const Division& division) const
  {
    RunSnapshot next = Divide(division);
    if (!SameDivision(division))
    {
      // An order of points that has not been used.
      next.seed = Mix(seed, points);
      next.shuffled = 0;
    }
    return next;
  }

  //! The start of processes that have survived the death of others, and have
  //! all shuffled their points so often.
  RunSnapshot Recover(const Division& division,
                      const std::uint64_t shuffles) const
  {
    RunSnapshot next = Divide(division);
    next.shuffled = shuffles;
    return next;
  }

  /**
   * What MaxIterations() is in the count of `progress`, which differs from the
   * number of points that were visited if epochs have changed their length.
   */
  std::uint64_t Budget(const std::uint64_t maxIterations) const
  {
    const std::uint64_t known = progress.Known();
    if (maxIterations == 0 || known == points)
      return maxIterations;
    return std::max<std::uint64_t>(1, known + ((maxIterations > points) ?
        maxIterations - points : 0));
  }

 private:
  //! The same with another division of the work.
  RunSnapshot Divide(const Division& division) const
  {
    RunSnapshot next = *this;
    static_cast<Division&>(next) = division;
    if (!SameDivision(division))
    {
      next.progress = progress.Redivide(division.held.size(), EpochPoints(),
          division.EpochPoints());
    }
    next.version.clear();
    return next;
  }
};

} // namespace dasgd

#endif
