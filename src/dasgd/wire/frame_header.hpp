/**
 * @file frame_header.hpp
 *
 * The fixed start of a frame.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FRAME_HEADER_HPP
#define DASGD_WIRE_FRAME_HEADER_HPP

#include "../core/config.hpp"
#include "buffer.hpp"
#include "byte_archive.hpp"
#include "format.hpp"
#include "short_vector.hpp"

#include <cstddef>
#include <cstdint>

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

  //! Bytes of the vector as it is written, of elements of so many bytes.
  size_t PayloadBytes(const size_t elementBytes) const
  {
    switch (format)
    {
      case WireFormat::Kind::Float32:
        return size_t(elements) * sizeof(wire::Float);
      case WireFormat::Kind::BFloat16:
        return size_t(elements) * sizeof(wire::BFloat);
      case WireFormat::Kind::TopK:
        return size_t(places) * (elementBytes + sizeof(std::uint32_t));
      default:
        return size_t(elements) * elementBytes;
    }
  }

  //! Write it to the start of a frame, for elements of so many bytes.
  void Save(std::uint8_t* bytes, const size_t elementBytes) const;

  /**
   * Read it; throws WireError if anything is not as it should be.
   *
   * @param bytes The message.
   * @param size Its length.
   * @param elementBytes Bytes of an element of the model.
   * @param modelElements Elements of the model.
   */
  void Load(const std::uint8_t* bytes,
            const size_t size,
            const size_t elementBytes,
            const size_t modelElements);
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "frame_header_impl.hpp"
#endif

#endif
