/**
 * @file plan.hpp
 *
 * What a training would be like on more ranks and machines than there are:
 * found by simulation, without gradients.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_PLAN_HPP
#define DASGD_SIMULATION_PLAN_HPP

#include "sim_cluster.hpp"
#include "../core/config.hpp"
#include "../core/overlap.hpp"
#include "../topology/topology.hpp"
#include "../wire/format.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace dasgd {

//! What is to be trained, as far as its speed goes.
struct PlanModel
{
  //! Elements of the model, and bytes of each.
  size_t elements = 0;
  size_t elementBytes = sizeof(double);
  //! Seconds that a rank takes for a gradient ...
  double gradientSeconds = 0;
  //! ... give or take this part of it, by chance.
  double gradientSpread = 0.02;
  //! Seconds to apply a frame, and to hand one to the network or take one from
  //! it.
  double applySeconds = 0;
  double messageSeconds = 0;
  //! Seconds to subtract an update from the model that the ranks of a machine
  //! share, and to copy the result.
  double passSeconds = 0;
  //! Seconds that a gradient costs a rank besides, whatever the model is, with
  //! one other rank; and for each more.
  double stepSeconds = 0;
  double rankSeconds = 0;
  //! Points of a gradient, and of an epoch (0: not known).
  size_t batchSize = 1;
  size_t points = 0;
  //! As DASGD's settings of these names; see there.
  dasgd::WireFormat wireFormat;
  double exchangeShare = DefaultExchangeShare;
  size_t maxLead = 32;
  //! 3 for plain steps, 6 for momentum and Adam; 0 for steps that are not
  //! shortened, of which all count.
  double stalenessDamping = 3;
};

//! Where it is to be trained.
struct PlanCluster
{
  size_t ranksPerMachine = 1;
  //! Seconds that a message takes to another machine, and what a machine can
  //! send to all others together, and receive from them.
  double latency = 50e-6;
  double bytesPerSecond = 125e6;
  //! What MPI and TCP take of a frame at once.  The rest leaves in such parts:
  //! the receiver has to look for messages before, and the sender for each.
  double bufferBytes = 2.5e6;
  //! Do ranks share cores?
  bool crowded = false;
};

//! What to expect of one number of ranks and one topology, once the training is
//! under way.
struct PlanRow
{
  std::string algorithm = "DASGD";
  size_t ranks = 1;
  size_t machines = 1;
  //! As it was asked for, and what it stands for.
  std::string topology;
  std::string topologyUsed;
  //! Gradients of all ranks in a second; and divided by those of one rank.
  double gradientsPerSecond = 0;
  double speedup = 1;
  //! The speed-up that is left if a gradient counts as much as the step that it
  //! makes (see DASGD's StalenessDamping()); not known for others.
  double worth = 1;
  //! Infinite if the points are not known.
  double epochSeconds = std::numeric_limits<double>::infinity();
  //! The paper's S_avg.
  double staleness = 0;
  //! Sent by the busiest machine to others, in a second; what part that is of
  //! what it can send; and by the busiest rank to one other.
  double bytesPerSecond = 0;
  double networkShare = 0;
  double linkBytesPerSecond = 0;
  //! Of the model, gradient and frames of a rank, at most.
  double memoryBytes = 0;
  //! Ranks that a rank sends to, at most.
  size_t neighbours = 0;
};

//! How long simulations are.
struct PlanEffort
{
  //! Gradients of each rank, of which the second half counts; more where the
  //! network is slow.
  size_t gradients = 200;
  std::uint64_t seed = 1;
};

/**
 * Simulate DASGD: the same protocol as over MPI, with every frame and manifest,
 * but with the times of `model` in place of gradients and vectors.
 *
 * @throws std::invalid_argument if the topology does not fit the ranks, or a
 *     number cannot be.
 */
PlanRow PlanDasgd(const PlanModel& model,
                  const PlanCluster& cluster,
                  const size_t ranks,
                  const Topology& topology,
                  const PlanEffort& effort = PlanEffort());

//! The same for training with an all-reduce after each gradient.
PlanRow PlanAllreduce(const PlanModel& model,
                      const PlanCluster& cluster,
                      const size_t ranks);

/**
 * The machine that plans are simulated on, for Simulate() with real gradients.
 *
 * @param overlap Is there an exchange while gradients are computed?
 */
SimCluster PlanMachine(const PlanModel& model,
                       const PlanCluster& cluster,
                       const size_t ranks,
                       const bool overlap);

//! Topologies that can be planned for so many ranks: those with many routes at
//! each rank only for a few ranks.
std::vector<std::string> PlanTopologies(const size_t ranks);

//! Seconds of an epoch on one rank that make others superfluous: to start
//! processes takes a tenth of a second and more.
constexpr double ShortEpoch = 0.01;

/**
 * One sentence on what to use: the fewest ranks that are worth nearly as much
 * as any that were planned, by a network that is not full.  It is one rank if
 * an epoch is over sooner than others have started.
 *
 * @param rows Of DASGD, in the order of their numbers of ranks, from 1 on.
 * @param best Set to the index of the row that is recommended.
 */
std::string PlanAdvice(const std::vector<PlanRow>& rows, size_t& best);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "plan_impl.hpp"
#endif

#endif
