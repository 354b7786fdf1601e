/**
 * @file mpi_link_speed.hpp
 *
 * How fast messages travel between machines.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_LINK_SPEED_HPP
#define DASGD_TRANSPORT_MPI_LINK_SPEED_HPP

#include "../core/config.hpp"
#include "../mpi/mpi_communicator.hpp"

#include <cstddef>
#include <vector>

namespace dasgd {

//! What was measured between two ranks.
struct MpiLinkSpeed
{
  size_t from = 0;
  size_t to = 0;
  //! Seconds that a message of one byte takes one way.
  double latency = 0;
  double bytesPerSecond = 0;
};

/**
 * Measure the links between machines: the first rank of each exchanges messages
 * with the first of each other, one pair after the other.  All ranks call it.
 *
 * @param seconds About how long each pair may take.
 * @return For each pair of machines, on all ranks; nothing on one machine.
 */
std::vector<MpiLinkSpeed> MeasureLinks(const MpiCommunicator& comm,
                                       double seconds = 0.2);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_link_speed_impl.hpp"
#endif

#endif
