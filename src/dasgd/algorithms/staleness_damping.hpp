/**
 * @file staleness_damping.hpp
 *
 * Smaller steps where gradients are staler than they should be.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_STALENESS_DAMPING_HPP
#define DASGD_ALGORITHMS_STALENESS_DAMPING_HPP

#include "../report/rank_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dasgd {

/**
 * Each of n ranks computes a gradient while the others compute theirs, so n - 1
 * is the least staleness that there can be.  Up to c (n - 1) a step is whole;
 * where a rank sees a staleness S beyond that, its steps are c (n - 1) / S of
 * their size (Koloskova, Stich and Jaggi 2022 have this rule for a server).
 *
 * What it sees is the larger of two numbers: how many gradients of others have
 * come since the model that its gradient is of, and how stale those were that
 * came last.  The origin decides, so all ranks apply the same update.
 */
class StalenessDamping
{
 public:
  //! @param c See above; 0 leaves steps as they are.
  StalenessDamping(const double c, const size_t ranks) :
      most(c * double(ranks - 1)) { }

  /**
   * What is left of the step that is due.
   *
   * @param counts What this rank has applied.
   * @param waiting Gradients of others that have come, but are not applied.
   */
  double Factor(const RankReport& counts, const std::uint64_t waiting)
  {
    if (!(most > 0))
      return 1;
    // Its own are measured, too, and not stale.
    const Counts now{ counts.applied - counts.computed,
        counts.staleness.Measured() - counts.computed,
        counts.staleness.Sum() };
    if (now.measured > last.measured)
    {
      const double mean = double(now.sum - last.sum) /
          double(now.measured - last.measured);
      recent = (last.measured == 0) ? mean : recent + weight * (mean - recent);
    }
    const double staleness = std::max(recent, double(std::max(waiting,
        now.applied - last.applied)));
    last = now;
    return (staleness > most) ? most / staleness : 1;
  }

 private:
  //! Of the last of its gradients in the mean.
  static constexpr double weight = 0.2;

  //! Of other ranks' gradients.
  struct Counts
  {
    std::uint64_t applied = 0;
    std::uint64_t measured = 0;
    std::uint64_t sum = 0;
  };

  double most;
  double recent = 0;
  Counts last;
};

} // namespace dasgd

#endif
