/**
 * @file history_test.cpp
 *
 * Recorded runs, and runs on virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <dasgd/optimizer/simulate.hpp>

using namespace tests;

TEST_CASE("A recorded run tells who applied what", "[history]")
{
  for (const char* topology : { "complete", "ring" })
  {
    Probe probe(40 * Ranks(), 3);
    arma::mat iterate(3, 1, arma::fill::ones);
    FixedDASGD optimizer(MeanStep(1e-6, 4), 4, 80 * Ranks(), -1);
    optimizer.Topology() = topology;
    optimizer.Window() = 5;
    optimizer.RecordHistory() = true;
    Optimize(optimizer, probe, iterate);

    const dasgd::Report& report = optimizer.Report();
    const dasgd::History& history = optimizer.History();
    INFO(topology);
    CHECK(report.recorded);
    CHECK(history.size() == (Rank() == 0 ? Ranks() : 0));
    for (size_t i = 0; i < history.size(); ++i)
    {
      CHECK(history[i].Computed() == report.ranks[i].computed);
      std::uint64_t applied = 0;
      dasgd::HistoryStaleness::Walk(history[i], i, [&](size_t,
          std::uint64_t, const std::uint64_t count) { applied += count; });
      CHECK(applied == report.Gradients());
    }
    for (const dasgd::RankReport& rank : report.ranks)
    {
      CHECK(rank.staleness.Measured() == report.Gradients());
      CHECK(rank.looseStaleness.Measured() == report.Gradients());
      CHECK(rank.looseStaleness.Sum() >= rank.staleness.Sum());
    }
    CHECK(report.LooseMax() >= report.StalenessMax());
    CHECK(report.LooseAverage() >= report.StalenessAverage());
    CHECK(Same(report.Json()));

    // The next run is not recorded.
    optimizer.RecordHistory() = false;
    Optimize(optimizer, probe, iterate);
    CHECK(optimizer.History().empty());
    CHECK(!optimizer.Report().recorded);
    CHECK(optimizer.Report().LooseMax() == 0);
  }
}

TEST_CASE("A run that fails is recorded as far as it went", "[history]")
{
  Probe probe(40 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  if (Rank() + 1 == Ranks())
  {
    probe.onGradient = [&]()
    {
      if (probe.calls > 5)
        throw std::runtime_error("enough");
    };
  }
  FixedDASGD optimizer(1e-6, 4, 0, -1);
  optimizer.RecordHistory() = true;
  const Ending ending = Try([&]()
      { return Optimize(optimizer, probe, iterate); });
  CHECK(ending.kind == Ending::RuntimeError);
  CHECK(optimizer.Report().recorded);
  if (Rank() == 0)
    CHECK(optimizer.History().size() == Ranks());
  CHECK(StillWorks());
}

namespace {

//! Simulate a run of so many ranks.
double Simulate(dasgd::DASGD<>& optimizer,
                const size_t ranks,
                const Probe& probe,
                arma::mat& iterate,
                const std::vector<double>& seconds)
{
  std::vector<Probe> probes(ranks, probe);
  std::vector<Hooks> hooks(ranks);
  dasgd::SimCluster machine;
  machine.computeSeconds = seconds;
  machine.link = [](size_t, size_t)
  {
    dasgd::SimLink link;
    link.latency = 0.01;
    return link;
  };
  return dasgd::Simulate(optimizer, probes, iterate, machine, hooks);
}

} // namespace

TEST_CASE("Simulated with one rank it is ens::SGD", "[history]")
{
  Probe probe(50, 3), other(50, 3);
  arma::mat iterate(3, 1, arma::fill::ones), expected = iterate;
  FixedDASGD optimizer(MeanStep(0.01, 4), 4, 500, -1, false);
  ens::SGD<> serial(MeanStep(0.01, 4), 4, 500, -1, false);
  const double objective = Simulate(optimizer, 1, probe, iterate, { 2.0 });
  CHECK(objective == serial.Optimize(other, expected));
  CHECK(arma::all(arma::vectorise(iterate) == arma::vectorise(expected)));
  // 500 points are ten epochs of 12 batches of 4 and one of 2, of 2 s each.
  CHECK(optimizer.Report().seconds == Approx(10 * 13 * 2.0));
}

TEST_CASE("SGDR restarts by the epochs of all simulated ranks", "[history]")
{
  const Probe probe(48, 3);
  Probe other(48, 3);
  const arma::mat start(3, 1, arma::fill::ones);
  arma::mat iterate = start, expected = start;
  dasgd::SGDR<> optimizer(2, 2.0, 4, MeanStep(0.01, 4), 48 * 10, -1, false);
  ens::SGDR<> serial(2, 2.0, 4, MeanStep(0.01, 4), 48 * 10, -1, false);
  dasgd::SimCluster machine;
  machine.computeSeconds = { 1 };
  std::vector<Probe> one(1, probe), three(3, probe);
  const double objective = dasgd::Simulate(optimizer, one, iterate, machine);
  CHECK(objective == serial.Optimize(other, expected));
  CHECK(arma::all(arma::vectorise(iterate) == arma::vectorise(expected)));

  machine.computeSeconds = { 1, 1, 1 };
  arma::mat shared = start;
  dasgd::Simulate(optimizer, three, shared, machine);
  // As many steps of the same sizes; each rank has a momentum of its own.
  CHECK(probe.Objective(expected) < 0.2 * probe.Objective(start));
  CHECK(probe.Objective(shared) < 0.2 * probe.Objective(start));
}

TEST_CASE("Simulated ranks share the work and end alike", "[history]")
{
  Probe probe(64, 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  const double before = probe.Objective(iterate);
  FixedDASGD optimizer(MeanStep(0.02, 4), 4, 64 * 40, -1);
  optimizer.RecordHistory() = true;
  optimizer.Topology() = "ring";
  Simulate(optimizer, 4, probe, iterate, { 1, 1, 1, 1 });
  const dasgd::Report& report = optimizer.Report();
  CHECK(report.ranks.size() == 4);
  CHECK(report.Points() == 64 * 40);
  for (const dasgd::RankReport& rank : report.ranks)
  {
    CHECK(rank.applied == 640);
    CHECK(rank.computed == 160);
  }
  CHECK(report.Deviation() < 1e-12);
  CHECK(probe.Objective(iterate) < 0.01 * before);
  CHECK(report.recorded);
  CHECK(report.LooseMax() >= report.StalenessMax());
  CHECK(optimizer.History().size() == 4);
  // 160 gradients of a second each, and the last frames around the ring.
  CHECK(report.seconds > 160);
  CHECK(report.seconds < 163);

  // Callbacks hear of the beginning and of the end, once on each rank.
  {
    std::vector<Probe> each(2, probe);
    std::vector<Hooks> hooks(2);
    dasgd::SimCluster two;
    two.computeSeconds = { 1, 1 };
    arma::mat other(3, 1, arma::fill::ones);
    FixedDASGD brief(MeanStep(1e-3, 4), 4, 64, -1);
    dasgd::Simulate(brief, each, other, two, hooks);
    for (const Hooks& heard : hooks)
    {
      CHECK(heard.begins == 1);
      CHECK(heard.ends == 1);
    }
  }

  // The same seed, the same run.
  arma::mat again(3, 1, arma::fill::ones);
  FixedDASGD second(optimizer);
  std::vector<Probe> probes(4, probe);
  dasgd::SimCluster machine;
  machine.computeSeconds.assign(4, 1.0);
  machine.link = [](size_t, size_t)
  {
    dasgd::SimLink link;
    link.latency = 0.01;
    return link;
  };
  dasgd::Simulate(second, probes, again, machine);
  CHECK(arma::all(arma::vectorise(iterate) == arma::vectorise(again)));
}

TEST_CASE("A simulation that was not fully described is refused", "[history]")
{
  Probe probe(64, 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  FixedDASGD optimizer;
  const Ending ending = Try([&]()
      { return Simulate(optimizer, 3, probe, iterate, { 1, 1 }); });
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("computeSeconds has 2 entries"));
  CHECK(ending.Says("3 functions"));

  const auto refused = [&](const size_t ranks,
      const std::vector<double>& seconds, const std::string& text)
  {
    const Ending other = Try([&]()
        { return Simulate(optimizer, ranks, probe, iterate, seconds); });
    INFO(other);
    CHECK(other.kind == Ending::InvalidArgument);
    CHECK(other.Says(text));
  };
  refused(0, { }, "no functions");
  refused(2, { 1, -1 }, "computeSeconds of rank 1");
  optimizer.Window() = 5000;
  refused(2, { 1, 1 }, "Window()");
  optimizer.Window() = 2;
  optimizer.BatchSize() = 0;
  refused(2, { 1, 1 }, "BatchSize()");
}

TEST_CASE("Simulated runs know AutoStep, and what to say when they diverge",
    "[history]")
{
  Probe probe(64, 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  const double before = probe.Objective(iterate);
  dasgd::DASGD<> optimizer(dasgd::AutoStep, 4, 64 * 40, -1);
  Simulate(optimizer, 4, probe, iterate, { 1, 1, 1, 1 });
  const dasgd::Report& report = optimizer.Report();
  // The step is chosen for the staleness to expect already.
  CHECK(report.damping == 0);
  CHECK(report.autoStep);
  CHECK(report.smoothness > 0);
  CHECK(report.stepSize > 0);
  CHECK(report.stepSize < report.StepLimit());
  CHECK(optimizer.StepSize() == dasgd::AutoStep);
  CHECK(probe.Objective(iterate) < before);

  optimizer.StepSize() = 1e4;
  iterate.ones();
  optimizer.MaxIterations() = 0;
  Simulate(optimizer, 4, probe, iterate, { 1, 1, 1, 1 });
  CHECK(optimizer.Report().reason == dasgd::StopReason::NonFinite);
  CHECK(optimizer.Report().Advice().find("exceeds") != std::string::npos);
}
