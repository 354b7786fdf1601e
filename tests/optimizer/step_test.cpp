/**
 * @file step_test.cpp
 *
 * The theorem's step limits in practice: AutoStep, what the report says of a
 * step, and advice after a run that diverged.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <sstream>

using namespace tests;

namespace {

constexpr size_t points = 256;
constexpr size_t elements = 4;
constexpr size_t batchSize = 8;

//! The smoothness of the mean over points: the Hessian of least squares is the
//! same everywhere, and its columns are differences of gradients.
double Smoothness(const Probe& probe)
{
  arma::mat hessian(elements, elements);
  const arma::mat zero(elements, 1, arma::fill::zeros);
  for (size_t k = 0; k < elements; ++k)
  {
    arma::mat unit = zero;
    unit[k] = 1;
    hessian.col(k) = probe.FullGradient(unit) - probe.FullGradient(zero);
  }
  return arma::eig_sym(hessian).max() / double(points);
}

//! The limit in terms of StepSize() for twice the staleness that the paper
//! expects.
double Limit(const double smoothness, const dasgd::Topology& topology)
{
  const dasgd::theory::StalenessPair expected =
      dasgd::theory::ExpectedStaleness(topology, Ranks());
  return MeanStep(dasgd::theory::StepLimit(smoothness, 2 * expected.average,
      2 * expected.max), batchSize);
}

std::string Text(const dasgd::Report& report)
{
  std::ostringstream out;
  out << report;
  return out.str();
}

} // namespace

TEST_CASE("AutoStep takes the step that the theorem allows", "[step]")
{
  for (const char* topology : { "complete", "ring", "tree:2" })
  {
    Probe probe(points, elements);
    arma::mat iterate(elements, 1, arma::fill::ones);
    const double smoothness = Smoothness(probe);
    FixedDASGD optimizer(dasgd::AutoStep, batchSize, 4 * points, -1);
    optimizer.Topology() = topology;
    double during = 0;
    Hooks hooks;
    hooks.step = [&]() { during = optimizer.StepSize(); return false; };
    const double before = probe.Objective(iterate);
    Optimize(optimizer, probe, iterate, hooks);

    const dasgd::Report& report = optimizer.Report();
    INFO(topology << "\n" << report);
    CHECK(report.autoStep);
    CHECK(report.smoothness == Approx(smoothness).epsilon(0.02));
    CHECK(report.stepSize == Approx(Limit(smoothness, topology)).epsilon(0.02));
    CHECK(during == report.stepSize);
    CHECK(Same(report.stepSize));
    CHECK(report.outsideTheorem == "");
    CHECK(probe.Objective(iterate) < before);
    // It is a choice, not a value: the next run chooses anew.
    CHECK(optimizer.StepSize() == dasgd::AutoStep);
  }
}

TEST_CASE("AutoStep takes a smoothness that is given", "[step]")
{
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(dasgd::AutoStep, batchSize, points, -1);
  optimizer.Smoothness() = 50;
  Optimize(optimizer, probe, iterate);
  CHECK(optimizer.Report().stepSize == Approx(Limit(50, "complete")));
  CHECK(optimizer.Report().smoothness == 50);
}

TEST_CASE("AutoStep with sharded data knows the steepest shard", "[step]")
{
  // Points of the last rank are ten times as long.
  Probe probe(points, elements, Probe::LeastSquares, 1 + Rank());
  const bool steep = (Rank() + 1 == Ranks());
  probe.spoil = [&](double&, arma::mat& gradient)
  {
    if (steep)
      gradient *= 10;
  };
  const double mine = Smoothness(probe) * (steep ? 10 : 1);
  double largest = 0;
  for (const double other : Gather(mine))
    largest = std::max(largest, other);
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(dasgd::AutoStep, batchSize, points, -1);
  optimizer.Data() = dasgd::Data::Sharded;
  Optimize(optimizer, probe, iterate);
  CHECK(optimizer.Report().smoothness == Approx(largest).epsilon(0.02));
}

TEST_CASE("AutoStep leaves model and random numbers alone", "[step]")
{
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  arma::mat seen;
  FixedDASGD optimizer(dasgd::AutoStep, batchSize, points, -1, false);
  Hooks hooks;
  arma::arma_rng::set_seed(7);
  hooks.begin = [&]() { seen = iterate; };
  Optimize(optimizer, probe, iterate, hooks);
  const double drawn = arma::randu();
  CHECK(arma::all(arma::vectorise(seen) == 1.0));
  // As after a training with a step that was given.
  arma::arma_rng::set_seed(7);
  iterate.ones();
  optimizer.StepSize() = 1e-3;
  Optimize(optimizer, probe, iterate);
  CHECK(drawn == arma::randu());
}

TEST_CASE("A function that throws while AutoStep looks ends all ranks",
    "[step]")
{
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  if (Rank() == 0)
    probe.onGradient = []() { throw std::runtime_error("too steep to climb"); };
  FixedDASGD optimizer(dasgd::AutoStep, batchSize, points, -1);
  const Ending ending = Try([&]()
      { return Optimize(optimizer, probe, iterate); });
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("rank 0"));
  CHECK(ending.Says("too steep to climb"));
  CHECK(StillWorks());
}

TEST_CASE("AutoStep is refused where it means nothing", "[step]")
{
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  dasgd::DASGD<ens::AdamUpdate> optimizer(dasgd::AutoStep, batchSize, points);
  const Ending ending = Try([&]()
      { return optimizer.Optimize(probe, iterate); });
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("AutoStep"));
  CHECK(ending.Says("AdamUpdate"));
}

TEST_CASE("The report says whether the step kept to the limit", "[step]")
{
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(MeanStep(1e-6, batchSize), batchSize, points, -1);
  Optimize(optimizer, probe, iterate);
  CHECK(Text(optimizer.Report()).find("give Smoothness()") !=
      std::string::npos);
  CHECK(optimizer.Report().StepLimit() == 0);

  optimizer.Smoothness() = 2;
  Optimize(optimizer, probe, iterate);
  const dasgd::Report& report = optimizer.Report();
  CHECK(Text(report).find("keeps to the theorem's limit") !=
      std::string::npos);
  CHECK(report.StepLimit() == Approx(MeanStep(
      dasgd::theory::BoundedStepLimit(2, report.StalenessAverage()),
      batchSize)));
  CHECK(report.Advice() == "");

  optimizer.Smoothness() = 1e9;
  Optimize(optimizer, probe, iterate);
  CHECK(Text(optimizer.Report()).find("exceeds the theorem's limit") !=
      std::string::npos);
}

TEST_CASE("A run that diverges comes with advice", "[step]")
{
  Probe probe(points, elements);
  const double smoothness = Smoothness(probe);
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(MeanStep(1e4, batchSize), batchSize, 0, -1);
  Optimize(optimizer, probe, iterate);
  const dasgd::Report& report = optimizer.Report();
  const std::string advice = report.Advice();
  INFO(advice);
  CHECK(report.reason == dasgd::StopReason::NonFinite);
  CHECK(report.smoothness == Approx(smoothness).epsilon(0.05));
  CHECK(advice.find("exceeds 1/(") != std::string::npos);
  CHECK(advice.find("; try ") != std::string::npos);
  CHECK(Same(advice));
  CHECK(Same(iterate));

  // What it says to try is within the limit, and not far below.
  const double suggested = std::stod(advice.substr(advice.find("try ") + 4));
  CHECK(suggested <= report.StepLimit());
  CHECK(suggested > 0.4 * report.StepLimit());

  // With a smoothness that is given nothing is estimated.
  const size_t calls = probe.calls;
  optimizer.Smoothness() = 3;
  iterate.ones();
  size_t during = 0;
  Hooks hooks;
  hooks.end = [&]() { during = probe.calls; };
  Optimize(optimizer, probe, iterate, hooks);
  CHECK(optimizer.Report().smoothness == 3);
  CHECK(probe.calls == during);
  CHECK(Sum(double(during - calls)) > 0);
}

TEST_CASE("Data that is not finite gets no advice on the step", "[step]")
{
  Probe probe(points, elements);
  probe.spoil = [](double&, arma::mat& gradient)
  { gradient[0] = std::numeric_limits<double>::quiet_NaN(); };
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(1e-6, batchSize, points, -1);
  Optimize(optimizer, probe, iterate);
  CHECK(optimizer.Report().reason == dasgd::StopReason::NonFinite);
  CHECK(optimizer.Report().Advice() == "");
  CHECK(StillWorks());
}

TEST_CASE("A callback that changes the step leaves the theorem", "[step]")
{
  // On one rank only, and all reports say so; and what it turns off in the
  // middle of a run does not keep others waiting.
  Probe probe(points, elements);
  arma::mat iterate(elements, 1, arma::fill::ones);
  FixedDASGD optimizer(MeanStep(1e-6, batchSize), batchSize, points, -1);
  optimizer.RecordHistory() = true;
  Hooks hooks;
  hooks.step = [&]()
  {
    if (Rank() + 1 == Ranks())
    {
      optimizer.StepSize() *= 0.9;
      optimizer.RecordHistory() = false;
      optimizer.ExactObjective() = true;
    }
    return false;
  };
  Optimize(optimizer, probe, iterate, hooks);
  CHECK(optimizer.Report().outsideTheorem.find("StepSize()") !=
      std::string::npos);
  CHECK(optimizer.Report().recorded);
  CHECK(Same(optimizer.Report().Json()));
}
