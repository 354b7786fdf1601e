/**
 * @file run.hpp
 *
 * The loop that drives a worker over a transport until all are done.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_RUN_HPP
#define DASGD_ALGORITHMS_RUN_HPP

#include "../staleness/history.hpp"
#include "../report/rank_report.hpp"
#include "driver.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace dasgd {

//! Seconds that this thread has had a core.
inline double ProcessorSeconds()
{
  std::timespec time{ 0, 0 };
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

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

  //! As Lap(), for time in which there was nothing to do.
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

//! A thread, or what to do where there may be no more of them.
template<typename ActionType>
std::thread StartThread(ActionType&& action)
{
  try
  {
    return std::thread(std::forward<ActionType>(action));
  }
  catch (const std::system_error& e)
  {
    throw std::runtime_error(std::string("the thread that exchanges while "
        "gradients are computed cannot be started (") + e.what() +
        "); raise the limit of processes (ulimit -u), or set Overlap() to "
        "Overlap::Never");
  }
}

/**
 * Drive a worker over a transport, in real time, until all are done.
 *
 * @tparam WorkerType See WorkerDefaults.
 * @tparam TransportType Has `bool Receive(action)`, which calls action(bytes,
 *     size, from) if a frame has arrived, CanSend() and Send() (see Endpoint),
 *     `bool Delivered()`, `bool HasMessages()`, `bool Busy()`,
 *     `bool Crowded()`, `void Progress()`, `void Wait()`, `void Pause()` and
 *     `void Yield()`.
 */
template<typename WorkerType, typename TransportType>
void Run(WorkerType& worker, TransportType& transport)
{
  auto& participant = worker.Participant();
  RankReport& counts = participant.Counts();
  Stopwatch watch(participant.Endpoint().History());
  Driver<WorkerType> driver(worker);
  const auto exchanged = [&]()
  {
    if (watch.Records())
      watch.Lap(counts.secondsExchanging);
  };
  // Where ranks share cores, the time of others passes meanwhile; but a rank
  // that has nothing to do has time.
  const auto spent = [&]()
  {
    return transport.Crowded() ? ProcessorSeconds() + counts.secondsIdle :
        watch.Now();
  };

  participant.Start();
  // Is this rank looking for frames only because it has nothing else to do?
  bool waiting = false;
  while (!driver.MayLeave(transport))
  {
    const bool looked = driver.MayReceive();
    if (looked && transport.Receive(
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
      driver.Exchanged(spent(), counts, transport, looked);
      const Action action = driver.Choose(watch.Now(), transport);
      waiting = (action == Action::Pause || action == Action::Wait);
      if (action == Action::Compute)
      {
        worker.Compute();
        watch.Lap(counts.secondsComputing);
        driver.Computed(spent());
      }
      else
        exchanged();
      if (waiting)
      {
        if (action == Action::Pause)
          transport.Pause();
        else
          transport.Wait();
        participant.Idle(worker);
        watch.Idle(counts.secondsIdle);
        driver.Other(spent());
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
