/**
 * @file fingerprint.hpp
 *
 * Some numbers that tell one data set from another.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_FINGERPRINT_HPP
#define DASGD_CORE_FINGERPRINT_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace dasgd {

//! The objective of a few points, from the beginning, the middle and the end of
//! the data.
struct Fingerprint
{
  static constexpr size_t Places = 3;

  std::array<double, Places> objectives{ { 0, 0, 0 } };
  //! Machines may round differently; what differs by less is the same.
  double tolerance = 0;
  //! A hash of the training's starting point, if the function looks at that
  //! instead of at the point that it is given, as networks do; otherwise 0.
  std::uint64_t start = 0;
  //! Functions that draw random numbers have none.
  std::uint64_t known = 0;

  //! The first place at which this is of other data than another one, or Places
  //! if there is none, or if that is not known.
  size_t Difference(const Fingerprint& other) const
  {
    size_t place = (known && other.known && start == other.start) ? 0 : Places;
    while (place < Places && Close(objectives[place],
        other.objectives[place]))
      ++place;
    return place;
  }

 private:
  bool Close(const double one, const double two) const
  {
    return std::abs(one - two) <= tolerance * std::max(std::abs(one),
        std::abs(two));
  }
};

} // namespace dasgd

#endif
