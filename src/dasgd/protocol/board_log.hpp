/**
 * @file board_log.hpp
 *
 * What has been posted on a board, in order.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_BOARD_LOG_HPP
#define DASGD_PROTOCOL_BOARD_LOG_HPP

#include "../core/config.hpp"
#include "../core/fact.hpp"
#include "../staleness/manifest.hpp"
#include "../wire/manifest_archive.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dasgd {

//! One record of a BoardLog.
struct BoardRecord
{
  enum class Kind : std::uint8_t { Gradients, Fact };

  Kind kind = Kind::Gradients;
  //! Gradients of one origin, which the model has from here on ...
  ManifestEntry entry;
  //! ... and, if the entry is versioned, how many gradients of all ranks the
  //! model had that they were computed at.
  std::uint64_t at = 0;
  //! What a rank tells all others.
  dasgd::Fact fact;
};

/**
 * The records of a board in memory that ranks share, serialized by cereal, each
 * in a line of the cache.  Records are added by whoever has the lock of the
 * last chunk; what has been added can be read without one.  There is room for
 * some thousands.  A rank that comes so late that records have been overwritten
 * catches up instead (CatchUp()): it learns how many gradients there are of
 * each origin and their counts, as from a manifest that was folded, and all
 * facts.
 */
class BoardLog
{
 public:
  //! Records that there is room for.
  static constexpr size_t capacity = 4096;

  //! Bytes of memory that it needs.
  static size_t Bytes(size_t ranks);

  //! @param memory All zero when the first rank gets it.
  BoardLog(size_t ranks, std::uint8_t* memory);

  //! How many records have been added.
  std::uint64_t Records() const
  { return header->records.load(std::memory_order_acquire); }
  //! How many of them are facts.
  std::uint64_t Facts() const
  { return header->facts.load(std::memory_order_acquire); }
  //! Gradients that they are of.
  std::uint64_t Gradients() const
  { return header->gradients.load(std::memory_order_acquire); }

  //! Gradients of one origin.
  std::uint64_t GradientsOf(const size_t origin) const
  { return origins[origin].gradients.load(std::memory_order_relaxed); }

  //! Add a record, under the lock of the last chunk.
  void Add(const BoardRecord& record);

  //! A record as it stands in memory.
  struct Line
  {
    static constexpr size_t words = 8;
    alignas(64) std::uint64_t word[words];
  };

  /**
   * Copy records, counted from 0; false if some have been overwritten.
   *
   * @param lines As many as that.
   */
  bool Read(std::uint64_t begin,
            std::uint64_t end,
            std::vector<Line>& lines) const;

  //! Decode a line that Read() has copied.
  void Decode(const Line& line, BoardRecord& record) const;

  /**
   * All that a rank does not know, under the lock of the last chunk.
   *
   * @param known How many gradients of each origin it knows.
   * @param factsOf How many facts of each origin it knows.
   */
  std::vector<BoardRecord> CatchUp(const VersionVector& known,
                                   const std::vector<size_t>& factsOf) const;

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == 8,
      "dasgd: processes need 64-bit counters that work without a lock.");

  //! Facts are looked for by all, and hardly ever there: they do not share a
  //! line with what changes all the time.
  struct Header
  {
    alignas(64) Word records;
    Word gradients;
    alignas(64) Word facts;
  };

  //! What is known of an origin in all.
  struct Origin
  {
    alignas(64) Word gradients;
    ManifestEntry last;
    std::uint64_t facts;
    //! Where its facts are, two at most, as bytes.
    static constexpr size_t factBytes = 5 * 10 + 8 + 1 + Fact::MaxText;
    std::uint8_t fact[2][factBytes + 7];
  };

  //! Where a record stands.
  Word* Place(const std::uint64_t number) const
  { return places + size_t(number % capacity) * Line::words; }

  dasgd::Fact LoadFact(size_t origin, size_t number) const;

  size_t ranks;
  Header* header;
  Word* places;
  Origin* origins;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "board_log_impl.hpp"
#endif

#endif
