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
#include "shared_memory.hpp"

#include <exception>

namespace dasgd {

//! How frames travel.
struct MpiTransportOptions
{
  //! How many buffers of the pool are in use at a time at most; 0 to send
  //! messages to ranks on this machine, too.
  size_t buffers = 0;
  //! Do ranks share cores?
  bool crowded = true;
  //! Is a rank that waits to look for frames all the time, without sleeping?
  bool alert = false;
  //! Frames that are longer are sent in several messages, since MPI counts
  //! their bytes in an int.
  size_t messageBytes = size_t(1) << 30;
};

/**
 * The links of one rank.  To a rank on the same machine a frame is lent: the
 * receiver reads it where it stands, in memory that both have, and then says
 * so. To others it is sent by MPI, in synchronous mode, which completes once
 * the receiver has matched it.  Either is the credit which keeps memory bounded
 * on both ends, in our buffers and inside the MPI library.
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
               const Options& options = Options()) :
      comm(comm),
      pool(pool),
      options(options),
      messages(std::max<size_t>(1, (pool.BufferBytes() +
          options.messageBytes - 1) / options.messageBytes)),
      statuses(messages),
      patience(options.alert ? mpi::Patience::Alert : mpi::Patience::Relaxed)
  {
    for (const size_t peer : sendTo)
      senders.emplace_back(peer, window, messages);
    for (const size_t peer : receiveFrom)
      receivers.emplace_back(peer, window, messages);
    try
    {
      Share(options.buffers, window);
      for (Link& link : receivers)
      {
        if (link.lane)
          continue;
        for (Slot& slot : link.slots)
        {
          slot.buffer = Buffer(pool.BufferBytes());
          Post(link, slot);
        }
      }
      // Let all ranks begin together: what one computes before the others have
      // begun is the stalest of all.
      MPI_Request barrier;
      mpi::Check(MPI_Ibarrier(comm.Handle(), &barrier), "MPI_Ibarrier");
      comm.Await(barrier, mpi::Patience::Alert);
    }
    catch (const mpi::RankLost&)
    {
      Release();
      throw;
    }
  }

  ~MpiTransport()
  {
    if (comm.Tolerant() && std::uncaught_exceptions() > exceptions)
    {
      Release();
      return;
    }
    // What is still posted waits for frames that nobody will send.
    for (Link& link : receivers)
    {
      for (Slot& slot : link.slots)
      {
        for (MPI_Request& request : slot.requests)
        {
          if (request == MPI_REQUEST_NULL)
            continue;
          MPI_Cancel(&request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
      }
    }
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
      if (link.lane)
      {
        const Lane::Frame* frame = link.lane.Next();
        if (!frame)
          continue;
        const size_t offset = size_t(frame->offset);
        const size_t bytes = size_t(frame->bytes);
        if (offset > link.memory.Size() || offset % Buffer::Block != 0 ||
            bytes > link.memory.Size() - offset)
        {
          throw std::runtime_error("dasgd: rank " + std::to_string(link.peer) +
              " lends " + std::to_string(bytes) + " bytes at " +
              std::to_string(offset) + " of its " +
              std::to_string(link.memory.Size()));
        }
        action(static_cast<const std::uint8_t*>(link.memory.Bytes() + offset),
            bytes, size_t(link.peer));
        link.lane.Take();
        patience.Reset();
        return true;
      }
      // Receives are matched in the order posted; look at the oldest only, for
      // a later and smaller one may be complete before it.
      Slot& slot = link.slots[link.next];
      if (!Complete(slot, statuses.data()))
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
      Post(link, slot);
      link.next = (link.next + 1) % link.slots.size();
      patience.Reset();
      return true;
    }
    Look();
    // A peer that waits for this core may have something: what it sends late
    // makes everybody's gradients stale.
    if (options.crowded)
      OfferCore();
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
    if (link.lane)
    {
      link.lane.Post(Lane::Frame{ std::uint64_t(slot.buffer.Bytes() -
          memory.Bytes()), bytes });
    }
    else
    {
      // As many messages as the receiver expects, be they empty.
      for (size_t i = 0; i < messages; ++i)
      {
        mpi::Check(MPI_Issend(slot.buffer.Bytes() + Begin(i, bytes),
            Length(i, bytes), MPI_BYTE, link.peer, tag, comm.Handle(),
            &slot.requests[i]), "MPI_Issend");
      }
    }
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

  //! Links whose frames are lent rather than sent: those to send on, and those
  //! to receive from.
  size_t Lent() const { return Near(senders); }
  size_t Borrowed() const { return Near(receivers); }

  //! There is nothing to do at the moment.
  void Wait()
  {
    Progress();
    patience.Nap();
  }

  //! The same, but not for long.
  void Pause()
  {
    Progress();
    OfferCore();
  }

  //! There is something to do, but a peer that has not taken its frames may be
  //! waiting for this core.
  void Yield() { OfferCore(); }

 private:
  struct Slot
  {
    Buffer buffer;
    //! One for each message of a frame.
    std::vector<MPI_Request> requests;
  };

  struct Link
  {
    Link(const size_t peer, const size_t window, const size_t messages) :
        peer(int(peer)), slots(window)
    {
      for (Slot& slot : slots)
        slot.requests.assign(messages, MPI_REQUEST_NULL);
    }

    int peer;
    std::vector<Slot> slots;
    //! Receiving: the slot whose frame comes next.  Sending: the slot to use
    //! next, and how many before it are under way.
    size_t next = 0;
    size_t underWay = 0;
    //! By which frames are lent; none if they are sent.
    Lane lane;
    //! Receiving: where frames that are lent stand.
    SharedMemory memory;
    //! Sending: how many that were lent have been given back.
    std::uint64_t returned = 0;
  };

  static size_t Near(const std::vector<Link>& links)
  {
    return size_t(std::count_if(links.begin(), links.end(),
        [](const Link& link) { return bool(link.lane); }));
  }

  static constexpr int tag = 0;
  static constexpr int offer = 1;
  static constexpr int answer = 3;

  //! What a sender offers to a receiver: a lane in its memory.
  struct Offer
  {
    SharedMemory::Ticket ticket;
    std::uint64_t lane = 0;
  };

  /**
   * Find out on which links frames can be lent.  Every sender offers its
   * memory, and every receiver answers whether it can see it.  This also uses
   * every link once: MPI sets it up then, which takes as long as many small
   * gradients.
   */
  void Share(const size_t buffers, const size_t window)
  {
    const size_t lanes = senders.size() * Lane::Bytes(window);
    if (buffers > 0 && !senders.empty())
      memory = SharedMemory(lanes + buffers * pool.BufferBytes());

    std::vector<Offer> made(senders.size()), offers(receivers.size());
    std::vector<std::uint8_t> heard(senders.size()), seen(receivers.size());
    Pending pending(comm, senders.size() + receivers.size());
    std::vector<MPI_Request>& requests = pending.requests;
    for (size_t i = 0; i < receivers.size(); ++i)
    {
      mpi::Check(MPI_Irecv(&offers[i], int(sizeof(Offer)), MPI_BYTE,
          receivers[i].peer, offer, comm.Handle(), &requests[i]), "MPI_Irecv");
    }
    for (size_t i = 0; i < senders.size(); ++i)
    {
      made[i] = Offer{ memory.Invitation(), i * Lane::Bytes(window) };
      mpi::Check(MPI_Issend(&made[i], int(sizeof(Offer)), MPI_BYTE,
          senders[i].peer, offer, comm.Handle(),
          &requests[receivers.size() + i]), "MPI_Issend");
    }
    for (MPI_Request& request : requests)
      comm.Await(request);

    for (size_t i = 0; i < senders.size(); ++i)
    {
      mpi::Check(MPI_Irecv(&heard[i], 1, MPI_BYTE, senders[i].peer, answer,
          comm.Handle(), &requests[i]), "MPI_Irecv");
    }
    for (size_t i = 0; i < receivers.size(); ++i)
    {
      Link& link = receivers[i];
      if (offers[i].ticket.bytes > 0)
        link.memory = SharedMemory(offers[i].ticket);
      if (link.memory && offers[i].lane <= link.memory.Size() &&
          Lane::Bytes(window) <= link.memory.Size() - offers[i].lane)
        link.lane = Lane(link.memory.Bytes() + offers[i].lane, window);
      seen[i] = std::uint8_t(bool(link.lane));
      mpi::Check(MPI_Issend(&seen[i], 1, MPI_BYTE, link.peer, answer,
          comm.Handle(), &requests[senders.size() + i]), "MPI_Issend");
    }
    for (MPI_Request& request : requests)
      comm.Await(request);

    for (size_t i = 0; i < senders.size(); ++i)
    {
      if (heard[i])
        senders[i].lane = Lane(memory.Bytes() + made[i].lane, window);
    }
    if (Lent() > 0)
      pool.Use(memory.Bytes() + lanes, buffers);
  }

