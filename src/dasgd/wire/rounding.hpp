/**
 * @file rounding.hpp
 *
 * What an origin does with the part of its update that the format of the wire
 * cannot express.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_ROUNDING_HPP
#define DASGD_WIRE_ROUNDING_HPP

#include "format.hpp"
#include "short_vector.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace dasgd {

/**
 * What an origin does before it sends: turns its update into one that the
 * format can express, applies that, and keeps the rest.
 */
template<typename ElemType>
class Rounding
{
 public:
  Rounding(const WireFormat& format, const size_t elements) : format(format)
  {
    active = elements > 0 && format.Shortens(sizeof(ElemType));
    if (active)
      rest.assign(elements, ElemType(0));
    if (active && format.Type() == WireFormat::Kind::TopK)
      sizes.resize(elements);
  }

  //! Is there anything to do?
  bool Active() const { return active; }

  /**
   * Replace an update that was applied by what is sent of it.
   *
   * @param iterate The model, from which `update` has been subtracted; null if
   *     that is to keep all of it.
   * @param update Becomes what is to be sent.
   */
  void Apply(ElemType* iterate, ElemType* update)
  {
    if (format.Type() == WireFormat::Kind::Float32)
      Round<wire::Float>(iterate, update);
    else if (format.Type() == WireFormat::Kind::BFloat16)
      Round<wire::BFloat>(iterate, update);
    else
      Select(iterate, update);
  }

  /**
   * Give out what is left.
   *
   * @return The rest, or null if there is none; it is forgotten here.
   */
  const ElemType* Flush(ElemType* iterate)
  {
    bool any = false;
    for (size_t i = 0; i < rest.size(); ++i)
    {
      any |= (rest[i] != ElemType(0));
      if (iterate)
        iterate[i] -= rest[i];
    }
    flushed.swap(rest);
    rest.clear();
    active = false;
    return any ? flushed.data() : nullptr;
  }

 private:
  template<typename ShortType>
  void Round(ElemType* __restrict iterate, ElemType* __restrict update)
  {
    for (size_t i = 0; i < rest.size(); ++i)
    {
      const ElemType whole = update[i] + rest[i];
      const ElemType sent = ElemType(double(ShortType(double(whole))));
      rest[i] = whole - sent;
      if (iterate)
        iterate[i] += update[i] - sent;
      update[i] = sent;
    }
  }

  void Select(ElemType* __restrict iterate, ElemType* __restrict update)
  {
    const size_t elements = rest.size();
    const size_t count = std::min(elements, std::max<size_t>(1, size_t(
        std::ceil(format.Fraction() * double(elements)))));
    for (size_t i = 0; i < elements; ++i)
    {
      rest[i] += update[i];
      sizes[i] = std::abs(rest[i]);
    }
    std::nth_element(sizes.begin(), sizes.begin() + (count - 1), sizes.end(),
        std::greater<ElemType>());
    // No more than asked for, also where many are of the same size.
    const ElemType least = sizes[count - 1];
    size_t ties = size_t(std::count(sizes.begin(), sizes.begin() + count,
        least));
    for (size_t i = 0; i < elements; ++i)
    {
      const bool tie = std::abs(rest[i]) == least && ties > 0;
      const bool chosen = tie || std::abs(rest[i]) > least;
      const ElemType sent = chosen ? rest[i] : ElemType(0);
      ties -= tie;
      if (iterate)
        iterate[i] += update[i] - sent;
      rest[i] -= sent;
      update[i] = sent;
    }
  }

  WireFormat format;
  bool active = false;
  //! What was rounded away so far.
  std::vector<ElemType> rest;
  std::vector<ElemType> flushed;
  //! Scratch: magnitudes.
  std::vector<ElemType> sizes;
};

} // namespace dasgd

#endif
