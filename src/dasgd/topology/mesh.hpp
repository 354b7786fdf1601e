/**
 * @file mesh.hpp
 *
 * The mesh: up to four links for each rank.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_MESH_HPP
#define DASGD_TOPOLOGY_MESH_HPP

#include "shape.hpp"

#include <initializer_list>

namespace dasgd {
namespace detail {

//! First along the row, then along the column.
class MeshShape : public Shape
{
 public:
  MeshShape(const size_t rowsIn, const size_t colsIn) :
      rows(rowsIn),
      cols(colsIn)
  {
    if (rows == 0 || cols == 0 || rows > maxRanks / cols)
    {
      throw std::invalid_argument("topology " + Name() + ": rows and columns "
          "must be at least 1, and their product at most " +
          std::to_string(maxRanks) + "; choose mesh:RxC with R times "
          "C the number of ranks");
    }
  }

  std::string Name() const override
  {
    return "mesh:" + std::to_string(rows) + "x" + std::to_string(cols);
  }

  void Check(const size_t ranks) const override
  {
    if (ranks == rows * cols)
      return;

    // The mesh closest to a square has the fewest hops.
    size_t height = 1;
    for (size_t i = 1; i * i <= ranks; ++i)
    {
      if (ranks % i == 0)
        height = i;
    }
    throw std::invalid_argument("topology " + Name() + " is for " +
        Count(rows * cols) + ", but " + Running(ranks) + "; start " +
        Count(rows * cols) + " or choose mesh:" + std::to_string(height) + "x" +
        std::to_string(ranks / height));
  }

  std::vector<Hop> Emit(const size_t, const size_t rank) const override
  {
    return Towards(rank, { East, West, South, North });
  }

  std::vector<Hop> Forward(const size_t,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    if (routeClass > North || !Has(rank, Opposite(routeClass)))
      return { };
    if (routeClass == East || routeClass == West)
      return Towards(rank, { routeClass, South, North });
    return Towards(rank, { routeClass });
  }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  {
    std::vector<Arrival> arrivals;
    for (const size_t direction : { East, West, South, North })
    {
      if (Has(rank, Opposite(direction)))
      {
        arrivals.push_back({ Neighbour(rank, Opposite(direction)), direction,
            Forward(ranks, rank, direction) });
      }
    }
    return arrivals;
  }

  size_t Hops(const size_t) const override { return rows + cols - 2; }

 private:
  static constexpr size_t East = 0, West = 1, South = 2, North = 3;

  static size_t Opposite(const size_t direction) { return direction ^ 1; }

  bool Has(const size_t rank, const size_t direction) const
  {
    switch (direction)
    {
      case East: return rank % cols + 1 < cols;
      case West: return rank % cols > 0;
      case South: return rank / cols + 1 < rows;
      default: return rank / cols > 0;
    }
  }

  size_t Neighbour(const size_t rank, const size_t direction) const
  {
    switch (direction)
    {
      case East: return rank + 1;
      case West: return rank - 1;
      case South: return rank + cols;
      default: return rank - cols;
    }
  }

  std::vector<Hop> Towards(const size_t rank,
                           const std::initializer_list<size_t> directions) const
  {
    std::vector<Hop> hops;
    for (const size_t direction : directions)
    {
      if (Has(rank, direction))
        hops.push_back({ Neighbour(rank, direction), direction });
    }
    return hops;
  }

  size_t rows;
  size_t cols;
};

} // namespace detail
} // namespace dasgd

#endif
