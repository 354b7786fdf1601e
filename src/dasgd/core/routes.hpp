/**
 * @file routes.hpp
 *
 * The routes of one rank, worked out once from a topology and looked up for
 * every frame.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_ROUTES_HPP
#define DASGD_CORE_ROUTES_HPP

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "topology.hpp"

namespace dasgd {

/**
 * What one rank needs to know of a topology.  A link is a rank that frames are
 * sent to, numbered by its place in SendTo(); only ranks that some route
 * really leads to are links.  A channel is a (link, route class) pair: all
 * frames of a channel have the same hops ahead of them, so each channel needs
 * one pending sum.  Channels are numbered from 0, by link, then by class.
 */
class Routes
{
 public:
  struct Channel
  {
    size_t link;
    size_t routeClass;
  };

  //! @throws std::invalid_argument if the topology does not fit.
  Routes(const Topology& topology,
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

  //! The ranks that this rank sends to, ascending.
  const std::vector<size_t>& SendTo() const { return sendTo; }

  //! The ranks that send to this rank, ascending: those with this rank in
  //! their SendTo().
  const std::vector<size_t>& ReceiveFrom() const { return receiveFrom; }

  //! All that this rank has a link with in either direction, ascending.
  std::vector<size_t> BothWays() const
  {
    std::vector<size_t> all = sendTo;
    all.insert(all.end(), receiveFrom.begin(), receiveFrom.end());
    SortUnique(all);
    return all;
  }

  const std::vector<Channel>& Channels() const { return channels; }

  //! The channels, by number, that a gradient computed here goes to.
  const std::vector<size_t>& Emit() const { return emit; }

  //! Whether a frame of this class can arrive here at all.  Ask before trusting
  //! the class of a frame that came over the wire.
  bool Knows(const size_t routeClass) const
  {
    return routeClass < known.size() && known[routeClass];
  }

  /**
   * The channels, by number, that a frame goes on to after arriving here with
   * the given class.
   *
   * @throws std::out_of_range if the class is not one that Knows() accepts.
   */
  const std::vector<size_t>& Forward(const size_t routeClass) const
  {
    if (!Knows(routeClass))
    {
      throw std::out_of_range("rank " + std::to_string(rank) + " of " +
          std::to_string(ranks) + " has no route for class " +
          std::to_string(routeClass) + "; check with Knows() first");
    }
    return forward[routeClass];
  }

  size_t Ranks() const { return ranks; }
  size_t Rank() const { return rank; }

 private:
  static bool Before(const Channel& a, const Channel& b)
  {
    return (a.link != b.link) ? a.link < b.link : a.routeClass < b.routeClass;
  }

  static void SortUnique(std::vector<size_t>& values)
  {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  size_t Link(const Hop& hop) const
  {
    return std::lower_bound(sendTo.begin(), sendTo.end(), hop.neighbour) -
        sendTo.begin();
  }

  //! The channel numbers of some hops, ascending.
  std::vector<size_t> Numbers(const std::vector<Hop>& hops) const
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

  size_t ranks;
  size_t rank;
  std::vector<size_t> sendTo;
  std::vector<size_t> receiveFrom;
  std::vector<Channel> channels;
  std::vector<size_t> emit;
  std::vector<bool> known;
  std::vector<std::vector<size_t>> forward;
};

} // namespace dasgd

#endif
