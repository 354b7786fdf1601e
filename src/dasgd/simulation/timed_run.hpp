/**
 * @file timed_run.hpp
 *
 * A simulated training without gradients, and what its ranks do in the second
 * half of it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_TIMED_RUN_HPP
#define DASGD_SIMULATION_TIMED_RUN_HPP

#include "board_simulation.hpp"
#include "../dasgd/dasgd_worker.hpp"
#include "simulation.hpp"
#include "plan.hpp"
#include "timed_source.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace dasgd {
namespace plan {

//! Bytes of an update as it is sent.
inline double VectorBytes(const PlanModel& model)
{
  const double exact = double(model.elements * model.elementBytes);
  switch (model.wireFormat.Type())
  {
    case WireFormat::Kind::Float32:
      return std::min(exact, double(model.elements) * 4);
    case WireFormat::Kind::BFloat16:
      return std::min(exact, double(model.elements) * 2);
    case WireFormat::Kind::TopK:
      return std::min(exact, double(model.elements) *
          model.wireFormat.Fraction() * double(4 + model.elementBytes));
    default:
      return exact;
  }
}

//! The machine of each rank.
inline std::vector<size_t> Machines(const PlanCluster& cluster,
                                    const size_t ranks)
{
  std::vector<size_t> machines(ranks);
  for (size_t i = 0; i < ranks; ++i)
    machines[i] = i / cluster.ranksPerMachine;
  return machines;
}

//! Does the default topology let the ranks of a machine share one model?
inline bool OnBoard(const PlanModel& model,
                    const PlanCluster& cluster,
                    const size_t ranks,
                    const Topology& topology)
{
  return ranks > 1 && cluster.ranksPerMachine > 1 &&
      topology == Topology::Auto() && (ranks > cluster.ranksPerMachine ||
      model.wireFormat.Type() == WireFormat::Kind::Exact);
}

//! Ranks that count gradients and compute nothing.
class TimedRanks
{
 public:
  /**
   * @param elements Of the model that takes their place.
   * @param total Gradients of all together.
   * @param note Called with the rank after each gradient.
   */
  TimedRanks(const size_t ranks,
             const size_t elements,
             const std::uint64_t total,
             const std::uint64_t seed,
             const std::function<void(size_t)>& note)
  {
    Division division;
    division.sharing = Sharing::Dynamic;
    division.batchSize = 1;
    division.held.assign(ranks, total);
    RunLimits limits;
    limits.maxIterations = total;
    const RunSnapshot start = RunSnapshot::Start(division, seed);
    const std::vector<bool> computing(ranks, true);
    for (size_t i = 0; i < ranks; ++i)
    {
      sources.emplace_back(i, elements, note);
      states.emplace_back(start, i, computing, limits);
      tasks.emplace_back(states.back(), sources.back());
    }
  }

  size_t Size() const { return tasks.size(); }
  //! What a rank trains.
  RankTask<double>& operator[](const size_t rank) { return tasks[rank]; }

 private:
  std::deque<TimedSource> sources;
  std::deque<RunState<double>> states;
  std::deque<RankTask<double>> tasks;
};

//! All ranks of a simulated training, and what they have done up to some
//! moment.
class TimedRun
{
 public:
  using WorkerType = DasgdWorker<double>;

  TimedRun(const PlanModel& model,
           const PlanCluster& cluster,
           const size_t ranks,
           const Topology& chosen,
           const PlanEffort& effort) :
      total(std::uint64_t(ranks) * effort.gradients),
      topology(chosen.On(Machines(cluster, ranks))),
      shares(OnBoard(model, cluster, ranks, chosen)),
      overlap(OverlapChoice(Overlap::Auto, shares || topology.Hops(ranks) > 1 ||
          (ranks > cluster.ranksPerMachine && LongFrame(double(
          model.elements * model.elementBytes))), cluster.crowded, true,
          false).used),
      machine(PlanMachine(model, cluster, ranks, overlap)),
      note([this](const size_t rank) { Note(rank); }),
      paces(ranks),
      board(BoardOf(model, ranks, shares || overlap)),
      all(ranks, board.elements, total, effort.seed, note)
  {
    machine.seed = effort.seed;
    machine.clock = &now;
    machine.window = ChooseWindow(0, overlap);
    machine.vectorBytes = size_t(VectorBytes(model));
    if (shares || overlap)
    {
      machine.applySeconds = model.passSeconds;
      boards.emplace(board, machine, all[0].Iterate(),
          [&](Board<double>& memory, const size_t rank)
      { return std::make_unique<BoardWorker<double>>(memory, all[rank]); },
          shares ? BoardLinks(machine.machines) : BoardLinks::Own(ranks,
          topology), overlap);
      return;
    }
    frames.emplace(topology, ranks, machine, [&](const Routes& routes)
    {
      auto worker = std::make_unique<WorkerType>(routes, machine.window, 1,
          all[routes.Rank()]);
      worker->MaxLead() = model.maxLead;
      worker->Participant().Endpoint().Pace().SetShare(model.exchangeShare);
      return worker;
    });
  }

