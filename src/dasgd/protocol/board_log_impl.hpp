/**
 * @file board_log_impl.hpp
 *
 * Implementation of BoardLog.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_BOARD_LOG_IMPL_HPP
#define DASGD_PROTOCOL_BOARD_LOG_IMPL_HPP

// In case it hasn't been included yet.
#include "board_log.hpp"

#include <algorithm>
#include <string>

namespace dasgd {

DASGD_INLINE size_t BoardLog::Bytes(const size_t ranks)
{
  return sizeof(Header) + capacity * sizeof(Line) +
      ranks * sizeof(Origin);
}

DASGD_INLINE BoardLog::BoardLog(const size_t ranks, std::uint8_t* memory) :
    ranks(ranks),
    header(reinterpret_cast<Header*>(memory)),
    places(reinterpret_cast<Word*>(memory + sizeof(Header))),
    origins(reinterpret_cast<Origin*>(memory + sizeof(Header) +
        capacity * sizeof(Line)))
{ }

DASGD_INLINE void BoardLog::Add(const BoardRecord& record)
{
  Line line{ };
  ByteOutputArchive archive(reinterpret_cast<std::uint8_t*>(line.word),
      sizeof(line.word));
  const bool isFact = (record.kind == BoardRecord::Kind::Fact);
  const ManifestEntry& entry = record.entry;
  if (isFact)
  {
    // A fact does not fit a line, and is never changed: it has a place of its
    // own.
    Origin& origin = origins[record.fact.origin];
    const std::uint8_t number = std::uint8_t(origin.facts++);
    ByteOutputArchive place(origin.fact[number], sizeof(origin.fact[number]));
    wire::Save(place, std::vector<Fact>{ record.fact });
    archive(std::uint8_t(record.kind), number, std::uint16_t(0),
        record.fact.origin);
  }
  else
  {
    archive(std::uint8_t(record.kind), std::uint8_t(entry.versioned),
        std::uint16_t(0), entry.origin, entry.first, entry.count, entry.points,
        entry.epoch, entry.epochPoints, entry.epochObjective, record.at);
    Origin& origin = origins[entry.origin];
    origin.last = entry;
    origin.gradients.store(entry.first + entry.count - 1,
        std::memory_order_relaxed);
  }

  const std::uint64_t number = header->records.load(std::memory_order_relaxed);
  // Whoever reads a word of this record where he wants an older one also sees
  // that the older ones are gone.
  Word* const place = Place(number);
  for (size_t i = 0; i < Line::words; ++i)
    place[i].store(line.word[i], std::memory_order_release);
  Word& count = isFact ? header->facts : header->gradients;
  count.store(count.load(std::memory_order_relaxed) + (isFact ? 1 :
      entry.count), std::memory_order_release);
  header->records.store(number + 1, std::memory_order_release);
}

DASGD_INLINE bool BoardLog::Read(const std::uint64_t begin,
                                 const std::uint64_t end,
                                 std::vector<Line>& lines) const
{
  lines.resize(size_t(end - begin));
  for (std::uint64_t number = begin; number < end; ++number)
  {
    const Word* const place = Place(number);
    Line& line = lines[size_t(number - begin)];
    for (size_t i = 0; i < Line::words; ++i)
      line.word[i] = place[i].load(std::memory_order_acquire);
  }
  // While the record that takes the first one's place is written, there are
  // this many.
  return Records() < begin + capacity;
}

DASGD_INLINE void BoardLog::Decode(const Line& line, BoardRecord& record) const
{
  ByteInputArchive archive(reinterpret_cast<const std::uint8_t*>(line.word),
      sizeof(line.word));
  std::uint8_t kind, number;
  std::uint16_t unused;
  ManifestEntry& entry = record.entry;
  archive(kind, number, unused, entry.origin);
  record.kind = BoardRecord::Kind(kind);
  if (entry.origin >= ranks)
    throw WireError("a record is of rank " + std::to_string(entry.origin));
  if (record.kind == BoardRecord::Kind::Fact)
  {
    record.fact = LoadFact(entry.origin, number);
    return;
  }
  entry.versioned = (number != 0);
  archive(entry.first, entry.count, entry.points, entry.epoch,
      entry.epochPoints, entry.epochObjective, record.at);
}

DASGD_INLINE Fact BoardLog::LoadFact(const size_t origin,
                                     const size_t number) const
{
  std::vector<Fact> facts;
  ByteInputArchive archive(origins[origin].fact[number],
      sizeof(origins[origin].fact[number]));
  wire::Load(archive, ranks, facts);
  return facts.at(0);
}

DASGD_INLINE std::vector<BoardRecord> BoardLog::CatchUp(
    const VersionVector& known,
    const std::vector<size_t>& factsOf) const
{
  std::vector<BoardRecord> records;
  for (size_t i = 0; i < ranks; ++i)
  {
    BoardRecord record;
    record.entry = origins[i].last;
    // Of an origin without gradients, both are 0.
    const std::uint64_t next = record.entry.first + record.entry.count;
    if (next > known[i] + 1)
    {
      record.entry.origin = std::uint32_t(i);
      record.entry.first = known[i] + 1;
      record.entry.count = next - record.entry.first;
      record.entry.versioned = false;
      records.push_back(record);
    }
  }
  // A final count comes after all gradients that it counts.
  for (size_t i = 0; i < ranks; ++i)
  {
    for (size_t fact = factsOf[i]; fact < origins[i].facts; ++fact)
    {
      BoardRecord record;
      record.kind = BoardRecord::Kind::Fact;
      record.fact = LoadFact(i, fact);
      records.push_back(record);
    }
  }
  return records;
}

} // namespace dasgd

#endif
