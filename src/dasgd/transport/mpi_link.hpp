/**
 * @file mpi_link.hpp
 *
 * One direction of the connection between two ranks: frames that are under way.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_LINK_HPP
#define DASGD_TRANSPORT_MPI_LINK_HPP

#include "../core/config.hpp"
#include "../wire/buffer.hpp"
#include "frame_ring.hpp"
#include "../mpi/mpi_error.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dasgd {

/**
 * A link to send on, or to receive from.  Frames are lent through a ring in
 * shared memory if there is one; otherwise they are messages of MPI, as many
 * for each frame as the largest frame needs.
 */
struct MpiLink
{
  //! The tag of frames.
  static constexpr int tag = 0;
  //! Frames up to this size are copied by MPI when they are sent.
  static constexpr size_t smallBytes = size_t(1) << 15;

  /**
   * The most bytes of a message, if the longest frame has so many.  MPI
   * delivers short messages at once; long ones are announced first, and a rank
   * that computes answers a gradient later.  So a frame is sent in short
   * messages, unless those were so many that to ask for all of them would take
   * long.
   */
  static size_t MessageBytes(const size_t frameBytes)
  {
    // What Open MPI delivers at once over TCP is 64 kB with its header.
    const size_t atOnce = 60000;
    // MPI counts bytes in an int.
    return (frameBytes <= 1024 * atOnce) ? atOnce : size_t(1) << 30;
  }

  struct Slot
  {
    Buffer buffer;
    //! One for each message of a frame.
    std::vector<MPI_Request> requests;
    //! Sending: the number of the frame, if its completion means that the
    //! receiver has matched it; 0 otherwise.
    std::uint64_t confirms = 0;
  };

  //! @param messageBytes The most bytes of a message.
  MpiLink(const MPI_Comm comm,
          const size_t peer,
          const size_t window,
          const size_t messages,
          const size_t messageBytes);

  //! The slot whose frame is received, or sent, next.
  Slot& Next() { return slots[next]; }
  void Advance() { next = (next + 1) % slots.size(); }

  //! Receive the next frame of this slot.
  void Receive(Slot& slot)
  {
    const size_t bytes = slot.buffer.Size();
    for (size_t i = 0; i < slot.requests.size(); ++i)
    {
      mpi::Check(MPI_Irecv(slot.buffer.Bytes() + Begin(i, bytes),
          Length(i, bytes), MPI_BYTE, peer, tag, comm, &slot.requests[i]),
          "MPI_Irecv");
    }
  }

  //! Is there room for a frame?
  bool Free() const
  { return underWay < slots.size() && sent - confirmed < slots.size(); }

  /**
   * Send a frame; call only if there is room.  If its last message is sent in
   * synchronous mode, it completes once the receiver has matched it, and all
   * before it.  That takes a message in return; of small frames, one in a
   * window is enough to bound those that are under way.
   */
  void Send(Slot& slot, const size_t bytes)
  {
    ++sent;
    const bool confirms = bytes > smallBytes ||
        sent - confirmed == slots.size();
    slot.confirms = confirms ? sent : 0;
    // As many messages as the receiver expects, even if they are empty.
    for (size_t i = 0; i < slot.requests.size(); ++i)
    {
      const bool synchronous = confirms && i + 1 == slot.requests.size();
      mpi::Check((synchronous ? MPI_Issend : MPI_Isend)(slot.buffer.Bytes() +
          Begin(i, bytes), Length(i, bytes), MPI_BYTE, peer, tag, comm,
          &slot.requests[i]), synchronous ? "MPI_Issend" : "MPI_Isend");
    }
  }

  //! Have all messages of a frame been received, or sent?
  static bool Complete(Slot& slot, MPI_Status* statuses)
  {
    int done = 0;
    mpi::Check(MPI_Testall(int(slot.requests.size()), slot.requests.data(),
        &done, statuses), "MPI_Testall");
    return done != 0;
  }

  //! Give back the buffers of frames that were delivered, oldest first: they
  //! are matched in the order in which they were sent.
  void Reap(BufferPool& pool)
  {
    while (underWay > 0)
    {
      const size_t window = slots.size();
      Slot& slot = slots[(next + window - underWay) % window];
      if (ring ? ring.Popped() == returned :
          !Complete(slot, MPI_STATUSES_IGNORE))
        return;
      ++returned;
      confirmed = std::max(confirmed, slot.confirms);
      pool.Give(std::move(slot.buffer));
      --underWay;
    }
  }

  //! Where a frame that was lent begins; throws if it is not within the
  //! sender's memory.
  const std::uint8_t* Lent(const FrameRing::Frame& frame) const
  {
    const size_t offset = size_t(frame.offset);
    if (offset > memory.Size() || offset % Buffer::Block != 0 ||
        frame.bytes > memory.Size() - offset)
      OutOfBounds(frame);
    return memory.Bytes() + offset;
  }

  int peer;
  std::vector<Slot> slots;
  //! Sending: how many frames are under way.
  size_t underWay = 0;
  //! For frames that are lent; none if they are sent.
  FrameRing ring;
  //! Receiving: where frames that are lent stand.
  SharedMemory memory;

 private:
  //! Where message i of a frame of so many bytes begins, and how long it is.
  size_t Begin(const size_t i, const size_t bytes) const
  { return std::min(i * messageBytes, bytes); }
  int Length(const size_t i, const size_t bytes) const
  { return int(Begin(i + 1, bytes) - Begin(i, bytes)); }

  [[noreturn]] void OutOfBounds(const FrameRing::Frame& frame) const;

  MPI_Comm comm;
  size_t messageBytes;
  //! The slot to use next.
  size_t next = 0;
  //! Sending: how many frames that were lent have been given back.
  std::uint64_t returned = 0;
  //! Sending messages: how many frames were sent, and how many of them are
  //! known to have been matched.
  std::uint64_t sent = 0;
  std::uint64_t confirmed = 0;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_link_impl.hpp"
#endif

#endif
