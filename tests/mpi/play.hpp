/**
 * @file play.hpp
 *
 * Runs a case of conformance.hpp over MPI, with any of the asynchronous
 * algorithms.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_MPI_PLAY_HPP
#define DASGD_TESTS_MPI_PLAY_HPP

#include "catch.hpp"
#include "conformance.hpp"

#include <dasgd/algorithms/asynchronous.hpp>
#include <dasgd/staleness/history_file.hpp>

namespace conformance {

//! How frames travel.
enum Way { Lent, Sent, Split, Mixed };

//! Everybody's ending, by rank.
inline std::vector<Ending> Gather(const MpiCommunicator& comm,
                                  const Ending& mine)
{
  std::vector<Ending> all(comm.Size());
  const auto gather = [&comm](const void* data, const size_t bytes)
  {
    return comm.Gather(std::string(static_cast<const char*>(data), bytes));
  };
  const std::vector<std::string> iterates = gather(mine.iterate.data(),
      mine.iterate.size() * sizeof(double));
  const std::vector<std::string> versions = gather(mine.version.data(),
      mine.version.size() * sizeof(std::uint64_t));
  const std::vector<std::string> counts = gather(&mine.counts,
      sizeof(mine.counts));
  const std::vector<std::uint64_t> flags = comm.Gather(std::uint64_t(
      mine.stopped + 2 * mine.threw + 4 * int(mine.reason) +
      64 * mine.stopRank + 65536 * mine.epochsClosed));
  for (size_t i = 0; i < all.size(); ++i)
  {
    Ending& end = all[i];
    end.iterate.resize(mine.iterate.size());
    std::memcpy(end.iterate.data(), iterates[i].data(), iterates[i].size());
    end.version.resize(comm.Size());
    std::memcpy(end.version.data(), versions[i].data(), versions[i].size());
    std::memcpy(&end.counts, counts[i].data(), counts[i].size());
    end.stopped = (flags[i] & 1) != 0;
    end.threw = (flags[i] & 2) != 0;
    end.reason = StopReason((flags[i] >> 2) & 15);
    end.stopRank = size_t((flags[i] >> 6) & 1023);
    end.epochsClosed = size_t(flags[i] >> 16);
  }
  return all;
}

/**
 * Run a case on all ranks.
 *
 * @tparam TraitsType The algorithm; see Asynchronous.
 * @param history If it is set, everybody gets the history.
 * @return Everybody's ending, on every rank.
 */
template<typename TraitsType>
std::vector<Ending> Play(const MpiCommunicator& comm,
                         const Case& script,
                         const Way way,
                         const typename TraitsType::Options& options = {},
                         History* history = nullptr)
{
  ScriptedRank rank(script, comm.Rank());
  const Topology topology = script.topology;
  RunSettings settings{ topology, script.window };
  settings.format = script.format;
  settings.maxLead = script.maxLead;
  settings.share = script.share;
  // A history is one of a single thread.
  settings.overlap = script.Overlaps(comm.Rank()) && !history;
  const Routes routes(Asynchronous<TraitsType>::Links(topology, options,
      comm.Size()), comm.Size(), comm.Rank());
  const auto made = TraitsType::template Make<double>(routes, settings, options,
      script.elements, rank.problem);
  auto& worker = *made;
  auto& endpoint = worker.Participant().Endpoint();
  RankHistory log(comm.Size());
  if (history)
    endpoint.Record(log);
  MpiTransport::Options links;
  // Each rank may choose for itself what it sends; all agree on the length of
  // messages.
  const bool lends = way == Lent || (way == Mixed &&
      Mix(script.elements, comm.Rank()) % 2 == 0);
  links.buffers = lends ? endpoint.MaxBuffers() : 0;
  links.alert = TraitsType::waits;
  if (way == Split)
    links.messageBytes = 1000;
  size_t received = 0;
  {
    MpiTransport transport(comm, endpoint.SendTo(), endpoint.ReceiveFrom(),
        script.window, endpoint.Pool(), links);
    Run(worker, transport);
    CHECK(transport.Lent() == (lends ? endpoint.SendTo().size() : 0));
    received = script.window * (endpoint.ReceiveFrom().size() -
        transport.Borrowed());
  }
  const Ending mine = EndingOf(worker, rank, PeakVectors(worker) +
      received + settings.format.Vectors(sizeof(double)));
  if (history)
  {
    history->clear();
    for (const std::string& lines : comm.Gather(HistoryText::Lines(log)))
    {
      std::istringstream stream(lines);
      history->push_back(HistoryText::Reader(stream, "rank").Lines(comm.Size(),
          history->size()));
    }
  }
  return Gather(comm, mine);
}

} // namespace conformance

#endif
