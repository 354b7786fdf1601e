/**
 * @file dasgd_mpi.cpp
 *
 * Compiles what dasgd's layers `transport` and `optimizer` define that does
 * not depend on the user's types; needs MPI, but not ensmallen.  See
 * dasgd/core/config.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_COMPILED
#define DASGD_COMPILED
#endif

#include "dasgd/core/blas_threads_impl.hpp"
#include "dasgd/core/guard_impl.hpp"
#include "dasgd/mpi/drop_in_program_impl.hpp"
#include "dasgd/mpi/mpi_call_impl.hpp"
#include "dasgd/mpi/mpi_communicator_impl.hpp"
#include "dasgd/mpi/mpi_communicator_loss_impl.hpp"
#include "dasgd/mpi/mpi_environment_impl.hpp"
#include "dasgd/mpi/mpi_error_impl.hpp"
#include "dasgd/mpi/mpi_root_stream_impl.hpp"
#include "dasgd/mpi/rank_loss_impl.hpp"
#include "dasgd/mpi/watchdog_impl.hpp"
#include "dasgd/training/agreement_impl.hpp"
#include "dasgd/training/checkpoint_keeper_impl.hpp"
#include "dasgd/training/common_settings_impl.hpp"
#include "dasgd/training/find_checkpoint_impl.hpp"
#include "dasgd/training/gather_history_impl.hpp"
#include "dasgd/training/handshake_impl.hpp"
#include "dasgd/training/training.hpp"
#include "dasgd/transport/mpi_board_impl.hpp"
#include "dasgd/transport/mpi_link_impl.hpp"
#include "dasgd/transport/mpi_link_speed_impl.hpp"
#include "dasgd/transport/mpi_transport_impl.hpp"
#include "dasgd/transport/shared_memory_impl.hpp"

namespace dasgd {

template class Training<DasgdAlgorithm, double>;
template class Training<DasgdAlgorithm, float>;

} // namespace dasgd
