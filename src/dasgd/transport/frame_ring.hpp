/**
 * @file frame_ring.hpp
 *
 * The ring buffer by which ranks of one machine pass frames without copying
 * them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_FRAME_RING_HPP
#define DASGD_TRANSPORT_FRAME_RING_HPP

#include "../wire/buffer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dasgd {

/**
 * A ring buffer for one sender and one receiver, in memory of the sender's that
 * both have mapped.  Its entries say where in that memory frames are; a frame
 * itself is never copied.  Each side has its own object for the same ring.
 */
class FrameRing
{
 public:
  struct Frame
  {
    //! Where it begins in the sender's memory.
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  //! Bytes of a ring with room for so many frames.
  static size_t Bytes(const size_t capacity)
  {
    return Buffer::RoundUp(sizeof(Count) + capacity * sizeof(Frame)) +
        Buffer::RoundUp(sizeof(Count));
  }

  //! No ring.
  FrameRing() = default;

  //! The ring at this place, in memory that was all zero when it was made.
  FrameRing(std::uint8_t* place, const size_t capacity) :
      pushed(reinterpret_cast<Count*>(place)),
      popped(reinterpret_cast<Count*>(place + Bytes(capacity) -
          Buffer::RoundUp(sizeof(Count)))),
      frames(reinterpret_cast<Frame*>(place + sizeof(Count))),
      capacity(capacity)
  { }

  explicit operator bool() const { return pushed != nullptr; }

  //! The sender: add a frame; call only if there is room.
  void Push(const Frame& frame)
  {
    frames[count % capacity] = frame;
    pushed->store(++count, std::memory_order_release);
  }

  //! The sender: how many frames has the receiver read so far?
  std::uint64_t Popped() const
  { return popped->load(std::memory_order_acquire); }

  //! The receiver: the next frame, or null.
  const Frame* Front() const
  {
    return pushed->load(std::memory_order_acquire) == count ? nullptr :
        &frames[count % capacity];
  }

  //! The receiver: that frame has been read, its buffer may be used again.
  void Pop() { popped->store(++count, std::memory_order_release); }

 private:
  using Count = std::atomic<std::uint64_t>;
  static_assert(Count::is_always_lock_free && sizeof(Count) == 8,
      "dasgd: processes need 64-bit counters that work without a lock.");

  Count* pushed = nullptr;
  Count* popped = nullptr;
  Frame* frames = nullptr;
  size_t capacity = 0;
  //! How many this side has pushed, or popped.
  std::uint64_t count = 0;
};

} // namespace dasgd

#endif
