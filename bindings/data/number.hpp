/**
 * @file number.hpp
 *
 * Numbers as they are written: all of the text is one, or it is none.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_NUMBER_HPP
#define DASGD_BINDINGS_DATA_NUMBER_HPP

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

namespace dasgd {

/**
 * Read a number in decimal notation, such as -1.5e3; 'nan' and 'inf' are
 * numbers, too.  The locale makes no difference.
 *
 * @return False if the text is something else, or larger than a double can be.
 */
inline bool ParseNumber(const char* begin, const char* end, double& value)
{
  // Most numbers of most data sets are short and whole.
  const char* at = begin;
  std::uint64_t whole = 0;
  while (at != end && *at >= '0' && *at <= '9' && at - begin < 15)
    whole = 10 * whole + std::uint64_t(*at++ - '0');
  if (at == end && at != begin)
  {
    value = double(whole);
    return true;
  }

  // std::from_chars() knows no plus sign.
  if (begin != end && *begin == '+' && begin + 1 != end && begin[1] != '-')
    ++begin;
  const std::from_chars_result read = std::from_chars(begin, end, value);
  if (read.ptr != end || begin == end)
    return false;
  if (read.ec == std::errc::result_out_of_range)
  {
    // Too small is as good as 0; too large is nothing that can be used.
    value = std::strtod(std::string(begin, end).c_str(), nullptr);
    return std::abs(value) < 1;
  }
  return read.ec == std::errc();
}

//! The same of a whole text; it must be finite.
inline bool ParseNumber(const std::string& text, double& value)
{
  return ParseNumber(text.data(), text.data() + text.size(), value) &&
      std::isfinite(value);
}

//! Read a whole number; false if it is none, or beyond what an int can be.
inline bool ParseNumber(const std::string& text, int& value)
{
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (begin != end && *begin == '+' && begin + 1 != end && begin[1] != '-')
    ++begin;
  const std::from_chars_result read = std::from_chars(begin, end, value);
  return begin != end && read.ec == std::errc() && read.ptr == end;
}

//! Is a number whole, not negative, and below 2^53, from where on not all whole
//! numbers are doubles?
inline bool IsIndex(const double value)
{
  return value >= 0 && value < 9007199254740992.0 &&
      value == std::floor(value);
}

} // namespace dasgd

#endif
