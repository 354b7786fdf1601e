/**
 * @file history_trace_impl.hpp
 *
 * Implementation of traces.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_HISTORY_TRACE_IMPL_HPP
#define DASGD_REPORT_HISTORY_TRACE_IMPL_HPP

// In case it hasn't been included yet.
#include "history_trace.hpp"

#include "json_writer.hpp"
#include "../files/whole_file.hpp"

#include <ostream>

namespace dasgd {

namespace report {

//! The fields that all entries of a trace have.
DASGD_INLINE void BeginEntry(JsonWriter<false>& out, const char* phase,
                             const size_t rank, const char* name)
{
  out.BeginObject();
  out.Field("ph", phase);
  out.Field("pid", 0);
  out.Field("tid", rank);
  out.Field("name", name);
}

//! How a viewer names and places the track of a rank.
DASGD_INLINE void WriteTrack(JsonWriter<false>& out, const size_t rank)
{
  BeginEntry(out, "M", rank, "thread_name");
  out.Name("args");
  out.BeginObject();
  out.Field("name", "rank " + std::to_string(rank));
  out.EndObject();
  out.EndObject();
  BeginEntry(out, "M", rank, "thread_sort_index");
  out.Name("args");
  out.BeginObject();
  out.Field("sort_index", rank);
  out.EndObject();
  out.EndObject();
}

//! A span of time of a rank; own is the number of the gradient it computed.
DASGD_INLINE void WriteSpan(JsonWriter<false>& out, const size_t rank,
                            const RankHistory& history,
                            const HistoryEvent& event, const std::uint64_t own)
{
  const char* names[] = { "compute", "apply", "send", "idle" };
  BeginEntry(out, "X", rank, names[size_t(event.kind)]);
  // Microseconds.
  out.Field("ts", 1e6 * event.begin);
  out.Field("dur", 1e6 * (event.end - event.begin));
  out.Name("args");
  out.BeginObject();
  if (event.kind == HistoryEvent::Kind::Compute)
    out.Field("gradient", own);
  if (event.frame != 0)
  {
    out.Field(event.kind == HistoryEvent::Kind::Send ? "to" : "from",
        event.peer);
    out.Field("frame", event.frame);
    out.Field("bytes", event.bytes);
  }
  if (event.kind == HistoryEvent::Kind::Apply)
  {
    std::uint64_t count = 0;
    for (size_t i = event.firstRange; i < event.lastRange; ++i)
      count += history.Ranges()[i].count;
    out.Field("gradients", count);
  }
  out.EndObject();
  out.EndObject();
}

//! One end of the arrow from where a frame was sent to where it was applied.
//! Both have the same id, which tells the link and the frame's number on it.
DASGD_INLINE void WriteArrow(JsonWriter<false>& out, const size_t rank,
                             const HistoryEvent& event)
{
  const bool sends = (event.kind == HistoryEvent::Kind::Send);
  const size_t from = sends ? rank : event.peer;
  const size_t to = sends ? event.peer : rank;
  BeginEntry(out, sends ? "s" : "f", rank, "frame");
  if (!sends)
    out.Field("bp", "e");
  out.Field("cat", "frame");
  out.Field("id", std::to_string(from) + "-" + std::to_string(to) + "-" +
      std::to_string(event.frame));
  out.Field("ts", 1e6 * event.begin);
  out.EndObject();
}

} // namespace report

DASGD_INLINE void WriteTrace(const History& history, std::ostream& stream)
{
  report::JsonWriter<false> out(stream);
  // Nanoseconds are as fine as clocks are.
  out.Places(3);
  out.BeginObject();
  out.Field("displayTimeUnit", "ms");
  out.Name("traceEvents");
  out.BeginArray();
  for (size_t rank = 0; rank < history.size(); ++rank)
  {
    report::WriteTrack(out, rank);
    std::uint64_t own = 0;
    for (const HistoryEvent& event : history[rank].Events())
    {
      if (event.kind == HistoryEvent::Kind::Compute)
        ++own;
      report::WriteSpan(out, rank, history[rank], event, own);
      if (event.frame != 0)
        report::WriteArrow(out, rank, event);
    }
  }
  out.EndArray();
  out.EndObject();
  stream << "\n";
}

DASGD_INLINE void SaveTrace(const History& history, const std::string& path)
{
  if (!history.empty())
    SaveFile(path, [&](std::ostream& out) { WriteTrace(history, out); });
}

} // namespace dasgd

#endif
