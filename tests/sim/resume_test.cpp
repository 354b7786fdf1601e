/**
 * @file resume_test.cpp
 *
 * Trainings that die and go on from a checkpoint, several times over, with
 * other ranks, topologies and divisions of the work: every promise after each.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "sim/sim_run.hpp"

#include <map>

using namespace conformance;

namespace {

//! Points, by epoch and place in the order, and how often they were visited.
using Visits = std::map<std::uint64_t, std::vector<size_t>>;

//! How one life of a training ended.
struct Life
{
  bool finished = false;
  //! The last checkpoint, as bytes; none if there was none.
  std::vector<std::uint8_t> saved;
  //! Batches by rank.
  std::vector<std::vector<Batch>> visited;
  std::vector<Ending> ends;
  std::string broken;
};

/**
 * Is a checkpoint what it says: the start of this life, minus the first
 * gradients of each origin, as many as its version vector says?
 */
std::string Wrong(const Case& script, const Checkpoint& saved)
{
  std::vector<double> expected = script.Model();
  for (size_t o = 0; o < script.ranks; ++o)
    for (std::uint64_t s = 1; s <= saved.version[o]; ++s)
      for (size_t i = 0; i < script.elements; ++i)
        expected[i] -= UpdateElement(o, s, i);
  std::vector<double> iterate(script.elements);
  std::memcpy(iterate.data(), saved.vectors[0], 8 * script.elements);
  return (iterate == expected) ? "" :
      "a checkpoint is not the sum of the updates that it names\n";
}

/**
 * Run until it ends or dies.
 *
 * @param until When it dies.
 * @param keeper Which rank's checkpoint counts: 0, or any that survives.
 * @param chance How often one is saved after a step or a frame.
 */
Life Live(SimRun& run,
          const double until,
          const size_t keeper,
          const double chance)
{
  Life life;
  Random random(Mix(run.machine.seed, 7));
  const size_t n = run.script.ranks;
  ScriptedRanks ranks = MakeRanks(run.script);
  ranks[keeper]->source.onBetweenSteps = [&]()
  {
    if (random.Chance(chance))
    {
      checkpoint::Encode(ranks[keeper]->Save(), life.saved);
      checkpoint::Seal(life.saved);
    }
  };

  const auto simulation = Simulate(run.script, run.machine, ranks);
  life.finished = simulation->Run(2000000, until);
  for (size_t i = 0; i < n; ++i)
  {
    life.visited.push_back(ranks[i]->source.visited);
    if (life.finished)
    {
      life.ends.push_back(EndingOf(simulation->Worker(i), *ranks[i],
          simulation->PeakVectors(i)));
    }
  }
  if (life.finished)
    life.broken = Broken(run.script, life.ends);
  if (!life.saved.empty() && run.script.format == "exact")
    life.broken += Wrong(run.script, checkpoint::Decode(life.saved));
  return life;
}

//! Note the batches of a life that a checkpoint knows of; all, without one.
void Count(const Case& script,
           const Life& life,
           const Checkpoint* saved,
           Visits& visits)
{
  const RunSnapshot begin = script.Begin();
  for (size_t r = 0; r < script.ranks; ++r)
  {
    std::uint64_t left = saved ? saved->progress.points[r] -
        begin.progress.points[r] : std::numeric_limits<std::uint64_t>::max();
    for (const Batch& batch : life.visited[r])
    {
      if (left < batch.size)
        break;
      left -= batch.size;
      std::vector<size_t>& epoch = visits[batch.epoch];
      epoch.resize(script.points, 0);
      for (size_t i = 0; i < batch.size; ++i)
        ++epoch[batch.begin + i];
    }
  }
}

//! One training of several lives, from a seed; what is broken, if anything.
std::string LiveOn(const std::uint64_t seed, std::string& text)
{
  Random random(Mix(seed, 11));
  SimRun run = Draw(seed);
  // Trainings that end by themselves, and others that are stopped, fail or
  // throw in their last life, or before it.
  const bool anew = random.Chance(0.5);
  const size_t deaths = random.Below(4);
  const Event event = run.script.event;
  Visits visits;
  bool same = true;
  size_t resumes = 0;
  for (size_t i = 0; i <= deaths; ++i)
  {
    run.script.event = (i == deaths || random.Chance(0.2)) ? event :
        Event::None;
    if (run.script.maxIterations == 0)
      run.script.maxIterations = 200;
    const double until = (i == deaths) ?
        std::numeric_limits<double>::infinity() : random.Uniform(0, 200);
    const size_t keeper = random.Chance(0.6) ? 0 :
        random.Below(run.script.ranks);
    Life life = Live(run, until, keeper, random.Uniform());
    text = run.script.Text() + ", life " + std::to_string(i + 1);
    if (!life.broken.empty())
      return life.broken;
    // A rank that was done may have left before it knew of a reason to stop;
    // all agree on it after that.
    bool failed = false, error = false;
    for (const Ending& end : life.ends)
    {
      failed = failed || (life.finished && end.stopped);
      error = error || (end.stopped && end.reason == StopReason::Error);
    }
    if (life.finished && !failed)
    {
      Count(run.script, life, nullptr, visits);
      break;
    }
    if (failed && (i == deaths || !error))
      return ""; // It was to stop or to fail, and has.
    if (life.saved.empty())
      continue; // From where it began.

    const Checkpoint saved = checkpoint::Decode(life.saved);
    Count(run.script, life, &saved, visits);
    run.script.start.resize(run.script.elements);
    std::memcpy(run.script.start.data(), saved.vectors[0],
        8 * run.script.elements);
    run.script.from = saved;
    run.script.resumed = true;
    ++resumes;
    if (anew)
    {
      // Other ranks, on another machine.
      const SimRun other = Draw(Mix(seed, 20 + i));
      const size_t ranks = std::min(other.script.ranks, run.script.points);
      run.script.ranks = ranks;
      run.script.topology = RandomTopology(random, ranks);
      run.script.batchSize = other.script.batchSize;
      run.script.eventRank = random.Below(ranks);
      if (ranks == 1 && event == Event::ThrowLate)
        return "";
      run.script.window = other.script.window;
      run.machine = other.machine;
      run.machine.window = other.script.window;
      run.machine.format = run.script.format;
      run.machine.computeSeconds.resize(ranks);
      same = same && run.script.Division().SameDivision(saved);
    }
    run.machine.seed = Mix(seed, 40 + i);
  }

  // Where ranks keep their part of the work, every point is visited once in
  // every epoch, however often the training died.
  if (same && run.script.data == Data::Replicated &&
      run.script.sharing == Sharing::Static)
  {
    for (const auto& epoch : visits)
    {
      const bool last = (epoch.first * run.script.points >
          run.script.maxIterations);
      for (const size_t times : epoch.second)
      {
        if (times > 1 || (times == 0 && !last))
        {
          return "a point was visited " + std::to_string(times) + " times in "
              "epoch " + std::to_string(epoch.first) + ", after " +
              std::to_string(resumes) + " resumes\n";
        }
      }
    }
  }
  return "";
}

} // namespace

TEST_CASE("all promises hold on runs that die and are resumed",
    "[sim][seeds]")
{
  PlaySeeds("all promises hold on runs that die and are resumed", LiveOn);
}
