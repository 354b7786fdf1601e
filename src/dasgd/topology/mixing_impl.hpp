/**
 * @file mixing_impl.hpp
 *
 * Implementation of Mixing.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_MIXING_IMPL_HPP
#define DASGD_TOPOLOGY_MIXING_IMPL_HPP

// In case it hasn't been included yet.
#include "mixing.hpp"

#include <algorithm>

namespace dasgd {

DASGD_INLINE Mixing::Mixing(const Topology& topology,
                            const size_t ranks,
                            const size_t rank) :
    neighbours(NeighboursOf(topology, ranks, rank))
{
  for (const size_t peer : neighbours)
  {
    const size_t degree = std::max(neighbours.size(),
        NeighboursOf(topology, ranks, peer).size());
    weights.push_back(1.0 / double(1 + degree));
    own -= weights.back();
  }
}

DASGD_INLINE std::vector<size_t> Mixing::NeighboursOf(const Topology& topology,
                                                      const size_t ranks,
                                                      const size_t rank)
{ return Routes(topology, ranks, rank).BothWays(); }

} // namespace dasgd

#endif
