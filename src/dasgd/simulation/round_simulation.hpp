/**
 * @file round_simulation.hpp
 *
 * All ranks of a synchronous run in one process, on virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_ROUND_SIMULATION_HPP
#define DASGD_SIMULATION_ROUND_SIMULATION_HPP

#include "../core/random.hpp"
#include "../core/vector_ops.hpp"
#include "../algorithms/round_worker.hpp"
#include "sim_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace dasgd {

/**
 * Seconds that an all-reduce of one vector takes, going by the better of two
 * schemes: all of it to one partner after another, with log2(n) messages in a
 * row, or parts of it, with twice as many messages and less than two vectors to
 * send.
 *
 * @param members How many take part.
 * @param latency Seconds of a message without bytes.
 * @param vector Seconds that the bytes of a vector take.
 */
inline double AllreduceSeconds(const size_t members,
                               const double latency,
                               const double vector)
{
  if (members <= 1)
    return 0;
  const double messages = std::ceil(std::log2(double(members)));
  return std::min(messages * (latency + vector), 2 * messages * latency +
      2 * double(members - 1) / double(members) * vector);
}

/**
 * The same for all ranks: within each machine first, and then between machines.
 * The slowest link of either kind counts.
 */
inline double AllreduceSeconds(const SimCluster& machine,
                               const size_t ranks,
                               const size_t bytes)
{
  const std::vector<size_t> machines = machine.Machines(ranks);
  std::vector<size_t> members(ranks, 0);
  struct Level { double latency = 0; double perByte = 0; } within, between;
  between.perByte = 1 / machine.machineBytesPerSecond;
  for (size_t i = 0; i < ranks; ++i)
  {
    ++members[machines[i]];
    for (size_t k = 0; k < ranks; ++k)
    {
      if (i == k)
        continue;
      const SimLink link = machine.link(i, k);
      Level& level = (machines[i] == machines[k]) ? within : between;
      level.latency = std::max(level.latency, link.latency + link.jitter / 2);
      level.perByte = std::max(level.perByte, 1 / link.bytesPerSecond);
    }
  }
  const size_t most = *std::max_element(members.begin(), members.end());
  const size_t count = ranks - size_t(std::count(members.begin(),
      members.end(), size_t(0)));
  return AllreduceSeconds(most, within.latency, double(bytes) *
      within.perByte) + AllreduceSeconds(count, between.latency,
      double(bytes) * between.perByte);
}

/**
 * Drives one worker for each rank as RunRounds() does, with virtual seconds in
 * place of real ones: a round takes as long as its slowest rank, and the
 * all-reduce.
 */
template<typename ElemType>
class RoundSimulation
{
 public:
  using WorkerType = RoundWorker<ElemType>;

  RoundSimulation(std::vector<std::unique_ptr<WorkerType>> workersIn,
                  const size_t elements,
                  const SimCluster& machine) :
      machine(machine),
      random(Mix(machine.seed, 1)),
      elements(elements),
      workers(std::move(workersIn))
  { }

  void Run()
  {
    const size_t ranks = workers.size();
    const double exchange = AllreduceSeconds(machine, ranks,
        machine.vectorBytes + elements * sizeof(ElemType));
    std::vector<ElemType> sum(elements);
    std::vector<std::uint8_t> messages;
    for (auto& worker : workers)
      worker->Start();
    while (!workers[0]->Over())
    {
      // Callbacks are told of a gradient when all ranks have theirs, which is
      // when its round is over.
      messages.clear();
      std::vector<double> seconds(ranks, 0);
      for (size_t i = 0; i < ranks; ++i)
      {
        const std::uint64_t before = workers[i]->Counts().computed;
        workers[i]->Compute();
        for (std::uint64_t k = before; k < workers[i]->Counts().computed; ++k)
          seconds[i] += ComputeSeconds(i);
        messages.insert(messages.end(), workers[i]->Message().begin(),
            workers[i]->Message().end());
      }
      const double longest = *std::max_element(seconds.begin(), seconds.end());
      Advance(longest);
      for (size_t i = 0; i < ranks; ++i)
      {
        workers[i]->Counts().secondsComputing += seconds[i];
        workers[i]->Counts().secondsIdle += longest - seconds[i];
        workers[i]->ReceiveAll(messages.data());
      }
      if (workers[0]->Computed() && ranks > 1)
      {
        std::fill(sum.begin(), sum.end(), ElemType(0));
        for (auto& worker : workers)
          Add(sum.data(), worker->Vector(), elements);
        Advance(exchange);
        for (auto& worker : workers)
        {
          std::copy(sum.begin(), sum.end(), worker->Vector());
          RankReport& counts = worker->Counts();
          counts.secondsExchanging += exchange;
          ++counts.framesSent;
          ++counts.framesReceived;
          const std::uint64_t bytes = AllreduceBytes(ranks,
              elements * sizeof(ElemType)) + (ranks - 1) *
              worker->Message().size();
          counts.bytesSent += bytes;
          counts.bytesReceived += bytes;
        }
      }
      for (auto& worker : workers)
        worker->Finish();
    }
  }

  WorkerType& Worker(const size_t rank) { return *workers[rank]; }
  //! Virtual seconds.
  double Seconds() const { return now; }

 private:
  void Advance(const double seconds)
  {
    now += seconds;
    if (machine.clock)
      *machine.clock = now;
  }

  //! How long a rank takes for a gradient, by chance.
  double ComputeSeconds(const size_t rank)
  {
    double seconds = machine.computeSeconds[rank] * random.Uniform(
        1 - machine.computeSpread, 1 + machine.computeSpread);
    if (machine.stallChance > 0 && random.Chance(machine.stallChance))
      seconds += random.Uniform(0, 2 * machine.stallSeconds);
    return seconds;
  }

  SimCluster machine;
  Random random;
  size_t elements;
  std::vector<std::unique_ptr<WorkerType>> workers;
  double now = 0;
};

} // namespace dasgd

#endif
