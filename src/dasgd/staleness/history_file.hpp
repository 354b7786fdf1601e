/**
 * @file history_file.hpp
 *
 * Histories as text: to a file, from a file, and from rank to rank.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_HISTORY_FILE_HPP
#define DASGD_STALENESS_HISTORY_FILE_HPP

#include "../core/config.hpp"
#include "history.hpp"

#include <iosfwd>
#include <string>

namespace dasgd {

/**
 * The format: words and numbers, one event a line, seconds since all began.
 *
 *     dasgd-history 1
 *     ranks 2
 *     rank 0
 *     c 0.000000000 0.050000000             computed its next gradient
 *     s 0.050000000 0.050001000 1 1 240     sent to rank 1 its frame 1, 240
 *     bytes a 0.100000000 0.100002000 1 1 240 1:1+1   applied frame 1 of rank
 *     1, which
 *                                           held one gradient of rank 1, the
 *                                           first
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
  static std::string Lines(const RankHistory& history);

  /**
   * A reader of what Lines() and Write() have written.  Everything is checked:
   * a history that was read can be walked and measured without harm.
   */
  class Reader
  {
   public:
    //! @param name What to call the source in errors.
    Reader(std::istream& stream, const std::string& name);

    //! A whole file.
    History File();

    //! Events up to a line that is none, or to the end.
    RankHistory Lines(const size_t ranks, const size_t rank);

   private:
    static constexpr size_t maxRanks = 1 << 20;

    //! Throws if a gradient was applied that was never computed.
    void Check(const History& history) const;

    bool Next();

    //! Is the line this word and a number, and nothing more?
    bool Heading(const std::string& word, std::uint64_t& value) const;

    double Seconds();

    std::uint64_t Number(const char before, const std::uint64_t largest =
        std::numeric_limits<std::uint64_t>::max());

    HistoryEvent::Kind KindOf(const char letter) const;

    [[noreturn]] void Fail(const std::string& what) const;

    std::istream& stream;
    std::string name;
    std::string line;
    //! Where reading goes on in the line.
    const char* at = nullptr;
    std::uint64_t number = 0;
  };

 private:
  static char Letter(const HistoryEvent::Kind kind);

  static bool HasFrame(const HistoryEvent::Kind kind);
};

//! Write a history as text.
void WriteHistory(const History& history, std::ostream& stream);

/**
 * Read it back.
 *
 * @param name What to call the source in errors.
 */
History ReadHistory(std::istream& stream,
                    const std::string& name = "history");

//! Write a history to a file; does nothing if it is empty, as it is on all
//! ranks but 0.
void SaveHistory(const History& history, const std::string& path);

History LoadHistory(const std::string& path);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "history_file_impl.hpp"
#endif

#endif
