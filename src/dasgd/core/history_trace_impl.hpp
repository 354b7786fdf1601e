/**
 * @file history_trace_impl.hpp
 *
 * Implementation of traces.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_HISTORY_TRACE_IMPL_HPP
#define DASGD_CORE_HISTORY_TRACE_IMPL_HPP

// In case it hasn't been included yet.
#include "history_trace.hpp"

#include "whole_file.hpp"

#include <cstdio>
#include <ostream>

namespace dasgd {

DASGD_INLINE void WriteTrace(const History& history, std::ostream& stream)
{
  const char* names[] = { "compute", "apply", "send", "idle" };
  char text[256];
  bool first = true;
  const auto put = [&]()
  {
    stream << (first ? "\n" : ",\n") << text;
    first = false;
  };

  stream << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  for (size_t rank = 0; rank < history.size(); ++rank)
  {
    const unsigned long track = static_cast<unsigned long>(rank);
    std::snprintf(text, sizeof(text), "{\"ph\": \"M\", \"pid\": 0, \"tid\": "
        "%lu, \"name\": \"thread_name\", \"args\": {\"name\": \"rank %lu\"}}",
        track, track);
    put();
    std::snprintf(text, sizeof(text), "{\"ph\": \"M\", \"pid\": 0, \"tid\": "
        "%lu, \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": "
        "%lu}}", track, track);
    put();

    std::uint64_t own = 0;
    for (const HistoryEvent& event : history[rank].Events())
    {
      // Microseconds.
      const double begin = 1e6 * event.begin;
      const double length = 1e6 * (event.end - event.begin);
      std::string details;
      if (event.kind == HistoryEvent::Kind::Compute)
        details = "\"gradient\": " + std::to_string(++own);
      if (event.frame != 0)
      {
        details = std::string("\"") +
            (event.kind == HistoryEvent::Kind::Send ? "to" : "from") +
            "\": " + std::to_string(event.peer) + ", \"frame\": " +
            std::to_string(event.frame) + ", \"bytes\": " +
            std::to_string(event.bytes);
      }
      if (event.kind == HistoryEvent::Kind::Apply)
      {
        std::uint64_t count = 0;
        for (size_t i = event.firstRange; i < event.lastRange; ++i)
          count += history[rank].Ranges()[i].count;
        details += ", \"gradients\": " + std::to_string(count);
      }
      std::snprintf(text, sizeof(text), "{\"ph\": \"X\", \"pid\": 0, \"tid\": "
          "%lu, \"name\": \"%s\", \"ts\": %.3f, \"dur\": %.3f, \"args\": "
          "{%s}}", track, names[size_t(event.kind)], begin, length,
          details.c_str());
      put();

      if (event.frame == 0)
        continue;
      // Both ends of an arrow have the same id, which tells the link and the
      // number of the frame on it.
      const bool sends = (event.kind == HistoryEvent::Kind::Send);
      const unsigned long from = sends ? track : event.peer;
      const unsigned long to = sends ? event.peer : track;
      std::snprintf(text, sizeof(text), "{\"ph\": \"%s\", \"pid\": 0, \"tid\": "
          "%lu, \"name\": \"frame\", \"cat\": \"frame\", \"id\": "
          "\"%lu-%lu-%llu\", \"ts\": %.3f}", sends ? "s" : "f\", \"bp\": \"e",
          track, from, to, static_cast<unsigned long long>(event.frame), begin);
      put();
    }
  }
  stream << "\n]}\n";
}

DASGD_INLINE void SaveTrace(const History& history, const std::string& path)
{
  if (!history.empty())
    SaveFile(path, [&](std::ostream& out) { WriteTrace(history, out); });
}

} // namespace dasgd

#endif
