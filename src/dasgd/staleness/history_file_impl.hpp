/**
 * @file history_file_impl.hpp
 *
 * Implementation of histories as text.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_HISTORY_FILE_IMPL_HPP
#define DASGD_STALENESS_HISTORY_FILE_IMPL_HPP

// In case it hasn't been included yet.
#include "history_file.hpp"

#include "../files/whole_file.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>
#include <stdexcept>

namespace dasgd {

DASGD_INLINE std::string HistoryText::Lines(const RankHistory& history)
{
  std::string text;
  char line[160];
  for (const HistoryEvent& event : history.Events())
  {
    std::snprintf(line, sizeof(line), "%c %.9f %.9f", Letter(event.kind),
        event.begin, event.end);
    text += line;
    if (HasFrame(event.kind))
    {
      std::snprintf(line, sizeof(line), " %lu %llu %llu",
          static_cast<unsigned long>(event.peer),
          static_cast<unsigned long long>(event.frame),
          static_cast<unsigned long long>(event.bytes));
      text += line;
    }
    for (size_t i = event.firstRange; i < event.lastRange; ++i)
    {
      const GradientRange& range = history.Ranges()[i];
      std::snprintf(line, sizeof(line), " %lu:%llu+%llu",
          static_cast<unsigned long>(range.origin),
          static_cast<unsigned long long>(range.first),
          static_cast<unsigned long long>(range.count));
      text += line;
    }
    text += '\n';
  }
  return text;
}

DASGD_INLINE HistoryText::Reader::Reader(std::istream& stream,
                                         const std::string& name) :
    stream(stream), name(name)
{ /* Nothing to do. */ }

DASGD_INLINE History HistoryText::Reader::File()
{
  std::uint64_t number = 0;
  if (!Next() || !Heading("dasgd-history ", number))
    Fail("not a history: it does not begin with \"dasgd-history\"");
  if (number != Version)
  {
    Fail("written in version " + std::to_string(number) + " of the format, "
        "but this program reads version " + std::to_string(Version) +
        "; use the dasgd that wrote it");
  }
  if (!Next() || !Heading("ranks ", number) || number == 0 ||
      number > maxRanks)
    Fail("expected \"ranks\" and a number from 1 to " +
        std::to_string(maxRanks));
  const size_t ranks = size_t(number);

  History history;
  if (!Next())
    Fail("expected \"rank 0\"");
  while (history.size() < ranks)
  {
    if (line != "rank " + std::to_string(history.size()))
      Fail("expected \"rank " + std::to_string(history.size()) + "\"");
    history.push_back(Lines(ranks, history.size()));
  }
  if (line != "end")
    Fail("expected \"end\"");
  if (Next())
    Fail("something follows the end");
  Check(history);
  return history;
}

DASGD_INLINE RankHistory HistoryText::Reader::Lines(const size_t ranks,
                                                    const size_t rank)
{
  // A file can claim many ranks and have none: nothing is made for those
  // that do not occur.
  RankHistory history;
  VersionVector version;
  const auto applied = [&](const size_t origin) -> std::uint64_t&
  {
    if (origin >= version.size())
      version.resize(origin + 1, 0);
    return version[origin];
  };
  double last = 0;
  line.clear();
  while (Next() && line.size() > 1 && line[1] == ' ')
  {
    at = line.c_str() + 1;
    HistoryEvent event;
    event.kind = KindOf(line[0]);
    event.begin = Seconds();
    event.end = Seconds();
    if (event.begin < last || event.end < event.begin)
      Fail("time runs backwards");
    last = event.end;
    if (HasFrame(event.kind))
    {
      event.peer = std::uint32_t(Number(' ', ranks - 1));
      event.frame = Number(' ');
      if (event.frame == 0)
        Fail("frames are counted from 1");
      event.bytes = Number(' ');
    }
    history.Push(event);
    if (event.kind == HistoryEvent::Kind::Compute)
      ++applied(rank);
    while (event.kind == HistoryEvent::Kind::Apply && *at != '\0')
    {
      GradientRange range;
      range.origin = std::uint32_t(Number(' ', ranks - 1));
      range.first = Number(':');
      range.count = Number('+');
      if (range.origin == rank)
        Fail("a frame brings back gradients of its own rank");
      std::uint64_t& before = applied(range.origin);
      if (range.count == 0 || range.first != before + 1)
      {
        Fail("gradient " + std::to_string(before + 1) + " of rank " +
            std::to_string(range.origin) + " is due");
      }
      if (range.count > std::numeric_limits<std::uint64_t>::max() - before)
        Fail("too many gradients");
      before += range.count;
      history.AddRange(range);
    }
    if (*at != '\0')
      Fail("something follows the event");
  }
  return history;
}

