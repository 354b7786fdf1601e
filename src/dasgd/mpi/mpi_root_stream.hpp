/**
 * @file mpi_root_stream.hpp
 *
 * A stream for output that should appear once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ROOT_STREAM_HPP
#define DASGD_MPI_MPI_ROOT_STREAM_HPP

#include "../core/config.hpp"
#include "mpi_environment.hpp"

#include <ostream>

namespace dasgd {

/**
 * std::cout on rank 0, silence on all others: for callbacks that print, e.g.
 * `ens::PrintLoss(dasgd::RootStream())`.
 */
std::ostream& RootStream(const MPI_Comm comm = MPI_COMM_WORLD);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_root_stream_impl.hpp"
#endif

#endif
