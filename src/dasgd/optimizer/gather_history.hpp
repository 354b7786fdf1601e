/**
 * @file gather_history.hpp
 *
 * The histories of all ranks, brought together.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_GATHER_HISTORY_HPP
#define DASGD_OPTIMIZER_GATHER_HISTORY_HPP

#include "../core/history_file.hpp"
#include "../core/loose_staleness.hpp"
#include "../core/report.hpp"
#include "../transport/mpi_communicator.hpp"
#include "guard.hpp"

#include <sstream>

namespace dasgd {

/**
 * Bring the histories of all ranks to rank 0, and measure the staleness of all
 * gradients.  Collective.
 *
 * @param mine What this rank recorded.
 * @param history Becomes that of all ranks on rank 0.
 * @param report Gets the stalenesses, the same on all ranks.
 */
inline void GatherHistory(const MpiCommunicator& comm,
                          const RankHistory& mine,
                          History& history,
                          Report& report)
{
  const std::vector<std::string> all = comm.Collect(HistoryText::Lines(mine));
  std::vector<HistoryStaleness::Meters> meters(comm.Size());
  std::exception_ptr exception;
  Guard(exception, [&]()
  {
    for (const std::string& lines : all)
    {
      std::istringstream stream(lines);
      history.push_back(HistoryText::Reader(stream, "the history of rank " +
          std::to_string(history.size())).Lines(comm.Size(), history.size()));
    }
    if (comm.Rank() == 0)
      meters = HistoryStaleness(history).Ranks();
  });
  static_assert(std::is_trivially_copyable<HistoryStaleness::Meters>::value,
      "Meters are sent as they are.");
  comm.Broadcast(meters.data(), meters.size() * sizeof(meters[0]));
  for (size_t i = 0; i < meters.size(); ++i)
  {
    report.ranks[i].staleness = meters[i].tight;
    report.ranks[i].looseStaleness = meters[i].loose;
  }
  report.recorded = true;
  // Only for want of memory; the others need not fail with rank 0.
  if (exception)
    std::rethrow_exception(exception);
}

} // namespace dasgd

#endif
