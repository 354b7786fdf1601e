/**
 * @file routes_impl.hpp
 *
 * Implementation of Routes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_ROUTES_IMPL_HPP
#define DASGD_TOPOLOGY_ROUTES_IMPL_HPP

// In case it hasn't been included yet.
#include "routes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace dasgd {

DASGD_INLINE Routes::Routes(const Topology& topology,
                            const size_t ranksIn,
                            const size_t rankIn) :
    ranks(ranksIn),
    rank(rankIn)
{
  const std::vector<Hop> emitted = topology.Emit(ranks, rank);
  const std::vector<Arrival> arrivals = topology.Arrivals(ranks, rank);

  std::vector<Hop> all = emitted;
  for (const Arrival& arrival : arrivals)
  {
    all.insert(all.end(), arrival.onward.begin(), arrival.onward.end());
    receiveFrom.push_back(arrival.sender);
  }
  for (const Hop& hop : all)
    sendTo.push_back(hop.neighbour);
  SortUnique(sendTo);
  SortUnique(receiveFrom);

  for (const Hop& hop : all)
    channels.push_back({ Link(hop), hop.routeClass });
  std::sort(channels.begin(), channels.end(), Before);
  channels.erase(std::unique(channels.begin(), channels.end(),
      [](const Channel& a, const Channel& b) { return !Before(a, b); }),
      channels.end());

  emit = Numbers(emitted);
  for (const Arrival& arrival : arrivals)
  {
    if (arrival.routeClass >= known.size())
    {
      known.resize(arrival.routeClass + 1, false);
      forward.resize(arrival.routeClass + 1);
    }
    known[arrival.routeClass] = true;
    forward[arrival.routeClass] = Numbers(arrival.onward);
  }
}

DASGD_INLINE std::vector<size_t> Routes::BothWays() const
{
  std::vector<size_t> all = sendTo;
  all.insert(all.end(), receiveFrom.begin(), receiveFrom.end());
  SortUnique(all);
  return all;
}

[[noreturn]] DASGD_INLINE void Routes::NoRoute(const size_t routeClass) const
{
  throw std::out_of_range("rank " + std::to_string(rank) + " of " +
      std::to_string(ranks) + " has no route for class " +
      std::to_string(routeClass) + "; check with Knows() first");
}

DASGD_INLINE bool Routes::Before(const Channel& a, const Channel& b)
{
  return (a.link != b.link) ? a.link < b.link : a.routeClass < b.routeClass;
}

DASGD_INLINE void Routes::SortUnique(std::vector<size_t>& values)
{
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

DASGD_INLINE size_t Routes::Link(const Hop& hop) const
{
  return std::lower_bound(sendTo.begin(), sendTo.end(), hop.neighbour) -
      sendTo.begin();
}

DASGD_INLINE std::vector<size_t> Routes::Numbers(
    const std::vector<Hop>& hops) const
{
  std::vector<size_t> numbers;
  for (const Hop& hop : hops)
  {
    const Channel channel = { Link(hop), hop.routeClass };
    numbers.push_back(std::lower_bound(channels.begin(), channels.end(),
        channel, Before) - channels.begin());
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

} // namespace dasgd

#endif