DASGD_INLINE void HistoryText::Reader::Check(const History& history) const
{
  VersionVector computed;
  for (const RankHistory& rank : history)
    computed.push_back(rank.Computed());
  for (const RankHistory& rank : history)
  {
    for (const GradientRange& range : rank.Ranges())
    {
      if (range.first + range.count - 1 <= computed[range.origin])
        continue;
      Fail("rank " + std::to_string(range.origin) + " computed " +
          std::to_string(computed[range.origin]) + " gradients, but its " +
          std::to_string(range.first + range.count - 1) +
          "th was applied");
    }
  }
}

DASGD_INLINE bool HistoryText::Reader::Next()
{
  ++number;
  if (!std::getline(stream, line))
  {
    line.clear();
    return false;
  }
  // Functions of C would ignore the rest of the line.
  if (line.find('\0') != std::string::npos)
    Fail("a line has a byte of zero in it");
  return true;
}

DASGD_INLINE bool HistoryText::Reader::Heading(const std::string& word,
                                               std::uint64_t& value) const
{
  if (line.compare(0, word.size(), word) != 0)
    return false;
  const std::string digits = line.substr(word.size());
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  value = std::stoull(digits);
  return true;
}

DASGD_INLINE double HistoryText::Reader::Seconds()
{
  char* end = nullptr;
  const double value = (*at == ' ') ? std::strtod(at + 1, &end) : 0;
  if (*at != ' ' || end == at + 1 || !(value >= 0) ||
      value > 1e9)
    Fail("expected seconds");
  at = end;
  return value;
}

DASGD_INLINE std::uint64_t HistoryText::Reader::Number(
    const char before, const std::uint64_t largest)
{
  if (*at != before || at[1] < '0' || at[1] > '9')
    Fail(std::string("expected '") + before + "' and a number");
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(at + 1, &end, 10);
  if (errno != 0 || value > largest)
    Fail("a number is more than " + std::to_string(largest));
  at = end;
  return value;
}

DASGD_INLINE HistoryEvent::Kind HistoryText::Reader::KindOf(
    const char letter) const
{
  for (const HistoryEvent::Kind kind : { HistoryEvent::Kind::Compute,
      HistoryEvent::Kind::Apply, HistoryEvent::Kind::Send,
      HistoryEvent::Kind::Idle })
    if (Letter(kind) == letter)
      return kind;
  Fail(std::string("no event is called '") + letter + "'");
}

[[noreturn]] DASGD_INLINE void HistoryText::Reader::Fail(
    const std::string& what) const
{
  throw std::runtime_error("dasgd: " + name + ", line " +
      std::to_string(number) + ": " + what +
      (line.empty() ? "" : " (found \"" + line.substr(0, 60) + "\")"));
}

DASGD_INLINE char HistoryText::Letter(const HistoryEvent::Kind kind)
{ return "casi"[size_t(kind)]; }

DASGD_INLINE bool HistoryText::HasFrame(const HistoryEvent::Kind kind)
{
  return kind == HistoryEvent::Kind::Apply ||
      kind == HistoryEvent::Kind::Send;
}

DASGD_INLINE void WriteHistory(const History& history, std::ostream& stream)
{
  stream << "dasgd-history " << HistoryText::Version << "\nranks "
      << history.size() << '\n';
  for (size_t i = 0; i < history.size(); ++i)
    stream << "rank " << i << '\n' << HistoryText::Lines(history[i]);
  stream << "end\n";
}

DASGD_INLINE History ReadHistory(std::istream& stream, const std::string& name)
{ return HistoryText::Reader(stream, name).File(); }

DASGD_INLINE void SaveHistory(const History& history, const std::string& path)
{
  if (!history.empty())
    SaveFile(path, [&](std::ostream& out) { WriteHistory(history, out); });
}

DASGD_INLINE History LoadHistory(const std::string& path)
{
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
  {
    throw std::runtime_error("dasgd: cannot read " + path + ": " +
        std::strerror(errno));
  }
  return ReadHistory(stream, path);
}

} // namespace dasgd

#endif
