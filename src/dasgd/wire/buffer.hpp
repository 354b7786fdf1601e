/**
 * @file buffer.hpp
 *
 * Memory for frames: aligned, reused, counted.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_BUFFER_HPP
#define DASGD_WIRE_BUFFER_HPP

#include "../core/config.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dasgd {

//! A fixed number of bytes, aligned for vector instructions; not initialised.
//! Owns its memory, or refers to memory that somebody else owns.
class Buffer
{
 public:
  //! Alignment, and the unit in which sizes are rounded up.
  static constexpr size_t Block = 64;

  static size_t RoundUp(const size_t bytes)
  { return (bytes + Block - 1) / Block * Block; }

  Buffer() = default;

  explicit Buffer(const size_t bytes) : size(RoundUp(bytes))
  {
    // Pages that are never touched cost nothing: a frame that holds only facts
    // may come in a buffer made for a large vector.
    data.reset(static_cast<std::uint8_t*>(std::aligned_alloc(Block,
        std::max<size_t>(size, Block))));
    if (!data)
      throw std::bad_alloc();
  }

  //! Memory that somebody else owns, and frees after this buffer is gone.
  Buffer(std::uint8_t* memory, const size_t bytes) :
      data(memory, Free(false)), size(bytes) { }

  std::uint8_t* Bytes() { return data.get(); }
  const std::uint8_t* Bytes() const { return data.get(); }
  size_t Size() const { return size; }
  explicit operator bool() const { return bool(data); }

 private:
  struct Free
  {
    Free() : owned(true) { }
    explicit Free(const bool owned) : owned(owned) { }

    bool owned;
    void operator()(std::uint8_t* memory) const
    {
      if (owned)
        std::free(memory);
    }
  };

  std::unique_ptr<std::uint8_t, Free> data;
  size_t size = 0;
};

//! Buffers of one size; remembers how many were in use at most.
class BufferPool
{
 public:
  explicit BufferPool(const size_t bytes) : bytes(bytes) { }

  Buffer Take()
  {
    peak = std::max(peak, ++used);
    std::vector<Buffer>& from = Idle();
    if (from.empty())
    {
      if (used > most)
        Exhausted();
      return Buffer(bytes);
    }
    Buffer buffer = std::move(from.back());
    from.pop_back();
    return buffer;
  }

  void Give(Buffer&& buffer)
  {
    --used;
    Idle().push_back(std::move(buffer));
  }

  /**
   * Have idle buffers in common with other pools of the same size: what one
   * rank of a simulation has touched another one may use.
   *
   * @param idle Must outlive this pool.
   */
  void Share(std::vector<Buffer>& idle) { common = &idle; }

  //! How many buffers there will be at most, about.
  void Reserve(const size_t buffers) { idle.reserve(buffers); }

  /**
   * Use this memory, and no other; call it before the first Take().
   *
   * @param memory Room for `buffers` buffers.
   */
  void Use(std::uint8_t* memory, const size_t buffers);

  //! Bytes of each buffer.
  size_t BufferBytes() const { return Buffer::RoundUp(bytes); }
  //! Buffers in use now, and at most so far.
  size_t Used() const { return used; }
  size_t Peak() const { return peak; }

 private:
  [[noreturn]] void Exhausted() const;

  std::vector<Buffer>& Idle() { return common ? *common : idle; }

  size_t bytes;
  size_t used = 0;
  size_t peak = 0;
  size_t most = std::numeric_limits<size_t>::max();
  std::vector<Buffer> idle;
  std::vector<Buffer>* common = nullptr;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "buffer_impl.hpp"
#endif

#endif
