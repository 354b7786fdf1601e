/**
 * @file server_test.cpp
 *
 * What is special about ParameterServerSGD: one rank keeps the model.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include <dasgd/optimizer/simulate.hpp>

#include "catch.hpp"

using namespace tests;

TEST_CASE("Any rank can be the server, and it computes nothing", "[server]")
{
  for (size_t server = 0; server < Ranks(); ++server)
  {
    INFO("server " << server);
    Probe probe(240, 6);
    arma::mat iterate(6, 1, arma::fill::zeros);
    const double start = probe.Objective(iterate);
    dasgd::ParameterServerSGD<> optimizer(MeanStep(0.02, 4), 4, 1200, -1);
    optimizer.ServerRank() = server;
    Optimize(optimizer, probe, iterate);
    CHECK(Same(iterate));
    CHECK(probe.Objective(iterate) < 0.1 * start);
    const dasgd::Report& report = optimizer.Report();
    CHECK(report.topology == "star around rank " + std::to_string(server));
    for (size_t i = 0; i < Ranks() && Ranks() > 1; ++i)
      CHECK((report.ranks[i].computed == 0) == (i == server));
    CHECK(probe.calls == report.ranks[Rank()].computed);
    SumUp(probe.visits);
    CHECK(probe.visits == std::vector<size_t>(240, 5));
  }
}

TEST_CASE("Any server leaves the points of sharded data to the others",
    "[server]")
{
  const size_t server = Ranks() - 1;
  const bool mine = (Rank() != server || Ranks() == 1);
  Probe probe(mine ? 20 + Rank() : 0, 6, Probe::LeastSquares, 1 + Rank());
  arma::mat iterate(6, 1, arma::fill::zeros);
  const double points = Sum(double(probe.NumFunctions()));
  dasgd::ParameterServerSGD<> optimizer(MeanStep(0.02, 4), 4,
      3 * size_t(points), -1);
  optimizer.Data() = dasgd::Data::Sharded;
  optimizer.ServerRank() = server;
  Optimize(optimizer, probe, iterate);
  CHECK(Same(iterate));
  // Every rank has seen its own points three times.
  CHECK(probe.visits == std::vector<size_t>(probe.NumFunctions(), 3));
}

TEST_CASE("Every gradient reaches the server's model exactly once", "[server]")
{
  // Gradients are integers that do not depend on the iterate: every sum is
  // exact.
  for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
      dasgd::Sharing::Dynamic })
  {
    INFO(dasgd::ToString(sharing));
    Probe probe(240, 5, Probe::Linear);
    arma::mat iterate(5, 1, arma::fill::zeros);
    dasgd::ParameterServerSGD<> optimizer(1, 1, 720, -1);
    optimizer.Sharing() = sharing;
    Hooks hooks;
    Optimize(optimizer, probe, iterate, hooks);
    SumUp(probe.visits);
    const Probe points(240, 5, Probe::Linear);
    arma::mat expected(5, 1, arma::fill::zeros);
    for (size_t i = 0; i < 240; ++i)
      for (size_t k = 0; k < 5; ++k)
        expected[k] -= double(probe.visits[i]) * points.Point(i)[k];
    CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
    // A worker steps with its own gradients, the server with all.
    const dasgd::Report& report = optimizer.Report();
    CHECK(hooks.steps == ((Rank() == 0) ? report.Gradients() :
        report.ranks[Rank()].computed));
  }
}

TEST_CASE("DelayAdaptive() converges", "[server]")
{
  // See ranks_test.cpp: a shorter step for a late gradient harms nothing.
  Probe probe(1920, 64);
  arma::mat iterate(64, 1, arma::fill::zeros);
  const double start = probe.Objective(iterate);
  dasgd::ParameterServerSGD<> optimizer(MeanStep(0.04, 120), 120, 500 * 120,
      -1);
  optimizer.DelayAdaptive() = true;
  Optimize(optimizer, probe, iterate);
  CHECK(probe.Objective(iterate) < 0.01 * start);
  CHECK(Same(iterate));
}

TEST_CASE("DelayAdaptive() leaves gradients that are in time as they are",
    "[server]")
{
  // With one worker none is ever late.
  if (Ranks() > 2)
    return;
  arma::mat results[2];
  for (const bool adaptive : { false, true })
  {
    Probe probe(60, 6);
    arma::mat& iterate = results[adaptive];
    iterate.zeros(6, 1);
    dasgd::ParameterServerSGD<> optimizer(MeanStep(0.02, 4), 4, 300, -1);
    optimizer.Seed() = 5;
    optimizer.DelayAdaptive() = adaptive;
    Optimize(optimizer, probe, iterate);
  }
  CHECK(arma::approx_equal(results[0], results[1], "absdiff", 0));
}

TEST_CASE("DelayAdaptive() knows how late each gradient is on many ranks, too",
    "[server]")
{
  // DASGD says so of a sample only.  With a slope of 1 the model tells how much
  // of each step was taken.
  const size_t ranks = 160;
  REQUIRE(dasgd::Manifest::VersionedEvery(ranks) > 1);
  Probe probe(ranks * 20, 2);
  probe.spoil = [](double&, arma::mat& gradient) { gradient.ones(); };
  std::vector<Probe> probes(ranks, probe);
  arma::mat iterate(2, 1, arma::fill::zeros);
  dasgd::ParameterServerSGD<> optimizer(1, 1, ranks * 20, -1);
  optimizer.DelayAdaptive() = true;
  dasgd::SimCluster machine;
  machine.computeSeconds.assign(ranks, 0.01);
  dasgd::Simulate(optimizer, probes, iterate, machine);
  const double gradients = double(optimizer.Report().Gradients());
  CHECK(gradients == double(ranks * 20));
  CHECK(-iterate[0] > 0.9 * gradients);
  CHECK(-iterate[0] <= gradients);
}

TEST_CASE("On virtual time vectors can be longer than those that are exchanged",
    "[server]")
{
  // Both take at least a second for each exchange of a megabyte.
  const auto simulate = [](auto&& optimizer, const size_t more)
  {
    std::vector<Probe> probes(2, Probe(40, 5));
    arma::mat iterate(5, 1, arma::fill::zeros);
    dasgd::SimCluster machine;
    machine.computeSeconds.assign(2, 0.01);
    machine.vectorBytes = more;
    machine.link = [](size_t, size_t)
    {
      dasgd::SimLink link;
      link.bytesPerSecond = 1e6;
      return link;
    };
    dasgd::Simulate(optimizer, probes, iterate, machine);
    return optimizer.Report().seconds;
  };
  const auto all = [] { return dasgd::AllreduceSGD<>(0.01, 1, 20, -1); };
  const auto server = []
  { return dasgd::ParameterServerSGD<>(0.01, 1, 20, -1); };
  CHECK(simulate(all(), 0) < 0.2);
  CHECK(simulate(all(), 1000000) > 10);
  CHECK(simulate(server(), 0) < 0.5);
  CHECK(simulate(server(), 1000000) > 10);
}

TEST_CASE("MaxDistance() discards what comes from too far, and uses the rest",
    "[server]")
{
  // All gradients are ones: with a step of 1 the model tells how many were
  // used, and it never comes back to where it was.
  const auto run = [](const double distance)
  {
    Probe probe(60, 4);
    probe.spoil = [](double&, arma::mat& gradient) { gradient.ones(); };
    arma::mat iterate(4, 1, arma::fill::zeros);
    dasgd::ParameterServerSGD<> optimizer(1, 1, 240, -1);
    optimizer.MaxDistance() = distance;
    Hooks hooks;
    Optimize(optimizer, probe, iterate, hooks);
    const dasgd::Report& report = optimizer.Report();
    const size_t discarded = report.ranks[0].discarded;
    CHECK(report.Gradients() == 240);
    CHECK(report.ranks[0].applied == 240);
    CHECK(arma::all(arma::vectorise(iterate) == -double(240 - discarded)));
    if (Rank() == 0)
      CHECK(hooks.steps == 240 - discarded);
    for (size_t i = 1; i < Ranks(); ++i)
      CHECK(report.ranks[i].discarded == 0);
    CHECK(Same(report.Json()));
    return discarded;
  };
  // Two workers begin with the same model, so one of the first two comes late.
  const size_t discarded = run(1e-9);
  if (Ranks() >= 3)
    CHECK(discarded >= Ranks() - 2);
  else
    CHECK(discarded == 0);
  // The model cannot move farther than all steps together: 240 * sqrt(4).
  CHECK(run(481) == 0);
  CHECK(run(0) == 0);
}

TEST_CASE("The server measures staleness, of all gradients", "[server]")
{
  Probe probe(240, 6);
  arma::mat iterate(6, 1, arma::fill::zeros);
  dasgd::ParameterServerSGD<> optimizer(MeanStep(0.02, 4), 4, 1200, -1);
  Optimize(optimizer, probe, iterate);
  const dasgd::Report& report = optimizer.Report();
  const dasgd::StalenessMeter& meter = report.ranks[0].staleness;
  CHECK(meter.Measured() == report.Gradients());
  CHECK(meter.Skipped() == 0);
  for (size_t i = 1; i < Ranks(); ++i)
    CHECK(report.ranks[i].staleness.Measured() == 0);
  // One worker has always seen all that there is; of several, the first
  // gradients cannot know of each other.
  if (Ranks() <= 2)
    CHECK(meter.Max() == 0);
  else
    CHECK(meter.Max() > 0);
  CHECK(report.StalenessMax() == meter.Max());
}
