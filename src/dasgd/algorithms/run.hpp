/**
 * @file run.hpp
 *
 * The loop that drives a worker over a transport until all are done.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_RUN_HPP
#define DASGD_ALGORITHMS_RUN_HPP

#include "../core/history.hpp"
#include "../core/rank_report.hpp"
#include "lead_limit.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dasgd {

//! Books the time as it passes, and dates what a worker has noted.
class Stopwatch
{
 public:
  //! @param history Where the worker notes what happens, or null.
  explicit Stopwatch(RankHistory* history) :
      history(history), start(Clock::now()), last(start) { }

  //! Is there more to date than the sums of a report need?
  bool Records() const { return history != nullptr; }

  //! Book the time since the last call.
  void Lap(double& seconds)
  {
    const Clock::time_point now = Clock::now();
    seconds += Seconds(now - last);
    if (history)
      history->Stamp(Seconds(last - start), Seconds(now - start));
    last = now;
  }

  //! Seconds from the start to the last lap.
  double Now() const { return Seconds(last - start); }

  //! The same, for time in which there was nothing to do.
  void Idle(double& seconds)
  {
    const Clock::time_point then = last;
    Lap(seconds);
    if (history)
      history->Idle(Seconds(then - start), Seconds(last - start));
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double Seconds(const Clock::duration time)
  { return std::chrono::duration<double>(time).count(); }

  RankHistory* history;
  Clock::time_point start;
  Clock::time_point last;
};

/**
 * Algorithm 1 of the paper: apply what has arrived; only when nothing has,
 * compute a gradient.  Neither waits for a peer, but see LeadLimit.  With no
 * work left, wait for the others.
 *
 * @tparam WorkerType See Courier.
 * @tparam TransportType Has `bool Receive(action)`, which calls action(bytes,
 *     size, from) if a frame has arrived, CanSend() and Send() (see
 *     Courier), `bool Delivered()`, `void Wait()`, `void Pause()` and
 *     `void Yield()`.
 */
template<typename WorkerType, typename TransportType>
void Run(WorkerType& worker, TransportType& transport)
{
  Stopwatch watch(worker.History());
  RankReport& counts = worker.Counts();
  LeadLimit limit(worker.MaxLead());

  worker.Start();
  // Is this rank looking for frames only because it has nothing else to do?
  bool waiting = false;
  while (!worker.Done() || !transport.Delivered())
  {
    if (worker.Starved() || !transport.Receive(
        [&](const std::uint8_t* bytes, const size_t size, const size_t from)
        {
          if (watch.Records())
            watch.Lap(counts.secondsExchanging); // It begins now.
          worker.Receive(bytes, size, from);
        }))
    {
      if (waiting)
        watch.Idle(counts.secondsIdle);
      else
        watch.Lap(counts.secondsExchanging);
      waiting = false;
      const bool pauses = limit.Pauses(worker.HasWork() && worker.Ahead(),
          watch.Now(), counts);
      if (!pauses && worker.HasWork())
      {
        limit.Begins(watch.Now());
        worker.Compute();
        watch.Lap(counts.secondsComputing);
      }
      else
      {
        worker.Send(transport);
        if (watch.Records())
          watch.Lap(counts.secondsExchanging);
        // What was sent may have been what this rank had to wait for.
        waiting = pauses ? worker.Ahead() : !worker.HasWork();
        if (waiting)
        {
          if (pauses)
            transport.Pause();
          else
            transport.Wait();
          watch.Idle(counts.secondsIdle);
        }
      }
    }
    else
    {
      waiting = false;
      if (watch.Records())
        watch.Lap(counts.secondsExchanging);
    }
    // Never wait for a peer that takes nothing; but if it shares this core,
    // let it run.
    if (!worker.Send(transport))
      transport.Yield();
    if (watch.Records())
      watch.Lap(counts.secondsExchanging);
  }
  watch.Lap(counts.secondsExchanging);
}

} // namespace dasgd

#endif
