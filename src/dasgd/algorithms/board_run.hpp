/**
 * @file board_run.hpp
 *
 * The loop of a rank on a board, in real time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_BOARD_RUN_HPP
#define DASGD_ALGORITHMS_BOARD_RUN_HPP

#include "board_worker.hpp"
#include "run.hpp"

namespace dasgd {

/**
 * Drive a rank on a board until all are done.  Computing never waits for a
 * gradient of another rank; a post waits for those that are at the board before
 * it.
 *
 * @tparam WaitType Has `void Glance()`, called before each gradient,
 *     `void Turn(pass)` for a rank that waits for a chunk, and `void Rest()`
 *     for one that has nothing to do; all may throw if a rank has died.
 *     `Begin()` comes before each wait for a turn, and `Pause()` is called by a
 *     rank that is too far ahead.
 * @param maxLead See LeadLimit; 0 for no limit.
 */
template<typename ElemType, typename WaitType>
void RunOnBoard(BoardWorker<ElemType>& worker,
                WaitType& wait,
                const size_t maxLead = 0)
{
  // A rank that has done its share follows the others at this interval.
  constexpr double interval = 5e-3;
  auto& node = worker.Node();
  RankReport& counts = node.Counts();
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
    worker.BeginPass();
    wait.Begin();
    while (worker.UnderWay())
    {
      if (worker.Advance())
        wait.Begin();
      else
        wait.Turn(worker.Pass());
    }
    watch.Lap(counts.secondsExchanging);
    looked = watch.Now();
  };

  node.Start();
  while (!worker.Done())
  {
    if (worker.MustLook())
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
      if (worker.Due())
        pass();
    }
    else if (!worker.MustLook())
    {
      wait.Rest();
      node.Look(worker);
      watch.Lap(counts.secondsIdle);
      if (worker.Behind() && watch.Now() - looked > interval)
        pass();
    }
  }
  watch.Lap(counts.secondsExchanging);
}

} // namespace dasgd

#endif
