/**
 * @file mpi_link_impl.hpp
 *
 * Implementation of MpiLink.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_LINK_IMPL_HPP
#define DASGD_TRANSPORT_MPI_LINK_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_link.hpp"

#include <stdexcept>
#include <string>

namespace dasgd {

DASGD_INLINE MpiLink::MpiLink(const MPI_Comm comm,
                              const size_t peer,
                              const size_t window,
                              const size_t messages,
                              const size_t messageBytes) :
    peer(int(peer)), slots(window), comm(comm), messageBytes(messageBytes)
{
  for (Slot& slot : slots)
    slot.requests.assign(messages, MPI_REQUEST_NULL);
}

[[noreturn]] DASGD_INLINE void MpiLink::OutOfBounds(
    const FrameRing::Frame& frame) const
{
  throw std::runtime_error("dasgd: rank " + std::to_string(peer) + " lends " +
      std::to_string(frame.bytes) + " bytes at " +
      std::to_string(frame.offset) + " of its " +
      std::to_string(memory.Size()));
}

} // namespace dasgd

#endif
