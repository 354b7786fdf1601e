/**
 * @file recovery_test.cpp
 *
 * Runs in which ranks die and the others continue without them, several times
 * over, also while they recover: every promise after each.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "sim/sim_run.hpp"

#include <dasgd/run/recovery.hpp>
#include <dasgd/checkpoint/checkpoint.hpp>

using namespace conformance;

namespace {

//! What a rank has: it may be of an earlier life than that of other ranks, if a
//! rank died while they recovered.
struct State
{
  RunSnapshot snapshot;
  std::vector<double> model;
  //! The sum of the updates that `snapshot` counts, worked out apart.
  std::vector<double> expected;
  std::uint64_t shuffles = 0;
  std::uint64_t firstRank = 0;
  //! Has it asked to stop?  It still does when it has recovered.
  bool stopped = false;
  Fact verdict;
};

//! What one rank sends to the others when it recovers.
Survivor Tell(const State& state, const Case& script)
{
  Survivor survivor;
  survivor.firstRank = state.firstRank;
  survivor.gradients = state.snapshot.gradients;
  survivor.version = state.snapshot.version;
  survivor.held = (script.data == Data::Sharded) ? 1 + (script.points +
      3 * state.firstRank) % script.points : script.points;
  survivor.shuffles = state.shuffles;
  return Survivor::FromBytes(survivor.Bytes());
}

/**
 * The survivors recover: all take one's state.  If a rank dies meanwhile, only
 * some of the others get that far.
 *
 * @param interrupted By chance, who does not get there.
 * @return What is wrong, if anything.
 */
std::string Recover(const Case& script,
                    const size_t firstRanks,
                    std::vector<State>& states,
                    const std::vector<bool>& interrupted)
{
  std::vector<Survivor> survivors;
  for (const State& state : states)
    survivors.push_back(Tell(state, script));
  const Recovery recovery(survivors);
  // As it travels: through the bytes of a checkpoint.
  const State& source = states[recovery.Source()];
  Checkpoint sent;
  sent.Run() = source.snapshot;
  sent.algorithm = "DASGD";
  sent.rows = script.elements;
  sent.cols = 1;
  sent.elementBytes = sizeof(double);
  sent.vectors = { reinterpret_cast<const std::uint8_t*>(
      source.model.data()) };
  std::vector<std::uint8_t> bytes;
  checkpoint::Encode(sent, bytes);
  checkpoint::Seal(bytes);
  const Checkpoint received = checkpoint::Decode(bytes);
  const RunSnapshot begin = recovery.Begin(received);
  std::vector<double> model(script.elements);
  std::memcpy(model.data(), received.vectors[0], 8 * script.elements);
  const std::vector<double> expected = source.expected;

  for (const State& state : states)
    if (state.snapshot.gradients > begin.gradients)
      return "a survivor had applied more than what all continue from\n";
  if (begin.held.size() != states.size())
    return "the work is not divided over those that are left\n";
  if (recovery.Lost(firstRanks).size() != firstRanks - states.size())
    return "those that are lost are not counted\n";
  for (size_t i = 0; i < states.size(); ++i)
  {
    if (interrupted[i])
      continue;
    states[i].snapshot = begin;
    states[i].model = model;
    states[i].expected = expected;
    states[i].shuffles = begin.shuffled;
  }
  return "";
}

//! Some rank dies: the others keep their order.
void Remove(std::vector<State>& states, const size_t rank)
{ states.erase(states.begin() + std::ptrdiff_t(rank)); }

/**
 * One run in which ranks die, from a seed; what is broken, if anything.
 *
 * @param deaths Counts them.
 */
