/**
 * @file damping_test.cpp
 *
 * Steps that are smaller where gradients are stale: the same on all ranks, and
 * whole where gradients are fresh.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/optimizer/simulate.hpp>

#include "probe.hpp"

#include "catch.hpp"

#include <sstream>

using namespace tests;

TEST_CASE("Damped steps are the same on all ranks", "[damping]")
{
  for (const dasgd::Overlap overlap : { dasgd::Overlap::Never,
      dasgd::Overlap::Always })
  {
    Probe probe(64 * Ranks(), 4);
    arma::mat iterate(4, 1, arma::fill::ones);
    dasgd::DASGD<> optimizer(MeanStep(0.01, 4), 4, 10 * 64 * Ranks(), -1);
    optimizer.Topology() = "tree:2";
    optimizer.Overlap() = overlap;
    optimizer.StalenessDamping() = 0.5;
    Optimize(optimizer, probe, iterate);
    const dasgd::Report& report = optimizer.Report();
    CHECK(Same(iterate));
    CHECK(report.Deviation() < 1e-12);
    CHECK(report.StepFactor() > 0);
    std::ostringstream text;
    text << report;
    if (Ranks() == 1)
    {
      CHECK(report.StepFactor() == 1);
      CHECK(report.outsideTheorem == "");
      continue;
    }
    // The first steps expect the staleness of equal ranks.
    CHECK(report.StepFactor() < 1);
    CHECK(text.str().find("steps were shortened to") != std::string::npos);
    CHECK(report.outsideTheorem.find("StalenessDamping()") !=
        std::string::npos);
  }
}

namespace {

//! Sixteen ranks that compute far more than their network can carry.
dasgd::DASGD<> Overload(const double step,
                        const double damping,
                        const double bytesPerSecond,
                        arma::mat& iterate)
{
  const size_t ranks = 16;
  dasgd::SimCluster machine;
  machine.seed = 3;
  machine.computeSeconds.assign(ranks, 1e-3);
  machine.computeSpread = 0.1;
  machine.machineBytesPerSecond = bytesPerSecond;
  Probe probe(256, 4);
  std::vector<Probe> functions(ranks, probe);
  dasgd::DASGD<> optimizer(step, 1, 16000, -1);
  optimizer.Seed() = 7;
  optimizer.StalenessDamping() = damping;
  iterate.ones(4, 1);
  dasgd::Simulate(optimizer, functions, iterate, machine);
  return optimizer;
}

} // namespace

TEST_CASE("Damping leaves steps whole on a network with room, and keeps them "
    "in check on one without", "[damping]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  arma::mat iterate;
  const double step = 0.05;
  const dasgd::DASGD<> fresh = Overload(step, 32, 1e9, iterate);
  CHECK(fresh.Report().StepFactor() > 0.99);
  CHECK(fresh.Report().reason == dasgd::StopReason::Budget);

  // Without it the same step is too large.
  const dasgd::DASGD<> whole = Overload(step, 0, 1e6, iterate);
  CHECK(whole.Report().StepFactor() == 1);
  CHECK(whole.Report().StalenessAverage() > 30);
  CHECK_FALSE(arma::norm(iterate - Probe(256, 4).Solution()) < 1000);

  const dasgd::DASGD<> damped = Overload(step, 32, 1e6, iterate);
  CHECK(damped.Report().StepFactor() < 0.7);
  // The seeds 1 to 12 of the machine get to between 1e-5 and 3e-3.
  CHECK(arma::norm(iterate - Probe(256, 4).Solution()) < 1e-2);
}

TEST_CASE("A step that works on one rank works on sixteen", "[damping]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  // About the best step of one rank; twice as much diverges there.
  const double step = 0.3;
  arma::mat iterate(4, 1, arma::fill::ones);
  Probe probe(256, 4);
  dasgd::DASGD<> serial(step, 1, 16000, -1);
  serial.Seed() = 7;
  serial.Optimize(probe, iterate);
  CHECK(arma::norm(iterate - probe.Solution()) < 1e-6);

  const dasgd::DASGD<> whole = Overload(step, 0, 1e9, iterate);
  CHECK_FALSE(arma::norm(iterate - probe.Solution()) < 1000);

  const dasgd::DASGD<> automatic = Overload(step, dasgd::Automatic, 1e9,
      iterate);
  CHECK(automatic.Report().StepFactor() < 0.5);
  CHECK(arma::norm(iterate - probe.Solution()) < 1e-6);
}

TEST_CASE("Steps get shorter in policies that remember their first step, too",
    "[damping]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  // With a gradient of 1 all along, AdaBound soon takes steps of its final
  // rate.
  struct Slope
  {
    size_t NumFunctions() const { return 400; }
    void Shuffle() { }
    double Evaluate(const arma::mat& x, size_t, size_t) { return x[0]; }
    void Gradient(const arma::mat&, size_t, arma::mat& gradient, size_t)
    { gradient.ones(1, 1); }
  };
  const auto train = [](const double damping)
  {
    dasgd::SimCluster machine;
    machine.computeSeconds.assign(4, 1e-3);
    std::vector<Slope> functions(4);
    arma::mat iterate(1, 1, arma::fill::zeros);
    dasgd::AdaBound optimizer(0.001, 1, 0.1, 1);
    optimizer.MaxIterations() = 400;
    optimizer.Tolerance() = -1;
    optimizer.StalenessDamping() = damping;
    dasgd::Simulate(optimizer, functions, iterate, machine);
    return iterate[0];
  };
  // Gradients are about 3 updates old.
  const double ratio = train(1) / train(0);
  CHECK(ratio > 0.15);
  CHECK(ratio < 0.4);
}

namespace {

dasgd::SimCluster OneMachine(const size_t ranks)
{
  dasgd::SimCluster machine;
  machine.computeSeconds.assign(ranks, 1e-3);
  machine.computeSpread = 0.1;
  machine.machines.assign(ranks, 0);
  return machine;
}

} // namespace

TEST_CASE("Ranks of one machine share a model on virtual time, too",
    "[damping]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  const size_t ranks = 8;
  dasgd::SimCluster machine = OneMachine(ranks);
  machine.applySeconds = 1e-5;
  Probe probe(256, 4);
  const auto train = [&](dasgd::DASGD<>& optimizer)
  {
    std::vector<Probe> functions(ranks, probe);
    arma::mat iterate(4, 1, arma::fill::ones);
    dasgd::Simulate(optimizer, functions, iterate, machine);
    CHECK(arma::norm(iterate - probe.Solution()) < 1e-6);
    const dasgd::Report& report = optimizer.Report();
    CHECK(report.reason == dasgd::StopReason::Budget);
    CHECK(report.Deviation() < 1e-12);
    CHECK(report.StalenessAverage() > 5);
    CHECK(report.StalenessAverage() < 9);
    return report;
  };
  dasgd::DASGD<> optimizer(0.05, 1, 16000, -1);
  const dasgd::Report board = train(optimizer);
  CHECK(board.topology == "board");
  // Each rank's share, and what it costs to get to the board.
  CHECK(board.seconds == Approx(2.02).epsilon(0.05));
  for (const dasgd::RankReport& rank : board.ranks)
    CHECK(rank.peakVectors == 1);
  // A history is one of frames.
  optimizer.RecordHistory() = true;
  CHECK(train(optimizer).topology == "complete");
  CHECK_FALSE(optimizer.History().empty());
  // An exception ends the run for all.
  optimizer.RecordHistory() = false;
  probe.onGradient = []() { throw std::runtime_error("no gradient"); };
  std::vector<Probe> functions(ranks, probe);
  arma::mat iterate(4, 1, arma::fill::ones);
  CHECK_THROWS_WITH(dasgd::Simulate(optimizer, functions, iterate, machine),
      "no gradient");
}

TEST_CASE("Ranks update a long model at the same time on virtual time, too",
    "[damping]")
{
  if (Ranks() > 1)
    return; // It would be the same on each.
  const size_t ranks = 16;
  dasgd::SimCluster machine = OneMachine(ranks);
  // A rank takes as long for its update as for a gradient.
  machine.applySeconds = 1e-3;
  machine.vectorBytes = 8000000;
  Probe probe(256, 64);
  std::vector<Probe> functions(ranks, probe);
  arma::mat iterate(64, 1, arma::fill::ones);
  dasgd::DASGD<> optimizer(0.001, 1, 3200, -1);
  dasgd::Simulate(optimizer, functions, iterate, machine);
  CHECK(optimizer.Report().topology == "board");
  // 200 of each rank; one after the other, updates alone would take 3.2 s.
  CHECK(optimizer.Report().seconds < 0.6);
  CHECK(optimizer.Report().seconds > 0.35);
}
