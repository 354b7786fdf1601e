/**
 * @file lead_limit.hpp
 *
 * How long a rank that is far ahead of a neighbour gives it time to catch up.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_LEAD_LIMIT_HPP
#define DASGD_ALGORITHMS_LEAD_LIMIT_HPP

#include "../report/rank_report.hpp"

#include <cstddef>
#include <vector>

namespace dasgd {

/**
 * Gradients that take microseconds can be computed by the thousand while a
 * neighbour's process is off its core, and all of them are then stale at once.
 * A rank whose last MaxLead() gradients wait for the same neighbour therefore
 * pauses.  It does not if these gradients took more than `patience` together,
 * since they are then long enough to be worth an exchange.  A pause ends after
 * `patience`, since the neighbour is then slow or stopped rather than
 * interrupted; and pauses take no more than half of the run.
 *
 * It has no clock: the driver says what time it is, in seconds.
 */
class LeadLimit
{
 public:
  //! Long enough for a process that shares its core with others to get it back.
  static constexpr double patience = 0.01;

  //! @param lead MaxLead(), 0 for no limit.
  explicit LeadLimit(const size_t lead) : times(lead, -2 * patience) { }

  //! A gradient is begun.
  void Begins(const double now)
  {
    if (times.empty())
      return;
    times[next] = now;
    next = (next + 1) % times.size();
  }

  /**
   * Is this rank to pause?
   *
   * @param ahead Do its last MaxLead() gradients wait for a neighbour?
   * @param now The time.
   * @param counts Where pauses are counted.
   */
  bool Pauses(const bool ahead, const double now, RankReport& counts)
  {
    if (pausing)
    {
      counts.secondsAhead += now - lastLook;
      lastLook = now;
    }
    if (!ahead || times.empty())
    {
      pausing = givenUp = false;
      return false;
    }
    // The oldest of the last gradients is the one to be overwritten next.
    givenUp = givenUp || now - times[next] >= patience ||
        counts.secondsAhead > counts.secondsComputing + patience;
    if (!givenUp && !pausing)
    {
      ++counts.pauses;
      lastLook = now;
    }
    pausing = !givenUp;
    return pausing;
  }

  //! When a pause that has begun ends at the latest.
  double Until() const { return times[next] + patience; }

 private:
  //! When the last gradients were begun.
  std::vector<double> times;
  size_t next = 0;
  bool pausing = false;
  double lastLook = 0;
  //! The neighbour had its time; until it takes something, go on.
  bool givenUp = false;
};

} // namespace dasgd

#endif
