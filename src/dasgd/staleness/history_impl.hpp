/**
 * @file history_impl.hpp
 *
 * Implementation of RankHistory.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_HISTORY_IMPL_HPP
#define DASGD_STALENESS_HISTORY_IMPL_HPP

// In case it hasn't been included yet.
#include "history.hpp"

#include <algorithm>

namespace dasgd {

DASGD_INLINE void RankHistory::Apply(const size_t from,
                                     const std::uint64_t bytes,
                                     const std::vector<ManifestEntry>& entries)
{
  AddFrame(HistoryEvent::Kind::Apply, from, ++framesFrom[from], bytes);
  for (const ManifestEntry& entry : entries)
    AddRange({ entry.origin, entry.first, entry.count });
}

DASGD_INLINE void RankHistory::Idle(const double begin, const double end)
{
  Stamp(begin, begin);
  if (!events.empty() && events.back().kind == HistoryEvent::Kind::Idle &&
      events.back().end >= begin)
  {
    events.back().end = end;
    return;
  }
  Add(HistoryEvent::Kind::Idle);
  Stamp(begin, end);
}

DASGD_INLINE void RankHistory::Stamp(const double begin, const double end)
{
  for (; stamped < events.size(); ++stamped)
  {
    // Rounding must not make an event begin before the last one has ended.
    const double last = stamped ? events[stamped - 1].end : 0;
    events[stamped].begin = std::max(last, begin);
    events[stamped].end = std::max(last, end);
  }
}

DASGD_INLINE void RankHistory::Push(const HistoryEvent& event)
{
  events.push_back(event);
  events.back().firstRange = events.back().lastRange = ranges.size();
  stamped = events.size();
}

DASGD_INLINE void RankHistory::AddRange(const GradientRange& range)
{
  // A relay adds up gradients of several origins, each in its order; but what
  // one origin computed one after the other is adjacent.
  HistoryEvent& event = events.back();
  if (event.lastRange > event.firstRange)
  {
    GradientRange& last = ranges.back();
    if (last.origin == range.origin &&
        last.first + last.count == range.first)
    {
      last.count += range.count;
      return;
    }
  }
  ranges.push_back(range);
  event.lastRange = ranges.size();
}

DASGD_INLINE std::uint64_t RankHistory::Computed() const
{
  return std::uint64_t(std::count_if(events.begin(), events.end(),
      [](const HistoryEvent& event)
      { return event.kind == HistoryEvent::Kind::Compute; }));
}

DASGD_INLINE HistoryEvent& RankHistory::Add(const HistoryEvent::Kind kind)
{
  events.emplace_back();
  events.back().kind = kind;
  events.back().firstRange = events.back().lastRange = ranges.size();
  return events.back();
}

DASGD_INLINE void RankHistory::AddFrame(const HistoryEvent::Kind kind,
                                        const size_t peer,
                                        const std::uint64_t frame,
                                        const std::uint64_t bytes)
{
  HistoryEvent& event = Add(kind);
  event.peer = std::uint32_t(peer);
  event.frame = frame;
  event.bytes = bytes;
}

} // namespace dasgd

#endif
