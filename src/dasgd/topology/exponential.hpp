/**
 * @file exponential.hpp
 *
 * The exponential topology: log2(n) links for each rank, any n.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_EXPONENTIAL_HPP
#define DASGD_TOPOLOGY_EXPONENTIAL_HPP

#include "shape.hpp"

namespace dasgd {
namespace detail {

/**
 * The offset from the origin, written in binary, is the route: one hop for each
 * set bit, highest first.  The class is the bit used last and whether the bits
 * used so far are the leading bits of n - 1 ("tight").  If so, the lower bits
 * may not exceed those of n - 1 either; if not, the offset stays below n - 1
 * whatever they are.  Where the lower bits of n - 1 are all ones, there is no
 * difference, and the class is not tight: the fewer classes, the more can be
 * summed.
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

  //! Are all bits of the largest offset below this one set?
  static bool Free(const size_t ranks, const size_t bit)
  {
    const size_t below = (size_t(1) << bit) - 1;
    return ((ranks - 1) & below) == below;
  }

  //! Does any offset lead to this class?  The highest bit is tight, if any is.
  static bool Used(const size_t ranks, const size_t bit, const bool tight)
  {
    const size_t bits = Bits(ranks);
    if (bit >= bits)
      return false;
    if (tight)
      return (((ranks - 1) >> bit) & 1) && !Free(ranks, bit);
    return bit + 1 < bits || Free(ranks, bit);
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
            2 * bit + (tight && !Free(ranks, bit)) });
      }

      // Going on to the lower bits means not using this one.
      if (limit)
        tight = false;
    }
    return hops;
  }
};

} // namespace detail
} // namespace dasgd

#endif
