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

//! What a history says of staleness, into a report.
inline void PutStaleness(const std::vector<HistoryStaleness::Meters>& meters,
                         Report& report)
{
  for (size_t i = 0; i < meters.size(); ++i)
  {
    report.ranks[i].staleness = meters[i].tight;
    report.ranks[i].looseStaleness = meters[i].loose;
  }
  report.recorded = true;
}

/**
 * Bring the histories of all ranks to rank 0, and measure the staleness of all
 * gradients.  Collective; throws on all ranks if rank 0 cannot, and ends the
 * job if the histories cannot even be sent: both for want of memory.
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
  std::vector<std::string> all;
  try
  {
    all = comm.Collect(HistoryText::Lines(mine));
  }
  catch (const mpi::RankLost&)
  {
    throw; // The others go on without it.
  }
  catch (const std::exception& e)
  {
    comm.Abort(std::string("its history cannot be gathered (") + e.what() +
        "); record a shorter run");
  }
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
  PutStaleness(meters, report);
  const std::string failure = comm.Gather(ExceptionText(exception)).front();
  if (!failure.empty())
  {
    throw std::runtime_error("dasgd: rank 0 cannot work out the history of " +
        std::to_string(comm.Size()) + " ranks (" + failure + "); record a "
        "shorter run");
  }
}

} // namespace dasgd

#endif
