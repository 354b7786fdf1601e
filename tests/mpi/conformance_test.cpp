/**
 * @file conformance_test.cpp
 *
 * The simulator's cases again, over MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "mpi/play.hpp"

#include <dasgd/dasgd/dasgd_algorithm.hpp>
#include <dasgd/staleness/loose_staleness.hpp>

using namespace conformance;

TEST_CASE("all promises hold on random runs over MPI", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
  {
    Random random(seed);
    const Case script = RandomCase(random, comm.Size());
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, Play<DasgdTraits>(comm, script, Way(seed % 4))) == "");
  }
}

namespace {

//! The same on boards, one for each machine.
std::vector<Ending> PlayOnBoard(const MpiCommunicator& comm,
                                const Case& script,
                                const std::vector<size_t>& machines)
{
  ScriptedRank rank(script, comm.Rank());
  const Topology topology = "complete";
  RunSettings settings{ topology, script.window };
  settings.board = true;
  settings.machines = &machines;
  settings.share = script.share;
  settings.maxLead = script.maxLead;
  settings.overlap = script.Overlaps(comm.Rank());
  settings.damping = script.damping;
  settings.lookAhead = script.lookAhead;
  Outcome outcome;
  DasgdAlgorithm::Run(comm, settings, {}, script.elements, rank.problem,
      outcome);
  CHECK(outcome.boards == BoardLinks(machines).Machines());
  Ending mine;
  mine.iterate = rank.iterate;
  mine.version = rank.state.Version();
  mine.counts = outcome.counts;
  mine.stopped = outcome.stopped;
  mine.reason = outcome.stop.reason;
  mine.stopRank = outcome.stop.origin;
  mine.threw = bool(outcome.exception);
  mine.epochsClosed = rank.source.epochsClosed;
  return Gather(comm, mine);
}

std::vector<Ending> PlayOnBoard(const MpiCommunicator& comm, const Case& script)
{ return PlayOnBoard(comm, script, std::vector<size_t>(comm.Size(), 0)); }

} // namespace

TEST_CASE("all promises hold on boards of several machines over MPI", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
  {
    Random random(seed);
    Case script = RandomCase(random, comm.Size());
    if (seed % 5 == 0)
      script.elements = 5000;
    std::vector<size_t> machines;
    for (size_t i = 0; i < comm.Size(); ++i)
      machines.push_back(random.Below(comm.Size()));
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, PlayOnBoard(comm, script, machines)) == "");
  }
}

TEST_CASE("all promises hold on a board over MPI", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
  {
    Random random(seed);
    Case script = RandomCase(random, comm.Size());
    // Several chunks, now and then.
    if (seed % 5 == 0)
      script.elements = 5000;
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, PlayOnBoard(comm, script)) == "");
  }
}

TEST_CASE("all promises hold with a model of a megabyte", "[mpi]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  Case script;
  script.ranks = comm.Size();
  script.elements = 1 << 17;
  script.points = 16;
  script.batchSize = 1;
  script.maxIterations = 32;
  for (const char* topology : { "complete", "exponential", "ring" })
  {
    script.topology = topology;
    INFO(topology);
    CHECK(Broken(script, Play<DasgdTraits>(comm, script, Lent)) == "");
    CHECK(Broken(script, Play<DasgdTraits>(comm, script, Sent)) == "");
  }
  CHECK(Broken(script, PlayOnBoard(comm, script)) == "");
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
    const std::vector<Ending> ends = Play<DasgdTraits>(comm, script,
        Way(seed % 4), {}, &history);
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
