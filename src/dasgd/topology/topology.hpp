/**
 * @file topology.hpp
 *
 * Who is linked to whom, and which way a gradient travels from the rank that
 * computed it to all others.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_TOPOLOGY_HPP
#define DASGD_TOPOLOGY_TOPOLOGY_HPP

#include "../core/config.hpp"
#include "hop.hpp"

#include <memory>
#include <string>
#include <utility>

namespace dasgd {

class TopologyShape;

/**
 * A topology answers two questions for each rank: where does a gradient that
 * was computed here go (Emit()), and where does a frame that arrived with a
 * given route class go on to (Forward()).  For every origin, following the
 * answers reaches every other rank over exactly one path.  Exactly-once
 * delivery without duplicate detection rests on that, and so does order per
 * origin, as long as each (neighbour, class) pair keeps order.  All frames of
 * one class at one rank have the same hops ahead of them, so they may be summed
 * into one.
 *
 * | topology       | route class          | largest number of hops   |
 * | -------------- | -------------------- | ------------------------ |
 * | `complete`     | 0                    | 1                        |
 * | `ring`         | origin               | n / 2                    |
 * | `mesh:RxC`     | direction of travel  | R + C - 2                |
 * | `exponential`  | 2 * bit + tight      | log2(n), rounded down    |
 * | `tree:K`       | sender               | about 2 log_K(n)         |
 * | `graph:EDGES`  | origin               | diameter                 |
 *
 * A topology is not bound to a number of ranks until it is asked about one.  It
 * is a value: copies are cheap and may be used from several threads.
 */
class Topology
{
 public:
  //! The largest number of ranks that a text, a file or an argument may name.
  //! It turns a mistyped number into an error rather than an allocation.
  static constexpr size_t MaxRanks = detail::maxRanks;

  //! The complete topology.
  Topology();

  /**
   * Read a topology from its text: `complete`, `ring`, `mesh:RxC`,
   * `exponential`, `tree:K` (`tree` is `tree:2`), `graph:0-1,1-2`, `file:PATH`
   * (see FromFile()) or `auto`.  Implicit, so that a text can be given wherever
   * a topology is wanted.
   *
   * @throws std::invalid_argument if the text is none of these.
   */
  Topology(const std::string& text);
  Topology(const char* text);

  // Copying only: a moved-from topology would be one without a shape.
  Topology(const Topology&) = default;
  Topology& operator=(const Topology&) = default;

  //! Every rank sends to every other.
  static Topology Complete();

  //! Rank i is linked to i - 1 and i + 1, the last rank to the first.
  static Topology Ring();

  //! Rank y * cols + x is linked to its neighbours in row and column.
  static Topology Mesh(const size_t rows, const size_t cols);

  //! Rank i sends to i + 1, i + 2, i + 4, ... modulo the number of ranks.
  static Topology Exponential();

  //! Rank i > 0 is linked to its parent, (i - 1) / arity.
  static Topology Tree(const size_t arity = 2);

  //! The given edges, each of which carries frames both ways.  Repeated edges
  //! count once, in whichever direction they are written.
  static Topology Graph(const std::vector<std::pair<size_t, size_t>>& edges);

  /**
   * A graph from a file with one edge per line: `0 1`, `0-1` or `0,1`.  Blank
   * lines and everything behind `#` are skipped.
   *
   * @throws std::runtime_error if the file cannot be read.
   * @throws std::invalid_argument, naming path, line number and text, if it
   *     holds anything but edges.
   */
  static Topology FromFile(const std::string& path);

  //! What is best for so many ranks: `complete` for a few, `exponential` for
  //! more; ranks that share a model count as one.
  static Topology Auto();

  /**
   * A topology of your own; include `dasgd/core/topology/shape.hpp` to derive
   * one.  Its routes are checked before they are used: Check() throws if they
   * do not lead to every rank over exactly one path.
   */
  static Topology Custom(std::shared_ptr<const TopologyShape> shape);

  //! The canonical text; it parses back to an equal topology.  A graph from a
  //! file is named by its edges, so that ranks can compare what they have read;
  //! one of the user's own has the name that it was given.
  std::string Name() const;

  /**
   * What this topology is for ranks on these machines: another one for `auto`,
   * itself for all others.
   *
   * @param machines The machine of each rank, numbered in any way.
   */
  Topology On(const std::vector<size_t>& machines) const;

  //! @throws std::invalid_argument if this many ranks do not fit.
  void Check(const size_t ranks) const;

  // All of the following Check() the number of ranks first, and throw
  // std::invalid_argument if `rank` is not one of them.

  //! Where a gradient that was computed by `rank` goes.
  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const;

  //! Where a frame that has arrived at `rank` goes on to.  Nowhere, if frames
  //! of that class cannot arrive there.
  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const;

  //! All that can arrive at `rank`, and for each what Forward() says.  Several
  //! senders may use one class.
  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank) const;

  //! The largest number of hops between any two ranks.
  size_t Hops(const size_t ranks) const;

 private:
  explicit Topology(std::shared_ptr<const TopologyShape> shapeIn);

  static Topology Parse(const std::string& text);

  void Check(const size_t ranks, const size_t rank) const;

  std::shared_ptr<const TopologyShape> shape;
};

inline bool operator==(const Topology& a, const Topology& b)
{
  return a.Name() == b.Name();
}

inline bool operator!=(const Topology& a, const Topology& b)
{
  return !(a == b);
}

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "topology_impl.hpp"
#endif

#endif
