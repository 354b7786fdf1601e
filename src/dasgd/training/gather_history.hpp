/**
 * @file gather_history.hpp
 *
 * The histories of all ranks, brought together.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_GATHER_HISTORY_HPP
#define DASGD_TRAINING_GATHER_HISTORY_HPP

#include "../core/config.hpp"
#include "../staleness/history.hpp"
#include "../staleness/loose_staleness.hpp"
#include "../report/report.hpp"
#include "../mpi/mpi_communicator.hpp"

#include <vector>

namespace dasgd {

//! What a history says of staleness, into a report.
void PutStaleness(const std::vector<HistoryStaleness::Meters>& meters,
                  Report& report);

/**
 * Bring the histories of all ranks to rank 0, and measure the staleness of all
 * gradients.  Collective; throws on all ranks if rank 0 cannot, and ends the
 * job if the histories cannot even be sent: both for want of memory.
 *
 * @param mine What this rank recorded.
 * @param history Becomes that of all ranks on rank 0.
 * @param report Gets the stalenesses, the same on all ranks.
 */
void GatherHistory(const MpiCommunicator& comm,
                   const RankHistory& mine,
                   History& history,
                   Report& report);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "gather_history_impl.hpp"
#endif

#endif
