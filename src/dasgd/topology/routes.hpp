/**
 * @file routes.hpp
 *
 * The routes of one rank, worked out once from a topology and looked up for
 * every frame.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_ROUTES_HPP
#define DASGD_TOPOLOGY_ROUTES_HPP

#include "../core/config.hpp"
#include "topology.hpp"

#include <cstddef>
#include <vector>

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
         const size_t rankIn);

  //! The ranks that this rank sends to, ascending.
  const std::vector<size_t>& SendTo() const { return sendTo; }

  //! The ranks that send to this rank, ascending: those with this rank in
  //! their SendTo().
  const std::vector<size_t>& ReceiveFrom() const { return receiveFrom; }

  //! All that this rank has a link with in either direction, ascending.
  std::vector<size_t> BothWays() const;

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
      NoRoute(routeClass);
    return forward[routeClass];
  }

  size_t Ranks() const { return ranks; }
  size_t Rank() const { return rank; }

 private:
  [[noreturn]] void NoRoute(const size_t routeClass) const;

  static bool Before(const Channel& a, const Channel& b);

  static void SortUnique(std::vector<size_t>& values);

  size_t Link(const Hop& hop) const;

  //! The channel numbers of some hops, ascending.
  std::vector<size_t> Numbers(const std::vector<Hop>& hops) const;

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

#ifndef DASGD_COMPILED
#include "routes_impl.hpp"
#endif

#endif
