/**
 * @file hop.hpp
 *
 * What routes are made of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_HOP_HPP
#define DASGD_TOPOLOGY_HOP_HPP

#include <cstddef>
#include <vector>

namespace dasgd {

//! One hop: the neighbour a frame goes to and the route class it then has.
struct Hop
{
  size_t neighbour;
  size_t routeClass;
};

//! A hop seen from its far end: who sends, with which class, and where the
//! frame goes on to from here.
struct Arrival
{
  size_t sender;
  size_t routeClass;
  std::vector<Hop> onward;
};

namespace detail {

//! See Topology::MaxRanks.
constexpr size_t maxRanks = size_t(1) << 20;
//! The same where each rank is named.
constexpr size_t maxPlaces = size_t(1) << 16;

} // namespace detail
} // namespace dasgd

#endif
