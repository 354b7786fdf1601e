/**
 * @file automatic.hpp
 *
 * The value of a setting that is left to dasgd.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_AUTOMATIC_HPP
#define DASGD_CORE_AUTOMATIC_HPP

#include <limits>

namespace dasgd {

//! Instead of a number: have it chosen.
constexpr double Automatic = -std::numeric_limits<double>::infinity();

} // namespace dasgd

#endif
