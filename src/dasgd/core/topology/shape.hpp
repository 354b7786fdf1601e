/**
 * @file shape.hpp
 *
 * What stands behind a Topology: the interface of all shapes, and words for
 * their messages.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_TOPOLOGY_SHAPE_HPP
#define DASGD_CORE_TOPOLOGY_SHAPE_HPP

#include "hop.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace dasgd {
namespace detail {

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

} // namespace detail
} // namespace dasgd

#endif
