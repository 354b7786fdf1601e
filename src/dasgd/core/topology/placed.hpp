/**
 * @file placed.hpp
 *
 * Topologies that go by the machines that ranks run on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_TOPOLOGY_PLACED_HPP
#define DASGD_CORE_TOPOLOGY_PLACED_HPP

#include "nodes.hpp"

namespace dasgd {
namespace detail {

//! What follows from the machines.  As long as they are not known, all ranks
//! are thought to be on one.
class PlacedShape : public Shape
{
 public:
  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  { return OnOne(ranks)->Emit(ranks, rank); }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  { return OnOne(ranks)->Forward(ranks, rank, routeClass); }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  { return OnOne(ranks)->Arrivals(ranks, rank); }

  size_t Hops(const size_t ranks) const override
  { return OnOne(ranks)->Hops(ranks); }

 private:
  static std::shared_ptr<const Shape> OnOne(const size_t ranks)
  { return LevelShape(ranks); }
};

//! Two levels, even if one would do.
class NodesByMachines : public PlacedShape
{
 public:
  std::string Name() const override { return "nodes"; }

  std::shared_ptr<const Shape> On(const std::vector<size_t>& machines)
      const override
  { return std::make_shared<const NodesShape>(machines); }
};

//! Whatever is best.
class AutoShape : public PlacedShape
{
 public:
  std::string Name() const override { return "auto"; }

  std::shared_ptr<const Shape> On(const std::vector<size_t>& machines)
      const override
  {
    std::vector<size_t> distinct(machines);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()),
        distinct.end());
    if (distinct.size() <= 1 || distinct.size() == machines.size())
      return LevelShape(machines.size());
    return std::make_shared<const NodesShape>(machines);
  }
};

} // namespace detail
} // namespace dasgd

#endif
