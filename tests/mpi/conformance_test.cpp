/**
 * @file conformance_test.cpp
 *
 * The simulator's cases again, over MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "conformance.hpp"

#include <dasgd/algorithms/dasgd_algorithm.hpp>
#include <dasgd/core/history_file.hpp>
#include <dasgd/core/loose_staleness.hpp>

using namespace conformance;

namespace {

//! How frames travel.
enum Way { Lent, Sent, Split, Mixed };

//! Run a case on all ranks; everybody gets everybody's ending, and if they want
//! it the history.
std::vector<Ending> Play(const MpiCommunicator& comm,
                         const Case& script,
                         const Way way,
                         History* history = nullptr)
{
  std::vector<double> iterate(script.elements, 0);
  ScriptedProblem problem(script, comm.Rank(), iterate.data());
  const Routes routes(script.topology, comm.Size(), comm.Rank());
  DasgdWorker<double, ScriptedProblem> worker(routes, script.window,
      iterate.data(), script.elements, problem, script.format);
  RankHistory log(comm.Size());
  if (history)
    worker.Record(log);
  MpiTransport::Options options;
  // Each rank may choose for itself what it sends; all agree on the length of
  // messages.
  const bool lends = way == Lent || (way == Mixed &&
      Mix(script.elements, comm.Rank()) % 2 == 0);
  options.buffers = lends ? worker.MaxBuffers() : 0;
  if (way == Split)
    options.messageBytes = 1000;
  size_t received = 0;
  {
    MpiTransport transport(comm, routes.SendTo(), routes.ReceiveFrom(),
        script.window, worker.Pool(), options);
    Run(worker, transport);
    CHECK(transport.Lent() == (lends ? routes.SendTo().size() : 0));
    received = script.window * (routes.ReceiveFrom().size() -
        transport.Borrowed());
  }
  const Ending mine = EndingOf(worker, problem, iterate, worker.Pool().Peak() +
      received + WireFormat(script.format).Vectors(sizeof(double)));
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
    end.iterate.resize(script.elements);
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

} // namespace

TEST_CASE("all promises hold on random runs over MPI", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
  {
    Random random(seed);
    const Case script = RandomCase(random, comm.Size());
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, Play(comm, script, Way(seed % 4))) == "");
  }
}

TEST_CASE("all promises hold with a model of a million elements", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  Case script;
  script.ranks = comm.Size();
  script.elements = 1 << 20;
  script.points = 16;
  script.batchSize = 1;
  script.maxIterations = 32;
  for (const char* topology : { "complete", "exponential", "ring" })
  {
    script.topology = topology;
    INFO(topology);
    CHECK(Broken(script, Play(comm, script, Lent)) == "");
    CHECK(Broken(script, Play(comm, script, Sent)) == "");
  }
}

TEST_CASE("a recorded run has the staleness that was measured on the way",
    "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
  {
    Random random(seed);
    const Case script = RandomCase(random, comm.Size());
    INFO("seed " << seed << " (" << script.Text() << ")");
    History history;
    const std::vector<Ending> ends = Play(comm, script, Way(seed % 4),
        &history);
    CHECK(Broken(script, ends) == "");
    const HistoryStaleness measured(history);
    for (size_t i = 0; i < comm.Size(); ++i)
    {
      const StalenessMeter& online = ends[i].counts.staleness;
      const HistoryStaleness::Meters& both = measured.Ranks()[i];
      CHECK(both.tight.Measured() == ends[i].counts.applied);
      CHECK(both.loose.Sum() >= both.tight.Sum());
      if (online.Skipped() == 0)
        CHECK(both.tight.Histogram() == online.Histogram());
    }
  }
}
