/**
 * @file shape.hpp
 *
 * What stands behind a Topology: the interface of all shapes, and words for
 * their messages.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_SHAPE_HPP
#define DASGD_TOPOLOGY_SHAPE_HPP

#include "../core/config.hpp"
#include "hop.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace dasgd {

/**
 * What a topology has to answer; derive from it for one of your own, and hand
 * it to Topology::Custom().  Shapes never change once made, and are only asked
 * about numbers of ranks that they have checked.
 *
 * For every origin, Emit() and then Forward() at each rank on the way must lead
 * to every other rank over exactly one path.
 */
class TopologyShape
{
 public:
  virtual ~TopologyShape() = default;

  //! What it is called; the same on all ranks.
  virtual std::string Name() const = 0;
  //! Throws std::invalid_argument if it is not for so many ranks.
  virtual void Check(const size_t /* ranks */) const { }
  //! Where a gradient that was computed by `rank` goes.
  virtual std::vector<Hop> Emit(const size_t ranks,
                                const size_t rank) const = 0;
  //! Where a frame that has arrived at `rank` with this class goes on to.
  virtual std::vector<Hop> Forward(const size_t ranks,
                                   const size_t rank,
                                   const size_t routeClass) const = 0;
  //! All that can arrive at `rank`; found by following all routes, unless a
  //! shape knows it at once.
  virtual std::vector<Arrival> Arrivals(const size_t ranks,
                                        const size_t rank) const;
  //! The largest number of hops between any two ranks, likewise.
  virtual size_t Hops(const size_t ranks) const;
  /**
   * The shape for ranks on these machines; null if machines do not matter.
   *
   * @param machines The machine of each rank, numbered in any way.
   */
  virtual std::shared_ptr<const TopologyShape> On(
      const std::vector<size_t>& /* machines */) const { return nullptr; }
};

namespace detail {

using Shape = TopologyShape;

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

} // namespace detail
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "shape_impl.hpp"
#endif

#endif
