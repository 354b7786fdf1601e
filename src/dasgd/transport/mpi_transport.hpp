/**
 * @file mpi_transport.hpp
 *
 * Frames over MPI: point to point, never blocking, with a fixed number under
 * way.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_TRANSPORT_HPP
#define DASGD_TRANSPORT_MPI_TRANSPORT_HPP

#include "../wire/buffer.hpp"
#include "mpi_communicator.hpp"

namespace dasgd {

/**
 * The links of one rank.  A synchronous-mode send completes once the receiver
 * has matched it: that is the credit which keeps memory bounded on both ends,
 * in our buffers and inside the MPI library.
 */
class MpiTransport
{
 public:
  /**
   * @param comm Ranks are those of this communicator.
   * @param sendTo Ranks to send to; a link is an index into this.
   * @param receiveFrom Ranks to receive from.
   * @param window Frames under way to each rank, receives posted for each.
   * @param pool Where sent buffers go back to; its buffers are large enough for
   *     every frame.
   */
  MpiTransport(const MpiCommunicator& comm,
               const std::vector<size_t>& sendTo,
               const std::vector<size_t>& receiveFrom,
               const size_t window,
               BufferPool& pool) :
      comm(comm), pool(pool)
  {
    mpi::Check(MPI_Type_contiguous(int(Buffer::Block), MPI_BYTE, &block),
        "MPI_Type_contiguous");
    mpi::Check(MPI_Type_commit(&block), "MPI_Type_commit");
    for (const size_t peer : sendTo)
      senders.push_back(Link{int(peer), std::vector<Slot>(window), 0, 0});
    for (const size_t peer : receiveFrom)
      receivers.push_back(Link{int(peer), std::vector<Slot>(window), 0, 0});
    for (Link& link : receivers)
    {
      for (Slot& slot : link.slots)
      {
        slot.buffer = Buffer(pool.BufferBytes());
        Post(link, slot);
      }
    }
    Greet();
  }

  ~MpiTransport()
  {
    // What is still posted waits for frames that nobody will send.
    for (Link& link : receivers)
    {
      for (Slot& slot : link.slots)
      {
        if (slot.request == MPI_REQUEST_NULL)
          continue;
        MPI_Cancel(&slot.request);
        MPI_Wait(&slot.request, MPI_STATUS_IGNORE);
      }
    }
    MPI_Type_free(&block);
  }

  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  /**
   * Take the next frame that has arrived, if any.
   *
   * @param action Called with its bytes, its size, and the rank it came from.
   * @return Whether there was one.
   */
  template<typename ActionType>
  bool Receive(ActionType&& action)
  {
    // Neighbours in turn, so that none is heard more than the others.
    for (size_t i = 0; i < receivers.size(); ++i)
    {
      nextReceiver = (nextReceiver + 1) % receivers.size();
      Link& link = receivers[nextReceiver];
      // Receives are matched in the order posted; look at the oldest only, for
      // a later and smaller one may be complete before it.
      Slot& slot = link.slots[link.next];
      MPI_Status status;
      int done = 0;
      mpi::Check(MPI_Test(&slot.request, &done, &status), "MPI_Test");
      if (!done)
        continue;

      int blocks = 0;
      mpi::Check(MPI_Get_count(&status, block, &blocks), "MPI_Get_count");
      action(static_cast<const std::uint8_t*>(slot.buffer.Bytes()),
          size_t(std::max(blocks, 0)) * Buffer::Block, size_t(link.peer));
      Post(link, slot);
      link.next = (link.next + 1) % link.slots.size();
      patience.Reset();
      return true;
    }
    return false;
  }

  //! Is there room for a frame on this link?
  bool CanSend(const size_t linkIndex)
  {
    Link& link = senders[linkIndex];
    Reap(link);
    return link.underWay < link.slots.size();
  }

  //! Send a frame; call only if there is room.
  void Send(const size_t linkIndex, Buffer&& buffer, const size_t bytes)
  {
    Link& link = senders[linkIndex];
    Slot& slot = link.slots[link.next];
    slot.buffer = std::move(buffer);
    mpi::Check(MPI_Issend(slot.buffer.Bytes(), Blocks(bytes), block, link.peer,
        tag, comm.Handle(), &slot.request), "MPI_Issend");
    link.next = (link.next + 1) % link.slots.size();
    ++link.underWay;
  }

  //! Has every frame been taken by its receiver?
  bool Delivered()
  {
    bool all = true;
    for (Link& link : senders)
    {
      Reap(link);
      all = (link.underWay == 0) && all;
    }
    return all;
  }

  //! There is nothing to do at the moment.
  void Wait() { patience.Nap(); }

  //! There is something to do, but a peer on this core may need it more.
  void Yield() { std::this_thread::yield(); }

 private:
  struct Slot
  {
    Buffer buffer;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  struct Link
  {
    int peer;
    std::vector<Slot> slots;
    //! Receiving: the slot whose frame comes next.  Sending: the slot to use
    //! next, and how many before it are under way.
    size_t next;
    size_t underWay;
  };

  static constexpr int tag = 0;
  static constexpr int greeting = 1;

  /**
   * MPI sets up a link when it is first used, which takes as long as many small
   * gradients.  So use every link once, and let all ranks begin together: what
   * one computes before the others have begun is the stalest of all.
   */
  void Greet()
  {
    std::vector<MPI_Request> requests;
    for (const Link& link : receivers)
    {
      requests.emplace_back();
      mpi::Check(MPI_Irecv(nullptr, 0, MPI_BYTE, link.peer, greeting,
          comm.Handle(), &requests.back()), "MPI_Irecv");
    }
    for (const Link& link : senders)
    {
      requests.emplace_back();
      mpi::Check(MPI_Issend(nullptr, 0, MPI_BYTE, link.peer, greeting,
          comm.Handle(), &requests.back()), "MPI_Issend");
    }
    for (MPI_Request& request : requests)
      mpi::Await(request);

    MPI_Request barrier;
    mpi::Check(MPI_Ibarrier(comm.Handle(), &barrier), "MPI_Ibarrier");
    mpi::Await(barrier, mpi::Patience::Alert);
  }

  static int Blocks(const size_t bytes)
  {
    const size_t blocks = Buffer::RoundUp(bytes) / Buffer::Block;
    if (blocks > size_t(std::numeric_limits<int>::max()))
    {
      throw std::length_error("dasgd: a frame of " + std::to_string(bytes) +
          " bytes is more than one MPI message can take");
    }
    return int(blocks);
  }

  void Post(Link& link, Slot& slot)
  {
    mpi::Check(MPI_Irecv(slot.buffer.Bytes(), Blocks(slot.buffer.Size()), block,
        link.peer, tag, comm.Handle(), &slot.request), "MPI_Irecv");
  }

  //! Give back the buffers of frames that were delivered, oldest first: they
  //! are matched in the order in which they were sent.
  void Reap(Link& link)
  {
    while (link.underWay > 0)
    {
      const size_t window = link.slots.size();
      Slot& slot = link.slots[(link.next + window - link.underWay) % window];
      int done = 0;
      mpi::Check(MPI_Test(&slot.request, &done, MPI_STATUS_IGNORE),
          "MPI_Test");
      if (!done)
        return;
      pool.Give(std::move(slot.buffer));
      --link.underWay;
    }
  }

  const MpiCommunicator& comm;
  BufferPool& pool;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  std::vector<Link> senders;
  std::vector<Link> receivers;
  size_t nextReceiver = 0;
  mpi::Patience patience;
};

} // namespace dasgd

#endif
