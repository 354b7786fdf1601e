/**
 * @file plan_impl.hpp
 *
 * Implementation of plans.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_PLAN_IMPL_HPP
#define DASGD_SIMULATION_PLAN_IMPL_HPP

// In case it hasn't been included yet.
#include "plan.hpp"

#include "round_simulation.hpp"
#include "timed_run.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace dasgd {
namespace plan {

inline void Refuse(const std::string& why)
{ throw std::invalid_argument("dasgd: a plan is not possible: " + why); }

inline void Check(const PlanModel& model,
                  const PlanCluster& cluster,
                  const size_t ranks)
{
  const auto sound = [](const double x) { return std::isfinite(x) && x >= 0; };
  if (ranks == 0 || ranks > Topology::MaxRanks)
  {
    Refuse("there are " + std::to_string(ranks) + " ranks; give 1 to " +
        std::to_string(Topology::MaxRanks) + ".");
  }
  if (model.elements == 0 || model.elementBytes == 0 || model.batchSize == 0)
    Refuse("the model, its elements and the batch must not be empty.");
  if (!(model.gradientSeconds > 0) || !std::isfinite(model.gradientSeconds))
    Refuse("a gradient must take more than 0 seconds.");
  if (!(model.gradientSpread >= 0 && model.gradientSpread <= 1) ||
      !sound(model.applySeconds) || !sound(model.messageSeconds) ||
      !sound(model.passSeconds) || !sound(model.stepSeconds) ||
      !sound(model.rankSeconds) || !sound(model.stalenessDamping))
  {
    Refuse("the spread must be from 0 to 1, and times and damping at least "
        "0.");
  }
  if (cluster.ranksPerMachine == 0 || !sound(cluster.latency) ||
      !(cluster.bytesPerSecond > 0))
  {
    Refuse("a machine needs at least one rank, a latency of at least 0 and a "
        "bandwidth above 0.");
  }
}

/**
 * How many gradients of each rank to simulate: so many that some frames have
 * passed every link of the busiest machine, whatever the network is; fewer on
 * many ranks, which take long.
 */
inline size_t Gradients(const PlanModel& model,
                        const PlanCluster& cluster,
                        const Topology& topology,
                        const size_t ranks,
                        const size_t least)
{
  const std::vector<size_t> machines = Machines(cluster, ranks);
  const Topology used = topology.On(machines);
  double links = 0;
  for (size_t i = 0; i < std::min(ranks, cluster.ranksPerMachine); ++i)
  {
    const Routes routes(used, ranks, i);
    for (const size_t peer : routes.SendTo())
      links += (machines[peer] != machines[i]) ? 1 : 0;
  }
  const double round = links * VectorBytes(model) / cluster.bytesPerSecond;
  const double needed = 40 * round / model.gradientSeconds;
  return std::max(least, size_t(std::min({ needed, 20.0 * double(least),
      50000.0 / double(ranks) })));
}

//! What follows from the gradients in a second.
inline void SetSpeed(PlanRow& row,
                     const PlanModel& model,
                     const double gradientsPerSecond)
{
  row.gradientsPerSecond = gradientsPerSecond;
  row.speedup = gradientsPerSecond * model.gradientSeconds;
  if (model.points > 0)
  {
    row.epochSeconds = std::ceil(double(model.points) /
        double(model.batchSize)) / gradientsPerSecond;
  }
}

//! A number as one would say it.
inline std::string Say(const double value)
{
  std::ostringstream out;
  out.precision(value < 10 ? 2 : 3);
  if (value >= 1000)
    out << std::llround(value);
  else
    out << value;
  return out.str();
}

//! Are links so busy that gradients wait for them?
inline bool Full(const PlanRow& row) { return row.networkShare > 0.9; }

//! The place of the row of the fewest ranks that is nearly the best one.
inline size_t BestRow(const std::vector<PlanRow>& rows)
{
  double most = 0;
  for (const PlanRow& row : rows)
    most = Full(row) ? most : std::max(most, row.worth);
  // Few ranks are easier to have than many.
  const size_t none = rows.size();
  size_t best = none;
  for (size_t i = 0; i < rows.size(); ++i)
  {
    const PlanRow& row = rows[i];
    if (Full(row) || row.worth < 0.9 * most)
      continue;
    // Of topologies that are equally good, the one with the least staleness.
    if (best == none || row.ranks < rows[best].ranks ||
        (row.ranks == rows[best].ranks &&
        (row.worth > 1.02 * rows[best].worth ||
        (row.worth > 0.98 * rows[best].worth &&
        row.staleness < rows[best].staleness))))
      best = i;
  }
  return (best == none) ? 0 : best;
}

