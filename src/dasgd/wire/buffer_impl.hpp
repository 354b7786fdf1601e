/**
 * @file buffer_impl.hpp
 *
 * Implementation of buffers and their pool.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_BUFFER_IMPL_HPP
#define DASGD_WIRE_BUFFER_IMPL_HPP

// In case it hasn't been included yet.
#include "buffer.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace dasgd {

DASGD_INLINE void BufferPool::Use(std::uint8_t* memory, const size_t buffers)
{
  most = buffers;
  for (size_t i = buffers; i-- > 0; )
    idle.emplace_back(memory + i * BufferBytes(), BufferBytes());
}

[[noreturn]] DASGD_INLINE void BufferPool::Exhausted() const
{
  throw std::length_error("dasgd: " + std::to_string(used) + " frames "
      "were begun where " + std::to_string(most) + " were to suffice");
}

} // namespace dasgd

#endif
