/**
 * @file frame_input.hpp
 *
 * How an input of fuzz_frame begins: one byte that says what the receiver
 * knows of frames, then the frame.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_FUZZ_FRAME_INPUT_HPP
#define DASGD_TESTS_FUZZ_FRAME_INPUT_HPP

#include <cstddef>
#include <cstdint>

namespace fuzz {

struct FrameInput
{
  static constexpr size_t Ranks[] = { 1, 2, 3, 5, 8, 13, 32, 64 };
  static constexpr size_t Elements[] = { 0, 1, 2, 3, 7, 16, 33, 64 };

  //! Elements of eight bytes or of four?
  bool isDouble;
  //! Places in the lists above.
  size_t ranks;
  size_t elements;
  //! Are magic number, version and length put right before it is read?
  //! Otherwise hardly any change of a frame would get behind its header.
  bool mended;

  static FrameInput Read(const std::uint8_t byte)
  {
    return { (byte & 1) != 0, size_t(byte >> 1) & 7, size_t(byte >> 4) & 7,
        (byte & 128) != 0 };
  }

  std::uint8_t Byte() const
  {
    return std::uint8_t(isDouble | ranks << 1 | elements << 4 | mended << 7);
  }
};

} // namespace fuzz

#endif
