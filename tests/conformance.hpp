/**
 * @file conformance.hpp
 *
 * The promises of the library as checks on finished runs, the same for the
 * simulator and for MPI: both run ScriptedProblem through the same worker.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_CONFORMANCE_HPP
#define DASGD_TESTS_CONFORMANCE_HPP

#include <dasgd/dasgd/board_worker.hpp>
#include <dasgd/dasgd/dasgd_worker.hpp>
#include <dasgd/core/random.hpp>
#include <dasgd/run/rank_task.hpp>
#include <dasgd/checkpoint/checkpoint.hpp>

#include <functional>
#include <sstream>

namespace conformance {

using namespace dasgd;

//! What goes wrong, or otherwise ends a run, on one rank.
enum class Event
{
  None,
  Throw,
  ThrowLate,
  NonFinite,
  Callback,
  Tolerance,
  //! A callback asks to stop when its rank has done its share.
  CallbackDone,
  //! A signal comes.
  Signal
};

//! Everything that a run is made of.
struct Case
{
  std::string topology = "complete";
  size_t window = 2;
  size_t maxLead = 0;
  //! Which ranks exchange while they compute, a bit for each of the first 64.
  std::uint64_t overlap = 0;
  double damping = 0;
  double lookAhead = 0;
  //! The share of the time that exchanging may take.
  double share = 1;
  std::string format = "exact";
  size_t ranks = 2;
  size_t elements = 3;
  Data data = Data::Replicated;
  Sharing sharing = Sharing::Static;
  size_t points = 64;
  size_t batchSize = 4;
  size_t maxIterations = 256;
  Event event = Event::None;
  size_t eventRank = 0;
  size_t eventStep = 5;
  //! Does a rank keep the model for all others, and which?
  bool served = false;
  size_t server = 0;

  //! Does the run resume from a snapshot, or has the snapshot been divided anew
  //! by survivors; and with which model?
  bool resumed = false;
  bool recovered = false;
  RunSnapshot from;
  std::vector<double> start;

  bool Computes(const size_t rank) const { return !served || rank != server; }
  bool Overlaps(const size_t rank) const
  { return ((overlap >> (rank % 64)) & 1) != 0; }
  StalenessResponse Response() const
  { return StalenessResponse(damping, lookAhead, ranks); }

  std::string Text() const
  {
    std::ostringstream out;
    out << topology << ", window " << window << ", lead " << maxLead
        << ", overlap " << overlap << ", damping " << damping << ", look ahead "
        << lookAhead << ", share " << share << ", " << format << ", " << ranks
        << " ranks, " << elements << " elements, " << ToString(data) << ", "
        << ToString(sharing) << ", " << points << " points, batch " << batchSize
        << ", max " << maxIterations << ", event " << int(event) << " on rank "
        << eventRank << " at step " << eventStep;
    if (served)
      out << ", server " << server;
    if (resumed)
      out << ", resumed at " << from.points << " points of " <<
          from.held.size() << " ranks";
    return out.str();
  }

  //! How the work is divided; a server holds no points of its own.
  dasgd::Division Division() const
  {
    dasgd::Division division;
    division.data = data;
    division.sharing = sharing;
    division.batchSize = batchSize;
    division.held.assign(ranks, points);
    if (data == Data::Sharded)
      for (size_t i = 0; i < ranks; ++i)
        division.held[i] = Computes(i) ? 1 + (points + 3 * i) % points : 0;
    return division;
  }

  std::vector<bool> Computing() const
  {
    std::vector<bool> computing;
    for (size_t i = 0; i < ranks; ++i)
      computing.push_back(Computes(i));
    return computing;
  }

  RunLimits Limits() const
  {
    RunLimits limits;
    limits.maxIterations = maxIterations;
    limits.tolerance = (event == Event::Tolerance) ? 1e300 : 0;
    limits.shuffle = true;
    return limits;
  }

  //! Where the run begins.
  RunSnapshot Begin() const
  {
    return recovered ? from : resumed ? from.Resume(Division()) :
        RunSnapshot::Start(Division(), 1);
  }

  //! The model that it begins with.
  std::vector<double> Model() const
  {
    std::vector<double> model = start;
    model.resize(elements, 0);
    return model;
  }
};

//! The update that belongs to a gradient: whole numbers, whose sums are exact,
//! so that replicas must agree to the bit whatever the order was.  Some need
//! more digits than shorter formats have.
inline double UpdateElement(const size_t origin,
                            const std::uint64_t sequence,
                            const size_t element)
{
  const double large = (element % 3 == 1) ? 134217728.0 : 0; // 2^27.
  return double(Mix(Mix(origin, sequence), element) % 1024) - 300 + large;
}

//! Gradients that are known, and events as the case says; all else is the
//! library's.
class ScriptedSource final : public dasgd::GradientSource<double>
{
 public:
  ScriptedSource(const Case& script, const size_t rank, double* iterate) :
      script(script), rank(rank), iterate(iterate), scratch(script.elements) { }

  double* Iterate() override { return iterate; }
  double* Gradient() override { return scratch.data(); }
  size_t Elements() const override { return script.elements; }

  bool Evaluate(const Batch& batch, double& objective) override
  {
    if (onEvaluate)
      onEvaluate();
    if (Now(Event::Throw))
      throw std::runtime_error("scripted failure");
    visited.push_back(batch);
    objective = double(batch.size);
    ++computed;
    for (size_t i = 0; i < script.elements; ++i)
      scratch[i] = UpdateElement(rank, computed, i);
    if (Now(Event::NonFinite))
      scratch[0] = std::numeric_limits<double>::quiet_NaN();
    return false;
  }

  bool TakeStep(size_t /* points */,
                const StepScale& /* scale */,
                double* out,
                double* sum,
                const double*& update) override
  {
    update = sum ? nullptr : out ? out : scratch.data();
    return sum ?
        FormAndApply<true>(iterate, scratch.data(), sum, 1.0, script.elements) :
        FormAndApply(iterate, scratch.data(), out ? out : scratch.data(), 1.0,
            script.elements);
  }

  bool FormUpdate(size_t /* points */,
                  const StepScale& /* scale */,
                  const double*& update,
                  double& factor) override
  {
    update = scratch.data();
    factor = 1;
    return AllFinite(scratch.data(), script.elements);
  }

  //! Updates are added up exactly, so they keep their length.
  void Shorten(const double by, double&) override { shortened = by; }

  bool Step(double /* points */, const double scale) override
  {
    for (size_t i = 0; i < script.elements; ++i)
      iterate[i] -= scale * scratch[i];
    return true;
  }

  //! The order of points does not matter here, but how often it changed does.
  void ShuffleTo(const std::uint64_t times) override
  { shuffles = std::max(shuffles, times); }
  void ShuffleOnce() override { ++shuffles; }

  bool Begin(std::uint64_t) override
  {
    ++begun;
    return false;
  }

  bool Applied(const ManifestEntry& entry,
               const double gained,
               std::uint64_t) override
  {
    objective += gained;
    if (onApplied)
      onApplied(entry);
    // Thrown while a frame is applied; with any luck in the drain.
    if (entry.origin != rank && script.event == Event::ThrowLate &&
        rank == script.eventRank)
      throw std::runtime_error("scripted late failure");
    return script.event == Event::CallbackDone && rank == script.eventRank &&
        !state->HasWork();
  }

  bool StepTaken() override
  {
    ++steps;
    return script.event == Event::Callback && rank == script.eventRank &&
        steps >= script.eventStep;
  }

  bool EndEpoch(std::uint64_t, double, std::uint64_t, size_t) override
  {
    ++epochsClosed;
    return false;
  }
  bool BeginEpoch(std::uint64_t, double) override { return false; }
  void Diverged(std::uint64_t, const char*, double) override { }
  void Converged(double) override { }

  void BetweenSteps() override
  {
    if (onBetweenSteps)
      onBetweenSteps();
  }

  int Signal() override
  {
    return (script.event == Event::Signal && rank == script.eventRank &&
        steps >= script.eventStep) ? 15 : 0;
  }

  //! Batches that this rank visited.
  std::vector<Batch> visited;
  size_t begun = 0;
  size_t epochsClosed = 0;
  double objective = 0;
  //! By what the last step was multiplied that had come late.
  double shortened = 1;
  std::uint64_t shuffles = 0;
  //! A test may listen in.
  std::function<void(const ManifestEntry&)> onApplied;
  std::function<void()> onBetweenSteps;
  std::function<void()> onEvaluate;
  const RunState<double>* state = nullptr;

 private:
  bool Now(const Event event) const
  {
    return script.event == event && rank == script.eventRank &&
        steps + 1 >= script.eventStep;
  }

  Case script;
  size_t rank;
  double* iterate;
  std::vector<double> scratch;
  std::uint64_t computed = 0;
  std::uint64_t steps = 0;
};