std::string DieOn(const std::uint64_t seed, std::string& text, size_t& deaths)
{
  Random random(Mix(seed, 13));
  SimRun run = Draw(seed);
  Case& script = run.script;
  if (script.maxIterations == 0)
    script.maxIterations = 200;
  // Trainings that end by themselves, and such that converge; what ends them
  // otherwise is for other tests.
  if (script.event != Event::Tolerance)
    script.event = Event::None;
  script.format = "exact";
  run.machine.format = script.format;
  const size_t firstRanks = script.ranks;
  size_t toDie = 1 + random.Below(3);

  std::vector<State> states(firstRanks);
  for (size_t i = 0; i < firstRanks; ++i)
    states[i].firstRank = i;
  bool begun = false;
  while (true)
  {
    script.ranks = states.size();
    script.eventRank = 0;
    if (begun)
    {
      script.recovered = true;
      script.from = states[0].snapshot;
      script.start = states[0].model;
      // A topology that does not fit those that are left is replaced.
      script.topology = random.Chance(0.5) ? "exponential" :
          RandomTopology(random, script.ranks);
    }
    text = script.Text() + ", " + std::to_string(firstRanks) + " at first";
    run.machine.computeSeconds.resize(script.ranks);
    run.machine.seed = Mix(seed, 60 + states.size());
    ScriptedRanks ranks = MakeRanks(script);
    for (size_t i = 0; i < script.ranks; ++i)
    {
      ranks[i]->source.shuffles = states[i].shuffles;
      if (states[i].stopped)
        ranks[i]->state.AskToStop(states[i].verdict);
    }
    const auto simulation = Simulate(script, run.machine, ranks);

    // Who dies, when, and when do the others notice?
    const bool dies = toDie > 0 && script.ranks > 1;
    const size_t victim = random.Below(script.ranks);
    const double scale = run.machine.computeSeconds[victim];
    const double when = random.Uniform(0, 60) * scale;
    if (dies)
    {
      for (size_t i = 0; i < script.ranks; ++i)
        simulation->Halt(i, (i == victim) ? when : when + random.Uniform(0,
            random.Chance(0.3) ? 200 : 20) * scale);
    }
    const bool finished = simulation->Run(4000000);

    // What each rank has is the start of this life and the gradients that its
    // version vector counts.
    for (size_t i = 0; i < script.ranks; ++i)
    {
      State& state = states[i];
      if (state.expected.empty())
        state.expected.assign(script.elements, 0);
      state.snapshot = ranks[i]->state.Snapshot();
      state.model = ranks[i]->iterate;
      state.shuffles = ranks[i]->source.shuffles;
      state.stopped = (ranks[i]->state.Verdict() != nullptr);
      if (state.stopped)
        state.verdict = *ranks[i]->state.Verdict();
      for (size_t o = 0; o < script.ranks; ++o)
        for (std::uint64_t s = 1; s <= state.snapshot.version[o]; ++s)
          for (size_t k = 0; k < script.elements; ++k)
            state.expected[k] -= UpdateElement(o, s, k);
      if (state.model != state.expected)
        return "a model is not the sum of the updates that it counts\n";
    }

    if (finished && !(dies && random.Chance(0.5)))
    {
      // The end: all promises of an undisturbed run, with the counts of this
      // life and those before.
      std::vector<Ending> ends;
      for (size_t i = 0; i < script.ranks; ++i)
      {
        ends.push_back(EndingOf(simulation->Worker(i), *ranks[i],
            simulation->PeakVectors(i)));
        const State& state = states[i];
        if (state.model != states[0].model)
          return "models differ in the end\n";
        if (state.snapshot.gradients != states[0].snapshot.gradients ||
            state.snapshot.points != states[0].snapshot.points)
          return "ranks count differently in the end\n";
        if (ranks[i]->source.shuffles < script.Begin().shuffled)
          return "the order of points was lost\n";
      }
      const std::uint64_t visited = states[0].snapshot.points;
      std::string broken = Broken(script, ends);
      if (!ends[0].stopped && script.sharing == Sharing::Static &&
          visited != std::max<std::uint64_t>(script.maxIterations,
          script.from.points))
        broken += "points are missing or too many\n";
      return broken;
    }

    // A rank has died, perhaps when all had got to the end of the loop.
    ++deaths;
    --toDie;
    Remove(states, victim);
    bool settled = false;
    while (!settled)
    {
      // Another one may die while they recover; then some have recovered and
      // others have not, and all begin again.
      const bool another = toDie > 0 && states.size() > 1 &&
          random.Chance(0.3);
      std::vector<bool> interrupted(states.size(), false);
      if (another)
        for (size_t i = 0; i < states.size(); ++i)
          interrupted[i] = random.Chance(0.5);
      const std::string wrong = Recover(script, firstRanks, states,
          interrupted);
      if (!wrong.empty())
        return wrong;
      settled = !another;
      if (another)
      {
        ++deaths;
        --toDie;
        Remove(states, random.Below(states.size()));
      }
    }
    begun = true;
  }
}

} // namespace

TEST_CASE("all promises hold on runs whose ranks die", "[sim][seeds]")
{
  size_t deaths = 0;
  const std::uint64_t count = PlaySeeds("all promises hold on runs whose ranks "
      "die", [&](const std::uint64_t seed, std::string& text)
      { return DieOn(seed, text, deaths); });
  CHECK((count < 100 || deaths > count));
  if (count > 10000)
    std::cout << deaths << " deaths\n";
}
