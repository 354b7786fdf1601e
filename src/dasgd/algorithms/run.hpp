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
#include "driver.hpp"

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
 * Drive a worker over a transport, in real time, until all are done.
 *
 * @tparam WorkerType See WorkerDefaults.
 * @tparam TransportType Has `bool Receive(action)`, which calls action(bytes,
 *     size, from) if a frame has arrived, CanSend() and Send() (see Endpoint),
 *     `bool Delivered()`, `void Wait()`, `void Pause()` and `void Yield()`.
 */
template<typename WorkerType, typename TransportType>
void Run(WorkerType& worker, TransportType& transport)
{
  auto& node = worker.Node();
  RankReport& counts = node.Endpoint().Counts();
  Stopwatch watch(node.Endpoint().History());
  Driver<WorkerType> driver(worker);
  const auto exchanged = [&]()
  {
    if (watch.Records())
      watch.Lap(counts.secondsExchanging);
  };

  node.Start();
  // Is this rank looking for frames only because it has nothing else to do?
  bool waiting = false;
  while (!driver.MayLeave(transport))
  {
    if (driver.MayReceive() && transport.Receive(
        [&](const std::uint8_t* bytes, const size_t size, const size_t from)
        {
          exchanged(); // It begins now.
          worker.Receive(bytes, size, from);
        }))
    {
      waiting = false;
      exchanged();
    }
    else
    {
      if (waiting)
        watch.Idle(counts.secondsIdle);
      else
        watch.Lap(counts.secondsExchanging);
      const Action action = driver.Choose(watch.Now(), transport);
      waiting = (action == Action::Pause || action == Action::Wait);
      if (action == Action::Compute)
      {
        worker.Compute();
        watch.Lap(counts.secondsComputing);
      }
      else
        exchanged();
      if (waiting)
      {
        if (action == Action::Pause)
          transport.Pause();
        else
          transport.Wait();
        watch.Idle(counts.secondsIdle);
      }
    }
    // Never wait for a peer that takes nothing; but if it shares this core,
    // let it run.
    if (!driver.Send(transport))
      transport.Yield();
    exchanged();
  }
  watch.Lap(counts.secondsExchanging);
}

} // namespace dasgd

#endif
