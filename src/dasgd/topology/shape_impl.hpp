/**
 * @file shape_impl.hpp
 *
 * What follows from the routes of a shape.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_SHAPE_IMPL_HPP
#define DASGD_TOPOLOGY_SHAPE_IMPL_HPP

// In case it hasn't been included yet.
#include "shape.hpp"

#include <algorithm>
#include <deque>

namespace dasgd {

namespace detail {

//! The routes of a shape, followed from all origins.
struct FollowedRoutes
{
  //! By rank.
  std::vector<std::vector<Arrival>> arrivals;
  size_t hops = 0;
  //! What is wrong with them, if anything is.
  std::string problem;
};

DASGD_INLINE FollowedRoutes Follow(const TopologyShape& shape,
                                   const size_t ranks)
{
  struct Frame { size_t from; Hop hop; size_t hops; };
  FollowedRoutes routes;
  routes.arrivals.resize(ranks);
  for (size_t origin = 0; origin < ranks && routes.problem.empty(); ++origin)
  {
    std::vector<bool> reached(ranks, false);
    reached[origin] = true;
    size_t count = 1;
    std::deque<Frame> frames;
    for (const Hop& hop : shape.Emit(ranks, origin))
      frames.push_back({ origin, hop, 1 });
    for (; !frames.empty() && routes.problem.empty(); frames.pop_front())
    {
      const Frame frame = frames.front();
      const size_t to = frame.hop.neighbour;
      if (to >= ranks)
      {
        routes.problem = "rank " + std::to_string(frame.from) + " sends to "
            "rank " + std::to_string(to) + ", but " + Running(ranks);
      }
      else if (reached[to])
      {
        routes.problem = "a gradient of rank " + std::to_string(origin) +
            " gets to rank " + std::to_string(to) + " more than once";
      }
      else
      {
        reached[to] = true;
        ++count;
        routes.hops = std::max(routes.hops, frame.hops);
        const std::vector<Hop> onward = shape.Forward(ranks, to,
            frame.hop.routeClass);
        std::vector<Arrival>& here = routes.arrivals[to];
        if (std::none_of(here.begin(), here.end(), [&](const Arrival& known)
            { return known.sender == frame.from &&
                known.routeClass == frame.hop.routeClass; }))
          here.push_back({ frame.from, frame.hop.routeClass, onward });
        for (const Hop& hop : onward)
          frames.push_back({ to, hop, frame.hops + 1 });
      }
    }
    if (routes.problem.empty() && count < ranks)
    {
      const size_t missing = size_t(std::find(reached.begin(), reached.end(),
          false) - reached.begin());
      routes.problem = "a gradient of rank " + std::to_string(origin) +
          " does not get to rank " + std::to_string(missing);
    }
  }
  return routes;
}

} // namespace detail

DASGD_INLINE std::vector<Arrival> TopologyShape::Arrivals(
    const size_t ranks,
    const size_t rank) const
{
  return detail::Follow(*this, ranks).arrivals[rank];
}

DASGD_INLINE size_t TopologyShape::Hops(const size_t ranks) const
{
  return detail::Follow(*this, ranks).hops;
}

} // namespace dasgd

#endif
