/**
 * @file history_file.hpp
 *
 * Histories as text: to a file, from a file, and from rank to rank.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_HISTORY_FILE_HPP
#define DASGD_CORE_HISTORY_FILE_HPP

#include "history.hpp"
#include "whole_file.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>

namespace dasgd {

/**
 * The format: words and numbers, one event a line, seconds since all began.
 *
 *     dasgd-history 1
 *     ranks 2
 *     rank 0
 *     c 0.000000000 0.050000000             computed its next gradient
 *     s 0.050000000 0.050001000 1 1 240     sent to rank 1 its frame 1, 240 bytes
 *     a 0.100000000 0.100002000 1 1 240 1:1+1   applied frame 1 of rank 1, which
 *                                           held one gradient of rank 1, the first
 *     i 0.100002000 0.200000000             waited
 *     rank 1
 *     ...
 *     end
 *
 * A frame that holds gradients of several origins lists all in the order in
 * which they were applied.
 */
class HistoryText
{
 public:
  static constexpr unsigned Version = 1;

  //! The lines of one rank.
  static std::string Lines(const RankHistory& history)
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

  /**
   * A reader of what Lines() and Write() have written.  Everything is checked:
   * a history that was read can be walked and measured without harm.
   */
  class Reader
  {
   public:
    //! @param name What to call the source in errors.
    Reader(std::istream& stream, const std::string& name) :
        stream(stream), name(name) { }

    //! A whole file.
    History File()
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

    //! Events up to a line that is none, or to the end.
    RankHistory Lines(const size_t ranks, const size_t rank)
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

   private:
    static constexpr size_t maxRanks = 1 << 20;

    //! Nobody can have applied what was never computed.
    void Check(const History& history) const
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

    bool Next()
    {
      ++number;
      if (!std::getline(stream, line))
      {
        line.clear();
        return false;
      }
      // What follows it would be read by nobody.
      if (line.find('\0') != std::string::npos)
        Fail("a line has a byte of zero in it");
      return true;
    }

    //! Is the line this word and a number, and nothing more?
    bool Heading(const std::string& word, std::uint64_t& value) const
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

    double Seconds()
    {
      char* end = nullptr;
      const double value = (*at == ' ') ? std::strtod(at + 1, &end) : 0;
      if (*at != ' ' || end == at + 1 || !(value >= 0) ||
          value > 1e9)
        Fail("expected seconds");
      at = end;
      return value;
    }

    std::uint64_t Number(const char before, const std::uint64_t largest =
        std::numeric_limits<std::uint64_t>::max())
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

    HistoryEvent::Kind KindOf(const char letter) const
    {
      for (const HistoryEvent::Kind kind : { HistoryEvent::Kind::Compute,
          HistoryEvent::Kind::Apply, HistoryEvent::Kind::Send,
          HistoryEvent::Kind::Idle })
        if (Letter(kind) == letter)
          return kind;
      Fail(std::string("no event is called '") + letter + "'");
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
      throw std::runtime_error("dasgd: " + name + ", line " +
          std::to_string(number) + ": " + what +
          (line.empty() ? "" : " (found \"" + line.substr(0, 60) + "\")"));
    }

    std::istream& stream;
    std::string name;
    std::string line;
    //! Where reading goes on in the line.
    const char* at = nullptr;
    std::uint64_t number = 0;
  };

 private:
  static char Letter(const HistoryEvent::Kind kind)
  { return "casi"[size_t(kind)]; }

  static bool HasFrame(const HistoryEvent::Kind kind)
  {
    return kind == HistoryEvent::Kind::Apply ||
        kind == HistoryEvent::Kind::Send;
  }
};

//! Write a history as text.
inline void WriteHistory(const History& history, std::ostream& stream)
{
  stream << "dasgd-history " << HistoryText::Version << "\nranks "
      << history.size() << '\n';
  for (size_t i = 0; i < history.size(); ++i)
    stream << "rank " << i << '\n' << HistoryText::Lines(history[i]);
  stream << "end\n";
}

/**
 * Read it back.
 *
 * @param name What to call the source in errors.
 */
inline History ReadHistory(std::istream& stream,
                           const std::string& name = "history")
{ return HistoryText::Reader(stream, name).File(); }

//! Write a history to a file; does nothing if it is empty, as on all ranks but 0.
inline void SaveHistory(const History& history, const std::string& path)
{
  if (!history.empty())
    SaveFile(path, [&](std::ostream& out) { WriteHistory(history, out); });
}

inline History LoadHistory(const std::string& path)
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
