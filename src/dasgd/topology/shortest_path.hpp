/**
 * @file shortest_path.hpp
 *
 * Topologies that route along shortest paths: the ring, and any graph.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_SHORTEST_PATH_HPP
#define DASGD_TOPOLOGY_SHORTEST_PATH_HPP

#include "edge_list.hpp"
#include "shape.hpp"

#include <algorithm>
#include <limits>

namespace dasgd {
namespace detail {

/**
 * Shortest paths on a graph: each origin has its own breadth-first tree, and
 * the class is the origin.  Neighbours are visited in ascending order on every
 * rank, so all ranks find the same trees without talking to each other.
 */
class ShortestPathShape : public Shape
{
 public:
  // The first hops of a breadth-first tree are all neighbours of its root.
  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  {
    return ToHops(Neighbours(ranks)[rank], rank);
  }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    if (routeClass >= ranks || routeClass == rank)
      return { };
    return Arrive(Neighbours(ranks), routeClass, rank).onward;
  }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  {
    std::vector<Arrival> arrivals;
    const Lists neighbours = Neighbours(ranks);
    for (size_t origin = 0; origin < ranks; ++origin)
    {
      if (origin != rank)
        arrivals.push_back(Arrive(neighbours, origin, rank));
    }
    return arrivals;
  }

  size_t Hops(const size_t ranks) const override
  {
    size_t hops = 0;
    const Lists neighbours = Neighbours(ranks);
    for (size_t origin = 0; origin < ranks; ++origin)
    {
      const std::vector<size_t> distances = Distances(neighbours, origin);
      hops = std::max(hops,
          *std::max_element(distances.begin(), distances.end()));
    }
    return hops;
  }

 protected:
  using Lists = std::vector<std::vector<size_t>>;

  static constexpr size_t None = std::numeric_limits<size_t>::max();

  //! For each rank its neighbours in ascending order, each named once.
  virtual Lists Neighbours(const size_t ranks) const = 0;

  //! Number of hops to each rank, None for those that cannot be reached.
  static std::vector<size_t> Distances(const Lists& neighbours,
                                       const size_t origin)
  {
    std::vector<size_t> distances(neighbours.size(), None);
    std::vector<size_t> queue(1, origin);
    distances[origin] = 0;
    for (size_t next = 0; next < queue.size(); ++next)
    {
      const size_t rank = queue[next];
      for (const size_t neighbour : neighbours[rank])
      {
        if (distances[neighbour] == None)
        {
          distances[neighbour] = distances[rank] + 1;
          queue.push_back(neighbour);
        }
      }
    }
    return distances;
  }

 private:
  //! Grow the tree of `origin` until the place of `rank` in it is known.
  static Arrival Arrive(const Lists& neighbours,
                        const size_t origin,
                        const size_t rank)
  {
    std::vector<size_t> parents(neighbours.size(), None);
    std::vector<size_t> queue(1, origin);
    parents[origin] = origin;
    std::vector<size_t> children;
    for (size_t next = 0; next < queue.size(); ++next)
    {
      const size_t parent = queue[next];
      for (const size_t neighbour : neighbours[parent])
      {
        if (parents[neighbour] == None)
        {
          parents[neighbour] = parent;
          queue.push_back(neighbour);
          if (parent == rank)
            children.push_back(neighbour);
        }
      }
      if (parent == rank)
        break;
    }
    return { parents[rank], origin, ToHops(children, origin) };
  }

  static std::vector<Hop> ToHops(const std::vector<size_t>& neighbours,
                                 const size_t routeClass)
  {
    std::vector<Hop> hops;
    for (const size_t neighbour : neighbours)
      hops.push_back({ neighbour, routeClass });
    return hops;
  }
};

class RingShape : public ShortestPathShape
{
 public:
  std::string Name() const override { return "ring"; }

 protected:
  Lists Neighbours(const size_t ranks) const override
  {
    Lists neighbours(ranks);
    for (size_t i = 0; i < ranks; ++i)
    {
      const size_t before = (i + ranks - 1) % ranks;
      const size_t after = (i + 1) % ranks;
      if (before != i)
        neighbours[i].push_back(std::min(before, after));
      if (before != after)
        neighbours[i].push_back(std::max(before, after));
    }
    return neighbours;
  }
};

//! Any connected graph.
class GraphShape : public ShortestPathShape
{
 public:
  explicit GraphShape(std::vector<Edge> edgesIn) : edges(std::move(edgesIn))
  {
    for (Edge& edge : edges)
    {
      const std::string problem = Problem(edge);
      if (!problem.empty())
      {
        throw std::invalid_argument("topology graph, edge " + Text(edge) +
            ": " + problem);
      }
      if (edge.first > edge.second)
        std::swap(edge.first, edge.second);
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }

  std::string Name() const override
  {
    std::string name = "graph:";
    for (size_t i = 0; i < edges.size(); ++i)
      name += (i == 0 ? "" : ",") + Text(edges[i]);
    return name;
  }

  void Check(const size_t ranks) const override
  {
    size_t needed = 1;
    for (const Edge& edge : edges)
      needed = std::max(needed, edge.second + 1);
    for (const Edge& edge : edges)
    {
      if (edge.second >= ranks)
      {
        throw std::invalid_argument("topology " + Shown(Name()) + " has the "
            "edge " + Text(edge) + ", but " + Running(ranks) + ", numbered "
            "from 0; start " + Count(needed) + " or remove the edge");
      }
    }
    if (ranks == 1)
      return;

    const Lists neighbours = Neighbours(ranks);
    for (size_t i = 0; i < ranks; ++i)
    {
      if (neighbours[i].empty())
      {
        throw std::invalid_argument("topology " + Shown(Name()) + " has no "
            "edge for rank " + std::to_string(i) + ", but " + Running(ranks) +
            "; " + ((i >= needed) ? "start " + Count(needed) + " or " : "") +
            "add an edge for it");
      }
    }

    const std::vector<size_t> distances = Distances(neighbours, 0);
    const auto lost = std::find(distances.begin(), distances.end(), None);
    if (lost != distances.end())
    {
      throw std::invalid_argument("topology " + Shown(Name()) + " is not "
          "connected: rank " + std::to_string(lost - distances.begin()) +
          " cannot be reached from rank 0; add an edge that joins the parts");
    }
  }

 protected:
  Lists Neighbours(const size_t ranks) const override
  {
    // Sorted edges with the lower rank first: each list comes out ascending,
    // lower neighbours before higher ones.
    Lists neighbours(ranks);
    for (const Edge& edge : edges)
    {
      neighbours[edge.first].push_back(edge.second);
      neighbours[edge.second].push_back(edge.first);
    }
    return neighbours;
  }

 private:
  static std::string Text(const Edge& edge)
  {
    return std::to_string(edge.first) + "-" + std::to_string(edge.second);
  }

  std::vector<Edge> edges;
};

} // namespace detail
} // namespace dasgd

#endif