//! One rank of a case: the library's state and problem with scripted gradients.
class ScriptedRank
{
 public:
  using ProblemType = dasgd::RankTask<double>;

  ScriptedRank(const Case& script, const size_t rank) :
      iterate(script.Model()),
      source(script, rank, iterate.data()),
      state(script.Begin(), rank, script.Computing(), script.Limits()),
      problem(state, source),
      rank(rank)
  { source.state = &state; }

  ScriptedRank(const ScriptedRank&) = delete;
  ScriptedRank& operator=(const ScriptedRank&) = delete;

  //! What a checkpoint says of this moment; its vector is the iterate itself.
  Checkpoint Save() const
  {
    Checkpoint saved;
    saved.Run() = state.Snapshot();
    saved.algorithm = "DASGD";
    saved.rows = iterate.size();
    saved.cols = 1;
    saved.elementBytes = sizeof(double);
    saved.vectors = { reinterpret_cast<const std::uint8_t*>(iterate.data()) };
    return saved;
  }

  std::vector<double> iterate;
  ScriptedSource source;
  RunState<double> state;
  ProblemType problem;
  size_t rank;
};

using ScriptedProblem = ScriptedRank::ProblemType;

//! How a run ended on one rank; plain enough to be sent through MPI.
struct Ending
{
  std::vector<double> iterate;
  VersionVector version;
  RankReport counts;
  bool stopped = false;
  //! Has this rank a reason to stop, of which it does not know in the end?
  bool lostVerdict = false;
  StopReason reason = StopReason::Budget;
  size_t stopRank = 0;
  bool threw = false;
  size_t epochsClosed = 0;
};

