/**
 * @file report_test.cpp
 *
 * The account of a run of these optimizers: the same everywhere, and it says
 * which it was.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include "catch.hpp"

#include <sstream>

using namespace tests;
using Catch::Matchers::ContainsSubstring;

TEMPLATE_TEST_CASE("The report is the same on all ranks and names the "
    "algorithm", "[report]", DASGD_BASELINES)
{
  Probe probe(60, 6);
  arma::mat iterate(6, 1, arma::fill::zeros);
  TestType optimizer(MeanStep(0.01, 4), 4, 300, -1);
  Optimize(optimizer, probe, iterate);
  const dasgd::Report& report = optimizer.Report();
  CHECK(report.algorithm == NameOf(optimizer));
  CHECK(report.ranks.size() == Ranks());
  CHECK(report.elements == 6);
  CHECK(report.epochPoints == 60);
  CHECK(report.maxIterations == 300);
  CHECK(report.reason == dasgd::StopReason::Budget);
  CHECK(Same(report.Json()));
  CHECK_THAT(report.Json(), ContainsSubstring("\"" + NameOf(optimizer) + "\""));

  std::ostringstream table;
  table << report;
  CHECK_THAT(table.str(), ContainsSubstring(NameOf(optimizer)));
  CHECK(Same(table.str()));
}

TEMPLATE_TEST_CASE("The paper's theorem is not said to cover the run",
    "[report]", DASGD_BASELINES)
{
  Probe probe(60, 6);
  arma::mat iterate(6, 1, arma::fill::zeros);
  TestType optimizer(MeanStep(0.01, 4), 4, 300, -1);
  optimizer.Smoothness() = 3;
  Optimize(optimizer, probe, iterate);
  CHECK(optimizer.Report().outsideTheorem != "");
  CHECK(Same(optimizer.Report().Json()));
}

TEMPLATE_TEST_CASE("Frames and bytes are counted if there is anybody else",
    "[report]", DASGD_BASELINES)
{
  Probe probe(60, 6);
  arma::mat iterate(6, 1, arma::fill::zeros);
  TestType optimizer(MeanStep(0.01, 4), 4, 300, -1);
  Optimize(optimizer, probe, iterate);
  std::uint64_t sent = 0, received = 0;
  for (const dasgd::RankReport& rank : optimizer.Report().ranks)
  {
    sent += rank.bytesSent;
    received += rank.bytesReceived;
    CHECK((rank.framesSent > 0) == (Ranks() > 1));
    CHECK((rank.framesReceived > 0) == (Ranks() > 1));
    // The synchronous ones hold none.
    CHECK(rank.peakVectors <= rank.vectorBound);
  }
  // What one sends another gets.
  CHECK(sent == received);
  CHECK((sent > 0) == (Ranks() > 1));
}

TEMPLATE_TEST_CASE("Live() shows callbacks the counts of the run under way",
    "[report]", DASGD_BASELINES)
{
  Endless<TestType> run;
  run.optimizer.MaxIterations() = 20 * Ranks();
  CHECK(run.optimizer.Live() == nullptr);
  size_t missing = 0, behind = 0, looks = 0;
  std::uint64_t last = 0;
  const auto look = [&]()
  {
    ++looks;
    const dasgd::RankReport* live = run.optimizer.Live();
    missing += (live == nullptr);
    if (!live)
      return false;
    behind += (live->computed < last);
    last = live->computed;
    return false;
  };
  run.hooks.begin = [&]() { look(); };
  run.hooks.gradient = look;
  run.hooks.step = look;
  run.hooks.endEpoch = [&](size_t, double) { return look(); };
  CHECK(run.Run().kind == Ending::Returned);
  CHECK(looks > 20);
  CHECK(missing == 0);
  CHECK(behind == 0);
  // The last epoch ends after the last gradient.
  CHECK(last == run.optimizer.Report().ranks[Rank()].computed);
  CHECK(run.optimizer.Live() == nullptr);
}

TEMPLATE_TEST_CASE("An optimizer can be used again, and copied", "[report]",
    DASGD_BASELINES)
{
  TestType optimizer(MeanStep(0.01, 4), 4, 300, -1);
  TestType copy = optimizer;
  for (TestType* each : { &optimizer, &copy, &optimizer })
  {
    Probe probe(60, 6);
    arma::mat iterate(6, 1, arma::fill::zeros);
    const double start = probe.Objective(iterate);
    Optimize(*each, probe, iterate);
    CHECK(probe.Objective(iterate) < start);
    CHECK(each->Report().Points() == 300);
    CHECK(Same(iterate));
  }
}
