/**
 * @file gather_history_impl.hpp
 *
 * Implementation of gathering histories.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_GATHER_HISTORY_IMPL_HPP
#define DASGD_TRAINING_GATHER_HISTORY_IMPL_HPP

// In case it hasn't been included yet.
#include "gather_history.hpp"

#include "../staleness/history_file.hpp"
#include "../core/guard.hpp"

#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace dasgd {

DASGD_INLINE void PutStaleness(
    const std::vector<HistoryStaleness::Meters>& meters, Report& report)
{
  for (size_t i = 0; i < meters.size(); ++i)
  {
    report.ranks[i].staleness = meters[i].tight;
    report.ranks[i].looseStaleness = meters[i].loose;
  }
  report.recorded = true;
}

DASGD_INLINE void GatherHistory(const MpiCommunicator& comm,
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
