/**
 * @file routes.hpp
 *
 * What must hold of a topology that was accepted, whatever it was read from.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_FUZZ_ROUTES_HPP
#define DASGD_TESTS_FUZZ_ROUTES_HPP

#include "require.hpp"

#include <dasgd/topology/routes.hpp>

namespace fuzz {

//! The name is a text of the same topology.
inline void CheckName(const dasgd::Topology& topology)
{
  const dasgd::Topology again(topology.Name());
  Require(again == topology, "a topology equals the one of its name");
  Require(again.Name() == topology.Name(), "a name is canonical");
}

//! Does a topology fit so many ranks?
inline bool Fits(const dasgd::Topology& topology, const size_t ranks)
{
  try
  {
    topology.Check(ranks);
    return true;
  }
  catch (const std::invalid_argument&)
  {
    return false;
  }
}

//! From every origin, every other rank is reached once.
inline void CheckRoutes(const dasgd::Topology& topology, const size_t ranks)
{
  std::vector<dasgd::Routes> routes;
  for (size_t rank = 0; rank < ranks; ++rank)
    routes.emplace_back(topology, ranks, rank);
  const size_t hops = topology.Hops(ranks);

  struct Visit
  {
    size_t rank;
    size_t routeClass;
    size_t hops;
  };
  for (size_t origin = 0; origin < ranks; ++origin)
  {
    std::vector<bool> reached(ranks, false);
    reached[origin] = true;
    std::vector<Visit> visits;
    const auto send = [&](const size_t from,
                          const std::vector<size_t>& channels,
                          const size_t hopsSoFar)
    {
      for (const size_t number : channels)
      {
        Require(number < routes[from].Channels().size(), "a channel exists");
        const dasgd::Routes::Channel& channel =
            routes[from].Channels()[number];
        Require(channel.link < routes[from].SendTo().size(), "a link exists");
        const size_t to = routes[from].SendTo()[channel.link];
        Require(to < ranks, "a link leads to a rank");
        Require(!reached[to], "no rank is reached twice");
        reached[to] = true;
        const std::vector<size_t>& senders = routes[to].ReceiveFrom();
        Require(std::binary_search(senders.begin(), senders.end(), from),
            "a rank expects its senders");
        Require(routes[to].Knows(channel.routeClass),
            "a rank knows the classes that arrive");
        visits.push_back({ to, channel.routeClass, hopsSoFar + 1 });
      }
    };
    send(origin, routes[origin].Emit(), 0);
    for (size_t i = 0; i < visits.size(); ++i)
    {
      const Visit visit = visits[i];
      Require(visit.hops <= hops, "no path has more hops than there are");
      send(visit.rank, routes[visit.rank].Forward(visit.routeClass),
          visit.hops);
    }
    Require(visits.size() + 1 == ranks, "every rank is reached");
  }
}

} // namespace fuzz

#endif
