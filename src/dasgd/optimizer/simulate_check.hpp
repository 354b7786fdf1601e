/**
 * @file simulate_check.hpp
 *
 * What Simulate() asks of the machine that is described to it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SIMULATE_CHECK_HPP
#define DASGD_OPTIMIZER_SIMULATE_CHECK_HPP

#include "../simulation/sim_cluster.hpp"
#include "../run/work.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {
namespace simulate {

//! Throw if there is a complaint.
inline void Refuse(const std::string& complaint)
{
  if (!complaint.empty())
    throw std::invalid_argument("dasgd::Simulate(): " + complaint);
}

inline bool Sound(const double value)
{ return std::isfinite(value) && value >= 0; }

//! What is wrong with a rank's points, its time or its links.
inline std::string ValidateRank(const SimCluster& machine,
                                const std::vector<size_t>& points,
                                const Data data,
                                const size_t i)
{
  if (data == Data::Replicated && points[i] != points[0])
  {
    return "rank " + std::to_string(i) + " has " +
        std::to_string(points[i]) + " points, but rank 0 has " +
        std::to_string(points[0]) + "; give each the same points, or set "
        "Data() = dasgd::Data::Sharded.";
  }
  if (!Sound(machine.computeSeconds[i]))
  {
    return "computeSeconds of rank " + std::to_string(i) + " is " +
        std::to_string(machine.computeSeconds[i]) + ", but must be a "
        "finite number of at least 0.";
  }
  for (size_t k = 0; k < points.size(); ++k)
  {
    const SimLink link = (i == k) ? SimLink() : machine.link(i, k);
    if (!Sound(link.latency) || !Sound(link.jitter) ||
        !(link.bytesPerSecond > 0))
    {
      return "the link from rank " + std::to_string(i) + " to rank " +
          std::to_string(k) + " must have a latency and a jitter of at "
          "least 0 and a bandwidth above 0.";
    }
  }
  return "";
}

//! What is wrong with the machine, or with what runs on it.
inline std::string Validate(const SimCluster& machine,
                             const std::vector<size_t>& points,
                             const size_t callbacks,
                             const Data data)
{
  const size_t ranks = points.size();
  if (ranks == 0)
    return "there are no functions; give one for each rank.";
  if (machine.computeSeconds.size() != ranks)
  {
    return "computeSeconds has " +
        std::to_string(machine.computeSeconds.size()) + " entries, but there "
        "are " + std::to_string(ranks) + " functions; give one of each for "
        "each rank.";
  }
  if (callbacks != ranks)
  {
    return "there are " + std::to_string(callbacks) + " callbacks and " +
        std::to_string(ranks) + " functions; give one of each for each rank.";
  }
  for (size_t i = 0; i < ranks; ++i)
  {
    const std::string complaint = ValidateRank(machine, points, data, i);
    if (!complaint.empty())
      return complaint;
  }
  if (!machine.machines.empty() && (machine.machines.size() != ranks ||
      *std::max_element(machine.machines.begin(), machine.machines.end()) >=
      ranks))
  {
    return "machines must be empty, or have a number below " +
        std::to_string(ranks) + " for each of " + std::to_string(ranks) +
        " ranks.";
  }
  if (!(machine.computeSpread >= 0 && machine.computeSpread <= 1) ||
      !Sound(machine.applySeconds) || !Sound(machine.relaySeconds) ||
      !Sound(machine.stallSeconds) ||
      !(machine.machineBytesPerSecond > 0))
  {
    return "computeSpread must be from 0 to 1, applySeconds, relaySeconds and "
        "stallSeconds at least 0, and machineBytesPerSecond above 0.";
  }
  return "";
}

} // namespace simulate
} // namespace dasgd

#endif
