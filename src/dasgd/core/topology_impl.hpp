/**
 * @file topology_impl.hpp
 *
 * The shapes behind Topology, one class each, and the reading of their texts.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_TOPOLOGY_IMPL_HPP
#define DASGD_CORE_TOPOLOGY_IMPL_HPP

// In case it hasn't been included yet.
#include "topology.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace dasgd {
namespace detail {

using Edge = std::pair<size_t, size_t>;

//! What a topology has to answer.  Shapes never change once made, and are only
//! asked about numbers of ranks that they have checked.
class Shape
{
 public:
  virtual ~Shape() = default;

  virtual std::string Name() const = 0;
  virtual void Check(const size_t /* ranks */) const { }
  virtual std::vector<Hop> Emit(const size_t ranks,
                                const size_t rank) const = 0;
  virtual std::vector<Hop> Forward(const size_t ranks,
                                   const size_t rank,
                                   const size_t routeClass) const = 0;
  virtual std::vector<Arrival> Arrivals(const size_t ranks,
                                        const size_t rank) const = 0;
  virtual size_t Hops(const size_t ranks) const = 0;
};

//! Foreign text as it may stand in a message: short and printable.
inline std::string Shown(const std::string& text)
{
  const size_t most = 60;
  std::string shown = text.substr(0, most);
  for (char& c : shown)
  {
    if (c < ' ' || c > '~')
      c = '?';
  }
  return (text.size() > most) ? shown + "..." : shown;
}

inline std::string Running(const size_t ranks)
{
  return std::to_string(ranks) + ((ranks == 1) ? " is" : " are") + " running";
}

inline std::string Count(const size_t ranks)
{
  return std::to_string(ranks) + ((ranks == 1) ? " rank" : " ranks");
}

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

/**
 * The offset from the origin, written in binary, is the route: one hop for each
 * set bit, highest first.  The class is the bit used last and whether the bits
 * used so far are the leading bits of n - 1 ("tight").  If so, the lower bits
 * may not exceed those of n - 1 either; if not, the offset stays below n - 1
 * whatever they are.
 */
class ExponentialShape : public Shape
{
 public:
  std::string Name() const override { return "exponential"; }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  {
    return Below(ranks, rank, Bits(ranks), true);
  }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    const size_t bit = routeClass / 2;
    const bool tight = (routeClass % 2 == 1);
    if (!Used(ranks, bit, tight))
      return { };
    return Below(ranks, rank, bit, tight);
  }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  {
    std::vector<Arrival> arrivals;
    for (size_t bit = 0; bit < Bits(ranks); ++bit)
    {
      const size_t sender = (rank + ranks - (size_t(1) << bit)) % ranks;
      for (const bool tight : { false, true })
      {
        if (Used(ranks, bit, tight))
        {
          arrivals.push_back({ sender, 2 * bit + tight,
              Below(ranks, rank, bit, tight) });
        }
      }
    }
    return arrivals;
  }

  // The offset with most set bits: n - 1 itself if it is all ones, otherwise
  // the one that is all ones below the highest bit of n - 1.
  size_t Hops(const size_t ranks) const override
  {
    size_t hops = 0;
    while ((ranks >> hops) > 1)
      ++hops;
    return hops;
  }

 private:
  //! The number of bits of the largest offset.
  static size_t Bits(const size_t ranks)
  {
    size_t bits = 0;
    while (((ranks - 1) >> bits) > 0)
      ++bits;
    return bits;
  }

  //! Does any offset lead to this class?  The highest bit is always tight.
  static bool Used(const size_t ranks, const size_t bit, const bool tight)
  {
    const size_t bits = Bits(ranks);
    if (bit >= bits)
      return false;
    return tight ? (((ranks - 1) >> bit) & 1) : (bit + 1 < bits);
  }

  static std::vector<Hop> Below(const size_t ranks,
                                const size_t rank,
                                size_t bit,
                                bool tight)
  {
    std::vector<Hop> hops;
    while (bit-- > 0)
    {
      const bool limit = ((ranks - 1) >> bit) & 1;
      if (!tight || limit)
      {
        hops.push_back({ (rank + (size_t(1) << bit)) % ranks,
            2 * bit + tight });
      }

      // Going on to the lower bits means not using this one.
      if (limit)
        tight = false;
    }
    return hops;
  }
};

