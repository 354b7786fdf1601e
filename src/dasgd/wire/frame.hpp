/**
 * @file frame.hpp
 *
 * One message: a sum of updates, its manifest, and facts.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FRAME_HPP
#define DASGD_WIRE_FRAME_HPP

#include "../core/fact.hpp"
#include "../core/manifest.hpp"
#include "buffer.hpp"
#include "byte_archive.hpp"
#include "format.hpp"

namespace dasgd {

/**
 * The fixed start of a frame.  The vector follows at byte Bytes, aligned, so
 * that updates are formed and added up right where they are sent from; then the
 * manifest and the facts.
 */
struct FrameHeader
{
  static constexpr std::uint32_t Magic = 0x47534144; // "DASG"
  static constexpr std::uint16_t Version = 3;
  static constexpr size_t Bytes = Buffer::Block;

  //! The sender sends nothing after this frame on this link.
  bool last = false;
  //! The class in which the frame arrives (see Routes).
  std::uint32_t routeClass = 0;
  //! Bytes of the whole frame; what follows in a message is padding.
  std::uint64_t frameBytes = 0;
  //! Elements of the vector: those of the model, or none.
  std::uint64_t elements = 0;
  //! How they are written.
  WireFormat::Kind format = WireFormat::Kind::Exact;
  //! With WireFormat::TopK, how many are not zero.
  std::uint64_t places = 0;
  //! What the vector is, where an algorithm sends several kinds.
  std::uint32_t kind = 0;

  //! Bytes of the vector as it is written.
  template<typename ElemType>
  size_t PayloadBytes() const
  {
    switch (format)
    {
      case WireFormat::Kind::Float32:
        return size_t(elements) * sizeof(wire::Float);
      case WireFormat::Kind::BFloat16:
        return size_t(elements) * sizeof(wire::BFloat);
      case WireFormat::Kind::TopK:
        return size_t(places) * (sizeof(ElemType) + sizeof(std::uint32_t));
      default:
        return size_t(elements) * sizeof(ElemType);
    }
  }
};

//! How large frames can get, from what is known up front.
template<typename ElemType>
struct FrameLimits
{
  size_t ranks;
  //! Elements of the model.
  size_t elements;

  size_t MaxBytes() const
  {
    const size_t entry = 6 * Varint::MaxBytes + sizeof(double) + 1 +
        ranks * Varint::MaxBytes;
    const size_t fact = 5 * Varint::MaxBytes + sizeof(double) +
        Fact::MaxText;
    return FrameHeader::Bytes + VectorBytes(elements) + 2 * Varint::MaxBytes +
        Manifest::MaxEntries(ranks) * entry + MaxFacts() * fact;
  }

  //! Every origin tells at most two facts.
  size_t MaxFacts() const { return 2 * ranks; }

  static size_t VectorBytes(const size_t elements)
  { return elements * sizeof(ElemType); }
};

//! Where the vector of a frame stands.
template<typename ElemType>
inline ElemType* FrameVector(Buffer& buffer)
{
  return reinterpret_cast<ElemType*>(buffer.Bytes() + FrameHeader::Bytes);
}

namespace wire {

//! Signed differences as small unsigned numbers.
inline std::uint64_t ZigZag(const std::uint64_t to, const std::uint64_t from)
{
  const std::uint64_t difference = to - from;
  return (difference << 1) ^ (0 - (difference >> 63));
}

inline std::uint64_t UnZigZag(const std::uint64_t code, const std::uint64_t from)
{
  return from + ((code >> 1) ^ (0 - (code & 1)));
}

inline void Save(ByteOutputArchive& archive, const Manifest& manifest)
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
    for (size_t r = 0; r < manifest.Ranks(); ++r)
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

//! A number that is used as a count or an index, so it must be believable.
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

inline void Load(ByteInputArchive& archive,
                 Manifest& manifest,
                 std::vector<std::uint64_t>& version)
{
  const size_t ranks = manifest.Ranks();
  // Counters are sums of counts, so far from overflow in any real run; and the
  // gradients of all ranks together can be counted, too.
  constexpr std::uint64_t most = std::uint64_t(1) << 62;
  const std::uint64_t mostGradients = most / ranks;

  manifest.Clear();
  version.assign(ranks, 0);
  const std::uint64_t entries = LoadNumber(archive, "a manifest of length", 0,
      Manifest::MaxEntries(ranks));
  for (std::uint64_t i = 0; i < entries; ++i)
  {
    ManifestEntry entry;
    entry.origin = std::uint32_t(LoadNumber(archive, "an origin", 0,
        ranks - 1));
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
      for (size_t r = 0; r < ranks; ++r)
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

inline void Save(ByteOutputArchive& archive, const std::vector<Fact>& facts)
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

inline void Load(ByteInputArchive& archive,
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
        std::uint64_t(StopReason::Error)));
    archive(fact.value);
    const size_t length = size_t(LoadNumber(archive, "a text of length", 0,
        Fact::MaxText));
    fact.text.assign(reinterpret_cast<const char*>(archive.View(length)),
        length);
    facts.push_back(std::move(fact));
  }
}

} // namespace wire

