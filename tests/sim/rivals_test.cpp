/**
 * @file rivals_test.cpp
 *
 * The asynchronous algorithms that DASGD is compared with, on random runs in
 * virtual time: what each promises, and that none ever gets stuck.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "rivals.hpp"
#include "sim/sim_run.hpp"

using namespace conformance;

namespace {

//! A random run that suits the algorithm.
template<typename RuleType>
SimRun DrawFor(const std::uint64_t seed)
{
  SimRun run = Draw(seed);
  Suit<RuleType>(run.script, seed);
  run.machine.format = WireFormat::Exact;
  return run;
}

template<typename RuleType>
void PlayRival(SimRun& run, const typename RuleType::Options& options)
{
  using WorkerType = typename decltype(RuleType::Make(
      std::declval<const Routes&>(), std::declval<const RunSettings&>(),
      options, std::declval<double*>(), size_t(),
      std::declval<ScriptedProblem&>()))::element_type;
  using Rival = Simulation<double, ScriptedProblem, WorkerType>;
  PlayWith(run, [&](const std::vector<double*>& iterates,
                    const std::vector<ScriptedProblem*>& problems)
  {
    const Topology topology = run.script.topology;
    RunSettings settings{ topology, run.machine.window };
    settings.seed = run.machine.seed;
    const size_t ranks = run.script.ranks;
    Topology links = topology;
    if constexpr (std::is_same<RuleType, ServerRule>::value)
      links = ServerRule::Star(options, ranks);
    return std::make_unique<Rival>(links, ranks, run.machine,
        [&](const Routes& routes)
        {
          return RuleType::Make(routes, settings, options,
              iterates[routes.Rank()], run.script.elements,
              *problems[routes.Rank()]);
        });
  }, [&](const Case& script, const std::vector<Ending>& ends)
  {
    return BrokenRival<RuleType>(script, ends);
  });
}

template<typename RuleType>
void PlayMany(const std::uint64_t count)
{
  size_t broken = 0, stopped = 0, fine = 0;
  for (std::uint64_t seed = 1; seed <= count && broken < 3; ++seed)
  {
    SimRun run = DrawFor<RuleType>(seed);
    typename RuleType::Options options;
    Vary(options, run.script, seed);
    // It may have become one more rank.
    run.machine.computeSeconds.resize(run.script.ranks, 1);
    PlayRival<RuleType>(run, options);
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
  PlayMany<DpsgdRule>(600);
}

TEST_CASE("AD-PSGD keeps the mean of all models, and nobody waits for ever",
    "[sim]")
{
  PlayMany<AdpsgdRule>(600);
}

TEST_CASE("SWIFT loses no news and stays within its models", "[sim]")
{
  PlayMany<SwiftRule>(600);
}

TEST_CASE("a parameter server applies every gradient exactly once", "[sim]")
{
  PlayMany<ServerRule>(600);
}