//! The best row of the next number of ranks; null if there are none with more.
inline const PlanRow* NextRow(const std::vector<PlanRow>& rows,
                              const PlanRow& chosen)
{
  size_t next = std::numeric_limits<size_t>::max();
  for (const PlanRow& row : rows)
    if (row.ranks > chosen.ranks)
      next = std::min(next, row.ranks);
  const PlanRow* other = nullptr;
  for (const PlanRow& row : rows)
  {
    if (row.ranks == next && (!other || Full(*other) > Full(row) ||
        (Full(*other) == Full(row) && row.worth > other->worth)))
      other = &row;
  }
  return other;
}

//! What is wrong with the next number of ranks.
inline std::string WhyNotMore(const PlanRow& chosen, const PlanRow& other)
{
  const std::string text = "; with " + std::to_string(other.ranks);
  if (Full(other))
  {
    return text + " the network is full, and gradients wait for it (S_avg " +
        Say(other.staleness) + " in place of " + Say(chosen.staleness) + ")";
  }
  if (other.speedup < 0.8 * double(other.ranks))
  {
    return text + ", ranks would spend " + Say(100 * (1 - other.speedup /
        double(other.ranks))) + " % of their time on the exchange" +
        (chosen.ranks == 1 ? ", which larger batches make less often" : "");
  }
  return text + ", gradients would be " + Say(other.staleness) + " updates "
      "old, and be worth " + Say(other.worth) + " times as much";
}

} // namespace plan

DASGD_INLINE SimCluster PlanMachine(const PlanModel& model,
                                    const PlanCluster& cluster,
                                    const size_t ranks,
                                    const bool overlap)
{
  plan::Check(model, cluster, ranks);
  SimCluster machine;
  machine.computeSeconds.assign(ranks, model.gradientSeconds + (ranks == 1 ? 0 :
      model.stepSeconds + double(ranks - 2) * model.rankSeconds));
  machine.computeSpread = model.gradientSpread;
  machine.machines = plan::Machines(cluster, ranks);
  machine.machineBytesPerSecond = cluster.bytesPerSecond;
  machine.applySeconds = model.applySeconds;
  machine.relaySeconds = model.applySeconds;
  // A message is taken by whoever looks for it.
  if (machine.machines.back() > 0)
  {
    (overlap ? machine.relaySeconds : machine.applySeconds) +=
        model.messageSeconds;
  }
  machine.sendSeconds = model.messageSeconds;
  SimLink between;
  between.latency = cluster.latency;
  between.handshakeBytes = between.partBytes = cluster.bufferBytes;
  machine.link = [between, machines = machine.machines](const size_t from,
      const size_t to)
  { return (machines[from] != machines[to]) ? between : SimLink(); };
  return machine;
}

DASGD_INLINE PlanRow PlanDasgd(const PlanModel& model,
                               const PlanCluster& cluster,
                               const size_t ranks,
                               const Topology& topology,
                               const PlanEffort& effort)
{
  plan::Check(model, cluster, ranks);
  if (effort.gradients < 2)
    plan::Refuse("two gradients of each rank are the least to simulate.");
  PlanRow row;
  row.ranks = ranks;
  row.topology = topology.Name();
  row.machines = plan::Machines(cluster, ranks).back() + 1;
  const double vector = double(model.elements * model.elementBytes);
  row.memoryBytes = 2 * vector;
  if (ranks == 1)
  {
    row.topologyUsed = row.topology;
    plan::SetSpeed(row, model, 1 / model.gradientSeconds);
    return row;
  }

  PlanEffort enough = effort;
  enough.gradients = plan::Gradients(model, cluster, topology, ranks,
      effort.gradients);
  plan::TimedRun run(model, cluster, ranks, topology, enough);
  const plan::TimedRun::Sums sums = run.Run();
  row.topologyUsed = run.Shares() ? (row.machines == 1 ? "board" :
      std::to_string(row.machines) + " boards") : run.Used().Name();
  plan::SetSpeed(row, model, run.GradientsPerSecond());
  row.staleness = sums.StalenessAverage();
  row.worth = row.speedup * ((model.stalenessDamping > 0) ? std::min(1.0,
      model.stalenessDamping / (1 + row.staleness)) : 1);
  row.bytesPerSecond = *std::max_element(sums.bytesBetween.begin(),
      sums.bytesBetween.end()) / sums.seconds;
  row.networkShare = row.bytesPerSecond / cluster.bytesPerSecond;
  row.neighbours = run.Neighbours();
  row.linkBytesPerSecond = *std::max_element(sums.bytesSent.begin(),
      sums.bytesSent.end()) / sums.seconds /
      double(std::max<size_t>(1, row.neighbours));
  row.memoryBytes += vector * double(run.PeakVectors() +
      model.wireFormat.Vectors(model.elementBytes));
  return row;
}

