/**
 * @file value_text.hpp
 *
 * Values as on a command line.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_VALUE_TEXT_HPP
#define DASGD_FRONT_END_VALUE_TEXT_HPP

#include <sstream>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

inline std::string ValueText(const std::string& value, const bool quotes = true)
{ return quotes ? "'" + value + "'" : value; }

template<typename T>
std::string ValueText(const T& value, const bool /* quotes */ = true)
{
  std::ostringstream text;
  text << value;
  return text.str();
}

template<typename T>
std::string ValueText(const std::vector<T>& values, const bool quotes = true)
{
  std::string text;
  for (const T& value : values)
    text += (text.empty() ? "" : ",") + ValueText(value, quotes);
  return text;
}

} // namespace cli
} // namespace dasgd

#endif
