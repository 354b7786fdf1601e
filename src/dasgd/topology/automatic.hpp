/**
 * @file automatic.hpp
 *
 * The topology that is chosen if none is named.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_AUTOMATIC_HPP
#define DASGD_TOPOLOGY_AUTOMATIC_HPP

#include "complete.hpp"
#include "exponential.hpp"

#include <memory>

namespace dasgd {
namespace detail {

/**
 * Everyone sends to everyone; beyond a few, `exponential` is better.  Ranks
 * that share a model are one end of it (see BoardLinks).
 */
class AutoShape : public Shape
{
 public:
  std::string Name() const override { return "auto"; }

  std::shared_ptr<const Shape> On(const std::vector<size_t>& machines)
      const override
  { return For(machines.size()); }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  { return For(ranks)->Emit(ranks, rank); }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  { return For(ranks)->Forward(ranks, rank, routeClass); }

  std::vector<Arrival> Arrivals(const size_t ranks, const size_t rank)
      const override
  { return For(ranks)->Arrivals(ranks, rank); }

  size_t Hops(const size_t ranks) const override
  { return For(ranks)->Hops(ranks); }

 private:
  static constexpr size_t few = 8;

  static std::shared_ptr<const Shape> For(const size_t ranks)
  {
    if (ranks <= few)
      return std::make_shared<const CompleteShape>();
    return std::make_shared<const ExponentialShape>();
  }
};

} // namespace detail
} // namespace dasgd

#endif
