/**
 * @file simulation_test.cpp
 *
 * Every promise on thousands of random runs in virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "conformance.hpp"

#include <dasgd/algorithms/simulation.hpp>

#include <cstdlib>
#include <map>
#include <set>

using namespace conformance;

namespace {

using SimulationType = Simulation<double, ScriptedProblem>;

//! A gradient, by origin and number.
using Id = std::pair<size_t, std::uint64_t>;

//! Everything about one simulated run.
struct SimRun
{
  Case script;
  SimMachine machine;
  std::vector<Ending> ends;
  std::uint64_t fingerprint = 0;
  std::string broken;
};

//! Draw a case and a machine from a seed.
SimRun Draw(const std::uint64_t seed)
{
  Random random(seed);
  SimRun run;
  run.script = RandomCase(random, 1 + random.Below(random.Chance(0.2) ? 24 : 9));
  SimMachine& machine = run.machine;
  machine.seed = seed;
  for (size_t i = 0; i < run.script.ranks; ++i)
  {
    // Some ranks a hundred times slower than others.
    machine.computeSeconds.push_back(random.Chance(0.2) ?
        random.Uniform(1, 100) : random.Uniform(0.5, 1.5));
  }
  machine.computeSpread = random.Chance(0.5) ? 0 : 0.9;
  machine.applySeconds = random.Chance(0.5) ? 0 : random.Uniform(0, 0.5);
  machine.stallChance = random.Chance(0.3) ? 0.05 : 0;
  machine.stallSeconds = 50;
  const double latency = random.Chance(0.5) ? 0.01 : random.Uniform(0, 20);
  const double jitter = random.Chance(0.5) ? 0 : random.Uniform(0, 30);
  const bool narrow = random.Chance(0.3);
  const std::uint64_t slowLink = random.Next();
  machine.link = [=](const size_t from, const size_t to)
  {
    SimLink link;
    link.latency = latency;
    link.jitter = jitter;
    // Some links are far slower than the gradients that come along them.
    if (narrow && Mix(slowLink, 1000 * from + to) % 3 == 0)
      link.bytesPerSecond = 20;
    return link;
  };
  return run;
}

//! Run it; with `exact`, staleness is also computed from explicit sets.
void Play(SimRun& run, const bool exact = false)
{
  const size_t n = run.script.ranks;
  std::vector<std::vector<double>> iterates(n,
      std::vector<double>(run.script.elements, 0));
  std::vector<std::unique_ptr<ScriptedProblem>> problems;
  std::vector<double*> pointers;
  std::vector<ScriptedProblem*> all;
  for (size_t i = 0; i < n; ++i)
  {
    pointers.push_back(iterates[i].data());
    problems.push_back(std::make_unique<ScriptedProblem>(run.script, i,
        pointers[i]));
    all.push_back(problems[i].get());
  }

  // Definition 1, word for word: sets of gradients.
  std::vector<std::set<Id>> sets(n);
  std::map<Id, std::set<Id>> computedAt;
  std::vector<std::uint64_t> sums(n, 0), largest(n, 0);
  if (exact)
  {
    for (size_t i = 0; i < n; ++i)
    {
      problems[i]->onApplied = [&, i](const ManifestEntry& entry)
      {
        for (std::uint64_t k = 0; k < entry.count; ++k)
        {
          const Id id(entry.origin, entry.first + k);
          if (entry.origin == i)
            computedAt[id] = sets[i];
          std::set<Id> difference;
          std::set_symmetric_difference(sets[i].begin(), sets[i].end(),
              computedAt[id].begin(), computedAt[id].end(),
              std::inserter(difference, difference.end()));
          sums[i] += difference.size();
          largest[i] = std::max<std::uint64_t>(largest[i], difference.size());
          sets[i].insert(id);
        }
      };
    }
  }

  try
  {
    SimulationType simulation(run.script.topology, pointers,
        run.script.elements, all, run.machine);
    simulation.Run(2000000);
    for (size_t i = 0; i < n; ++i)
    {
      run.ends.push_back(EndingOf(simulation.Worker(i), *problems[i],
          iterates[i], simulation.PeakVectors(i)));
    }
    run.fingerprint = simulation.Fingerprint();
    run.broken = Broken(run.script, run.ends);
    for (size_t i = 0; exact && i < n; ++i)
    {
      // A rank whose own code threw no longer listens.
      const StalenessMeter& meter = run.ends[i].counts.staleness;
      if (!run.ends[i].threw && meter.Skipped() == 0 &&
          (meter.Sum() != sums[i] || meter.Max() != largest[i]))
        run.broken += "rank " + std::to_string(i) + ": staleness is not that "
            "of Definition 1\n";
    }
  }
  catch (const std::exception& e)
  {
    run.broken += e.what();
  }
}

std::uint64_t EnvironmentNumber(const char* name, const std::uint64_t otherwise)
{
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace

TEST_CASE("all promises hold on random runs", "[sim]")
{
  // One seed replays one run; more seeds can be swept from outside.
  const std::uint64_t first = EnvironmentNumber("DASGD_SEED", 1);
  const std::uint64_t count = EnvironmentNumber("DASGD_SEEDS",
      std::getenv("DASGD_SEED") ? 1 : 4000);
  size_t broken = 0;
  for (std::uint64_t seed = first; seed < first + count && broken < 5; ++seed)
  {
    SimRun run = Draw(seed);
    Play(run);
    if (!run.broken.empty())
    {
      ++broken;
      FAIL_CHECK("seed " << seed << " (" << run.script.Text() << ")\n"
          << run.broken << "replay: DASGD_SEED=" << seed
          << " dasgd_sim_tests \"all promises hold on random runs\"");
    }
  }
  CHECK(broken == 0);
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

TEST_CASE("staleness is that of Definition 1, on explicit sets", "[sim]")
{
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
  {
    SimRun run = Draw(seed);
    Play(run, true);
    INFO("seed " << seed << " (" << run.script.Text() << ")");
    CHECK(run.broken == "");
  }
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