  //! Requests whose buffers go with them, whatever happens.
  struct Pending
  {
    Pending(const MpiCommunicator& comm, const size_t count) :
        comm(comm), requests(count, MPI_REQUEST_NULL) { }

    ~Pending()
    {
      if (!comm.Tolerant() || std::all_of(requests.begin(), requests.end(),
          [](const MPI_Request r) { return r == MPI_REQUEST_NULL; }))
        return;
      comm.Revoke();
      for (MPI_Request& request : requests)
        comm.Drain(request);
    }

    const MpiCommunicator& comm;
    std::vector<MPI_Request> requests;
  };

  /**
   * Let a peer run that waits for this core.  If it was not a peer that took it
   * but a program that kept it for long, sleep for a moment next time: systems
   * give the core back sooner to who slept than to who yielded.
   */
  void OfferCore()
  {
    if (naps > 0)
    {
      --naps;
      std::this_thread::sleep_for(std::chrono::microseconds(1));
      return;
    }
    const auto before = std::chrono::steady_clock::now();
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - before >
        std::chrono::milliseconds(1))
      naps = 256;
  }

  //! Frames that are lent need no call of MPI, but others may need us to make
  //! progress with what they have begun.
  void Progress()
  {
    int there = 0;
    mpi::Check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm.Handle(), &there,
        MPI_STATUS_IGNORE), "MPI_Iprobe");
    Look();
  }

  //! A rank has died: buffers are MPI's until it lets go of them.
  void Release()
  {
    comm.Revoke();
    for (std::vector<Link>* links : { &senders, &receivers })
      for (Link& link : *links)
        for (Slot& slot : link.slots)
          for (MPI_Request& request : slot.requests)
            comm.Drain(request);
  }

  //! Has a rank died?  Those that lend frames hear nothing of it from MPI, so
  //! look now and then.
  void Look()
  {
    if (!comm.Tolerant())
      return;
    const auto now = std::chrono::steady_clock::now();
    if (now < nextLook)
      return;
    nextLook = now + std::chrono::milliseconds(10);
    comm.Watch();
  }

  //! Where message i of a frame of so many bytes begins, and how long it is.
  size_t Begin(const size_t i, const size_t bytes) const
  { return std::min(i * options.messageBytes, bytes); }
  int Length(const size_t i, const size_t bytes) const
  { return int(Begin(i + 1, bytes) - Begin(i, bytes)); }

  void Post(Link& link, Slot& slot)
  {
    const size_t bytes = slot.buffer.Size();
    for (size_t i = 0; i < messages; ++i)
    {
      mpi::Check(MPI_Irecv(slot.buffer.Bytes() + Begin(i, bytes),
          Length(i, bytes), MPI_BYTE, link.peer, tag, comm.Handle(),
          &slot.requests[i]), "MPI_Irecv");
    }
  }

  //! Have all messages of a frame come, or gone?
  bool Complete(Slot& slot, MPI_Status* statuses) const
  {
    int done = 0;
    mpi::Check(MPI_Testall(int(messages), slot.requests.data(), &done,
        statuses), "MPI_Testall");
    return done != 0;
  }

  //! Give back the buffers of frames that were delivered, oldest first: they
  //! are matched in the order in which they were sent.
  void Reap(Link& link)
  {
    while (link.underWay > 0)
    {
      const size_t window = link.slots.size();
      Slot& slot = link.slots[(link.next + window - link.underWay) % window];
      if (link.lane ? link.lane.Taken() == link.returned :
          !Complete(slot, MPI_STATUSES_IGNORE))
        return;
      ++link.returned;
      pool.Give(std::move(slot.buffer));
      --link.underWay;
    }
  }

  const MpiCommunicator& comm;
  BufferPool& pool;
  Options options;
  //! Messages that a frame is sent in, and scratch for their receipt.
  size_t messages;
  std::vector<MPI_Status> statuses;
  //! The frames that are lent from here: where the pool has its buffers, which
  //! nobody uses any more when this is gone.
  SharedMemory memory;
  std::vector<Link> senders;
  std::vector<Link> receivers;
  size_t nextReceiver = 0;
  //! So many times to sleep instead of yielding.
  size_t naps = 0;
  mpi::Patience patience;
  std::chrono::steady_clock::time_point nextLook;
  int exceptions = std::uncaught_exceptions();
};

} // namespace dasgd

#endif
