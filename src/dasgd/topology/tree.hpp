/**
 * @file tree.hpp
 *
 * The K-ary tree.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_TREE_HPP
#define DASGD_TOPOLOGY_TREE_HPP

#include "shape.hpp"

#include <algorithm>

namespace dasgd {
namespace detail {

//! On a tree everything goes on to all neighbours but the one it came from, so
//! the class only needs to name that one.
class TreeShape : public Shape
{
 public:
  explicit TreeShape(const size_t arityIn) : arity(arityIn)
  {
    if (arity == 0 || arity > maxRanks)
    {
      throw std::invalid_argument("topology " + Name() + ": a rank of a tree "
          "has at least 1 child and at most " +
          std::to_string(maxRanks) + "; choose for example tree:2");
    }
  }

  std::string Name() const override { return "tree:" + std::to_string(arity); }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  {
    return AllBut(Neighbours(ranks, rank), rank, rank);
  }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    const std::vector<size_t> neighbours = Neighbours(ranks, rank);
    if (!std::binary_search(neighbours.begin(), neighbours.end(), routeClass))
      return { };
    return AllBut(neighbours, rank, routeClass);
  }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  {
    std::vector<Arrival> arrivals;
    const std::vector<size_t> neighbours = Neighbours(ranks, rank);
    for (const size_t sender : neighbours)
      arrivals.push_back({ sender, sender, AllBut(neighbours, rank, sender) });
    return arrivals;
  }

  // The last rank is among the deepest.  A path from it over the root gets as
  // deep on the other side, unless all its equals are below the first child.
  size_t Hops(const size_t ranks) const override
  {
    if (ranks == 1 || arity == 1)
      return ranks - 1;

    size_t depth = 1;
    size_t ancestor = ranks - 1;
    for (; ancestor > arity; ancestor = (ancestor - 1) / arity)
      ++depth;
    return (ancestor == 1) ? 2 * depth - 1 : 2 * depth;
  }

 private:
  //! Ascending, as the parent has a lower number than the children.
  std::vector<size_t> Neighbours(const size_t ranks, const size_t rank) const
  {
    std::vector<size_t> neighbours;
    if (rank > 0)
      neighbours.push_back((rank - 1) / arity);
    if (rank <= (ranks - 1) / arity) // Otherwise the product might overflow.
    {
      for (size_t i = rank * arity + 1; i <= rank * arity + arity; ++i)
      {
        if (i >= ranks)
          break;
        neighbours.push_back(i);
      }
    }
    return neighbours;
  }

  static std::vector<Hop> AllBut(const std::vector<size_t>& neighbours,
                                 const size_t rank,
                                 const size_t sender)
  {
    std::vector<Hop> hops;
    for (const size_t neighbour : neighbours)
    {
      if (neighbour != sender)
        hops.push_back({ neighbour, rank });
    }
    return hops;
  }

  size_t arity;
};

} // namespace detail
} // namespace dasgd

#endif
