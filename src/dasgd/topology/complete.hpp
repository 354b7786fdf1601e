/**
 * @file complete.hpp
 *
 * The complete topology: everybody to everybody.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_COMPLETE_HPP
#define DASGD_TOPOLOGY_COMPLETE_HPP

#include "shape.hpp"

namespace dasgd {
namespace detail {

//! One hop to each; nothing is relayed.
class CompleteShape : public Shape
{
 public:
  std::string Name() const override { return "complete"; }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  {
    std::vector<Hop> hops;
    for (size_t i = 0; i < ranks; ++i)
    {
      if (i != rank)
        hops.push_back({ i, 0 });
    }
    return hops;
  }

  std::vector<Hop> Forward(const size_t, const size_t, const size_t)
      const override
  {
    return { };
  }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  {
    std::vector<Arrival> arrivals;
    for (const Hop& hop : Emit(ranks, rank))
      arrivals.push_back({ hop.neighbour, 0, { } });
    return arrivals;
  }

  size_t Hops(const size_t ranks) const override { return (ranks > 1) ? 1 : 0; }
};

} // namespace detail
} // namespace dasgd

#endif
