/**
 * @file sim_run.hpp
 *
 * A simulated run, drawn from a seed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_SIM_SIM_RUN_HPP
#define DASGD_TESTS_SIM_SIM_RUN_HPP

#include "conformance.hpp"

#include <dasgd/dasgd/dasgd_worker.hpp>
#include <dasgd/simulation/simulation.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace conformance {

using SimulationType = Simulation<double, DasgdWorker<double>>;

//! All ranks of a case.
using ScriptedRanks = std::vector<std::unique_ptr<ScriptedRank>>;

inline ScriptedRanks MakeRanks(const Case& script)
{
  ScriptedRanks ranks;
  for (size_t i = 0; i < script.ranks; ++i)
    ranks.push_back(std::make_unique<ScriptedRank>(script, i));
  return ranks;
}

//! A simulation of DASGD.
inline std::unique_ptr<SimulationType> Simulate(const Case& script,
                                                const SimCluster& machine,
                                                ScriptedRanks& ranks)
{
  return std::make_unique<SimulationType>(Topology(script.topology),
      script.ranks, machine, [&](const Routes& routes)
      {
        auto worker = std::make_unique<DasgdWorker<double>>(
            routes, machine.window, script.elements,
            ranks[routes.Rank()]->problem, machine.format,
            script.Response());
        worker->MaxLead() = script.maxLead;
        worker->Participant().Endpoint().Pace().SetShare(script.share);
        return worker;
      });
}

//! A number that is given from outside, or another.
inline std::uint64_t EnvironmentNumber(const char* name,
                                       const std::uint64_t otherwise)
{
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/**
 * Play one run for each seed: 2,000 of them, or as DASGD_SEED and DASGD_SEEDS
 * say.  A failing one prints how to replay it.
 *
 * @param name Of the test case.
 * @param play Given a seed: what is broken, if anything; sets a text that
 *     describes the run.
 * @return How many were played.
 */
template<typename PlayType>
std::uint64_t PlaySeeds(const std::string& name, PlayType&& play)
{
  const std::uint64_t first = EnvironmentNumber("DASGD_SEED", 1);
  const std::uint64_t count = EnvironmentNumber("DASGD_SEEDS",
      std::getenv("DASGD_SEED") ? 1 : 2000);
  const auto start = std::chrono::steady_clock::now();
  size_t broken = 0;
  for (std::uint64_t seed = first; seed < first + count && broken < 5; ++seed)
  {
    std::string text, wrong;
    try
    {
      wrong = play(seed, text);
    }
    catch (const std::exception& e)
    {
      wrong = e.what();
    }
    if (!wrong.empty())
    {
      ++broken;
      FAIL_CHECK("seed " << seed << " (" << text << ")\n" << wrong
          << "\nreplay: DASGD_SEED=" << seed << " dasgd_sim_tests \"" << name
          << "\"");
    }
  }
  CHECK(broken == 0);
  if (count > 10000)
  {
    std::cout << name << ": " << count << " seeds, " << double(count) /
        std::chrono::duration<double>(std::chrono::steady_clock::now() -
        start).count() << " a second\n";
  }
  return count;
}

//! A gradient, by origin and number.
using Id = std::pair<size_t, std::uint64_t>;

//! Everything about one simulated run.
struct SimRun
{
  Case script;
  SimCluster machine;
  std::vector<Ending> ends;
  std::uint64_t fingerprint = 0;
  std::string broken;
  //! If asked for: what each rank applied, as it was told, and the history.
  std::vector<std::vector<Id>> applied;
  History history;
};

