/**
 * @file history_test.cpp
 *
 * Staleness against Definition 1 of the paper on explicit sets, and histories
 * through files and traces, on random simulated runs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "sim/sim_run.hpp"

#include <dasgd/staleness/loose_staleness.hpp>
#include <dasgd/report/history_trace.hpp>

#include <map>
#include <set>

using namespace conformance;

namespace {

using Set = std::set<Id>;

Set Difference(const Set& a, const Set& b)
{
  Set result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(),
      std::inserter(result, result.end()));
  return result;
}

//! Definition 1, straight from the paper, on explicit sets.
class Definition
{
 public:
  //! For each gradient, the set that its model had applied.
  std::map<Id, Set> computedAt;

  Set Staleness(const Set& gti, const Set& gsj) const
  {
    Set result = Difference(gti, gsj);
    const Set other = Difference(gsj, gti);
    result.insert(other.begin(), other.end());
    return result;
  }

  //! The loose version; the recursion may come to the same gradient twice.
  Set Loose(const Set& gti, const Set& gsj) const
  {
    Set visited;
    return Loose(gti, gsj, visited);
  }

 private:
  Set Loose(const Set& gti, const Set& gsj, Set& visited) const
  {
    Set result = Staleness(gti, gsj);
    for (const Id& gradient : Difference(gsj, gti))
    {
      if (!visited.insert(gradient).second)
        continue;
      const Set more = Loose(gti, computedAt.at(gradient), visited);
      result.insert(more.begin(), more.end());
    }
    return result;
  }
};

struct Brute
{
  std::uint64_t sum = 0;
  std::uint64_t max = 0;

  void Add(const std::uint64_t size)
  {
    sum += size;
    max = std::max(max, size);
  }
  bool operator==(const StalenessMeter& meter) const
  { return sum == meter.Sum() && max == meter.Max(); }
};

//! A small run, so that sets stay small.
SimRun Small(const std::uint64_t seed)
{
  SimRun run = Draw(seed);
  Random random(Mix(seed, 99));
  run.script.ranks = 1 + random.Below(6);
  run.script.topology = RandomTopology(random, run.script.ranks);
  run.script.event = Event::None;
  run.script.eventRank = 0;
  run.script.points = run.script.ranks + random.Below(8);
  run.script.batchSize = 1 + random.Below(2);
  run.script.maxIterations = 1 + random.Below(40);
  run.machine.computeSeconds.resize(run.script.ranks, 1.0);
  Play(run, true);
  return run;
}

} // namespace

TEST_CASE("both stalenesses are those of Definition 1, on explicit sets",
    "[sim]")
{
  size_t looser = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
  {
    const SimRun run = Small(seed);
    INFO("seed " << seed << " (" << run.script.Text() << ")");
    REQUIRE(run.broken == "");

    Definition definition;
    std::vector<Set> sets(run.script.ranks);
    for (size_t i = 0; i < run.script.ranks; ++i)
    {
      for (const Id& id : run.applied[i])
      {
        if (id.first == i)
          definition.computedAt[id] = sets[i];
        sets[i].insert(id);
      }
    }

    const HistoryStaleness measured(run.history);
    for (size_t i = 0; i < run.script.ranks; ++i)
    {
      Set model;
      Brute tight, loose;
      for (const Id& id : run.applied[i])
      {
        const Set& computed = definition.computedAt.at(id);
        tight.Add(definition.Staleness(model, computed).size());
        loose.Add(definition.Loose(model, computed).size());
        model.insert(id);
      }
      CHECK(tight == measured.Ranks()[i].tight);
      CHECK(loose == measured.Ranks()[i].loose);
      CHECK(tight == run.ends[i].counts.staleness);
      looser += (loose.sum > tight.sum);
    }
  }
  // The loose one must have had a chance to be wrong.
  CHECK(looser > 300);
}

TEST_CASE("a history says what each rank applied, in its order", "[sim]")
{
  for (std::uint64_t seed = 1; seed <= 500; ++seed)
  {
    SimRun run = Draw(seed);
    Play(run, true);
    INFO("seed " << seed << " (" << run.script.Text() << ")");
    REQUIRE(run.broken == "");
    const HistoryStaleness measured(run.history);
    for (size_t i = 0; i < run.script.ranks; ++i)
    {
      std::vector<Id> applied;
      HistoryStaleness::Walk(run.history[i], i, [&](const size_t origin,
          const std::uint64_t first, const std::uint64_t count)
      {
        for (std::uint64_t k = 0; k < count; ++k)
          applied.emplace_back(origin, first + k);
      });
      // A rank whose own code threw is told no more.
      if (!run.ends[i].threw)
        CHECK(applied == run.applied[i]);
      CHECK(applied.size() == run.ends[i].counts.applied);

      // What was measured on the way is the same.
      const StalenessMeter& online = run.ends[i].counts.staleness;
      if (online.Skipped() == 0)
      {
        CHECK(online.Sum() == measured.Ranks()[i].tight.Sum());
        CHECK(online.Histogram() == measured.Ranks()[i].tight.Histogram());
      }

      // Frames and times add up to the counts of the report.
      double seconds[4] = { 0, 0, 0, 0 };
      size_t kinds[4] = { 0, 0, 0, 0 };
      double last = 0;
      for (const HistoryEvent& event : run.history[i].Events())
      {
        CHECK(event.begin >= last);
        last = event.end;
        ++kinds[size_t(event.kind)];
        seconds[size_t(event.kind)] += event.end - event.begin;
      }
      const RankReport& counts = run.ends[i].counts;
      CHECK(kinds[0] == counts.computed);
      CHECK(kinds[1] == counts.framesReceived);
      CHECK(kinds[2] == counts.framesSent);
      CHECK(seconds[1] + seconds[2] ==
          Approx(counts.secondsExchanging).margin(1e-6));
      CHECK(seconds[3] == Approx(counts.secondsIdle).margin(1e-6));
    }
  }
}

TEST_CASE("recording changes nothing", "[sim]")
{
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
  {
    SimRun once = Draw(seed), again = Draw(seed);
    Play(once);
    Play(again, true);
    INFO("seed " << seed);
    CHECK(once.fingerprint == again.fingerprint);
  }
}

TEST_CASE("gradients that were folded are measured from a history", "[sim]")
{
  SimRun run;
  run.script.ranks = 2;
  run.script.sharing = Sharing::Dynamic;
  run.script.points = 10;
  run.script.batchSize = 1;
  run.script.maxIterations = 6000;
  run.machine.computeSeconds = { 1, 5000 };
  Play(run, true);
  REQUIRE(run.broken == "");
  CHECK(run.ends[1].counts.staleness.Skipped() > 0);
  const HistoryStaleness measured(run.history);
  CHECK(measured.Ranks()[1].tight.Measured() == run.ends[1].counts.applied);
  // Rank 1's first gradient belongs to a model that had nothing; by the time it
  // is there, rank 0 has computed five thousand.
  CHECK(measured.Ranks()[0].tight.Max() >= 5000);
}

TEST_CASE("a rank x times slower makes for a staleness of x", "[sim]")
{
  // The paper's experiment: as many frames under way as it takes, no latency to
  // speak of.  The faster rank learns of a gradient when it has finished the
  // one it is at, which makes x + 1; and the slower one may begin while one of
  // the faster's is on its way, which makes x + 2.  With two frames under way,
  // what rank 1 lacks when it begins waits at rank 0 for a round.
  for (const size_t x : { 2, 10, 50 })
  {
    for (const size_t window : { size_t(2), x + 2 })
    {
      SimRun run;
      run.script.ranks = 2;
      run.script.sharing = Sharing::Dynamic;
      run.script.batchSize = 1;
      run.script.maxIterations = 20 * x;
      run.machine.window = window;
      run.machine.computeSeconds = { 1, double(x) };
      run.machine.applySeconds = 1e-5;
      run.machine.link = [](size_t, size_t)
      {
        SimLink link;
        link.latency = 1e-3;
        return link;
      };
      Play(run, true);
      REQUIRE(run.broken == "");
      const HistoryStaleness measured(run.history);
      INFO("x = " << x << ", window " << window);
      CHECK(measured.Ranks()[0].loose.Max() > x);
      CHECK(measured.Ranks()[0].loose.Max() <= (window > 2 ? x : 2 * x) + 2);
    }
  }
}

TEST_CASE("a history is the same after a file", "[sim]")
{
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
  {
    SimRun run = Draw(seed);
    Play(run, true);
    INFO("seed " << seed);
    std::stringstream first, second;
    WriteHistory(run.history, first);
    const std::string text = first.str();
    const History history = ReadHistory(first);
    WriteHistory(history, second);
    CHECK(text == second.str());

    const HistoryStaleness before(run.history), after(history);
    for (size_t i = 0; i < run.script.ranks; ++i)
    {
      CHECK(before.Ranks()[i].loose.Histogram() ==
          after.Ranks()[i].loose.Histogram());
    }
  }
}
