/**
 * @file baselines_test.cpp
 *
 * The asynchronous algorithms that DASGD is compared with, on random runs in
 * virtual time: what each promises, and that none ever gets stuck.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "baselines.hpp"
#include "sim/sim_run.hpp"

using namespace conformance;

namespace {

//! A random run that suits the algorithm.
template<typename TraitsType>
SimRun DrawFor(const std::uint64_t seed)
{
  SimRun run = Draw(seed);
  Suit<TraitsType>(run.script, seed);
  run.machine.format = WireFormat::Exact;
  return run;
}

template<typename TraitsType>
void PlayBaseline(SimRun& run, const typename TraitsType::Options& options)
{
  using WorkerType = typename decltype(TraitsType::template Make<double>(
      std::declval<const Routes&>(), std::declval<const RunSettings&>(),
      options, size_t(), std::declval<ScriptedProblem&>()))::element_type;
  using Baseline = Simulation<double, WorkerType>;
  PlayWith(run, [&](ScriptedRanks& problems)
  {
    const Topology topology = run.script.topology;
    RunSettings settings{ topology, run.machine.window };
    settings.seed = run.machine.seed;
    const size_t ranks = run.script.ranks;
    Topology links = topology;
    if constexpr (std::is_same<TraitsType, ServerTraits>::value)
      links = ServerTraits::Star(options, ranks);
    return std::make_unique<Baseline>(links, ranks, run.machine,
        [&](const Routes& routes)
        {
          return TraitsType::template Make<double>(routes, settings, options,
              run.script.elements, problems[routes.Rank()]->problem);
        });
  }, [&](const Case& script, const std::vector<Ending>& ends)
  {
    return BrokenBaseline<TraitsType>(script, ends);
  });
}

template<typename TraitsType>
void PlayMany(const std::uint64_t count)
{
  size_t broken = 0, stopped = 0, fine = 0;
  for (std::uint64_t seed = 1; seed <= count && broken < 3; ++seed)
  {
    SimRun run = DrawFor<TraitsType>(seed);
    typename TraitsType::Options options;
    Vary(options, run.script, seed);
    // It may have become one more rank.
    run.machine.computeSeconds.resize(run.script.ranks, 1);
    PlayBaseline<TraitsType>(run, options);
    INFO("seed " << seed << " (" << run.script.Text() << ")");
    CHECK(run.broken == "");
    broken += !run.broken.empty();
    if (!run.broken.empty())
      continue;
    (run.ends[0].stopped ? stopped : fine) += 1;
  }
  // Both kinds of endings were seen.
  CHECK(stopped > 0);
  CHECK(fine > 0);
}

} // namespace

TEST_CASE("D-PSGD keeps the mean of all models, and its rounds", "[sim]")
{
  PlayMany<DpsgdTraits>(600);
}

TEST_CASE("AD-PSGD keeps the mean of all models, and nobody waits for ever",
    "[sim]")
{
  PlayMany<AdpsgdTraits>(600);
}

TEST_CASE("SWIFT loses no news and stays within its models", "[sim]")
{
  PlayMany<SwiftTraits>(600);
}

TEST_CASE("a parameter server applies every gradient exactly once", "[sim]")
{
  PlayMany<ServerTraits>(600);
}
