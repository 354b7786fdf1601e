/**
 * @file mpi_root_stream_impl.hpp
 *
 * Implementation of RootStream().
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ROOT_STREAM_IMPL_HPP
#define DASGD_MPI_MPI_ROOT_STREAM_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_root_stream.hpp"

#include <iostream>

namespace dasgd {

DASGD_INLINE std::ostream& RootStream(const MPI_Comm comm)
{
  static std::ostream silence(nullptr);
  if (mpi::Alone(comm))
    return std::cout;
  mpi::Initialize();
  int rank = 0;
  mpi::Check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return (rank == 0) ? std::cout : silence;
}

} // namespace dasgd

#endif
