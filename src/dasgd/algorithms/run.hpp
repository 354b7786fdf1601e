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
#include "../report/rank_report.hpp"
#include "driver.hpp"

#include <algorithm>
#include <atomic>
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
 * The exchanging side of a worker, in a thread of its own: take what the
 * computing side has, receive, relay and send, until all are done.  There is no
 * wait for a message that lets the core to others, so it looks again after a
 * while, at growing intervals; an own update is sent at once.
 *
 * @param abandoned Set if the computing side has failed.
 */
template<typename WorkerType, typename TransportType>
void ExchangeBeside(WorkerType& worker,
                    TransportType& transport,
                    Driver<WorkerType>& driver,
                    const std::atomic<bool>& abandoned)
{
  constexpr double shortest = 20e-6, longest = 500e-6;
  double nap = shortest;
  while (!abandoned && !driver.MayLeave(transport))
  {
    worker.Exchange();
    driver.Send(transport);
    if (transport.Receive([&](const std::uint8_t* bytes, const size_t size,
        const size_t from) { worker.Receive(bytes, size, from); }))
    {
      nap = shortest;
      driver.Send(transport);
      continue;
    }
    transport.Progress();
    worker.Meeting().WaitForComputed(nap);
    nap = std::min(longest, nap + shortest);
  }
}

//! The computing side: apply what has arrived, and compute, until the exchange
//! is over.
template<typename WorkerType>
void ComputeBeside(WorkerType& worker, Driver<WorkerType>& driver)
{
  RankReport& counts = worker.Node().Counts();
  Stopwatch watch(nullptr);
  while (!worker.ExchangeOver())
  {
    worker.ApplyArrived();
    watch.Lap(counts.secondsExchanging);
    const Action action = driver.ChooseBeside(watch.Now());
    if (action == Action::Compute)
    {
      worker.Compute();
      watch.Lap(counts.secondsComputing);
      continue;
    }
    worker.Meeting().WaitForArrived(action == Action::Pause ? 1e-4 : 1e-2);
    worker.Node().Look(worker);
    watch.Lap(counts.secondsIdle);
  }
  while (worker.ApplyArrived()) { }
  watch.Lap(counts.secondsExchanging);
}

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

//! Drive a worker that exchanges while it computes; see Run().
template<typename WorkerType, typename TransportType>
void RunBeside(WorkerType& worker, TransportType& transport)
{
  Driver<WorkerType> driver(worker);
  worker.Node().Start();
  std::exception_ptr failure;
  std::atomic<bool> abandoned{ false };
  std::thread exchange = StartThread([&]()
  {
    try
    {
      ExchangeBeside(worker, transport, driver, abandoned);
    }
    catch (...)
    {
      failure = std::current_exception();
    }
    worker.EndExchange();
  });
  try
  {
    ComputeBeside(worker, driver);
  }
  catch (...)
  {
    // Not what the user's code throws, which the node turns into a fact.
    abandoned = true;
    exchange.join();
    throw;
  }
  exchange.join();
  if (failure)
    std::rethrow_exception(failure);
  // What was applied last may have been a reason to stop.
  worker.Exchange();
}

/**
 * Drive a worker over a transport, in real time, until all are done.
 *
 * @tparam WorkerType See WorkerDefaults.
 * @tparam TransportType Has `bool Receive(action)`, which calls action(bytes,
 *     size, from) if a frame has arrived, CanSend() and Send() (see Endpoint),
 *     `bool Delivered()`, `bool HasMessages()`, `bool Busy()`, `bool Crowded()`,
 *     `void Progress()`, `void Wait()`, `void Pause()` and `void Yield()`.
 */
template<typename WorkerType, typename TransportType>
void Run(WorkerType& worker, TransportType& transport)
{
  if constexpr (WorkerType::mayOverlap)
  {
    if (worker.Overlaps())
    {
      RunBeside(worker, transport);
      return;
    }
  }
  auto& node = worker.Node();
  RankReport& counts = node.Counts();
  Stopwatch watch(node.Endpoint().History());
  Driver<WorkerType> driver(worker);
  const auto exchanged = [&]()
  {
    if (watch.Records())
      watch.Lap(counts.secondsExchanging);
  };
  // Where ranks share cores, the time of others passes meanwhile.
  const auto spent = [&]()
  { return transport.Crowded() ? ProcessorSeconds() : watch.Now(); };

  node.Start();
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
        node.Look(worker);
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