DASGD_INLINE PlanRow PlanAllreduce(const PlanModel& model,
                                   const PlanCluster& cluster,
                                   const size_t ranks)
{
  plan::Check(model, cluster, ranks);
  PlanRow row;
  row.algorithm = "AllreduceSGD";
  row.ranks = ranks;
  row.machines = plan::Machines(cluster, ranks).back() + 1;
  const size_t bytes = model.elements * model.elementBytes;
  row.memoryBytes = 3 * double(bytes);
  // The slowest of so many, if all times within the spread are as likely.
  const double slowest = model.gradientSeconds * (1 + model.gradientSpread *
      double(ranks - 1) / double(ranks + 1));
  // Within a machine a message takes no time on the way, but is handed over.
  const double within = (row.machines == 1) ? model.messageSeconds *
      std::ceil(std::log2(double(ranks))) : 0;
  const double round = slowest + ((ranks > 1) ? model.applySeconds + within +
      AllreduceSeconds(PlanMachine(model, cluster, ranks, false), ranks,
      bytes) : 0);
  plan::SetSpeed(row, model, double(ranks) / round);
  row.worth = std::numeric_limits<double>::quiet_NaN();
  if (row.machines > 1)
  {
    // In parts, each machine sends less than two vectors.
    row.bytesPerSecond = 2 * double(row.machines - 1) / double(row.machines) *
        double(bytes) / round;
    row.networkShare = row.bytesPerSecond / cluster.bytesPerSecond;
  }
  return row;
}

DASGD_INLINE std::vector<std::string> PlanTopologies(const size_t ranks)
{
  std::vector<std::string> names = { "auto" };
  if (ranks <= 3)
    return names;
  // These have a route for every other rank, at every rank.
  if (ranks <= 64)
    names.insert(names.end(), { "complete", "ring" });
  names.insert(names.end(), { "exponential", "tree:2" });
  size_t rows = size_t(std::sqrt(double(ranks)));
  while (ranks % rows != 0)
    --rows;
  if (rows > 1)
  {
    names.push_back("mesh:" + std::to_string(rows) + "x" +
        std::to_string(ranks / rows));
  }
  return names;
}

DASGD_INLINE std::string PlanAdvice(const std::vector<PlanRow>& rows,
                                    size_t& best)
{
  if (rows.empty())
    plan::Refuse("there is nothing to choose from.");
  best = 0;
  if (rows.front().ranks == 1 && rows.front().epochSeconds < ShortEpoch)
  {
    return "1 rank: an epoch takes " + plan::Say(1e3 *
        rows.front().epochSeconds) + " ms on it, and to start others takes "
        "longer than many epochs.";
  }
  best = plan::BestRow(rows);
  const PlanRow& chosen = rows[best];
  std::string text = "1 rank: more of them are not worth their exchange";
  if (chosen.ranks > 1)
  {
    text = std::to_string(chosen.ranks) + " ranks on " +
        std::to_string(chosen.machines) + (chosen.machines == 1 ? " machine" :
        " machines") + ", topology " + chosen.topology + ": " +
        plan::Say(chosen.speedup) + " times as many gradients as one rank, "
        "worth " + plan::Say(chosen.worth) + " times as much";
  }
  const PlanRow* other = plan::NextRow(rows, chosen);
  return text + (other ? plan::WhyNotMore(chosen, *other) : "") + ".";
}

} // namespace dasgd

#endif
