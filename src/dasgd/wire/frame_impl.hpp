/**
 * @file frame_impl.hpp
 *
 * Implementation of frames, as far as it does not depend on the type of
 * elements.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FRAME_IMPL_HPP
#define DASGD_WIRE_FRAME_IMPL_HPP

// In case it hasn't been included yet.
#include "frame.hpp"

#include <string>

namespace dasgd {
namespace wire {

DASGD_INLINE size_t Encode(Buffer& buffer,
                           FrameHeader header,
                           const size_t elementBytes,
                           const Manifest& manifest,
                           const std::vector<Fact>& facts)
{
  ByteOutputArchive archive(buffer.Bytes() + FrameHeader::Bytes,
      buffer.Size() - FrameHeader::Bytes);
  // The vector is already in its place, so that nothing is copied.
  archive(cereal::binary_data(buffer.Bytes() + FrameHeader::Bytes,
      header.PayloadBytes(elementBytes)));
  Save(archive, manifest);
  Save(archive, facts);
  header.frameBytes = FrameHeader::Bytes + archive.Position();

  // The header goes last, since only now the size is known.
  header.Save(buffer.Bytes(), elementBytes);
  return size_t(header.frameBytes);
}

DASGD_INLINE const std::uint8_t* Decode(const std::uint8_t* bytes,
                                        const size_t size,
                                        const size_t elementBytes,
                                        const size_t modelElements,
                                        const size_t ranks,
                                        FrameContents& frame)
{
  frame.header.Load(bytes, size, elementBytes, modelElements);

  ByteInputArchive archive(bytes + FrameHeader::Bytes,
      size_t(frame.header.frameBytes) - FrameHeader::Bytes);
  const std::uint8_t* vector = archive.View(
      frame.header.PayloadBytes(elementBytes));
  Load(archive, frame.manifest, frame.version);
  Load(archive, ranks, frame.facts);
  if (archive.Left() != 0)
  {
    throw WireError("a frame of " + std::to_string(frame.header.frameBytes) +
        " bytes ends " + std::to_string(archive.Left()) + " bytes early");
  }
  return vector;
}

[[noreturn]] DASGD_INLINE void NoPlace(const size_t place,
                                       const size_t elements)
{
  throw WireError("a frame has a value at place " + std::to_string(place) +
      ", but the model has " + std::to_string(elements) + " elements");
}

} // namespace wire
} // namespace dasgd

#endif