//! Draw a case and a machine from a seed.
inline SimRun Draw(const std::uint64_t seed)
{
  Random random(seed);
  SimRun run;
  run.script =
      RandomCase(random, 1 + random.Below(random.Chance(0.2) ? 24 : 9));
  SimCluster& machine = run.machine;
  machine.seed = seed;
  machine.window = run.script.window;
  machine.format = run.script.format;
  // A limit to leads is felt only if gradients take far less than LeadLimit's
  // patience.
  const double scale = run.script.maxLead > 0 ? LeadLimit::patience / 100 : 1;
  for (size_t i = 0; i < run.script.ranks; ++i)
  {
    // Some ranks a hundred times slower than others.
    machine.computeSeconds.push_back(scale * (random.Chance(0.2) ?
        random.Uniform(1, 100) : random.Uniform(0.5, 1.5)));
  }
  machine.computeSpread = random.Chance(0.5) ? 0 : 0.9;
  machine.applySeconds = scale * (random.Chance(0.5) ? 0 :
      random.Uniform(0, 0.5));
  machine.relaySeconds = scale * (random.Chance(0.5) ? 0 :
      random.Uniform(0, 2));
  machine.stallChance = random.Chance(0.3) ? 0.05 : 0;
  machine.stallSeconds = scale * 50;
  const double latency = scale * (random.Chance(0.5) ? 0.01 :
      random.Uniform(0, 20));
  const double jitter = scale * (random.Chance(0.5) ? 0 :
      random.Uniform(0, 30));
  const bool narrow = random.Chance(0.3);
  const std::uint64_t slowLink = random.Next();
  machine.sendSeconds = scale * (random.Chance(0.7) ? 0 :
      random.Uniform(0, 0.5));
  // Some networks let long frames wait for their receiver, and leave in parts;
  // some carry only so much from each machine.
  const double infinite = std::numeric_limits<double>::infinity();
  const double handshake = random.Chance(0.7) ? infinite :
      random.Uniform(0, 400);
  const double part = random.Chance(0.5) ? infinite : random.Uniform(50, 400);
  if (random.Chance(0.3))
    machine.machineBytesPerSecond = random.Uniform(100, 10000) / scale;
  machine.link = [=](const size_t from, const size_t to)
  {
    SimLink link;
    link.latency = latency;
    link.jitter = jitter;
    link.handshakeBytes = handshake;
    link.partBytes = part;
    // Some links are far slower than the gradients that come along them.
    if (narrow && Mix(slowLink, 1000 * from + to) % 3 == 0)
      link.bytesPerSecond = 20 / scale;
    return link;
  };
  return run;
}

/**
 * Run it, and check all promises.
 *
 * @param simulate Makes the simulation of all ranks.
 * @param check Says what is wrong in the end.
 * @param record Keep a history?
 */
template<typename SimulateType, typename CheckType>
void PlayWith(SimRun& run,
              SimulateType&& simulate,
              CheckType&& check,
              const bool record = false)
{
  const size_t n = run.script.ranks;
  ScriptedRanks ranks = MakeRanks(run.script);
  run.applied.assign(n, {});
  for (size_t i = 0; i < n && record; ++i)
  {
    ranks[i]->source.onApplied = [&run, i](const ManifestEntry& entry)
    {
      for (std::uint64_t k = 0; k < entry.count; ++k)
        run.applied[i].emplace_back(entry.origin, entry.first + k);
    };
  }

  try
  {
    const auto simulation = simulate(ranks);
    if (record)
      simulation->Record();
    simulation->Run(2000000);
    for (size_t i = 0; i < n; ++i)
    {
      run.ends.push_back(EndingOf(simulation->Worker(i), *ranks[i],
          simulation->PeakVectors(i)));
    }
    run.fingerprint = simulation->Fingerprint();
    run.history = simulation->History();
    run.broken = check(run.script, run.ends);
  }
  catch (const std::exception& e)
  {
    run.broken += e.what();
  }
}

//! Run it with DASGD.
inline void Play(SimRun& run, const bool record = false)
{
  PlayWith(run, [&](ScriptedRanks& ranks)
  {
    return Simulate(run.script, run.machine, ranks);
  }, [](const Case& script, const std::vector<Ending>& ends)
  {
    return Broken(script, ends);
  }, record);
}

} // namespace conformance

#endif
