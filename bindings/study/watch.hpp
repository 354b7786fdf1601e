/**
 * @file watch.hpp
 *
 * Watches a training without disturbing it: copies the iterate now and then,
 * and stops the run at its target or when its time is over.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_WATCH_HPP
#define DASGD_BINDINGS_STUDY_WATCH_HPP

#include <armadillo>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace dasgd {
namespace study {

namespace detail {

//! Does an optimizer tell how many gradients this rank has applied?
template<typename OptimizerType, typename = void>
struct TellsApplied : std::false_type { };

template<typename OptimizerType>
struct TellsApplied<OptimizerType, std::void_t<decltype(
    std::declval<OptimizerType&>().Live())>> : std::true_type { };

} // namespace detail

/**
 * The one callback of all runs.  Losses of the copies are computed after the
 * run.  While it runs there are probes on a few points each, which take no more
 * than a small part of the time: if the mean of the last ones is below the
 * target, and the loss on all points is, too, the run is over.
 */
class Watch
{
 public:
  using Clock = std::chrono::steady_clock;
  //! The loss on a few points or on all.
  using ProbeType = std::function<double(const arma::mat&, bool)>;

  //! A model, when it was copied, and how many gradients were in it.
  struct Copy
  {
    double seconds = 0;
    std::uint64_t gradients = 0;
    arma::mat iterate;
  };

  /**
   * @param budget Seconds after which the run is stopped.
   * @param clock Virtual time; null: real time.
   */
  explicit Watch(const double budget, const double* clock = nullptr) :
      budget(budget), clock(clock) { }

  /**
   * Take copies on this rank, and probe.
   *
   * @param count How many copies, spread over the budget, denser at the start.
   * @param target Loss at which to stop (not a number: none).
   * @param probe Loss, or part of wrong answers, on a few points or on all;
   *     called when the target may be near.
   */
  void Observe(const arma::mat& start,
               const size_t count,
               const double target,
               const ProbeType& probe)
  {
    this->target = target;
    this->probe = probe;
    // One more for the start, one for the last step, and one for the model that
    // is returned.  All memory is there, and has been touched, before the clock
    // runs.
    copies.resize(count + 3);
    for (Copy& copy : copies)
      copy.iterate = start;
    used = 1;
    times.clear();
    for (size_t i = 1; i <= count; ++i)
      times.push_back(budget * std::pow(double(i) / double(count), 2));
    // On virtual time it costs nothing.
    if (probe && !clock)
    {
      // What it costs is known before it is first called.
      for (const bool all : { false, true })
      {
        const Clock::time_point before = Clock::now();
        probe(start, all);
        (all ? fullCost : probeCost) = Seconds(before, Clock::now());
      }
    }
  }

  //! All ranks are ready.
  void Start() { begin = Clock::now(); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, MatType& iterate)
  {
    std::uint64_t applied = steps + 1;
    if constexpr (detail::TellsApplied<OptimizerType>::value)
    {
      if (optimizer.Live())
        applied = std::max(optimizer.Live()->applied, applied);
    }
    else
      (void) optimizer;
    return Step(iterate, applied);
  }

  /**
   * A step was taken.
   *
   * @param applied Gradients in the model.
   * @return Is the run to end?
   */
  bool Step(const arma::mat& iterate, const std::uint64_t applied)
  {
    ++steps;
    const double now = Elapsed();
    last = now;
    if (!copies.empty())
      Look(iterate, now, applied);
    return over || now >= budget;
  }

  /**
   * The run is over: keep the model that was returned, which may be another
   * than this rank's own at its last step.
   *
   * @param seconds When it was there.
   */
  void Finish(const arma::mat& iterate, const double seconds)
  {
    Keep(iterate, seconds, lastApplied);
    diverged = diverged || !iterate.is_finite();
  }

  double Elapsed() const
  { return clock ? *clock : Seconds(begin, Clock::now()); }
  //! Steps that this rank took, and when it took the last.
  std::uint64_t Steps() const { return steps; }
  double Last() const { return last; }
  //! Gradients in this rank's model at its last step.
  std::uint64_t Applied() const { return lastApplied; }
  //! The copies that were taken.
  std::vector<Copy>& Copies() { return copies; }
  size_t Taken() const { return used; }
  //! Seconds that the probe took, altogether.
  double ProbeSeconds() const { return probeSeconds; }
  //! Was the model seen to be not finite?
  bool Diverged() const { return diverged; }

 private:
  static double Seconds(const Clock::time_point& from,
                        const Clock::time_point& to)
  { return std::chrono::duration<double>(to - from).count(); }

  void Look(const arma::mat& iterate,
            const double now,
            const std::uint64_t applied)
  {
    lastApplied = applied;
    if (over)
      return;
    const bool due = next < times.size() && now >= times[next];
    // Few points take their share only in part: all points must fit in, too.
    if (probe && std::isfinite(target) && now - probed >= budget / 100 &&
        probeSeconds + (near ? fullCost : probeCost) <=
        (near ? 0.04 : 0.01) * now)
      Probe(iterate, now);
    if (due || over || now >= budget)
    {
      Take(iterate, now, applied);
      while (next < times.size() && now >= times[next])
        ++next;
      diverged = diverged || !iterate.is_finite();
      over = over || diverged || now >= budget;
    }
  }

  //! Is the target reached?
  void Probe(const arma::mat& iterate, const double now)
  {
    const bool all = near;
    const double loss = probe(iterate, all);
    probed = Elapsed();
    (all ? fullCost : probeCost) = probed - now;
    probeSeconds += probed - now;
    diverged = !std::isfinite(loss);
    over = diverged || (all && loss <= target);
    if (!all)
      recent = std::isfinite(recent) ? (recent + loss) / 2 : loss;
    near = !all && recent <= target;
  }

  void Take(const arma::mat& iterate,
            const double now,
            const std::uint64_t applied)
  {
    // The last place is for the model that is returned.
    if (used + 1 < copies.size())
      Keep(iterate, now, applied);
  }

  void Keep(const arma::mat& iterate,
            const double now,
            const std::uint64_t applied)
  {
    Copy& copy = copies[used++];
    copy.seconds = now;
    copy.gradients = applied;
    // The shape may be another one.
    std::copy(iterate.begin(), iterate.end(), copy.iterate.begin());
  }

  double budget;
  const double* clock;
  double target = std::nan("");
  ProbeType probe;
  std::vector<Copy> copies;
  std::vector<double> times;
  size_t used = 0;
  size_t next = 0;
  Clock::time_point begin;
  std::uint64_t steps = 0;
  std::uint64_t lastApplied = 0;
  double last = 0;
  double probed = 0;
  double probeCost = 0;
  double fullCost = 0;
  double probeSeconds = 0;
  //! Mean of the last probes, and whether it is below the target.
  double recent = std::nan("");
  bool near = false;
  bool over = false;
  bool diverged = false;
};

} // namespace study
} // namespace dasgd

#endif
