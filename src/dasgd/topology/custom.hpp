/**
 * @file custom.hpp
 *
 * A topology of the user's own.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_CUSTOM_HPP
#define DASGD_TOPOLOGY_CUSTOM_HPP

#include "shape_impl.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace dasgd {
namespace detail {

//! A shape whose routes are checked before they are used, and followed once for
//! each number of ranks.
class CustomShape : public TopologyShape
{
 public:
  explicit CustomShape(std::shared_ptr<const TopologyShape> shapeIn) :
      shape(std::move(shapeIn)) { }

  std::string Name() const override { return shape->Name(); }

  void Check(const size_t ranks) const override
  {
    const std::string& problem = Routes(ranks).problem;
    if (!problem.empty())
    {
      throw std::invalid_argument("topology " + Shown(Name()) + " is not one "
          "for " + Count(ranks) + ": " + problem + "; each rank must be "
          "reached over exactly one path");
    }
  }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  { return shape->Emit(ranks, rank); }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  { return shape->Forward(ranks, rank, routeClass); }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  { return Routes(ranks).arrivals[rank]; }

  size_t Hops(const size_t ranks) const override { return Routes(ranks).hops; }

  std::shared_ptr<const TopologyShape> On(const std::vector<size_t>& machines)
      const override
  {
    std::shared_ptr<const TopologyShape> placed = shape->On(machines);
    return placed ? std::make_shared<const CustomShape>(std::move(placed)) :
        nullptr;
  }

 private:
  const FollowedRoutes& Routes(const size_t ranks) const
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto known = followed.find(ranks);
    if (known != followed.end())
      return known->second;
    shape->Check(ranks);
    return followed.emplace(ranks, Follow(*shape, ranks)).first->second;
  }

  std::shared_ptr<const TopologyShape> shape;
  mutable std::mutex mutex;
  mutable std::map<size_t, FollowedRoutes> followed;
};

} // namespace detail
} // namespace dasgd

#endif
