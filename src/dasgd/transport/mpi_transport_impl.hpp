/**
 * @file mpi_transport_impl.hpp
 *
 * Implementation of MpiTransport.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_TRANSPORT_IMPL_HPP
#define DASGD_TRANSPORT_MPI_TRANSPORT_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_transport.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

namespace dasgd {

DASGD_INLINE MpiTransport::MpiTransport(const MpiCommunicator& comm,
                                        const std::vector<size_t>& sendTo,
                                        const std::vector<size_t>& receiveFrom,
                                        const size_t window,
                                        BufferPool& pool,
                                        const Options& options) :
    comm(comm),
    pool(pool),
    options(options),
    backoff(options.alert ? Backoff::Yield : Backoff::Sleep)
{
  const size_t messageBytes = (options.messageBytes > 0) ?
      options.messageBytes : MpiLink::MessageBytes(pool.BufferBytes());
  statuses.resize(std::max<size_t>(1,
      (pool.BufferBytes() + messageBytes - 1) / messageBytes));
  for (const size_t peer : sendTo)
    senders.emplace_back(comm.Handle(), peer, window, statuses.size(),
        messageBytes);
  for (const size_t peer : receiveFrom)
    receivers.emplace_back(comm.Handle(), peer, window, statuses.size(),
        messageBytes);
  try
  {
    Share(options.buffers, window);
    messageLinks = receivers.size() - Borrowed();
    for (MpiLink& link : receivers)
    {
      if (link.ring)
        continue;
      for (MpiLink::Slot& slot : link.slots)
      {
        slot.buffer = Buffer(pool.BufferBytes());
        link.Receive(slot);
      }
    }
    // Let all ranks begin together: gradients that are computed before others
    // have begun are the stalest of all.
    comm.Barrier();
  }
  catch (const mpi::RankLost&)
  {
    Release();
    throw;
  }
}

DASGD_INLINE MpiTransport::~MpiTransport()
{
  if (comm.Tolerant() && std::uncaught_exceptions() > exceptions)
  {
    Release();
    return;
  }
  // Receives that are still posted wait for frames that nobody will send.
  for (MpiLink& link : receivers)
  {
    for (MpiLink::Slot& slot : link.slots)
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

DASGD_INLINE size_t MpiTransport::CountLent(const std::vector<MpiLink>& links)
{
  return size_t(std::count_if(links.begin(), links.end(),
      [](const MpiLink& link) { return bool(link.ring); }));
}

DASGD_INLINE void MpiTransport::Share(const size_t buffers, const size_t window)
{
  const size_t rings = senders.size() * FrameRing::Bytes(window);
  if (buffers > 0 && !senders.empty())
    memory = SharedMemory(rings + buffers * pool.BufferBytes());

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
    made[i] = Offer{ memory.Export(), i * FrameRing::Bytes(window) };
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
    MpiLink& link = receivers[i];
    if (offers[i].handle.bytes > 0)
      link.memory = SharedMemory(offers[i].handle);
    if (link.memory && offers[i].ring <= link.memory.Size() &&
        FrameRing::Bytes(window) <= link.memory.Size() - offers[i].ring)
      link.ring = FrameRing(link.memory.Bytes() + offers[i].ring, window);
    seen[i] = std::uint8_t(bool(link.ring));
    mpi::Check(MPI_Issend(&seen[i], 1, MPI_BYTE, link.peer, answer,
        comm.Handle(), &requests[senders.size() + i]), "MPI_Issend");
  }
  for (MPI_Request& request : requests)
    comm.Await(request);

  for (size_t i = 0; i < senders.size(); ++i)
  {
    if (heard[i])
      senders[i].ring = FrameRing(memory.Bytes() + made[i].ring, window);
  }
  if (Lent() > 0)
    pool.Use(memory.Bytes() + rings, buffers);
}

DASGD_INLINE MpiTransport::Pending::Pending(const MpiCommunicator& comm,
                                            const size_t count) :
    comm(comm), requests(count, MPI_REQUEST_NULL)
{ /* Nothing to do. */ }

DASGD_INLINE MpiTransport::Pending::~Pending()
{
  if (!comm.Tolerant() || std::all_of(requests.begin(), requests.end(),
      [](const MPI_Request r) { return r == MPI_REQUEST_NULL; }))
    return;
  comm.Revoke();
  for (MPI_Request& request : requests)
    comm.Drain(request);
}

DASGD_INLINE void MpiTransport::Progress()
{
  if (comm.Size() == 1)
    return;
  int there = 0;
  mpi::Check(MPI_Iprobe(MPI_ANY_SOURCE, MpiLink::tag, comm.Handle(), &there,
      MPI_STATUS_IGNORE), "MPI_Iprobe");
  ThrowIfRankDied();
}

DASGD_INLINE void MpiTransport::Release()
{
  comm.Revoke();
  for (std::vector<MpiLink>* links : { &senders, &receivers })
    for (MpiLink& link : *links)
      for (MpiLink::Slot& slot : link.slots)
        for (MPI_Request& request : slot.requests)
          comm.Drain(request);
}

DASGD_INLINE void MpiTransport::AskForDeaths()
{ comm.ThrowIfRankDied(nextCheck); }

} // namespace dasgd

#endif
