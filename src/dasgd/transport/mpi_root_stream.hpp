/**
 * @file mpi_root_stream.hpp
 *
 * A stream for output that should appear once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_ROOT_STREAM_HPP
#define DASGD_TRANSPORT_MPI_ROOT_STREAM_HPP

#include "mpi_environment.hpp"

#include <iostream>

namespace dasgd {

/**
 * std::cout on rank 0, silence on all others: for callbacks that print, e.g.
 * `ens::PrintLoss(dasgd::RootStream())`.
 */
inline std::ostream& RootStream(const MPI_Comm comm = MPI_COMM_WORLD)
{
  static std::ostream silence(nullptr);
  mpi::Initialize();
  int rank = 0;
  mpi::Check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return (rank == 0) ? std::cout : silence;
}

} // namespace dasgd

#endif
