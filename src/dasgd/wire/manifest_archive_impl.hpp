/**
 * @file manifest_archive_impl.hpp
 *
 * Implementation of manifests and facts as bytes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_MANIFEST_ARCHIVE_IMPL_HPP
#define DASGD_WIRE_MANIFEST_ARCHIVE_IMPL_HPP

// In case it hasn't been included yet.
#include "manifest_archive.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dasgd {
namespace wire {

//! Signed differences as small unsigned numbers.
inline std::uint64_t ZigZag(const std::uint64_t to,
                            const std::uint64_t from)
{
  const std::uint64_t difference = to - from;
  return (difference << 1) ^ (0 - (difference >> 63));
}

inline std::uint64_t UnZigZag(const std::uint64_t code,
                              const std::uint64_t from)
{
  return from + ((code >> 1) ^ (0 - (code & 1)));
}

DASGD_INLINE void Save(ByteOutputArchive& archive, const Manifest& manifest)
{
  archive(Varint(manifest.Entries().size()));
  const std::uint64_t* previous = nullptr;
  for (size_t i = 0; i < manifest.Entries().size(); ++i)
  {
    const ManifestEntry& entry = manifest.Entries()[i];
    archive(Varint(entry.origin), Varint(entry.first), Varint(entry.count),
        Varint(entry.points), Varint(entry.epoch), Varint(entry.epochPoints),
        entry.epochObjective, std::uint8_t(entry.versioned));
    if (!entry.versioned)
      continue;

    // Neighbouring version vectors differ by little.
    const std::uint64_t* version = manifest.Version(i);
    for (size_t r = 0; r < manifest.Length(); ++r)
      archive(Varint(ZigZag(version[r], previous ? previous[r] : 0)));
    previous = version;
  }
}

inline std::uint64_t LoadNumber(ByteInputArchive& archive)
{
  Varint varint;
  archive(varint);
  return varint.value;
}

//! A number that is used as a count or an index: throws WireError unless it is
//! within its limits.
inline std::uint64_t LoadNumber(ByteInputArchive& archive,
                                const char* name,
                                const std::uint64_t atLeast,
                                const std::uint64_t atMost)
{
  const std::uint64_t value = LoadNumber(archive);
  if (value < atLeast || value > atMost)
  {
    throw WireError("a frame has " + std::string(name) + " " +
        std::to_string(value) + " before byte " +
        std::to_string(archive.Position()) + ", outside " +
        std::to_string(atLeast) + " to " + std::to_string(atMost));
  }
  return value;
}

DASGD_INLINE void Load(ByteInputArchive& archive,
                       Manifest& manifest,
                       std::vector<std::uint64_t>& version)
{
  const size_t origins = manifest.Origins();
  const size_t length = manifest.Length();
  // Counters are sums of counts, so far from overflow in any real run; and the
  // gradients of all ranks together can be counted, too.
  constexpr std::uint64_t most = std::uint64_t(1) << 62;
  const std::uint64_t mostGradients = most / origins;

  manifest.Clear();
  version.assign(length, 0);
  const std::uint64_t entries = LoadNumber(archive, "a manifest of length", 0,
      Manifest::MaxEntries(origins, length));
  size_t versions = 0;
  for (std::uint64_t i = 0; i < entries; ++i)
  {
    ManifestEntry entry;
    entry.origin = std::uint32_t(LoadNumber(archive, "an origin", 0,
        origins - 1));
    entry.first = LoadNumber(archive, "a sequence number", 1, mostGradients);
    entry.count = LoadNumber(archive, "a count of gradients", 1,
        mostGradients - entry.first + 1);
    entry.points = LoadNumber(archive, "a count of points", 0, most);
    entry.epoch = LoadNumber(archive, "an epoch", 1, most);
    entry.epochPoints = LoadNumber(archive, "a count of points in an epoch", 0,
        entry.points);
    archive(entry.epochObjective);
    std::uint8_t versioned;
    archive(versioned);
    entry.versioned = (versioned != 0);
    if (entry.versioned)
    {
      if (entry.count != 1)
      {
        throw WireError("a frame has one version vector for " +
            std::to_string(entry.count) + " gradients before byte " +
            std::to_string(archive.Position()));
      }
      if (++versions > Manifest::Limit(length))
      {
        throw WireError("a frame has more than " + std::to_string(
            Manifest::Limit(length)) + " version vectors before byte " +
            std::to_string(archive.Position()));
      }
      for (size_t r = 0; r < length; ++r)
        version[r] = UnZigZag(LoadNumber(archive), version[r]);
    }
    const ManifestEntry* last = manifest.Last(entry.origin);
    if (last && last->first + last->count != entry.first)
    {
      throw WireError("a frame's manifest is out of order before byte " +
          std::to_string(archive.Position()) + ": after gradient " +
          std::to_string(last->first + last->count - 1) + " of rank " +
          std::to_string(entry.origin) + " comes gradient " +
          std::to_string(entry.first));
    }
    manifest.Push(entry, version.data());
  }
}

DASGD_INLINE void Save(ByteOutputArchive& archive,
                       const std::vector<Fact>& facts)
{
  archive(Varint(facts.size()));
  for (const Fact& fact : facts)
  {
    const size_t length = std::min(fact.text.size(), Fact::MaxText);
    archive(Varint(std::uint64_t(fact.kind)), Varint(fact.origin),
        Varint(fact.count), Varint(std::uint64_t(fact.reason)), fact.value,
        Varint(length), cereal::binary_data(fact.text.data(), length));
  }
}

DASGD_INLINE void Load(ByteInputArchive& archive,
                       const size_t ranks,
                       std::vector<Fact>& facts)
{
  facts.clear();
  const std::uint64_t count = LoadNumber(archive, "a number of facts", 0,
      2 * ranks);
  for (std::uint64_t i = 0; i < count; ++i)
  {
    Fact fact;
    fact.kind = Fact::Kind(LoadNumber(archive, "a kind of fact", 0, 1));
    fact.origin = std::uint32_t(LoadNumber(archive, "an origin", 0,
        ranks - 1));
    fact.count = LoadNumber(archive);
    fact.reason = StopReason(LoadNumber(archive, "a reason to stop", 0,
        std::uint64_t(StopReason::Signal)));
    archive(fact.value);
    const size_t length = size_t(LoadNumber(archive, "a text of length", 0,
        Fact::MaxText));
    fact.text.assign(reinterpret_cast<const char*>(archive.View(length)),
        length);
    facts.push_back(std::move(fact));
  }
}

} // namespace wire
} // namespace dasgd

#endif