template<typename WorkerType>
Ending EndingOf(const WorkerType& worker,
                const ScriptedRank& rank,
                const size_t peakVectors)
{
  const auto& endpoint = worker.Participant().Endpoint();
  Ending ending;
  ending.iterate = rank.iterate;
  // Baselines announce a gradient before they apply it; if they fail in
  // between, it is not in the model.
  ending.version = std::is_same<WorkerType, DasgdWorker<double>>::value ?
      rank.state.Version() : endpoint.Known();
  ending.counts = worker.Participant().Counts();
  ending.counts.peakVectors = peakVectors;
  ending.stopped = (endpoint.Stop() != nullptr);
  if (ending.stopped)
  {
    ending.reason = endpoint.Stop()->reason;
    ending.stopRank = endpoint.Stop()->origin;
  }
  ending.lostVerdict = rank.state.Verdict() && !ending.stopped;
  ending.threw = bool(worker.Participant().Exception());
  ending.epochsClosed = rank.source.epochsClosed;
  return ending;
}

//! The same of a rank on a board.
inline Ending EndingOf(const BoardWorker<double>& worker,
                       const ScriptedRank& rank)
{
  Ending ending;
  ending.iterate = rank.iterate;
  ending.version = rank.state.Version();
  ending.counts = worker.Participant().Counts();
  ending.stopped = (worker.Participant().Stop() != nullptr);
  if (ending.stopped)
  {
    ending.reason = worker.Participant().Stop()->reason;
    ending.stopRank = worker.Participant().Stop()->origin;
  }
  ending.lostVerdict = rank.state.Verdict() && !ending.stopped;
  ending.threw = bool(worker.Participant().Exception());
  ending.epochsClosed = rank.source.epochsClosed;
  return ending;
}

