/**
 * @file frame_header_impl.hpp
 *
 * Implementation of FrameHeader.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FRAME_HEADER_IMPL_HPP
#define DASGD_WIRE_FRAME_HEADER_IMPL_HPP

// In case it hasn't been included yet.
#include "frame_header.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace dasgd {

DASGD_INLINE void FrameHeader::Save(std::uint8_t* bytes,
                                    const size_t elementBytes) const
{
  std::memset(bytes, 0, Bytes);
  ByteOutputArchive archive(bytes, Bytes);
  archive(Magic, Version, std::uint8_t(elementBytes), std::uint8_t(last),
      routeClass, frameBytes, elements, std::uint8_t(format), places, kind);
}

DASGD_INLINE void FrameHeader::Load(const std::uint8_t* bytes,
                                    const size_t size,
                                    const size_t elementBytes,
                                    const size_t modelElements)
{
  ByteInputArchive archive(bytes, std::min(size, Bytes));
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t theirBytes, lastFlag, formatNumber;
  archive(magic, version, theirBytes, lastFlag, routeClass, frameBytes,
      elements, formatNumber, places, kind);
  if (magic != Magic)
  {
    throw WireError("a message of " + std::to_string(size) + " bytes is not "
        "a frame: it starts with " + std::to_string(magic) + " instead of " +
        std::to_string(Magic));
  }
  if (version != Version)
  {
    throw WireError("a frame has version " + std::to_string(version) +
        ", but this is version " + std::to_string(Version) +
        "; run the same build of the program on every rank");
  }
  if (theirBytes != elementBytes)
  {
    throw WireError("a frame has elements of " + std::to_string(theirBytes) +
        " bytes, but the model has elements of " +
        std::to_string(elementBytes));
  }
  if (frameBytes < Bytes || frameBytes > size)
  {
    throw WireError("a frame of " + std::to_string(frameBytes) +
        " bytes came in a message of " + std::to_string(size));
  }
  if (elements != 0 && elements != modelElements)
  {
    throw WireError("a frame has " + std::to_string(elements) +
        " elements, but the model has " + std::to_string(modelElements));
  }
  if (formatNumber > std::uint8_t(WireFormat::Kind::TopK) ||
      places > elements)
  {
    throw WireError("a frame has format " + std::to_string(formatNumber) +
        " with " + std::to_string(places) + " places of " +
        std::to_string(elements));
  }
  last = (lastFlag != 0);
  format = WireFormat::Kind(formatNumber);
}

} // namespace dasgd

#endif