//! First along the row, then along the column.
class MeshShape : public Shape
{
 public:
  MeshShape(const size_t rowsIn, const size_t colsIn) :
      rows(rowsIn),
      cols(colsIn)
  {
    if (rows == 0 || cols == 0 || rows > Topology::MaxRanks / cols)
    {
      throw std::invalid_argument("topology " + Name() + ": rows and columns "
          "must be at least 1, and their product at most " +
          std::to_string(Topology::MaxRanks) + "; choose mesh:RxC with R times "
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

//! On a tree everything goes on to all neighbours but the one it came from, so
//! the class only needs to name that one.
class TreeShape : public Shape
{
 public:
  explicit TreeShape(const size_t arityIn) : arity(arityIn)
  {
    if (arity == 0 || arity > Topology::MaxRanks)
    {
      throw std::invalid_argument("topology " + Name() + ": a rank of a tree "
          "has at least 1 child and at most " +
          std::to_string(Topology::MaxRanks) + "; choose for example tree:2");
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

//! What is wrong with an edge; empty if nothing is.
inline std::string Problem(const Edge& edge)
{
  if (std::max(edge.first, edge.second) >= Topology::MaxRanks)
  {
    return "ranks may be numbered up to " +
        std::to_string(Topology::MaxRanks - 1) + "; correct the number";
  }
  if (edge.first == edge.second)
  {
    return "this joins rank " + std::to_string(edge.first) + " to itself; "
        "remove it";
  }
  return "";
}

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

/**
 * Read a decimal number and move `at` behind it.  Larger numbers than any that
 * is allowed come out as one that is too large, not as one that wrapped round.
 *
 * @return false if there is no digit.
 */
inline bool ReadNumber(const std::string& text, size_t& at, size_t& number)
{
  const size_t begin = at;
  number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
  {
    number = std::min(10 * number + size_t(text[at] - '0'),
        Topology::MaxRanks + 1);
  }
  return at > begin;
}

//! Read `0 1`, `0-1` or `0,1`.  @return what is wrong; empty if nothing is.
inline std::string ReadEdge(const std::string& text, Edge& edge)
{
  size_t at = 0;
  const auto skipBlanks = [&]()
  {
    at = std::min(text.find_first_not_of(" \t\r", at), text.size());
  };

  skipBlanks();
  bool valid = ReadNumber(text, at, edge.first);
  if (at < text.size() && text[at] == '-')
  {
    ++at; // No blanks here: `0 -1` is a negative number to most people.
  }
  else
  {
    skipBlanks();
    if (at < text.size() && text[at] == ',')
      ++at;
    skipBlanks();
  }
  valid = valid && ReadNumber(text, at, edge.second);
  skipBlanks();
  if (!valid || at < text.size())
    return "this is not an edge; write two ranks, such as 0-1";
  return Problem(edge);
}

inline std::vector<Edge> ReadEdgeFile(const std::string& path)
{
  // A file that was meant for something else should end here, and soon.
  const size_t maxLength = 1024;
  const size_t maxLines = size_t(1) << 22;

  const std::string name = "topology file '" + path + "'";
  const auto unreadable = [&](const std::string& what)
  {
    const std::string reason =
        std::generic_category().message(errno != 0 ? errno : EIO);
    return std::runtime_error(name + " cannot be " + what + ": " + reason +
        "; give the path of an edge list that every rank can read");
  };

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw unreadable("opened");

  std::vector<Edge> edges;
  std::string line;
  size_t lines = 0;
  for (int c = 0; c != std::char_traits<char>::eof();)
  {
    ++lines;
    line.clear();
    for (c = file.get(); c != std::char_traits<char>::eof() && c != '\n' &&
        line.size() <= maxLength; c = file.get())
    {
      line.push_back(char(c));
    }
    if (file.bad())
      throw unreadable("read");

    std::string problem;
    if (line.size() > maxLength)
    {
      problem = "the line is longer than " + std::to_string(maxLength) +
          " characters; write one edge per line";
    }
    else if (lines > maxLines)
    {
      problem = "the file has more than " + std::to_string(maxLines) +
          " lines; write each edge once";
    }
    else
    {
      const std::string text = line.substr(0, line.find('#'));
      Edge edge;
      if (text.find_first_not_of(" \t\r") == std::string::npos)
        continue;
      problem = ReadEdge(text, edge);
      edges.push_back(edge);
    }

    if (!problem.empty())
    {
      throw std::invalid_argument(name + ", line " + std::to_string(lines) +
          ", '" + Shown(line) + "': " + problem);
    }
  }
  return edges;
}

} // namespace detail

inline Topology::Topology(std::shared_ptr<const detail::Shape> shapeIn) :
    shape(std::move(shapeIn))
{ /* Nothing to do. */ }

inline Topology::Topology() : Topology(Complete())
{ /* Nothing to do. */ }

inline Topology::Topology(const std::string& text) : Topology(Parse(text))
{ /* Nothing to do. */ }

inline Topology::Topology(const char* text) :
    Topology(Parse(text == nullptr ? "" : text))
{ /* Nothing to do. */ }

inline Topology Topology::Complete()
{
  return Topology(std::make_shared<const detail::CompleteShape>());
}

inline Topology Topology::Ring()
{
  return Topology(std::make_shared<const detail::RingShape>());
}

inline Topology Topology::Mesh(const size_t rows, const size_t cols)
{
  return Topology(std::make_shared<const detail::MeshShape>(rows, cols));
}

inline Topology Topology::Exponential()
{
  return Topology(std::make_shared<const detail::ExponentialShape>());
}

inline Topology Topology::Tree(const size_t arity)
{
  return Topology(std::make_shared<const detail::TreeShape>(arity));
}

inline Topology Topology::Graph(
    const std::vector<std::pair<size_t, size_t>>& edges)
{
  return Topology(std::make_shared<const detail::GraphShape>(edges));
}

inline Topology Topology::FromFile(const std::string& path)
{
  return Graph(detail::ReadEdgeFile(path));
}

inline Topology Topology::Parse(const std::string& text)
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
  {
    std::vector<detail::Edge> edges;
    while (!rest.empty() && at <= rest.size())
    {
      const size_t end = std::min(rest.find(',', at), rest.size());
      const std::string item = rest.substr(at, end - at);
      detail::Edge edge;
      const std::string problem = detail::ReadEdge(item, edge);
      if (!problem.empty())
      {
        throw std::invalid_argument("topology '" + detail::Shown(text) +
            "', edge '" + detail::Shown(item) + "': " + problem);
      }
      edges.push_back(edge);
      at = end + 1;
    }
    return Graph(edges);
  }
  else if (!bare && kind == "file" && !rest.empty())
  {
    return FromFile(rest);
  }

  throw std::invalid_argument("topology '" + detail::Shown(text) + "' is not "
      "known; choose complete, ring, mesh:RxC (such as mesh:2x3), exponential, "
      "tree:K (such as tree:2), graph:A-B,... (such as graph:0-1,1-2) or "
      "file:PATH (a file with one edge per line)");
}

inline std::string Topology::Name() const
{
  return shape->Name();
}

inline void Topology::Check(const size_t ranks) const
{
  if (ranks == 0)
  {
    throw std::invalid_argument("topology " + detail::Shown(Name()) + " cannot "
        "be used by 0 ranks; start at least 1");
  }
  shape->Check(ranks);
}

inline void Topology::Check(const size_t ranks, const size_t rank) const
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

inline std::vector<Hop> Topology::Emit(const size_t ranks,
                                       const size_t rank) const
{
  Check(ranks, rank);
  return shape->Emit(ranks, rank);
}

inline std::vector<Hop> Topology::Forward(const size_t ranks,
                                          const size_t rank,
                                          const size_t routeClass) const
{
  Check(ranks, rank);
  return shape->Forward(ranks, rank, routeClass);
}

inline std::vector<Arrival> Topology::Arrivals(const size_t ranks,
                                               const size_t rank) const
{
  Check(ranks, rank);
  return shape->Arrivals(ranks, rank);
}

inline size_t Topology::Hops(const size_t ranks) const
{
  Check(ranks);
  return shape->Hops(ranks);
}

} // namespace dasgd

#endif
