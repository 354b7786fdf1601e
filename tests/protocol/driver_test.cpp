/**
 * @file driver_test.cpp
 *
 * What a rank does next: receive, compute, wait, leave.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "conformance.hpp"
#include "protocol/wires.hpp"

#include <dasgd/algorithms/driver.hpp>
#include <dasgd/dasgd/dasgd_worker.hpp>

using namespace conformance;

namespace {

//! Two ranks with four gradients each.
Case TwoRanks()
{
  Case script;
  script.points = 32;
  script.maxIterations = 32;
  return script;
}

//! One of them, which a test drives.
struct DrivenRank
{
  using WorkerType = DasgdWorker<double>;

  DrivenRank(const Case& script, const size_t number) :
      rank(script, number),
      routes(Topology(script.topology), script.ranks, number),
      worker(routes, script.window, script.elements, rank.problem),
      wires(worker.Participant().Endpoint().Pool()),
      driver(worker)
  { worker.Participant().Start(); }

  Action Choose() { return driver.Choose(0, wires); }

  //! Take the oldest frame of the other one.
  void Take(DrivenRank& other)
  {
    const std::vector<std::uint8_t> bytes = other.wires.sent.front().bytes;
    other.wires.sent.pop_front();
    worker.Receive(bytes.data(), bytes.size(), other.routes.Rank());
  }

  ScriptedRank rank;
  Routes routes;
  WorkerType worker;
  Wires wires;
  Driver<WorkerType> driver;
};

} // namespace

TEST_CASE("a rank computes while it has work, and then waits for the others",
    "[driver]")
{
  const Case script = TwoRanks();
  DrivenRank zero(script, 0), one(script, 1);
  size_t computed = 0;
  while (zero.Choose() == Action::Compute && computed < 100)
  {
    zero.worker.Compute();
    zero.driver.Send(zero.wires);
    ++computed;
  }
  // Without a frame of the other one: it never waits for gradients.
  CHECK(computed == 4);
  CHECK(zero.wires.sent.size() >= 4);
  CHECK(zero.Choose() == Action::Wait);
  CHECK(!zero.driver.MayLeave(zero.wires));

  size_t rounds = 0;
  while (!(zero.driver.MayLeave(zero.wires) &&
      one.driver.MayLeave(one.wires)) && rounds < 100)
  {
    ++rounds;
    for (DrivenRank* rank : { &zero, &one })
    {
      DrivenRank& other = (rank == &zero) ? one : zero;
      if (rank->driver.MayReceive() && !other.wires.sent.empty())
        rank->Take(other);
      else if (rank->Choose() == Action::Compute)
        rank->worker.Compute();
      rank->driver.Send(rank->wires);
    }
  }
  CHECK(rounds < 100);
  for (const DrivenRank* rank : { &zero, &one })
  {
    CHECK(rank->rank.state.Version() == VersionVector{ 4, 4 });
    CHECK(rank->worker.Participant().Counts().computed == 4);
    CHECK(rank->worker.Participant().Counts().applied == 8);
  }
  for (size_t i = 0; i < script.elements; ++i)
    CHECK(zero.rank.iterate[i] == Approx(one.rank.iterate[i]));
}

TEST_CASE("a rank that gets frame after frame computes in between",
    "[driver]")
{
  Case script = TwoRanks();
  script.maxIterations = script.points = 400;
  DrivenRank zero(script, 0), one(script, 1);
  for (size_t i = 0; i < 20; ++i)
  {
    one.worker.Compute();
    one.driver.Send(one.wires);
  }
  REQUIRE(one.wires.sent.size() == 20);
  size_t taken = 0;
  while (zero.driver.MayReceive() && taken < 20)
  {
    zero.Take(one);
    ++taken;
  }
  // As many as are received and under way at a time.
  CHECK(taken == 2 * script.window);
  CHECK(zero.Choose() == Action::Compute);
  zero.worker.Compute();
  CHECK(zero.driver.MayReceive());
}

TEST_CASE("a rank that has not delivered its last frame does not leave",
    "[driver]")
{
  const Case script = TwoRanks();
  DrivenRank zero(script, 0), one(script, 1);
  for (DrivenRank* rank : { &zero, &one })
  {
    while (rank->Choose() == Action::Compute)
    {
      rank->worker.Compute();
      rank->driver.Send(rank->wires);
    }
  }
  while (!one.wires.sent.empty())
    zero.Take(one);
  zero.driver.Send(zero.wires);
  // Rank 0 has everything; rank 1 has nothing yet.
  CHECK(zero.worker.Participant().Endpoint().FinalsMissing() == 0);
  CHECK(!zero.driver.MayLeave(zero.wires));
  while (!zero.wires.sent.empty())
    one.Take(zero);
  one.driver.Send(one.wires);
  while (!one.wires.sent.empty())
    zero.Take(one);
  CHECK(zero.driver.MayLeave(zero.wires));
  CHECK(one.driver.MayLeave(one.wires));
}