//! What all models must be in the end, if every update is applied everywhere.
inline std::vector<double> SumOfUpdates(const Case& script,
                                        const std::vector<Ending>& ends)
{
  std::vector<double> sum = script.Model();
  for (size_t o = 0; o < script.ranks; ++o)
    for (std::uint64_t s = 1; s <= ends[o].counts.computed; ++s)
      for (size_t i = 0; i < script.elements; ++i)
        sum[i] -= UpdateElement(o, s, i);
  return sum;
}

/**
 * Check all promises on a finished run.
 *
 * @param replicas Do all ranks hold the same model, and measure staleness?
 * @return What is wrong; empty if nothing is.
 */
inline std::string Broken(const Case& script,
                          const std::vector<Ending>& ends,
                          const bool replicas = true)
{
  std::ostringstream out;
  const size_t n = script.ranks;

  // What each rank computed is what everybody must have applied.
  VersionVector computed;
  for (const Ending& end : ends)
    computed.push_back(end.counts.computed);
  const std::vector<double> expected = SumOfUpdates(script, ends);

  // What they agree on in the end.
  std::vector<Fact> facts(n);
  std::vector<const Fact*> known;
  for (size_t r = 0; r < n; ++r)
  {
    facts[r].reason = ends[r].reason;
    facts[r].origin = std::uint32_t(ends[r].stopRank);
    known.push_back(ends[r].stopped ? &facts[r] : nullptr);
  }
  const Fact* const agreed = Strongest(known);
  for (size_t r = 0; r < n; ++r)
  {
    if (ends[r].lostVerdict)
      out << "rank " << r << " has a reason to stop that nobody knows of\n";
  }

  std::uint64_t total = 0, points = script.from.points;
  for (size_t r = 0; r < n; ++r)
  {
    total += computed[r];
    points += ends[r].counts.points;
  }
  for (size_t r = 0; r < n; ++r)
  {
    const Ending& end = ends[r];
    const std::string who = "rank " + std::to_string(r) + ": ";
    if (end.version != computed || end.counts.applied != total)
      out << who << "not every gradient was applied exactly once\n";
    if (replicas && end.iterate != expected)
      out << who << "the model is not the sum of all updates\n";
    if (end.counts.peakVectors > end.counts.vectorBound)
      out << who << "held " << end.counts.peakVectors << " vectors, more than "
          << end.counts.vectorBound << "\n";
    if (replicas && end.counts.staleness.Measured() +
        end.counts.staleness.Skipped() != total)
      out << who << "staleness is not accounted for\n";
    if (end.stopped && !ends[end.stopRank].stopped)
      out << who << "was stopped by rank " << end.stopRank << ", which was not "
          "stopped itself\n";
    if (script.sharing == Sharing::Static &&
        end.epochsClosed != ends[0].epochsClosed && !agreed &&
        !end.threw && !ends[0].threw)
      out << who << "saw another number of epochs than rank 0\n";
  }

  // How it ends: all work done, or as the script says.
  if (!agreed)
  {
    if (script.maxIterations != 0 && script.sharing == Sharing::Static &&
        points != std::max<std::uint64_t>(script.maxIterations,
        script.from.points))
      out << points << " points were visited instead of "
          << script.maxIterations << "\n";
    if (script.sharing == Sharing::Dynamic && points < script.maxIterations)
      out << "only " << points << " points were visited\n";
  }
  const bool mayMiss = script.maxIterations != 0; // Work may end before.
  const auto wanted = [&](const StopReason reason)
  {
    if (!agreed && !mayMiss)
      out << "nobody stopped the run\n";
    if (agreed && agreed->reason != reason)
      out << "stopped because " << ToString(agreed->reason) << "\n";
    if (agreed && reason != StopReason::Tolerance &&
        agreed->origin != script.eventRank)
      out << "rank " << agreed->origin << " stopped the run\n";
  };
  switch (script.event)
  {
    case Event::None:
      if (agreed)
        out << "stopped for no reason\n";
      break;
    case Event::Throw: wanted(StopReason::Error); break;
    case Event::ThrowLate: wanted(StopReason::Error); break;
    case Event::NonFinite: wanted(StopReason::NonFinite); break;
    case Event::Callback:
    case Event::CallbackDone: wanted(StopReason::Callback); break;
    case Event::Signal: wanted(StopReason::Signal); break;
    case Event::Tolerance: wanted(StopReason::Tolerance); break;
  }
  for (size_t r = 0; r < n; ++r)
    if (ends[r].threw && r != script.eventRank)
      out << "rank " << r << " threw\n";
  return out.str();
}

