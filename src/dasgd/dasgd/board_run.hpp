/**
 * @file board_run.hpp
 *
 * The loop of a rank on a board, and of its machine's exchange, in real time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_BOARD_RUN_HPP
#define DASGD_DASGD_BOARD_RUN_HPP

#include "board_exchange.hpp"
#include "board_worker.hpp"
#include "../algorithms/run.hpp"

#include <atomic>

namespace dasgd {

//! Pass over the board, by a BoardWorker or a BoardExchange.
template<typename PassingType, typename WaitType>
void PassOver(PassingType& one, WaitType& wait)
{
  one.BeginPass();
  wait.Begin();
  while (one.UnderWay())
  {
    if (one.Advance())
      wait.Begin();
    else
      wait.Turn(one.Pass());
  }
}

//! For a rank that does not exchange with other machines.
struct NoExchange
{
  //! Do what there is to do; false if that is nothing.
  bool Tend() { return false; }
  //! A gradient has just been computed.
  void Computed() { }
  //! Has this machine nothing more to do with others?
  bool Over() { return true; }
};

/**
 * Exchanges with other machines whenever it is asked to: by the loop of a rank
 * between two gradients, or by a thread.
 *
 * @tparam WaitType See RunOnBoard().
 */
template<typename ElemType, typename TransportType, typename WaitType>
class Exchanging
{
 public:
  //! @param idle Where the time is booked in which there was nothing to do.
  Exchanging(BoardExchange<ElemType>& exchange,
             TransportType& transport,
             WaitType& wait,
             const double* idle = nullptr) :
      exchange(exchange), transport(transport), wait(wait), idle(idle),
      watch(nullptr) { }

  bool Tend()
  {
    ExchangePace& pace = exchange.Endpoint().Pace();
    pace.Other(Spent());
    const bool looks = pace.LookDue();
    bool did = false;
    while (looks && exchange.MayReceive() && transport.Receive(
        [&](const std::uint8_t* bytes, const size_t size, const size_t from)
        { exchange.Receive(bytes, size, from); }))
      did = true;
    if (exchange.Due(transport))
    {
      PassOver(exchange, wait);
      did = true;
    }
    exchange.Send(transport);
    const Traffic& traffic = exchange.Traffic();
    pace.Exchanged(Spent(), traffic.framesSent + traffic.framesReceived,
        transport.Busy(), looks);
    return did;
  }

  void Computed() { exchange.Endpoint().Pace().Computed(Spent()); }

  bool Over() { return exchange.MayLeave(transport); }

 private:
  //! Where ranks share cores, the time of others passes meanwhile; but a rank
  //! that has nothing to do has time.
  double Spent()
  {
    watch.Lap(unused);
    return transport.Crowded() ? ProcessorSeconds() + (idle ? *idle : 0) :
        watch.Now();
  }

  BoardExchange<ElemType>& exchange;
  TransportType& transport;
  WaitType& wait;
  const double* idle;
  Stopwatch watch;
  double unused = 0;
};

/**
 * Drive a rank on a board until all are done.  Computing never waits for a
 * gradient of another rank; a post waits for those that are at the board before
 * it.
 *
 * @tparam WaitType Has `void Glance()`, called before each gradient,
 *     `void Turn(pass)` for a rank that waits for a chunk, and `void Idle()`
 *     for one that has nothing to do; all may throw if a rank has died.
 *     `Begin()` comes before each wait for a turn, and `Pause()` is called by a
 *     rank that is too far ahead.
 * @param others See NoExchange.
 * @param maxLead See LeadLimit; 0 for no limit.
 */
template<typename ElemType, typename WaitType, typename OthersType>
void RunOnBoard(BoardWorker<ElemType>& worker,
                WaitType& wait,
                OthersType&& others,
                const size_t maxLead = 0)
{
  // A rank that has done its share follows the others at this interval.
  constexpr double interval = 5e-3;
  auto& participant = worker.Participant();
  RankReport& counts = participant.Counts();
  Stopwatch watch(nullptr);
  double looked = 0;
  LeadLimit limit(maxLead);
  // Where the others are is looked at now and then, and while this rank pauses.
  size_t sinceLead = 0;
  bool pauses = false;
  const auto ahead = [&]()
  {
    if (maxLead == 0 || (!pauses && ++sinceLead % 8 != 0))
      return pauses = false;
    return pauses = limit.Pauses(worker.Ahead(maxLead), watch.Now(), counts);
  };
  const auto pass = [&]()
  {
    PassOver(worker, wait);
    watch.Lap(counts.secondsExchanging);
    looked = watch.Now();
  };

  participant.Start();
  while (!worker.Done() || !others.Over())
  {
    const bool tended = others.Tend();
    watch.Lap(counts.secondsExchanging);
    if (worker.MustPass())
      pass();
    else if (HasWork(worker) && ahead())
    {
      wait.Pause();
      watch.Lap(counts.secondsIdle);
    }
    else if (HasWork(worker))
    {
      wait.Glance();
      limit.Begins(watch.Now());
      worker.Evaluate();
      watch.Lap(counts.secondsComputing);
      others.Computed();
      if (worker.Due())
        pass();
    }
    else if (!worker.MustPass() && !tended)
    {
      wait.Idle();
      participant.Idle(worker);
      watch.Lap(counts.secondsIdle);
      if (worker.Behind() && watch.Now() - looked > interval)
        pass();
    }
  }
  watch.Lap(counts.secondsExchanging);
}

/**
 * The same for a rank whose machine exchanges with others in a thread.  Posts
 * of other processes wake nobody, so the thread looks again after a while, at
 * growing intervals.
 *
 * @param exchanging What the thread does; it has a wait of its own.
 */
template<typename ElemType, typename WaitType, typename ExchangingType>
void RunOnBoardBeside(BoardWorker<ElemType>& worker,
                      WaitType& wait,
                      ExchangingType& exchanging,
                      const size_t maxLead = 0)
{
  //! Passes on what the thread fails with.
  struct Thread : NoExchange
  {
    bool Tend()
    {
      if (failed)
        std::rethrow_exception(failure);
      return false;
    }

    std::atomic<bool> failed{ false };
    std::atomic<bool> abandoned{ false };
    std::exception_ptr failure;
  };
  Thread others;
  std::thread thread = StartThread([&]()
  {
    constexpr std::chrono::microseconds shortest(20), longest(500);
    std::chrono::microseconds nap = shortest;
    try
    {
      while (!others.abandoned && !exchanging.Over())
      {
        if (exchanging.Tend())
        {
          nap = shortest;
          continue;
        }
        std::this_thread::sleep_for(nap);
        nap = std::min(longest, nap + shortest);
      }
    }
    catch (...)
    {
      others.failure = std::current_exception();
      others.failed = true;
    }
  });
  try
  {
    RunOnBoard(worker, wait, others, maxLead);
  }
  catch (...)
  {
    others.abandoned = true;
    thread.join();
    throw;
  }
  thread.join();
  others.Tend();
}

} // namespace dasgd

#endif
