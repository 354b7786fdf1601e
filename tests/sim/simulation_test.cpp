/**
 * @file simulation_test.cpp
 *
 * Every promise on thousands of random runs in virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "sim/sim_run.hpp"

#include <set>

using namespace conformance;

TEST_CASE("a reason to stop that comes with the last frame is not lost",
    "[sim]")
{
  // Found among the random runs: rank 2 applies what came last when its
  // exchange is over.
  SimRun run = Draw(7612);
  Play(run);
  CHECK(run.broken == "");
}

TEST_CASE("all promises hold on random runs", "[sim][seeds]")
{
  PlaySeeds("all promises hold on random runs",
      [](const std::uint64_t seed, std::string& text)
      {
        SimRun run = Draw(seed);
        text = run.script.Text();
        Play(run);
        return run.broken;
      });
}

TEST_CASE("the same seed gives the same run", "[sim]")
{
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
  {
    SimRun once = Draw(seed), again = Draw(seed);
    Play(once);
    Play(again);
    INFO("seed " << seed << " (" << once.script.Text() << ")");
    CHECK(once.fingerprint == again.fingerprint);
  }
}

TEST_CASE("different seeds give different runs", "[sim]")
{
  std::set<std::uint64_t> fingerprints;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
  {
    SimRun run = Draw(seed);
    Play(run);
    fingerprints.insert(run.fingerprint);
  }
  CHECK(fingerprints.size() == 200);
}

TEST_CASE("computing never waits for a peer that stands still", "[sim]")
{
  // Rank 1 is a thousand times slower and its links carry next to nothing; the
  // others, with dynamic sharing, are done as fast as without it.
  for (const char* topology : { "complete", "ring", "exponential", "tree:2" })
  {
    SimRun run;
    run.script.topology = topology;
    run.script.ranks = 4;
    run.script.sharing = Sharing::Dynamic;
    run.script.maxIterations = 40000;
    run.machine.computeSeconds = { 1, 1000, 1, 1 };
    run.machine.link = [](const size_t from, const size_t to)
    {
      SimLink link;
      link.latency = 0.01;
      if (from == 1 || to == 1)
        link.latency = 2000;
      return link;
    };
    Play(run);
    INFO(topology);
    CHECK(run.broken == "");
    const double busy = 40000.0 / 4;
    for (const size_t rank : { 0, 2, 3 })
    {
      // Alone they could compute 10000 gradients; nobody did fewer than its
      // third, and their vectors stayed at the bound.
      CHECK(run.ends[rank].counts.secondsComputing >= busy / 4);
      CHECK(run.ends[rank].counts.peakVectors <=
          run.ends[rank].counts.vectorBound);
    }
  }
}

TEST_CASE("a rank that has done its share can still stop the others", "[sim]")
{
  // Rank 2 is done long before the others, and wants no more when it hears of
  // their gradients.
  for (const char* topology : { "complete", "ring", "exponential", "tree:2",
      "mesh:2x2" })
  {
    for (const Event event : { Event::CallbackDone, Event::ThrowLate })
    {
      SimRun run;
      run.script.topology = topology;
      run.script.ranks = 4;
      run.script.maxIterations = 1024;
      run.script.event = event;
      run.script.eventRank = 2;
      run.machine.computeSeconds = { 100, 100, 0.01, 100 };
      Play(run);
      INFO(topology << ", event " << int(event));
      CHECK(run.broken == "");
      std::uint64_t points = 0;
      for (const Ending& end : run.ends)
      {
        CHECK(end.stopped);
        CHECK(end.stopRank == 2);
        points += end.counts.points;
      }
      CHECK(points < run.script.maxIterations / 2);
    }
  }
}

TEST_CASE("a neighbour that is away for a moment is given time", "[sim]")
{
  const auto play = [](const size_t maxLead,
                       const std::vector<double>& seconds,
                       const double stallChance)
  {
    SimRun run;
    run.script.maxLead = maxLead;
    run.script.sharing = Sharing::Dynamic;
    run.script.maxIterations = 100000;
    run.machine.computeSeconds = seconds;
    // As long as a process is off its core.
    run.machine.stallChance = stallChance;
    run.machine.stallSeconds = 0.002;
    Play(run);
    CHECK(run.broken == "");
    return run.ends;
  };
  const std::vector<Ending> free = play(0, { 1e-6, 1e-6 }, 1e-4);
  const std::vector<Ending> limited = play(32, { 1e-6, 1e-6 }, 1e-4);
  const auto stalest = [](const std::vector<Ending>& ends)
  {
    return std::max(ends[0].counts.staleness.Max(),
        ends[1].counts.staleness.Max());
  };
  CHECK(free[0].counts.pauses + free[1].counts.pauses == 0);
  CHECK(stalest(free) > 500);
  CHECK(limited[0].counts.pauses + limited[1].counts.pauses > 0);
  // As many in the sum that waits, and in each of the two frames before it.
  CHECK(stalest(limited) <= 3 * 32 + 2);

  // One that is slow holds nobody up: a pause ends after LeadLimit's patience,
  // and there is at most one for each time that it takes something.
  const std::vector<Ending> slow = play(32, { 1e-6, 1 }, 0);
  CHECK(slow[0].counts.pauses <= slow[1].counts.computed + 1);
  CHECK(slow[0].counts.secondsAhead <= double(slow[0].counts.pauses) *
      LeadLimit::patience * 1.01);
  CHECK(slow[0].counts.computed > 20000);

  // Gradients that are not short never pause.
  SimRun run;
  run.script.maxLead = 1;
  run.machine.computeSeconds = { 0.011, 2 };
  Play(run);
  CHECK(run.ends[0].counts.pauses == 0);
}

TEST_CASE("exchanging keeps to its share of the time", "[sim]")
{
  // Two ranks; to apply a frame takes as long as to compute half a gradient.
  const auto play = [](const double share,
                       const double applySeconds,
                       const char* topology,
                       const size_t ranks)
  {
    SimRun run;
    run.script.topology = topology;
    run.script.ranks = ranks;
    run.script.share = share;
    run.script.maxIterations = 20000;
    run.machine.computeSeconds.assign(ranks, 1);
    run.machine.applySeconds = applySeconds;
    Play(run);
    CHECK(run.broken == "");
    return run.ends;
  };
  const auto exchanging = [](const Ending& end)
  {
    return end.counts.secondsExchanging / (end.counts.secondsExchanging +
        end.counts.secondsComputing);
  };

  // Nothing waits if it may take all.
  for (const Ending& end : play(1, 0.5, "complete", 2))
  {
    CHECK(end.counts.framesPaced == 0);
    CHECK(exchanging(end) > 0.3);
  }
  // The share is kept, and used.
  for (const double share : { 0.1, 0.2, 0.3 })
  {
    for (const Ending& end : play(share, 0.5, "complete", 2))
    {
      CHECK(end.counts.framesPaced > 0);
      CHECK(exchanging(end) < 1.1 * share);
      CHECK(exchanging(end) > 0.6 * share);
    }
  }
  // More than a rank with 7 neighbours can keep to: no frame waits for more
  // than 8 gradients of its sender nevertheless.
  for (const Ending& end : play(0.01, 0.5, "complete", 8))
  {
    CHECK(end.counts.largestFrame <= ExchangePace::longest);
    CHECK(end.counts.framesSent >= 7 * (end.counts.computed /
        ExchangePace::longest));
  }
  // What costs little is not held back.
  for (const Ending& end : play(0.1, 0.001, "ring", 5))
    CHECK(end.counts.framesPaced == 0);
}

TEST_CASE("a rank that was stopped while it looked for frames looks again soon",
    "[sim]")
{
  ExchangePace pace(1);
  pace.SetShare(0.1);
  double now = 0;
  std::uint64_t frames = 0;
  for (size_t i = 0; i < 200; ++i)
  {
    frames += 2;
    pace.Exchanged(now += 1e-5, frames, false, true);
    pace.Computed(now += 1e-3);
  }
  pace.Exchanged(now += 10, frames, false, true);
  size_t gradients = 0;
  for (; gradients < 100 && !pace.LookDue(); ++gradients)
    pace.Computed(now += 1e-3);
  CHECK(gradients <= ExchangePace::longest);
}

TEST_CASE("frames that never end keep nobody from computing", "[sim]")
{
  // Applying takes longer than computing, so there is always a frame waiting at
  // the hub of the tree.  Only its own share can end the first epoch.
  for (const char* topology : { "tree:2", "complete", "ring" })
  {
    SimRun run;
    run.script.topology = topology;
    run.script.ranks = 3;
    run.script.maxIterations = 0;
    run.script.event = Event::Tolerance;
    run.machine.computeSeconds = { 0.1, 0.1, 0.1 };
    run.machine.applySeconds = 0.5;
    Play(run);
    INFO(topology);
    CHECK(run.broken == "");
    for (const Ending& end : run.ends)
      CHECK(end.counts.computed < 10 * run.script.points);
  }
}

TEST_CASE("a frame's bookkeeping stays bounded under a peer that stands still",
    "[sim]")
{
  SimRun run;
  run.script.ranks = 3;
  run.script.sharing = Sharing::Dynamic;
  run.script.points = 10;
  run.script.batchSize = 1;
  run.script.maxIterations = 30000;
  run.machine.computeSeconds = { 1, 1, 25000 };
  run.machine.link = [](size_t, size_t)
  {
    SimLink link;
    link.latency = 0.01;
    return link;
  };
  Play(run);
  CHECK(run.broken == "");
  // Folded, and said so; nothing was lost (see Broken()).
  CHECK(run.ends[2].counts.staleness.Skipped() > 0);
  const FrameLimits<double> limits{ 3, run.script.elements };
  CHECK(run.ends[2].counts.bytesReceived <
      run.ends[2].counts.framesReceived * limits.MaxBytes());
  CHECK(run.ends[2].counts.largestFrame > Manifest::MaxEntries(3));
}

TEST_CASE("a frame with gradients but no vector is an exception", "[sim]")
{
  Case script;
  ScriptedRank rank(script, 0);
  const Routes routes("complete", 2, 0);
  DasgdWorker<double> worker(routes, 2, script.elements,
      rank.problem);
  const FrameLimits<double> limits{ 2, script.elements };
  Buffer buffer(limits.MaxBytes());
  const std::uint64_t version[] = { 0, 0 };
  Manifest manifest(2);
  ManifestEntry entry;
  entry.origin = 1;
  entry.first = 1;
  entry.epoch = 1;
  manifest.Push(entry, version);
  const size_t bytes = EncodeFrame<double>(buffer, FrameHeader(), manifest, {});
  CHECK_THROWS_AS(worker.Receive(buffer.Bytes(), bytes, 1), WireError);
}
