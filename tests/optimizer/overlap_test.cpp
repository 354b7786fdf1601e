/**
 * @file overlap_test.cpp
 *
 * An exchange in a thread while gradients are computed: what Optimize()
 * promises without it, it promises with it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <filesystem>
#include <unistd.h>

using namespace tests;

TEST_CASE("Every gradient is applied once if ranks exchange while they compute",
    "[overlap]")
{
  for (const dasgd::Topology& topology : std::vector<dasgd::Topology>{
      "complete", "exponential", "ring", "tree:2" })
  {
    for (const dasgd::Sharing sharing :
        { dasgd::Sharing::Static, dasgd::Sharing::Dynamic })
    {
      INFO(topology.Name());
      // Sums of integers, times a power of two: exact in whatever order.
      Probe probe(24 * Ranks(), 5, Probe::Linear);
      arma::mat iterate(5, 1, arma::fill::zeros);
      const arma::mat gradient = probe.FullGradient(iterate);
      FixedDASGD optimizer(MeanStep(0.25, 4), 4, 3 * 24 * Ranks(), -1);
      optimizer.Topology() = topology;
      optimizer.Sharing() = sharing;
      optimizer.Overlap() = dasgd::Overlap::Always;
      Optimize(optimizer, probe, iterate);
      const dasgd::Report& report = optimizer.Report();
      CHECK(report.overlap.used == (Ranks() > 1));
      CHECK(report.overlap.obstacle == "");
      CHECK(Same(iterate));
      CHECK(report.Deviation() == 0);
      std::vector<size_t> visits = probe.visits;
      SumUp(visits);
      size_t all = 0;
      for (const size_t count : visits)
        all += count;
      CHECK(all == report.Points());
      for (const dasgd::RankReport& rank : report.ranks)
      {
        CHECK(rank.applied == report.Gradients());
        CHECK(rank.peakVectors <= rank.vectorBound);
        CHECK(rank.staleness.Measured() + rank.staleness.Skipped() ==
            report.Gradients());
      }
      if (sharing == dasgd::Sharing::Static)
      {
        CHECK(visits == std::vector<size_t>(visits.size(), 3));
        CHECK(arma::all(arma::vectorise(iterate) ==
            arma::vectorise(-3 * 0.25 / 4 * gradient)));
      }
    }
  }
}

TEST_CASE("Stops and exceptions reach all ranks that exchange beside computing",
    "[overlap]")
{
  Probe probe(40 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  FixedDASGD optimizer(1e-6, 4, 0, -1);
  optimizer.Topology() = "ring";
  optimizer.Overlap() = dasgd::Overlap::Always;
  SECTION("a callback stops")
  {
    Hooks hooks;
    if (Rank() + 1 == Ranks())
    {
      hooks.step = [&]()
      {
        CHECK(optimizer.Live() != nullptr);
        return hooks.steps > 20;
      };
    }
    Optimize(optimizer, probe, iterate, hooks);
    CHECK(optimizer.Report().reason == dasgd::StopReason::Callback);
    CHECK(optimizer.Report().stopRank == Ranks() - 1);
    CHECK(Same(iterate));
  }
  SECTION("a function throws")
  {
    if (Rank() + 1 == Ranks())
    {
      probe.onGradient = [&]()
      {
        if (probe.calls > 15)
          throw std::runtime_error("enough");
      };
    }
    const Ending ending = Try([&]()
        { return Optimize(optimizer, probe, iterate); });
    CHECK(ending.kind == Ending::RuntimeError);
    CHECK(ending.text.find("enough") != std::string::npos);
  }
  SECTION("a gradient is not finite")
  {
    if (Rank() == 0)
    {
      probe.spoil = [&](double&, arma::mat& gradient)
      {
        if (probe.calls > 15)
          gradient[0] = arma::datum::nan;
      };
    }
    Optimize(optimizer, probe, iterate);
    CHECK(optimizer.Report().reason == dasgd::StopReason::NonFinite);
    CHECK(iterate.is_finite());
  }
  CHECK(StillWorks());
}

TEST_CASE("A checkpoint holds what the model has applied, whatever has arrived",
    "[overlap]")
{
  const std::string path = "/tmp/dasgd_overlap_" + std::to_string(size_t(
      Gather(double(getpid())).front()));
  const size_t points = 24 * Ranks();
  Probe probe(points, 5, Probe::Linear);
  arma::mat iterate(5, 1, arma::fill::zeros);
  const arma::mat gradient = probe.FullGradient(iterate);
  FixedDASGD optimizer(MeanStep(0.25, 4), 4, 20 * points, -1);
  optimizer.Topology() = "exponential";
  optimizer.Overlap() = dasgd::Overlap::Always;
  optimizer.Checkpoint(path, 0);
  Hooks hooks;
  if (Rank() == 0)
    hooks.step = [&hooks]() { return hooks.steps == 30; };
  Optimize(optimizer, probe, iterate, hooks);
  CHECK(optimizer.Report().Points() < 20 * points);
  // Another process, for all that the optimizer knows.
  dasgd::FinishedCheckpoints().clear();
  Probe again(points, 5, Probe::Linear);
  Optimize(optimizer, again, iterate);
  CHECK(optimizer.Report().resumed);
  CHECK(Same(iterate));
  // Each point twenty times, in two lives.
  CHECK(arma::all(arma::vectorise(iterate) ==
      arma::vectorise(-20 * 0.25 / 4 * gradient)));
  if (Rank() == 0)
    std::filesystem::remove(path);
}

TEST_CASE("The report says why there was no exchange while computing",
    "[overlap]")
{
  Probe probe(40 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::ones);
  FixedDASGD optimizer(1e-6, 4, 40 * Ranks(), -1);
  // Nothing is relayed.
  Optimize(optimizer, probe, iterate);
  CHECK(!optimizer.Report().overlap.used);
  CHECK(optimizer.Report().overlap.obstacle == "");
  optimizer.Overlap() = dasgd::Overlap::Always;
  optimizer.RecordHistory() = true;
  Optimize(optimizer, probe, iterate);
  CHECK(!optimizer.Report().overlap.used);
  CHECK((optimizer.Report().overlap.obstacle == "a history was recorded") ==
      (Ranks() > 1));
  optimizer.RecordHistory() = false;
  optimizer.Overlap() = dasgd::Overlap::Never;
  optimizer.Topology() = "ring";
  Optimize(optimizer, probe, iterate);
  CHECK(!optimizer.Report().overlap.used);
}

TEST_CASE("Overlap::Auto sees long frames between machines", "[overlap]")
{
  FixedDASGD settings(0.1, 1);
  dasgd::Placement placement;
  placement.topology = dasgd::Topology::Complete();
  const auto used = [&](const std::vector<size_t>& machines, const size_t bytes)
  {
    placement.machines = machines;
    return dasgd::ChooseOverlap<dasgd::DasgdAlgorithm>(settings, placement,
        bytes, false, true).used;
  };
  CHECK(used({ 0, 1 }, 80000000));
  CHECK(!used({ 0, 1 }, 8000000));
  // On one machine frames do not wait for calls.
  CHECK(!used({ 0, 0 }, 80000000));
  settings.Overlap() = dasgd::Overlap::Never;
  CHECK(!used({ 0, 1 }, 80000000));
}

TEST_CASE("Overlap::Auto asks for relays and for cores", "[overlap]")
{
  using dasgd::Overlap;
  using dasgd::OverlapChoice;
  CHECK(OverlapChoice(Overlap::Auto, true, false, true, false).used);
  CHECK(!OverlapChoice(Overlap::Auto, false, false, true, false).used);
  CHECK(!OverlapChoice(Overlap::Auto, true, true, true, false).used);
  CHECK(OverlapChoice(Overlap::Always, false, true, true, false).used);
  CHECK(!OverlapChoice(Overlap::Never, true, false, true, false).used);
  const OverlapChoice without(Overlap::Auto, true, false, false, false);
  CHECK(!without.used);
  CHECK(without.obstacle.find("MPI_THREAD_MULTIPLE") != std::string::npos);
}
