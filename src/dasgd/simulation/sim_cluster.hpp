/**
 * @file sim_cluster.hpp
 *
 * The machine that simulations run on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_SIM_CLUSTER_HPP
#define DASGD_SIMULATION_SIM_CLUSTER_HPP

#include "sim_network.hpp"
#include "../wire/format.hpp"

#include <limits>

namespace dasgd {

//! What a simulation runs on.
struct SimCluster
{
  std::uint64_t seed = 0;
  //! Seconds that each rank takes for a gradient ...
  std::vector<double> computeSeconds;
  //! ... give or take this part of it, by chance.
  double computeSpread = 0;
  //! Seconds to apply a frame, or all that has arrived while a gradient was
  //! computed.
  double applySeconds = 0;
  //! Seconds to receive and relay a frame beside computing.
  double relaySeconds = 0;
  //! Seconds to hand a frame for another machine to the network.
  double sendSeconds = 0;
  //! Bytes that each vector is longer than the one that is exchanged here: a
  //! small problem can stand for a large model.
  size_t vectorBytes = 0;
  //! What the link from one rank to another is like.
  std::function<SimLink(size_t from, size_t to)> link =
      [](size_t, size_t) { return SimLink(); };
  //! How often a rank stands still before it goes on, and for how long.
  double stallChance = 0;
  double stallSeconds = 0;
  //! Frames under way to each neighbour.
  size_t window = 2;
  //! How updates are written.
  WireFormat format = WireFormat::Exact;
  //! Which machine each rank is on, numbered from 0; empty: each on its own.
  std::vector<size_t> machines;
  //! What a machine can send to all others together, and receive from them;
  //! without it every link is as fast as if there were no other.
  double machineBytesPerSecond = std::numeric_limits<double>::infinity();
  //! Where to show virtual seconds while they pass, for callbacks; or null.
  double* clock = nullptr;

  //! The machine of each rank.
  std::vector<size_t> Machines(const size_t ranks) const
  {
    std::vector<size_t> all(machines);
    while (all.size() < ranks)
      all.push_back(machines.empty() ? all.size() : all.back());
    return all;
  }
};

} // namespace dasgd

#endif
