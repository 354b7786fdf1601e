/**
 * @file fuzz_history.cpp
 *
 * Recorded histories: the input is the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "require.hpp"

#include <dasgd/report/history_trace.hpp>
#include <dasgd/staleness/loose_staleness.hpp>

#include <sstream>

using namespace dasgd;

namespace {

std::string Text(const History& history)
{
  std::ostringstream stream;
  WriteHistory(history, stream);
  return stream.str();
}

History Read(const std::string& text)
{
  std::istringstream stream(text);
  return ReadHistory(stream);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  History history;
  try
  {
    history = Read(std::string(reinterpret_cast<const char*>(data), size));
  }
  catch (const std::runtime_error& e)
  {
    fuzz::Require(std::string(e.what()).find(", line ") != std::string::npos,
        "an error names the line");
    return 0;
  }

  // What is written is rounded, but only once.
  const std::string text = Text(history);
  fuzz::Require(Text(Read(text)) == text, "a history is read as it is written");

  // "Can be walked and measured without harm."
  std::uint64_t gradients = 0;
  for (size_t rank = 0; rank < history.size(); ++rank)
  {
    double last = 0;
    for (const HistoryEvent& event : history[rank].Events())
    {
      fuzz::Require(last <= event.begin && event.begin <= event.end,
          "time goes on");
      last = event.end;
      fuzz::Require(event.peer < history.size(), "a peer is a rank");
      fuzz::Require(event.firstRange <= event.lastRange &&
          event.lastRange <= history[rank].Ranges().size(),
          "an event's ranges are there");
    }
    HistoryStaleness::Walk(history[rank], rank, [&](const size_t origin,
        const std::uint64_t first, const std::uint64_t count)
    {
      fuzz::Require(origin < history.size(), "an origin is a rank");
      fuzz::Require(first > 0 && count > 0 && first + count - 1 <=
          history[origin].Computed(), "a gradient that was applied exists");
      gradients += count;
    });
  }
  std::uint64_t measured = 0;
  const HistoryStaleness staleness(history);
  for (const HistoryStaleness::Meters& meters : staleness.Ranks())
  {
    measured += meters.tight.Measured();
    fuzz::Require(meters.tight.Max() <= meters.loose.Max(),
        "the loose staleness is no less");
  }
  fuzz::Require(measured == gradients, "every gradient is measured");

  std::ostringstream trace;
  WriteTrace(history, trace);
  std::istringstream lines(trace.str());
  for (std::string line; std::getline(lines, line);)
  {
    fuzz::Require(line.back() == '[' || line.back() == '}' ||
        line.substr(line.size() - 2) == "},", "a trace has whole lines");
  }
  return 0;
}
