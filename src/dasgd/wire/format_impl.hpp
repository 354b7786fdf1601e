/**
 * @file format_impl.hpp
 *
 * Implementation of WireFormat.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FORMAT_IMPL_HPP
#define DASGD_WIRE_FORMAT_IMPL_HPP

// In case it hasn't been included yet.
#include "format.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace dasgd {

DASGD_INLINE WireFormat::WireFormat(const std::string& text)
{
  const std::string start = "topk:";
  char* end = nullptr;
  if (text == "exact")
    kind = Kind::Exact;
  else if (text == "float32")
    kind = Kind::Float32;
  else if (text == "bfloat16")
    kind = Kind::BFloat16;
  else if (text.compare(0, start.size(), start) == 0 &&
      text.size() > start.size())
  {
    kind = Kind::TopK;
    fraction = std::strtod(text.c_str() + start.size(), &end);
    if (*end != '\0')
      Unknown(text);
  }
  else
    Unknown(text);
}

DASGD_INLINE WireFormat::WireFormat(const char* text) :
    WireFormat(std::string(text))
{ /* Nothing to do. */ }

DASGD_INLINE std::string WireFormat::Name() const
{
  switch (kind)
  {
    case Kind::Float32: return "float32";
    case Kind::BFloat16: return "bfloat16";
    case Kind::TopK:
    {
      std::ostringstream text;
      text << "topk:" << fraction;
      return text.str();
    }
    default: return "exact";
  }
}

DASGD_INLINE std::string WireFormat::Validate() const
{
  if (kind != Kind::TopK || (fraction > 0 && fraction <= 1))
    return "";
  std::ostringstream text;
  text << "WireFormat() is TopK with a fraction of " << fraction << ", but "
      "it must be above 0 and at most 1.";
  return text.str();
}

[[noreturn]] DASGD_INLINE void WireFormat::Unknown(const std::string& text)
{
  throw std::invalid_argument("dasgd: wire format '" + text + "' is not "
      "known; known are exact, float32, bfloat16 and topk:FRACTION, for "
      "example topk:0.01");
}

} // namespace dasgd

#endif
