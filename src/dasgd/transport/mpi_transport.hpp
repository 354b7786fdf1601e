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

#include "../core/config.hpp"
#include "../wire/buffer.hpp"
#include "../mpi/backoff.hpp"
#include "frame_ring.hpp"
#include "../mpi/mpi_communicator.hpp"
#include "mpi_link.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace dasgd {

//! How frames travel.
struct MpiTransportOptions
{
  //! How many buffers of the pool are in use at a time at most; 0 to send
  //! messages to ranks on this machine, too.
  size_t buffers = 0;
  //! Do ranks share cores?
  bool crowded = true;
  //! Does a rank that waits poll for frames without sleeping?
  bool alert = false;
  //! Frames that are longer are sent in several messages; 0 to choose the
  //! length (see MpiLink::MessageBytes()).
  size_t messageBytes = 0;
};

/**
 * The links of one rank.  To a rank on the same machine a frame is lent: the
 * receiver reads it where it stands, in memory that both have, and then says
 * so.  To others it is sent by MPI, in synchronous mode (see MpiLink::Send()).
 * Either is the credit which keeps memory bounded on both ends, in our buffers
 * and inside the MPI library.
 */
class MpiTransport
{
 public:
  using Options = MpiTransportOptions;

  /**
   * @param comm Ranks are those of this communicator.
   * @param sendTo Ranks to send to; a link is an index into this.
   * @param receiveFrom Ranks to receive from.
   * @param window Frames under way to each rank, receives posted for each.
   * @param pool Where sent buffers go back to; its buffers are large enough for
   *     every frame.
   * @param options All else.
   */
  MpiTransport(const MpiCommunicator& comm,
               const std::vector<size_t>& sendTo,
               const std::vector<size_t>& receiveFrom,
               const size_t window,
               BufferPool& pool,
               const Options& options = Options());

  ~MpiTransport();

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
    // Open MPI looks for messages when a request is found incomplete, but does
    // not look at the request again: without this, what has come would be found
    // a gradient later.
    if (HasMessages())
      Progress();
    // Round robin over neighbours, so that none starves.
    for (size_t i = 0; i < receivers.size(); ++i)
    {
      nextReceiver = (nextReceiver + 1) % receivers.size();
      MpiLink& link = receivers[nextReceiver];
      if (link.ring)
      {
        const FrameRing::Frame* front = link.ring.Front();
        if (!front)
          continue;
        // A copy, so that what is checked is what is used.
        const FrameRing::Frame frame = *front;
        action(link.Lent(frame), size_t(frame.bytes), size_t(link.peer));
        link.ring.Pop();
        backoff.Reset();
        return true;
      }
      // Receives are matched in the order posted; test the oldest only, since a
      // later and smaller one may be complete before it.
      MpiLink::Slot& slot = link.Next();
      if (!MpiLink::Complete(slot, statuses.data()))
        continue;

      size_t bytes = 0;
      for (const MPI_Status& status : statuses)
      {
        int count = 0;
        mpi::Check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
        bytes += size_t(std::max(count, 0));
      }
      action(static_cast<const std::uint8_t*>(slot.buffer.Bytes()), bytes,
          size_t(link.peer));
      link.Receive(slot);
      link.Advance();
      backoff.Reset();
      return true;
    }
    ThrowIfRankDied();
    // A peer that waits for this core may have something: what it sends late
    // makes everybody's gradients stale.
    if (options.crowded)
      OfferCore();
    return false;
  }

  //! Is there room for a frame on this link?
  bool CanSend(const size_t linkIndex)
  {
    MpiLink& link = senders[linkIndex];
    link.Reap(pool);
    return link.Free();
  }

  //! Send a frame; call only if there is room.
  void Send(const size_t linkIndex, Buffer&& buffer, const size_t bytes)
  {
    MpiLink& link = senders[linkIndex];
    MpiLink::Slot& slot = link.Next();
    slot.buffer = std::move(buffer);
    if (link.ring)
    {
      link.ring.Push(FrameRing::Frame{ std::uint64_t(slot.buffer.Bytes() -
          memory.Bytes()), bytes });
    }
    else
      link.Send(slot, bytes);
    link.Advance();
    ++link.underWay;
  }

  //! Has every frame been taken, by its receiver or, of small ones, by MPI,
  //! which delivers them as soon as this rank calls it again?
  bool Delivered()
  {
    bool all = true;
    for (MpiLink& link : senders)
    {
      link.Reap(pool);
      all = (link.underWay == 0) && all;
    }
    return all;
  }

  //! Do frames arrive as messages, for which MPI has to be asked?
  bool HasMessages() const { return messageLinks > 0; }

  //! Is a message under way?
  bool Busy() const
  {
    return std::any_of(senders.begin(), senders.end(), [](const MpiLink& link)
        { return !link.ring && link.underWay > 0; });
  }

  //! Do ranks share cores?
  bool Crowded() const { return options.crowded; }

  //! Links whose frames are lent rather than sent: those to send on, and those
  //! to receive from.
  size_t Lent() const { return CountLent(senders); }
  size_t Borrowed() const { return CountLent(receivers); }

  //! Frames that are lent need no call of MPI, but MPI makes progress with what
  //! others have begun only while it is called.
  void Progress();

  //! There is nothing to do at the moment.
  void Wait()
  {
    Progress();
    backoff.Wait();
  }

  //! Give others a moment, without sleeping.
  void Pause()
  {
    Progress();
    OfferCore();
  }

  //! There is something to do, but a peer that has not taken its frames may be
  //! waiting for this core.
  void Yield() { OfferCore(); }

 private:
  static size_t CountLent(const std::vector<MpiLink>& links);

  //! Tags; see also MpiLink and MpiCommunicator.
  static constexpr int offer = 1;
  static constexpr int answer = 3;

  //! What a sender offers to a receiver: a ring in its memory.
  struct Offer
  {
    SharedMemory::Handle handle;
    std::uint64_t ring = 0;
  };

  /**
   * Find out on which links frames can be lent.  Every sender offers its
   * memory, and every receiver answers whether it can open it.  This also makes
   * MPI set up every link, which takes as long as many small gradients.
   */
  void Share(const size_t buffers, const size_t window);

  //! Requests that are complete before their buffers are freed, whatever is
  //! thrown.
  struct Pending
  {
    Pending(const MpiCommunicator& comm, const size_t count);

    ~Pending();

    const MpiCommunicator& comm;
    std::vector<MPI_Request> requests;
  };

  //! Let a peer run that waits for this core.
  void OfferCore() { core.Make(); }

  //! After the death of a rank: wait until MPI uses none of our buffers.
  void Release();

  //! MPI does not report deaths to ranks that only lend frames, so ask for them
  //! every 10 ms.
  void ThrowIfRankDied()
  {
    if (comm.Tolerant())
      AskForDeaths();
  }

  void AskForDeaths();

  const MpiCommunicator& comm;
  BufferPool& pool;
  Options options;
  //! One for each message of a frame: scratch for its receipt.
  std::vector<MPI_Status> statuses;
  //! Where the pool has its buffers if frames are lent.  They must not be used
  //! after the transport is gone.
  SharedMemory memory;
  std::vector<MpiLink> senders;
  std::vector<MpiLink> receivers;
  size_t nextReceiver = 0;
  //! Of those to receive from, how many send messages.
  size_t messageLinks = 0;
  CoreOffer core;
  Backoff backoff;
  std::chrono::steady_clock::time_point nextCheck;
  int exceptions = std::uncaught_exceptions();
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_transport_impl.hpp"
#endif

#endif
