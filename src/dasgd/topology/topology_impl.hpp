/**
 * @file topology_impl.hpp
 *
 * Implementation of Topology: makes shapes from arguments and texts.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_TOPOLOGY_IMPL_HPP
#define DASGD_TOPOLOGY_TOPOLOGY_IMPL_HPP

// In case it hasn't been included yet.
#include "topology.hpp"

#include "complete.hpp"
#include "custom.hpp"
#include "edge_list.hpp"
#include "exponential.hpp"
#include "mesh.hpp"
#include "automatic.hpp"
#include "shortest_path.hpp"
#include "tree.hpp"

#include <algorithm>
#include <limits>

namespace dasgd {

DASGD_INLINE Topology::Topology(std::shared_ptr<const TopologyShape> shapeIn) :
    shape(std::move(shapeIn))
{ /* Nothing to do. */ }

DASGD_INLINE Topology::Topology() : Topology(Complete())
{ /* Nothing to do. */ }

DASGD_INLINE Topology::Topology(const std::string& text) : Topology(Parse(text))
{ /* Nothing to do. */ }

DASGD_INLINE Topology::Topology(const char* text) :
    Topology(Parse(text == nullptr ? "" : text))
{ /* Nothing to do. */ }

DASGD_INLINE Topology Topology::Complete()
{
  return Topology(std::make_shared<const detail::CompleteShape>());
}

DASGD_INLINE Topology Topology::Ring()
{
  return Topology(std::make_shared<const detail::RingShape>());
}

DASGD_INLINE Topology Topology::Mesh(const size_t rows, const size_t cols)
{
  return Topology(std::make_shared<const detail::MeshShape>(rows, cols));
}

DASGD_INLINE Topology Topology::Exponential()
{
  return Topology(std::make_shared<const detail::ExponentialShape>());
}

DASGD_INLINE Topology Topology::Tree(const size_t arity)
{
  return Topology(std::make_shared<const detail::TreeShape>(arity));
}

DASGD_INLINE Topology Topology::Graph(
    const std::vector<std::pair<size_t, size_t>>& edges)
{
  return Topology(std::make_shared<const detail::GraphShape>(edges));
}

DASGD_INLINE Topology Topology::Auto()
{
  return Topology(std::make_shared<const detail::AutoShape>());
}

DASGD_INLINE Topology Topology::FromFile(const std::string& path)
{
  return Graph(detail::ReadEdgeFile(path));
}

DASGD_INLINE Topology Topology::Custom(
    std::shared_ptr<const TopologyShape> shape)
{
  if (!shape)
    throw std::invalid_argument("there is no shape to make a topology of");
  return Topology(std::make_shared<const detail::CustomShape>(
      std::move(shape)));
}

DASGD_INLINE Topology Topology::Parse(const std::string& text)
{
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool bare = (colon == std::string::npos);
  const std::string rest = bare ? "" : text.substr(colon + 1);
  size_t at = 0;

  const auto bounded = [&](const size_t number)
  {
    if (number > MaxRanks)
    {
      throw std::invalid_argument("topology '" + detail::Shown(text) + "': "
          "numbers may be at most " + std::to_string(MaxRanks) + "; correct "
          "the text");
    }
    return number;
  };

  if (bare && kind == "complete")
    return Complete();
  if (bare && kind == "ring")
    return Ring();
  if (bare && kind == "exponential")
    return Exponential();
  if (bare && kind == "tree")
    return Tree();
  if (bare && kind == "auto")
    return Auto();

  if (!bare && kind == "tree")
  {
    size_t arity;
    if (detail::ReadNumber(rest, at, arity) && at == rest.size())
      return Tree(bounded(arity));
  }
  else if (!bare && kind == "mesh")
  {
    size_t rows, cols;
    if (detail::ReadNumber(rest, at, rows) && rest[at++] == 'x' &&
        detail::ReadNumber(rest, at, cols) && at == rest.size())
      return Mesh(bounded(rows), bounded(cols));
  }
  else if (!bare && kind == "graph")
    return Graph(detail::ReadEdges(text, rest));
  else if (!bare && kind == "file" && !rest.empty())
    return FromFile(rest);

  throw std::invalid_argument("topology '" + detail::Shown(text) + "' is not "
      "known; choose auto, complete, ring, mesh:RxC (such as mesh:2x3), "
      "exponential, tree:K (such as tree:2), graph:A-B,... (such as "
      "graph:0-1,1-2) or file:PATH (a file with one edge per line)");
}

DASGD_INLINE Topology Topology::On(const std::vector<size_t>& machines) const
{
  std::shared_ptr<const TopologyShape> placed = shape->On(machines);
  return placed ? Topology(std::move(placed)) : *this;
}

DASGD_INLINE std::string Topology::Name() const
{
  return shape->Name();
}

DASGD_INLINE void Topology::Check(const size_t ranks) const
{
  if (ranks == 0)
  {
    throw std::invalid_argument("topology " + detail::Shown(Name()) + " cannot "
        "be used by 0 ranks; start at least 1");
  }
  shape->Check(ranks);
}

DASGD_INLINE void Topology::Check(const size_t ranks, const size_t rank) const
{
  Check(ranks);
  if (rank >= ranks)
  {
    throw std::invalid_argument("topology " + detail::Shown(Name()) + " was "
        "asked about rank " + std::to_string(rank) + ", but " +
        detail::Running(ranks) + "; ask about ranks 0 to " +
        std::to_string(ranks - 1));
  }
}

DASGD_INLINE std::vector<Hop> Topology::Emit(const size_t ranks,
                                             const size_t rank) const
{
  Check(ranks, rank);
  return shape->Emit(ranks, rank);
}

DASGD_INLINE std::vector<Hop> Topology::Forward(const size_t ranks,
                                                const size_t rank,
                                                const size_t routeClass) const
{
  Check(ranks, rank);
  return shape->Forward(ranks, rank, routeClass);
}

DASGD_INLINE std::vector<Arrival> Topology::Arrivals(const size_t ranks,
                                                     const size_t rank) const
{
  Check(ranks, rank);
  return shape->Arrivals(ranks, rank);
}

DASGD_INLINE size_t Topology::Hops(const size_t ranks) const
{
  Check(ranks);
  return shape->Hops(ranks);
}

} // namespace dasgd

#endif