//! A random topology that fits the number of ranks.
inline std::string RandomTopology(Random& random, const size_t ranks)
{
  switch (random.Below(7))
  {
    case 0: return "complete";
    case 1: return "ring";
    case 2: return "exponential";
    case 3: return "tree:" + std::to_string(1 + random.Below(4));
    case 4:
    {
      size_t rows = 1 + random.Below(ranks);
      while (ranks % rows != 0)
        --rows;
      return "mesh:" + std::to_string(rows) + "x" +
          std::to_string(ranks / rows);
    }
    case 5: return "auto";
  }
  if (ranks == 1)
    return "complete";
  // A random tree, and some more edges.
  std::string text = "graph:";
  for (size_t i = 1; i < ranks; ++i)
  {
    text += (i == 1 ? "" : ",") + std::to_string(random.Below(i)) + "-" +
        std::to_string(i);
  }
  for (size_t i = random.Below(ranks); ranks > 2 && i > 0; --i)
  {
    const size_t a = random.Below(ranks);
    const size_t b = (a + 1 + random.Below(ranks - 1)) % ranks;
    text += "," + std::to_string(a) + "-" + std::to_string(b);
  }
  return text;
}

//! A random case for the given number of ranks.
inline Case RandomCase(Random& random, const size_t ranks)
{
  Case script;
  script.ranks = ranks;
  script.topology = RandomTopology(random, ranks);
  script.window = random.Chance(0.5) ? 2 : 1 + random.Below(9);
  script.maxLead = random.Chance(0.5) ? 0 : 1 + random.Below(40);
  script.elements = 1 + random.Below(8);
  script.data = random.Chance(0.3) ? Data::Sharded : Data::Replicated;
  script.sharing = random.Chance(0.4) ? Sharing::Dynamic : Sharing::Static;
  script.points = ranks + random.Below(60);
  script.batchSize = 1 + random.Below(8);
  script.maxIterations = random.Below(400);
  script.event = Event(random.Below(8));
  if (script.maxIterations == 0 && (script.event == Event::None ||
      script.event == Event::CallbackDone))
    script.maxIterations = 100; // Something must end it.
  // Late events need other ranks.
  if (script.event == Event::ThrowLate && ranks == 1)
    script.event = Event::Throw;
  script.eventRank = random.Below(ranks);
  script.eventStep = 1 + random.Below(20);
  switch (random.Below(6))
  {
    case 0: script.format = "float32"; break;
    case 1: script.format = "bfloat16"; break;
    case 2:
      script.format = "topk:" + std::to_string(random.Uniform(0.01, 1));
      break;
    default: break;
  }
  switch (random.Below(4))
  {
    case 0: script.overlap = ~std::uint64_t(0); break;
    case 1: script.overlap = random.Next(); break;
    default: break;
  }
  if (random.Chance(0.2))
    script.damping = random.Uniform(0.1, 3);
  if (random.Chance(0.2))
    script.lookAhead = random.Chance(0.5) ? Automatic : random.Uniform(0, 5);
  if (random.Chance(0.5))
    script.share = random.Uniform(0.01, 0.99);
  return script;
}

} // namespace conformance

#endif
