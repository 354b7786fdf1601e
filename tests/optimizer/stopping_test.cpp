/**
 * @file stopping_test.cpp
 *
 * How a run ends without anything going wrong, and what Optimize() returns.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

using namespace tests;

TEST_CASE("The tolerance rule sees the objective over all ranks", "[stopping]")
{
  // Without steps and with integers, every epoch has exactly the same
  // objective, so the second one ends the run.
  for (const dasgd::Topology& topology : Topologies(Ranks()))
  {
    INFO(topology.Name());
    Probe probe(803, 3, Probe::Linear);
    arma::mat iterate(3, 1, arma::fill::ones);
    dasgd::DASGD<> optimizer(0, 4, 0, 1e-5);
    optimizer.Topology() = topology;
    Hooks hooks;
    const double objective = Optimize(optimizer, probe, iterate, hooks);
    CHECK(objective == probe.Objective(iterate));
    CHECK(hooks.endEpochs == 2);
    CHECK(hooks.beginEpochs == 2);
    CHECK(optimizer.Report().reason == dasgd::StopReason::Tolerance);
    CHECK(optimizer.Report().objective == objective);
  }
}

TEST_CASE("Epochs that are under way at once are not mistaken for the end",
    "[stopping]")
{
  // Three points, of which one moves by 7e-7 in each step and changes the
  // objective by 2e-9 in each epoch, twice the tolerance.  A rank that has not
  // heard of another's step finds the same objective again.
  ens::test::SGDTestFunction function;
  arma::mat iterate = function.GetInitialPoint<arma::mat>();
  dasgd::DASGD<> optimizer(0.0003, 1, 300000, 1e-9);
  optimizer.Optimize(function, iterate);
  CHECK(optimizer.Report().reason == dasgd::StopReason::Budget);
}

TEST_CASE("The tolerance rule is decided alike on all ranks", "[stopping]")
{
  // Steps so small that the run is stable even if the machine is so busy that
  // ranks take turns of many thousand gradients each.
  for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
      dasgd::Sharing::Dynamic })
  {
    for (const double tolerance : { 10.0, 1.0 })
    {
      INFO(dasgd::ToString(sharing) << ", " << tolerance);
      Probe probe(97, 6);
      arma::mat iterate(6, 1, arma::fill::zeros);
      dasgd::DASGD<> optimizer(MeanStep(1e-6, 4), 4, 0, tolerance);
      optimizer.Sharing() = sharing;
      Hooks hooks;
      const double objective = Optimize(optimizer, probe, iterate, hooks);
      CHECK(optimizer.Report().reason == dasgd::StopReason::Tolerance);
      CHECK(Same(objective));
      CHECK(Same(iterate));
      CHECK(Same(optimizer.Report().Json()));
      if (sharing == dasgd::Sharing::Static)
        CHECK(Same(double(hooks.endEpochs)));
    }
  }
}

TEST_CASE("The returned objective is the same on all ranks", "[stopping]")
{
  for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
      dasgd::Sharing::Dynamic })
  {
    for (const size_t maxIterations : { 30, 97, 291, 1000 })
    {
      INFO(dasgd::ToString(sharing) << ", " << maxIterations);
      Probe probe(97, 6);
      arma::mat iterate(6, 1, arma::fill::zeros);
      dasgd::DASGD<> optimizer(MeanStep(0.005, 4), 4, maxIterations, -1);
      optimizer.Sharing() = sharing;
      const double objective = Optimize(optimizer, probe, iterate);
      CHECK(Same(objective));
      CHECK(optimizer.Report().objective == objective);
      CHECK(Same(optimizer.Report().Json()));
    }
  }
}

TEST_CASE("Without steps the returned objective is that of the last epoch",
    "[stopping]")
{
  // What ens::SGD returns at more than one epoch differs between its versions,
  // and one rank follows it; see one_rank_test.cpp.
  if (Ranks() == 1)
    return;
  Probe probe(43, 3, Probe::Linear);
  arma::mat iterate(3, 1, arma::fill::ones);
  dasgd::DASGD<> optimizer(0, 4, 3 * 43, -1);
  CHECK(Optimize(optimizer, probe, iterate) == probe.Objective(iterate));
}

TEST_CASE("ExactObjective() is the objective at the result", "[stopping]")
{
  const auto check = [](const dasgd::Data data,
                        const size_t maxIterations,
                        const double tolerance,
                        const bool stop)
  {
    Probe probe(43, 6, Probe::LeastSquares, 1 + (data ==
        dasgd::Data::Sharded ? Rank() : 0));
    arma::mat iterate(6, 1, arma::fill::zeros);
    dasgd::DASGD<> optimizer(MeanStep(1e-6, 4), 4, maxIterations, tolerance);
    optimizer.Data() = data;
    optimizer.ExactObjective() = true;
    Hooks hooks;
    hooks.step = [stop]() { return stop; };
    const double objective = Optimize(optimizer, probe, iterate, hooks);
    const double direct = (data == dasgd::Data::Sharded) ?
        Sum(probe.Objective(iterate)) : probe.Objective(iterate);
    // The same terms, added up in another order.
    CHECK(objective == Approx(direct).epsilon(1e-12));
    CHECK(Same(objective));
    CHECK(optimizer.Report().objective == objective);
    return optimizer.Report().reason;
  };
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    INFO(dasgd::ToString(data));
    CHECK(check(data, 200, -1, false) == dasgd::StopReason::Budget);
    CHECK(check(data, 0, 1, false) == dasgd::StopReason::Tolerance);
    CHECK(check(data, 0, -1, true) == dasgd::StopReason::Callback);
  }
}

TEST_CASE("MaxIterations below the number of ranks leaves some without work",
    "[stopping]")
{
  Probe probe(43, 3, Probe::Linear);
  arma::mat iterate(3, 1, arma::fill::zeros);
  dasgd::DASGD<> optimizer(1, 4, 1, -1);
  Hooks hooks;
  Optimize(optimizer, probe, iterate, hooks);
  CHECK(optimizer.Report().Gradients() == 1);
  CHECK(hooks.ends == 1);
  CHECK(Same(iterate));
}
