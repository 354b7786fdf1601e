/**
 * @file plan_test.cpp
 *
 * Plans: what is known without a simulation, and what holds of all of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/staleness/manifest.hpp>
#include <dasgd/simulation/plan.hpp>

#include "catch.hpp"

#include <cmath>

using namespace dasgd;

namespace {

PlanModel Model()
{
  PlanModel model;
  model.elements = 100000;
  model.gradientSeconds = 10e-3;
  model.points = 64000;
  model.batchSize = 32;
  return model;
}

PlanCluster Cluster(const double bytesPerSecond)
{
  PlanCluster cluster;
  cluster.bytesPerSecond = bytesPerSecond;
  cluster.latency = 20e-6;
  return cluster;
}

PlanEffort Short()
{
  PlanEffort effort;
  effort.gradients = 60;
  return effort;
}

} // namespace

TEST_CASE("a plan for one rank is what was measured", "[plan]")
{
  const PlanRow row = PlanDasgd(Model(), Cluster(1e9), 1, "complete");
  CHECK(row.speedup == 1);
  CHECK(row.gradientsPerSecond == Approx(100));
  CHECK(row.epochSeconds == Approx(20));
  CHECK(row.staleness == 0);
  CHECK(row.memoryBytes == 2 * 800000);
}

TEST_CASE("with a network that never waits, ranks only compute", "[plan]")
{
  for (const std::string topology : { "complete", "ring", "exponential",
      "tree:2" })
  {
    INFO(topology);
    const PlanRow row = PlanDasgd(Model(), Cluster(1e15), 8, topology, Short());
    CHECK(row.speedup == Approx(8).epsilon(0.02));
    CHECK(row.networkShare < 1e-3);
    // While a gradient is computed, each other rank computes about one.
    CHECK(row.staleness > 0.5 * 7);
    CHECK(row.staleness < 3 * 7);
  }
}

TEST_CASE("what a rank spends on frames, it does not compute", "[plan]")
{
  PlanModel model = Model();
  model.exchangeShare = 1;
  const PlanCluster cluster = Cluster(1e15);
  // Three frames come for each gradient, and three go.
  model.applySeconds = 1e-3;
  const PlanRow apply = PlanDasgd(model, cluster, 4, "complete", Short());
  CHECK(apply.speedup == Approx(4 * 10.0 / 13.0).epsilon(0.05));
  model.applySeconds = 0;
  model.messageSeconds = 0.5e-3;
  const PlanRow send = PlanDasgd(model, cluster, 4, "complete", Short());
  CHECK(send.speedup == Approx(4 * 10.0 / 13.0).epsilon(0.05));
  // Ranks of one machine send no messages.
  PlanCluster together = cluster;
  together.ranksPerMachine = 4;
  model.messageSeconds = 0;
  CHECK(PlanDasgd(model, together, 4, "complete", Short()).bytesPerSecond == 0);
}

TEST_CASE("ranks of one machine share a model, and send nothing", "[plan]")
{
  PlanModel model = Model();
  model.gradientSpread = 0.05;
  PlanCluster cluster = Cluster(1e9);
  cluster.ranksPerMachine = 8;
  const PlanRow row = PlanDasgd(model, cluster, 8, "auto", Short());
  CHECK(row.topologyUsed == "board");
  CHECK(row.machines == 1);
  CHECK(row.neighbours == 0);
  CHECK(row.linkBytesPerSecond == 0);
  CHECK(row.networkShare == 0);
  // Iterate, gradient and the shared model.
  CHECK(row.memoryBytes == 3 * 800000);
  CHECK(row.speedup == Approx(8).epsilon(0.02));
  // All others post once while a gradient is computed.
  CHECK(row.staleness == Approx(7).epsilon(0.1));
  // A pass takes its time, and so does what a gradient costs besides.
  model.passSeconds = 0.5e-3;
  CHECK(PlanDasgd(model, cluster, 2, "auto", Short()).speedup ==
      Approx(2 * 10.0 / 10.5).epsilon(0.03));
  model.passSeconds = 0;
  model.stepSeconds = 2e-3;
  model.rankSeconds = 1e-3;
  CHECK(PlanDasgd(model, cluster, 4, "auto", Short()).speedup ==
      Approx(4 * 10.0 / 14.0).epsilon(0.03));
  // A named topology is one of frames, and so is what does not fit a machine.
  CHECK(PlanDasgd(model, cluster, 8, "ring", Short()).topologyUsed == "ring");
  CHECK(PlanDasgd(model, cluster, 9, "auto", Short()).topologyUsed != "board");
}

TEST_CASE("a large model on a board is planned in moments", "[plan]")
{
  PlanModel model = Model();
  model.elements = 100000000;
  model.passSeconds = 1e-3;
  PlanCluster cluster = Cluster(1e9);
  cluster.ranksPerMachine = 4;
  CHECK(PlanDasgd(model, cluster, 4, "auto", Short()).speedup > 3);
}

TEST_CASE("a full network carries what it can, and staleness rises", "[plan]")
{
  // A frame of 800 kB takes 100 ms, in which a rank computes ten gradients.
  const PlanRow slow = PlanDasgd(Model(), Cluster(8e6), 4, "complete", Short());
  const PlanRow fast = PlanDasgd(Model(), Cluster(8e9), 4, "complete", Short());
  CHECK(slow.networkShare > 0.9);
  CHECK(slow.networkShare < 1.05);
  CHECK(slow.staleness > 5 * fast.staleness);
  CHECK(fast.networkShare < 0.1);
}

TEST_CASE("shorter formats send less", "[plan]")
{
  PlanModel model = Model();
  const PlanRow exact = PlanDasgd(model, Cluster(1e12), 4, "ring", Short());
  model.wireFormat = WireFormat("bfloat16");
  const PlanRow shorter = PlanDasgd(model, Cluster(1e12), 4, "ring", Short());
  CHECK(shorter.bytesPerSecond == Approx(exact.bytesPerSecond / 4).epsilon(
      0.05));
}

TEST_CASE("frames on two machines are counted between them", "[plan]")
{
  PlanCluster cluster = Cluster(1e12);
  cluster.ranksPerMachine = 4;
  const PlanRow boards = PlanDasgd(Model(), cluster, 8, "auto", Short());
  const PlanRow complete = PlanDasgd(Model(), cluster, 8, "complete", Short());
  CHECK(boards.machines == 2);
  CHECK(boards.topologyUsed == "2 boards");
  // Each rank's gradients to four ranks, or once to the other machine.
  CHECK(boards.bytesPerSecond < complete.bytesPerSecond / 3);
}

TEST_CASE("an all-reduce takes its time after each gradient", "[plan]")
{
  PlanModel model = Model();
  model.gradientSpread = 0;
  PlanCluster cluster = Cluster(80e6);
  cluster.latency = 0;
  // Two ranks: each has to send its whole vector, which takes 10 ms.
  const PlanRow row = PlanAllreduce(model, cluster, 2);
  CHECK(row.speedup == Approx(1).epsilon(0.01));
  CHECK(PlanAllreduce(model, cluster, 1).speedup == Approx(1));
}

TEST_CASE("a plan of many ranks measures staleness on a sample", "[plan]")
{
  // As many gradients of others arrive while one is computed on a quarter of
  // the ranks, where all are measured.
  PlanEffort effort;
  effort.gradients = 8;
  const PlanRow few = PlanDasgd(Model(), Cluster(1e15), 24, "exponential",
      effort);
  const PlanRow many = PlanDasgd(Model(), Cluster(1e15), 144, "exponential",
      effort);
  CHECK(Manifest::VersionedEvery(24) == 1);
  CHECK(Manifest::VersionedEvery(144) > 1);
  CHECK(many.staleness / 143 == Approx(few.staleness / 23).epsilon(0.25));
}

TEST_CASE("the same seed gives the same plan", "[plan]")
{
  const PlanRow one = PlanDasgd(Model(), Cluster(1e8), 6, "ring", Short());
  const PlanRow other = PlanDasgd(Model(), Cluster(1e8), 6, "ring", Short());
  CHECK(one.staleness == other.staleness);
  CHECK(one.gradientsPerSecond == other.gradientsPerSecond);
}

TEST_CASE("advice names what limits", "[plan]")
{
  size_t best = 0;
  std::vector<PlanRow> rows;
  for (const size_t ranks : { 1, 2, 4, 8, 16 })
    rows.push_back(PlanDasgd(Model(), Cluster(200e6), ranks, "complete",
        Short()));
  const std::string text = PlanAdvice(rows, best);
  CHECK(rows[best].networkShare <= 0.9);
  CHECK(rows[best].ranks > 1);
  CHECK(rows[best].ranks < 16);
  CHECK(text.find("the network is full") != std::string::npos);
  CHECK_THROWS_AS(PlanAdvice({}, best), std::invalid_argument);
}

TEST_CASE("gradients count as the steps that they make", "[plan]")
{
  const PlanRow two = PlanDasgd(Model(), Cluster(1e15), 2, "complete", Short());
  CHECK(two.worth == Approx(two.speedup));
  const PlanRow eight = PlanDasgd(Model(), Cluster(1e15), 8, "complete",
      Short());
  CHECK(eight.worth == Approx(eight.speedup * 3 / (1 + eight.staleness)));
  PlanModel adam = Model();
  adam.stalenessDamping = 6;
  CHECK(PlanDasgd(adam, Cluster(1e15), 8, "complete", Short()).worth >
      1.5 * eight.worth);
  CHECK(std::isnan(PlanAllreduce(Model(), Cluster(1e15), 8).worth));
}

TEST_CASE("tiny gradients over a network are for one rank", "[plan]")
{
  // They are computed much faster than messages travel.
  PlanModel model;
  model.elements = 27;
  model.gradientSeconds = 7e-6;
  model.messageSeconds = 10e-6;
  PlanCluster cluster;
  size_t best = 0;
  std::vector<PlanRow> rows;
  for (const size_t ranks : { 1, 2, 4, 8 })
    rows.push_back(PlanDasgd(model, cluster, ranks, "auto", Short()));
  const std::string text = PlanAdvice(rows, best);
  INFO(text);
  CHECK(rows[best].ranks == 1);
  CHECK(text.find("1 rank: ") == 0);
}

TEST_CASE("an epoch of a millisecond is for one rank", "[plan]")
{
  PlanModel model = Model();
  model.gradientSeconds = 1e-3;
  model.points = 5 * model.batchSize;
  size_t best = 9;
  std::vector<PlanRow> rows;
  for (const size_t ranks : { 1, 2 })
    rows.push_back(PlanDasgd(model, Cluster(1e15), ranks, "auto", Short()));
  CHECK(PlanAdvice(rows, best).find("an epoch takes 5 ms") !=
      std::string::npos);
  CHECK(best == 0);
}

TEST_CASE("ranks that add staleness only are not recommended", "[plan]")
{
  size_t best = 0;
  std::vector<PlanRow> rows;
  for (const size_t ranks : { 1, 2, 4, 8, 16 })
  {
    rows.push_back(PlanDasgd(Model(), Cluster(1e15), ranks, "complete",
        Short()));
  }
  const std::string text = PlanAdvice(rows, best);
  INFO(text);
  CHECK(rows[best].ranks == 4);
  CHECK(text.find("updates old") != std::string::npos);
}

TEST_CASE("numbers that cannot be are refused", "[plan]")
{
  const PlanCluster cluster = Cluster(1e9);
  PlanModel model = Model();
  CHECK_THROWS_AS(PlanDasgd(model, cluster, 0, "ring"), std::invalid_argument);
  CHECK_THROWS_AS(PlanDasgd(model, cluster, 8, "mesh:3x3"),
      std::invalid_argument);
  model.gradientSeconds = 0;
  CHECK_THROWS_AS(PlanDasgd(model, cluster, 2, "ring"), std::invalid_argument);
  model = Model();
  model.elements = 0;
  CHECK_THROWS_AS(PlanAllreduce(model, cluster, 2), std::invalid_argument);
  PlanCluster none = cluster;
  none.ranksPerMachine = 0;
  CHECK_THROWS_AS(PlanDasgd(Model(), none, 2, "ring"), std::invalid_argument);
}
