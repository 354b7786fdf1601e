/**
 * @file manifest.hpp
 *
 * Which gradients a summed update holds.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_MANIFEST_HPP
#define DASGD_STALENESS_MANIFEST_HPP

#include "staleness.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace dasgd {

/**
 * Consecutive gradients of one origin.  All counters but `count` are running
 * totals at the origin, so that entries can be folded into one without losing
 * what stop rules need, and so that every rank gets the same sums bit for bit
 * however the gradients were bundled on the way.
 */
struct ManifestEntry
{
  std::uint32_t origin = 0;
  //! Does the manifest hold the gradient's version vector?
  bool versioned = true;
  //! Sequence number of the first gradient, counted from 1.
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  //! Points that the origin has visited so far.
  std::uint64_t points = 0;
  //! Epoch of the last gradient, counted from 1 ...
  std::uint64_t epoch = 0;
  //! ... and the origin's points and objective in that epoch so far.
  std::uint64_t epochPoints = 0;
  double epochObjective = 0;
};

/**
 * The entries of a summed update in the order in which they were added, with
 * the version vectors they were computed at.  These have a number for each
 * origin, or for each group of origins whose gradients have one order.  Its
 * size is bounded: beyond Limit() entries, gradients are folded into the last
 * entry of their origin, and no more version vectors are kept.  Counts stay
 * exact; gradients without a version vector are reported as not measured, and
 * far beyond the limit the objectives of the newest epochs are dropped, too
 * (which are then not judged).  That happens only to a peer that takes nothing
 * while a thousand gradients come by.
 */
class Manifest
{
 public:
  /**
   * @param origins Whose gradients there are.
   * @param length Of a version vector; 0 for one number for each origin.
   */
  explicit Manifest(const size_t origins = 1, const size_t length = 0) :
      length(length > 0 ? length : origins), lastOf(origins, none) { }

  /**
   * Entries kept apart for a given length of version vectors, and version
   * vectors kept at all.  A peer computing a thousandth as fast as the others
   * is still measured completely on small jobs; on large ones version vectors
   * are what fills the frame.
   */
  static size_t Limit(const size_t length)
  {
    return std::max<size_t>(64, std::min<size_t>(1024, 65536 / (length + 8)));
  }

  //! Entries that there can be at most.
  static size_t MaxEntries(const size_t origins, const size_t length)
  { return 2 * Limit(length) + origins; }
  static size_t MaxEntries(const size_t origins)
  { return MaxEntries(origins, origins); }

  //! One gradient in so many takes its version vector along.  On 128 ranks or
  //! fewer each does.  On more, a frame that holds a gradient of each rank
  //! would be longer than many models; a sample will do, one that does not
  //! depend on the way.
  static size_t VersionedEvery(const size_t length)
  { return (length * length + 16383) / 16384; }

  //! Does a gradient take its version vector along?
  //! @param sequence The number of the gradient at its origin.
  static bool Versioned(const size_t length,
                        const size_t origin,
                        const std::uint64_t sequence)
  { return (sequence + origin) % VersionedEvery(length) == 0; }

  /**
   * Add an entry; it continues where its origin's last entry ended.
   *
   * @param entry What to add.
   * @param version Its version vector, if entry.versioned.
   */
  void Add(const ManifestEntry& entry, const std::uint64_t* version)
  {
    const size_t last = lastOf[entry.origin];
    if (last != none && entries.size() >= Limit(length))
    {
      // An epoch's total stands in the epoch's last entry: keep it as long as
      // there is room at all, and then rather those of the oldest epochs, which
      // are judged first.
      ManifestEntry& old = entries[last];
      const bool sameEpoch = (old.epoch == entry.epoch);
      if (sameEpoch || entries.size() >= 2 * Limit(length))
      {
        assert(old.first + old.count == entry.first);
        old.count += entry.count;
        old.points = entry.points;
        if (sameEpoch)
        {
          old.epochPoints = entry.epochPoints;
          old.epochObjective = entry.epochObjective;
        }
        old.versioned = false;
        gradients += entry.count;
        return;
      }
    }
    Push(entry, version);
  }

  //! Add an entry as it is, to rebuild a manifest from a frame; `version` may
  //! be null if the entry has none.
  void Push(const ManifestEntry& entry, const std::uint64_t* version)
  {
    gradients += entry.count;
    lastOf[entry.origin] = std::uint32_t(entries.size());
    entries.push_back(entry);
    const size_t kept = versions.size() / length;
    if (!entry.versioned || version == nullptr || kept >= Limit(length))
    {
      entries.back().versioned = false;
      slots.push_back(none);
      return;
    }
    slots.push_back(std::uint32_t(kept));
    versions.insert(versions.end(), version, version + length);
  }

  //! The last entry of an origin, or null.
  const ManifestEntry* Last(const size_t origin) const
  {
    return (lastOf[origin] == none) ? nullptr : &entries[lastOf[origin]];
  }

  //! Add all entries of another manifest.
  void Add(const Manifest& other)
  {
    for (size_t i = 0; i < other.entries.size(); ++i)
      Add(other.entries[i], other.Version(i));
  }

  void Clear()
  {
    for (const ManifestEntry& entry : entries)
      lastOf[entry.origin] = none;
    entries.clear();
    slots.clear();
    versions.clear();
    gradients = 0;
  }

  //! Make room once, so that the loop allocates nothing.
  void Reserve(const size_t count)
  {
    entries.reserve(count);
    slots.reserve(count);
    versions.reserve(std::min(count, Limit(length)) * length);
  }

  bool Empty() const { return entries.empty(); }
  size_t Origins() const { return lastOf.size(); }
  //! Of a version vector.
  size_t Length() const { return length; }
  //! Number of gradients (at least the number of entries).
  std::uint64_t Gradients() const { return gradients; }
  const std::vector<ManifestEntry>& Entries() const { return entries; }
  //! The version vector of the given entry; null if it has none.
  const std::uint64_t* Version(const size_t entry) const
  {
    return (slots[entry] == none) ? nullptr :
        versions.data() + size_t(slots[entry]) * length;
  }

 private:
  static constexpr std::uint32_t none =
      std::numeric_limits<std::uint32_t>::max();

  size_t length;
  std::vector<ManifestEntry> entries;
  //! By entry, the place of its version vector.
  std::vector<std::uint32_t> slots;
  //! All version vectors that are kept.
  std::vector<std::uint64_t> versions;
  //! Per origin, its last entry.
  std::vector<std::uint32_t> lastOf;
  std::uint64_t gradients = 0;
};

} // namespace dasgd

#endif
