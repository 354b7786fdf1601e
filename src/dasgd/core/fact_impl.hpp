/**
 * @file fact_impl.hpp
 *
 * Implementation of facts.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_FACT_IMPL_HPP
#define DASGD_CORE_FACT_IMPL_HPP

// In case it hasn't been included yet.
#include "fact.hpp"

namespace dasgd {

DASGD_INLINE const char* ToString(const StopReason reason)
{
  switch (reason)
  {
    case StopReason::Budget: return "maximum number of iterations reached";
    case StopReason::Tolerance: return "minimized within tolerance";
    case StopReason::Callback: return "a callback asked to stop";
    case StopReason::NonFinite: return "objective or gradient not finite";
    case StopReason::Error: return "an error";
    case StopReason::Signal: return "a signal asked to stop";
  }
  return "unknown";
}

DASGD_INLINE std::string FactText(std::string text)
{
  if (text.size() <= Fact::MaxText)
    return text;
  size_t end = Fact::MaxText - 3;
  // At most three bytes of UTF-8 follow the first one of a character.
  for (size_t i = 0; i < 3 && (std::uint8_t(text[end]) & 0xc0) == 0x80; ++i)
    --end;
  text.resize(end);
  return text + "...";
}

DASGD_INLINE bool Outweighs(const Fact& one, const Fact& other)
{
  const bool error = (one.reason == StopReason::Error);
  if (error != (other.reason == StopReason::Error))
    return error;
  return one.origin < other.origin;
}

DASGD_INLINE const Fact* Strongest(const std::vector<const Fact*>& known)
{
  const Fact* strongest = nullptr;
  for (const Fact* fact : known)
  {
    if (fact && (!strongest || Outweighs(*fact, *strongest)))
      strongest = fact;
  }
  return strongest;
}

} // namespace dasgd

#endif
