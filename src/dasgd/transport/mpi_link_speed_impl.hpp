/**
 * @file mpi_link_speed_impl.hpp
 *
 * Implementation of the measurement of links.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_LINK_SPEED_IMPL_HPP
#define DASGD_TRANSPORT_MPI_LINK_SPEED_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_link_speed.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dasgd {
namespace mpi {

//! Messages of so many bytes in both directions at once, as frames travel: the
//! seconds of the fastest exchange.
inline double FastestExchange(const MpiCommunicator& comm,
                              const int peer,
                              const std::vector<std::uint8_t>& out,
                              std::vector<std::uint8_t>& in,
                              const int times)
{
  constexpr int tag = 5; // As no other message.
  double fastest = 1e300;
  for (int i = 0; i < times; ++i)
  {
    const auto begin = std::chrono::steady_clock::now();
    MPI_Request requests[2];
    mpi::Check(MPI_Irecv(in.data(), int(in.size()), MPI_BYTE, peer, tag,
        comm.Handle(), &requests[0]), "MPI_Irecv");
    mpi::Check(MPI_Isend(out.data(), int(out.size()), MPI_BYTE, peer, tag,
        comm.Handle(), &requests[1]), "MPI_Isend");
    for (MPI_Request& request : requests)
      comm.Await(request, Backoff::Yield);
    fastest = std::min(fastest, std::chrono::duration<double>(
        std::chrono::steady_clock::now() - begin).count());
  }
  return fastest;
}

//! Latency and bandwidth between this rank and another.
inline MpiLinkSpeed MeasureLink(const MpiCommunicator& comm,
                                const size_t peer,
                                const double seconds)
{
  MpiLinkSpeed link;
  link.from = std::min(comm.Rank(), peer);
  link.to = std::max(comm.Rank(), peer);
  const bool first = comm.Rank() < peer;
  std::vector<std::uint8_t> out(1), in(1);
  // The first ones set the connection up.
  FastestExchange(comm, int(peer), out, in, 4);
  link.latency = FastestExchange(comm, int(peer), out, in, 32);
  // Longer and longer ones, as long as there is time: some networks let a short
  // one pass faster than what they carry in the long run.  Both ranks go by the
  // measurement of the first.
  for (size_t bytes = 1 << 16; bytes <= (size_t(1) << 26); bytes *= 4)
  {
    out.resize(bytes);
    in.resize(bytes);
    FastestExchange(comm, int(peer), out, in, 1);
    double took = FastestExchange(comm, int(peer), out, in, 3);
    link.bytesPerSecond = double(bytes) / std::max(took - link.latency, 1e-9);
    MPI_Request request;
    mpi::Check(first ? MPI_Isend(&took, 1, MPI_DOUBLE, int(peer), 6,
        comm.Handle(), &request) : MPI_Irecv(&took, 1, MPI_DOUBLE, int(peer), 6,
        comm.Handle(), &request), first ? "MPI_Isend" : "MPI_Irecv");
    comm.Await(request, Backoff::Yield);
    if (16 * took > seconds)
      break;
  }
  return link;
}

} // namespace mpi

DASGD_INLINE std::vector<MpiLinkSpeed> MeasureLinks(const MpiCommunicator& comm,
                                                    const double seconds)
{
  const std::vector<size_t> machines = comm.Machines();
  std::vector<size_t> leaders;
  for (size_t i = 0; i < machines.size(); ++i)
  {
    if (machines[i] == leaders.size())
      leaders.push_back(i);
  }
  std::vector<MpiLinkSpeed> links;
  for (size_t i = 0; i < leaders.size(); ++i)
  {
    for (size_t k = i + 1; k < leaders.size(); ++k)
    {
      MpiLinkSpeed link;
      if (comm.Rank() == leaders[i])
        link = mpi::MeasureLink(comm, leaders[k], seconds);
      else if (comm.Rank() == leaders[k])
        mpi::MeasureLink(comm, leaders[i], seconds);
      // Which all wait for, so that one pair measures at a time.
      comm.Broadcast(&link, sizeof(link), leaders[i]);
      links.push_back(link);
    }
  }
  return links;
}

} // namespace dasgd

#endif