  //! What was done up to a moment.
  struct Sums
  {
    double seconds = 0;
    //! By rank.
    std::vector<double> staleness;
    std::vector<double> measured;
    std::vector<double> bytesSent;
    //! By machine, to others.
    std::vector<double> bytesBetween;

    //! What was done since then.
    Sums Since(const Sums& before) const
    {
      Sums change = *this;
      change.seconds -= before.seconds;
      for (const auto member : { &Sums::staleness, &Sums::measured,
          &Sums::bytesSent, &Sums::bytesBetween })
      {
        for (size_t i = 0; i < (change.*member).size(); ++i)
          (change.*member)[i] -= (before.*member)[i];
      }
      return change;
    }

    //! As Report::StalenessAverage(): the largest mean of a rank.
    double StalenessAverage() const
    {
      double largest = 0;
      for (size_t i = 0; i < staleness.size(); ++i)
      {
        if (measured[i] > 0)
          largest = std::max(largest, staleness[i] / measured[i]);
      }
      return largest;
    }
  };

  //! Run, and return what was done in the second half.
  Sums Run()
  {
    constexpr std::uint64_t noLimit =
        std::numeric_limits<std::uint64_t>::max();
    if (boards)
      boards->Run(noLimit);
    else
      frames->Run(noLimit);
    return end.Since(half);
  }

  //! The most vectors that a rank held besides iterate and gradient, and the
  //! most ranks that one sends to.
  size_t PeakVectors() const
  {
    size_t most = 0;
    for (size_t i = 0; i < all.Size(); ++i)
    {
      most = std::max(most, boards ? size_t(boards->Counts(i).peakVectors) :
          frames->PeakVectors(i));
    }
    return most;
  }
  size_t Neighbours() const
  {
    size_t most = 0;
    for (size_t i = 0; i < all.Size(); ++i)
    {
      most = std::max(most, boards ? boards->Neighbours(i) :
          frames->Worker(i).Participant().Endpoint().SendTo().size());
    }
    return most;
  }

  //! Gradients in a second: of each rank from its first to its last, since all
  //! began at the same time.
  double GradientsPerSecond() const
  {
    double sum = 0;
    for (const Pace& pace : paces)
    {
      if (pace.last > pace.first)
        sum += double(pace.count) / (pace.last - pace.first);
    }
    return sum;
  }

  const Topology& Used() const { return topology; }
  //! Do the ranks of a machine share a model?
  bool Shares() const { return shares; }

 private:
  //! Chunks of the board take their time; what is in them does not matter.
  static BoardSize BoardOf(const PlanModel& model,
                           const size_t ranks,
                           const bool used)
  {
    BoardSize size = BoardSize::Of(model.elements, ranks);
    size.elements = used ? ChunksToSimulate(size) : 1;
    size.chunk = 1;
    return size;
  }

  //! The gradients of a rank in the second half.
  struct Pace
  {
    double first = 0;
    double last = 0;
    //! After the first.
    std::uint64_t count = 0;
  };

  //! A gradient has been computed.
  void Note(const size_t rank)
  {
    ++count;
    if (count == total / 2)
      half = Now();
    if (count == total)
      end = Now();
    if (count < total / 2 || count > total)
      return;
    Pace& pace = paces[rank];
    if (pace.first == 0)
      pace.first = now;
    else
      ++pace.count;
    pace.last = now;
  }

  Sums Now() const
  {
    Sums sums;
    sums.seconds = now;
    sums.bytesBetween.assign(machine.machines.back() + 1, 0);
    for (size_t i = 0; i < all.Size(); ++i)
    {
      const RankReport counts = boards ? boards->Counts(i) :
          frames->Worker(i).Participant().Counts();
      const std::uint64_t away = boards ? boards->SentAway(i) :
          frames->SentAway(i);
      sums.staleness.push_back(double(counts.staleness.Sum()));
      sums.measured.push_back(double(counts.staleness.Measured()));
      sums.bytesBetween[machine.machines[i]] += double(counts.bytesBetween) +
          double(away) * double(machine.vectorBytes);
      sums.bytesSent.push_back(double(counts.bytesSent) +
          double(counts.framesSent) * double(machine.vectorBytes));
    }
    return sums;
  }

  std::uint64_t total;
  //! What was asked for, on these machines.
  Topology topology;
  bool shares;
  bool overlap;
  SimCluster machine;
  double now = 0;
  std::function<void(size_t)> note;
  std::vector<Pace> paces;
  BoardSize board;
  TimedRanks all;
  //! Ranks with boards, or those that send each other frames.
  std::optional<BoardSimulation<double>> boards;
  std::optional<Simulation<double, WorkerType>> frames;
  std::uint64_t count = 0;
  Sums half, end;
};

} // namespace plan
} // namespace dasgd

#endif
