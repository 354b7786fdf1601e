/**
 * @file mpi_board_impl.hpp
 *
 * Implementation of MpiBoardMemory and MpiBoardWait.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_BOARD_IMPL_HPP
#define DASGD_TRANSPORT_MPI_BOARD_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_board.hpp"

#include <iostream>
#include <cstring>
#include <sstream>
#include <string>

namespace dasgd {

DASGD_INLINE MpiBoardMemory::MpiBoardMemory(const MpiCommunicator& comm,
                                            const size_t owner,
                                            const size_t bytes)
{
  if (comm.Rank() == owner)
    memory = SharedMemory(bytes);
  SharedMemory::Handle handle = memory.Export();
  const std::string theirs = comm.Gather(std::string(
      reinterpret_cast<const char*>(&handle), sizeof(handle)))[owner];
  std::memcpy(&handle, theirs.data(), sizeof(handle));
  if (comm.Rank() != owner && handle.bytes > 0)
    memory = SharedMemory(handle);
  shared = true;
  for (const std::uint64_t other : comm.Gather(std::uint64_t(bool(memory))))
    shared = shared && other != 0;
}

DASGD_INLINE bool MpiBoardWait::Long()
{
  const auto now = std::chrono::steady_clock::now();
  if (!waits)
    since = now;
  waits = true;
  return now - since > std::chrono::seconds(10);
}

DASGD_INLINE void MpiBoardWait::SayWho(const size_t rank)
{
  std::ostringstream line;
  line << name << ": rank " << comm.Rank() << " has waited for 10 s to update "
      << "the model that all ranks share, since rank " << rank << " does not "
      << "get on with its own update of it; is that process stopped?\n";
  std::cerr << line.str() << std::flush;
}

DASGD_INLINE void MpiBoardWait::AskForDeaths()
{ comm.ThrowIfRankDied(nextCheck); }

} // namespace dasgd

#endif