/**
 * Write the vector of a frame in a shorter format, where it stands.
 *
 * @param header Its elements are set; format and places are set here.
 * @param rest Gets what the format cannot express, if it is not null.
 * @param places Scratch.
 * @return Whether there is such a rest.
 */
template<typename ElemType>
bool ShortenFrame(Buffer& buffer,
                  FrameHeader& header,
                  const WireFormat::Kind format,
                  ElemType* rest,
                  std::vector<std::uint32_t>& places)
{
  ElemType* vector = FrameVector<ElemType>(buffer);
  const size_t elements = size_t(header.elements);
  header.format = format;
  if (format == WireFormat::Kind::Float32)
    return wire::Shorten<wire::Float>(vector, rest, elements);
  if (format == WireFormat::Kind::BFloat16)
    return wire::Shorten<wire::BFloat>(vector, rest, elements);
  if (format == WireFormat::Kind::TopK)
  {
    header.places = wire::Gather(vector, elements, places);
    if (header.places == elements)
      header.format = WireFormat::Kind::Exact;
  }
  return false;
}

/**
 * Complete the frame in a buffer whose vector is already in place.
 *
 * @param buffer Holds the vector (if header.elements is not 0) at
 *     FrameVector(), in the format that the header names.
 * @return Bytes of the frame.
 */
template<typename ElemType>
size_t EncodeFrame(Buffer& buffer,
                   FrameHeader header,
                   const Manifest& manifest,
                   const std::vector<Fact>& facts)
{
  ByteOutputArchive archive(buffer.Bytes() + FrameHeader::Bytes,
      buffer.Size() - FrameHeader::Bytes);
  archive(cereal::binary_data(FrameVector<ElemType>(buffer),
      header.PayloadBytes<ElemType>()));
  wire::Save(archive, manifest);
  wire::Save(archive, facts);
  header.frameBytes = FrameHeader::Bytes + archive.Position();

  // The header goes last, since only now the size is known.
  std::memset(buffer.Bytes(), 0, FrameHeader::Bytes);
  ByteOutputArchive start(buffer.Bytes(), FrameHeader::Bytes);
  start(FrameHeader::Magic, FrameHeader::Version,
      std::uint8_t(sizeof(ElemType)), std::uint8_t(header.last),
      header.routeClass, header.frameBytes, header.elements,
      std::uint8_t(header.format), header.places, header.kind);
  return size_t(header.frameBytes);
}

//! What a frame says.  Reused from frame to frame, so that memory is, too.
template<typename ElemType>
struct DecodedFrame
{
  explicit DecodedFrame(const size_t ranks) : manifest(ranks) { }

  FrameHeader header;
  //! The vector, where it was received; null if there is none.
  const ElemType* vector = nullptr;
  Manifest manifest;
  std::vector<Fact> facts;
  //! Scratch.
  std::vector<std::uint64_t> version;
  //! The vector in full length, if it came in a shorter format.
  std::vector<ElemType> expanded;
};

