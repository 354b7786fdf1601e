/**
 * @file frame.hpp
 *
 * One message: a sum of updates, its manifest, and facts.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FRAME_HPP
#define DASGD_WIRE_FRAME_HPP

#include "../core/config.hpp"
#include "buffer.hpp"
#include "frame_header.hpp"
#include "manifest_archive.hpp"
#include "rounding.hpp"
#include "short_vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace dasgd {

//! How large frames can get, from what is known up front.
template<typename ElemType>
struct FrameLimits
{
  size_t ranks;
  //! Elements of the model.
  size_t elements;
  //! Of version vectors; 0 for one number for each rank.
  size_t length = 0;

  size_t Length() const { return (length > 0) ? length : ranks; }

  size_t MaxBytes() const
  {
    const size_t entry = 6 * Varint::MaxBytes + sizeof(double) + 1;
    const size_t versions = Manifest::Limit(Length()) * Length() *
        Varint::MaxBytes;
    const size_t fact = 5 * Varint::MaxBytes + sizeof(double) +
        Fact::MaxText;
    return FrameHeader::Bytes + VectorBytes(elements) + 2 * Varint::MaxBytes +
        Manifest::MaxEntries(ranks, Length()) * entry + versions +
        MaxFacts() * fact;
  }

  //! Every origin tells at most two facts.
  size_t MaxFacts() const { return 2 * ranks; }

  static size_t VectorBytes(const size_t elements)
  { return elements * sizeof(ElemType); }
};

//! What a frame says, but for its vector.
struct FrameContents
{
  //! @param length Of version vectors; see Manifest.
  explicit FrameContents(const size_t ranks, const size_t length = 0) :
      manifest(ranks, length) { }

  FrameHeader header;
  Manifest manifest;
  std::vector<Fact> facts;
  //! Scratch.
  std::vector<std::uint64_t> version;
};

namespace wire {

//! EncodeFrame() for elements of so many bytes.
size_t Encode(Buffer& buffer,
              FrameHeader header,
              const size_t elementBytes,
              const Manifest& manifest,
              const std::vector<Fact>& facts);

/**
 * DecodeFrame() for elements of so many bytes, without the vector.
 *
 * @return Where the vector stands, as long as the header says.
 */
const std::uint8_t* Decode(const std::uint8_t* bytes,
                           const size_t size,
                           const size_t elementBytes,
                           const size_t modelElements,
                           const size_t ranks,
                           FrameContents& frame);

//! Throws: a frame has a value at a place that the model does not have.
[[noreturn]] void NoPlace(const size_t place, const size_t elements);

} // namespace wire

//! Where the vector of a frame stands.
template<typename ElemType>
inline ElemType* FrameVector(Buffer& buffer)
{
  return reinterpret_cast<ElemType*>(buffer.Bytes() + FrameHeader::Bytes);
}

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
                   const FrameHeader& header,
                   const Manifest& manifest,
                   const std::vector<Fact>& facts)
{
  return wire::Encode(buffer, header, sizeof(ElemType), manifest, facts);
}

//! What a frame says.  Reused from frame to frame, so that memory is, too.
template<typename ElemType>
struct DecodedFrame : FrameContents
{
  explicit DecodedFrame(const size_t ranks, const size_t length = 0) :
      FrameContents(ranks, length) { }

  //! The vector, where it was received; null if there is none.
  const ElemType* vector = nullptr;
  //! The vector in full length, if it came in a shorter format.
  std::vector<ElemType> expanded;
};

/**
 * Read the vector of a frame whose header has been read.
 *
 * @param bytes Where it stands, as long as the header says.
 */
template<typename ElemType>
void DecodeVector(const std::uint8_t* bytes,
                  const size_t elements,
                  DecodedFrame<ElemType>& frame)
{
  frame.vector = nullptr;
  if (frame.header.elements == 0)
    return;
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
        wire::NoPlace(place, elements);
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
  const std::uint8_t* vector = wire::Decode(bytes, size, sizeof(ElemType),
      limits.elements, limits.ranks, frame);
  DecodeVector(vector, limits.elements, frame);
}

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "frame_impl.hpp"
#endif

#endif
