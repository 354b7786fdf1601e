/**
 * @file byte_archive_impl.hpp
 *
 * Implementation of byte archives.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_BYTE_ARCHIVE_IMPL_HPP
#define DASGD_WIRE_BYTE_ARCHIVE_IMPL_HPP

// In case it hasn't been included yet.
#include "byte_archive.hpp"

namespace dasgd {

[[noreturn]] DASGD_INLINE void ByteOutputArchive::Overflow(
    const size_t bytes) const
{
  throw WireError("a frame needs " + std::to_string(position + bytes) +
      " bytes, but its buffer holds " + std::to_string(capacity));
}

[[noreturn]] DASGD_INLINE void ByteInputArchive::CutShort(
    const size_t bytes) const
{
  throw WireError("a frame of " + std::to_string(size) + " bytes is cut " +
      "short: " + std::to_string(bytes) + " bytes were expected from byte " +
      std::to_string(position) + " on");
}

DASGD_INLINE void CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive,
                                            const Varint& varint)
{
  std::uint8_t bytes[Varint::MaxBytes];
  size_t count = 0;
  std::uint64_t rest = varint.value;
  do
  {
    bytes[count++] = std::uint8_t((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
    rest >>= 7;
  } while (rest != 0);
  archive.saveBinary(bytes, count);
}

DASGD_INLINE void CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive,
                                            Varint& varint)
{
  varint.value = 0;
  for (size_t i = 0; i < Varint::MaxBytes; ++i)
  {
    const std::uint8_t byte = *archive.View(1);
    varint.value |= std::uint64_t(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0)
      return;
  }
  throw WireError("a number of more than " +
      std::to_string(Varint::MaxBytes) + " bytes ends at byte " +
      std::to_string(archive.Position()));
}

} // namespace dasgd

#endif