//! Read the vector of a frame, whose header has been read.
template<typename ElemType>
void DecodeVector(ByteInputArchive& archive,
                  const size_t elements,
                  DecodedFrame<ElemType>& frame)
{
  frame.vector = nullptr;
  if (frame.header.elements == 0)
    return;
  const std::uint8_t* bytes = static_cast<const std::uint8_t*>(archive.View(
      frame.header.template PayloadBytes<ElemType>()));
  if (frame.header.format == WireFormat::Kind::Exact)
  {
    frame.vector = reinterpret_cast<const ElemType*>(bytes);
    return;
  }
  frame.expanded.resize(elements);
  frame.vector = frame.expanded.data();
  if (frame.header.format == WireFormat::Kind::Float32)
    wire::Lengthen<wire::Float>(bytes, frame.expanded.data(), elements);
  else if (frame.header.format == WireFormat::Kind::BFloat16)
    wire::Lengthen<wire::BFloat>(bytes, frame.expanded.data(), elements);
  else
  {
    std::fill(frame.expanded.begin(), frame.expanded.end(), ElemType(0));
    const size_t count = size_t(frame.header.places);
    const ElemType* values = reinterpret_cast<const ElemType*>(bytes);
    for (size_t i = 0; i < count; ++i)
    {
      std::uint32_t place;
      std::memcpy(&place, bytes + count * sizeof(ElemType) +
          i * sizeof(place), sizeof(place));
      if (place >= elements)
      {
        throw WireError("a frame has a value at place " +
            std::to_string(place) + ", but the model has " +
            std::to_string(elements) + " elements");
      }
      frame.expanded[place] = values[i];
    }
  }
}

/**
 * Read a frame; throws WireError if anything is not as it should be.
 *
 * @param bytes The message, aligned as a Buffer is.
 * @param size Its length; padding at the end is allowed.
 * @param frame Filled; points into `bytes`.
 */
template<typename ElemType>
void DecodeFrame(const std::uint8_t* bytes,
                 const size_t size,
                 const FrameLimits<ElemType>& limits,
                 DecodedFrame<ElemType>& frame)
{
  ByteInputArchive start(bytes, std::min(size, FrameHeader::Bytes));
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t elementBytes, last, format;
  start(magic, version, elementBytes, last, frame.header.routeClass,
      frame.header.frameBytes, frame.header.elements, format,
      frame.header.places, frame.header.kind);
  if (magic != FrameHeader::Magic)
  {
    throw WireError("a message of " + std::to_string(size) + " bytes is not "
        "a frame: it starts with " + std::to_string(magic) + " instead of " +
        std::to_string(FrameHeader::Magic));
  }
  if (version != FrameHeader::Version)
  {
    throw WireError("a frame has version " + std::to_string(version) +
        ", but this is version " + std::to_string(FrameHeader::Version) +
        "; run the same build of the program on every rank");
  }
  if (elementBytes != sizeof(ElemType))
  {
    throw WireError("a frame has elements of " + std::to_string(elementBytes) +
        " bytes, but the model has elements of " +
        std::to_string(sizeof(ElemType)));
  }
  if (frame.header.frameBytes < FrameHeader::Bytes ||
      frame.header.frameBytes > size)
  {
    throw WireError("a frame of " + std::to_string(frame.header.frameBytes) +
        " bytes came in a message of " + std::to_string(size));
  }
  if (frame.header.elements != 0 && frame.header.elements != limits.elements)
  {
    throw WireError("a frame has " + std::to_string(frame.header.elements) +
        " elements, but the model has " + std::to_string(limits.elements));
  }
  if (format > std::uint8_t(WireFormat::Kind::TopK) ||
      frame.header.places > frame.header.elements)
  {
    throw WireError("a frame has format " + std::to_string(format) + " with " +
        std::to_string(frame.header.places) + " places of " +
        std::to_string(frame.header.elements));
  }
  frame.header.format = WireFormat::Kind(format);

  ByteInputArchive archive(bytes + FrameHeader::Bytes,
      size_t(frame.header.frameBytes) - FrameHeader::Bytes);
  frame.header.last = (last != 0);
  DecodeVector(archive, limits.elements, frame);
  wire::Load(archive, frame.manifest, frame.version);
  wire::Load(archive, limits.ranks, frame.facts);
  if (archive.Left() != 0)
  {
    throw WireError("a frame of " + std::to_string(frame.header.frameBytes) +
        " bytes ends " + std::to_string(archive.Left()) + " bytes early");
  }
}

} // namespace dasgd

#endif
