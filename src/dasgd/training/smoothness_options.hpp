/**
 * @file smoothness_options.hpp
 *
 * How closely EstimateSmoothness() looks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_SMOOTHNESS_OPTIONS_HPP
#define DASGD_TRAINING_SMOOTHNESS_OPTIONS_HPP

#include <cstddef>
#include <cstdint>

namespace dasgd {

struct SmoothnessOptions
{
  //! Use at most so many points of the data, from all over it.  The mean over a
  //! few is likely to be more curved than that over all.
  size_t points = 1024;
  //! Rounds at most; each takes the gradients of the points twice.
  size_t iterations = 100;
  //! Stop when the estimate has changed by less than this, relatively, in three
  //! rounds in a row.  More than that may be missing where a large curvature
  //! has others close below it: 1e-3 leaves up to 3 % then, 1e-4 rarely 1 %.
  double tolerance = 1e-4;
  //! Seed of the direction to begin with.
  std::uint64_t seed = 0;
};

} // namespace dasgd

#endif
