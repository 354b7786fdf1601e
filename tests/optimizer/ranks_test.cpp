/**
 * @file ranks_test.cpp
 *
 * What n ranks find together: the optimum, the same model everywhere, every
 * gradient once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

using namespace tests;

namespace {

/**
 * A convex problem that every schedule solves.  On an overloaded machine a rank
 * may not run for many milliseconds, while n - 1 others compute k gradients
 * each that nobody has seen.  Applied together, n such bursts move the error
 * by 1 - n (1 - (1 - eta L)^k), so no schedule diverges while n k eta L < 2.
 * With eta L of at most 0.0015 and a gradient that takes some 20 us, that
 * allows for over 1300 unseen gradients, or every core being 25 ms ahead.  All
 * terms are 0 at the solution, so there is no noise that would call for a
 * smaller step.
 */
struct Convex
{
  static constexpr size_t elements = 64;
  static constexpr size_t points = 1920;
  static constexpr size_t batchSize = 120;
  static constexpr double step = 0.001;

  Probe probe{points, elements};
  arma::mat iterate{elements, 1, arma::fill::zeros};
  double start = probe.Objective(iterate);

  //! How much of the objective is left after so many gradients of all ranks.
  double Left(dasgd::DASGD<>& optimizer, const size_t gradients)
  {
    optimizer.StepSize() = MeanStep(step, batchSize);
    optimizer.BatchSize() = batchSize;
    optimizer.MaxIterations() = gradients * batchSize;
    optimizer.Tolerance() = -1;
    Optimize(optimizer, probe, iterate);
    return probe.Objective(iterate) / start;
  }
};

} // namespace

TEST_CASE("On a convex problem all ranks together reach the optimum",
    "[ranks]")
{
  // With 30 points for each element the smallest eigenvalue of the mean Hessian
  // is about 0.67 and the largest 1.4.  After 8000 gradients the slowest part
  // of the error is exp(-0.67 * 0.001 * 8000) = 0.5 % of what it was, and the
  // objective 0.002 %.
  Convex convex;
  FixedDASGD optimizer;
  CHECK(convex.Left(optimizer, 8000) < 1e-4);
  CHECK(arma::abs(convex.iterate - convex.probe.Solution()).max() < 0.02);
  CHECK(Same(convex.iterate));
}

TEST_CASE("Other topologies, dynamic sharing and sharded data converge, too",
    "[ranks]")
{
  // After 2000 gradients at most exp(-2 * 0.67 * 2) = 7 % is left.
  SECTION("exponential")
  {
    Convex convex;
    FixedDASGD optimizer;
    optimizer.Topology() = "exponential";
    CHECK(convex.Left(optimizer, 2000) < 0.15);
  }
  SECTION("ring, dynamic")
  {
    Convex convex;
    FixedDASGD optimizer;
    optimizer.Topology() = "ring";
    optimizer.Sharing() = dasgd::Sharing::Dynamic;
    CHECK(convex.Left(optimizer, 2000) < 0.15);
  }
  SECTION("tree, sharded")
  {
    // All shards have the same solution; each has points of its own.
    Probe probe(Convex::points / Ranks(), Convex::elements,
        Probe::LeastSquares, 1 + Rank());
    arma::mat iterate(Convex::elements, 1, arma::fill::zeros);
    const double start = Sum(probe.Objective(iterate));
    FixedDASGD optimizer(MeanStep(Convex::step, 80), 80, 2000 * 80, -1);
    optimizer.Topology() = "tree";
    optimizer.Data() = dasgd::Data::Sharded;
    Optimize(optimizer, probe, iterate);
    CHECK(Sum(probe.Objective(iterate)) < 0.15 * start);
    CHECK(Same(iterate));
  }
}

TEST_CASE("With full gradients and a small step the loss is that of ens::SGD",
    "[ranks]")
{
  // Every rank holds all the points and every batch is all of them, so that
  // every gradient is a full gradient; both optimizers take K steps.
  const size_t gradients = 240;
  const size_t points = 60, elements = 6;
  // The mean Hessian's largest eigenvalue is at most its trace: L = 3 * 6.  All
  // K steps together move the gradient by at most K eta L = 2 % of its size G,
  // wherever they are computed.  So two schedules end at most
  // K eta * 2 * 0.02 G apart, and their losses differ by at most G times that:
  // 4 % of the decrease K eta G^2, however stale the gradients are.
  const double step = 0.02 / (double(gradients) * 18);

  Probe ours(points, elements), theirs(points, elements);
  arma::mat iterate(elements, 1, arma::fill::zeros);
  arma::mat expected = iterate;
  const double start = ours.Objective(iterate);

  ens::StandardSGD sgd(MeanStep(step, points), points, gradients * points, -1,
      false);
  sgd.Optimize(theirs, expected);
  const double loss = theirs.Objective(expected);

  FixedDASGD optimizer(MeanStep(step, points), points, gradients * points,
      -1, false);
  optimizer.Data() = dasgd::Data::Sharded;
  Optimize(optimizer, ours, iterate);

  CHECK(optimizer.Report().Gradients() == gradients);
  CHECK(loss < start);
  CHECK(std::abs(ours.Objective(iterate) - loss) < 0.05 * (start - loss));
}

TEST_CASE("Every gradient is applied exactly once on every rank", "[ranks]")
{
  // Gradients are integers that do not depend on the iterate: every sum is
  // exact, and one gradient too many or too few cannot hide.
  for (const dasgd::Sharing sharing : { dasgd::Sharing::Static,
      dasgd::Sharing::Dynamic })
  {
    for (const dasgd::Topology& topology : Topologies(Ranks()))
    {
      INFO(topology.Name() << ", " << dasgd::ToString(sharing));
      Probe probe(240, 5, Probe::Linear);
      arma::mat iterate(5, 1, arma::fill::zeros);
      FixedDASGD optimizer(1, 1, 720, -1, true);
      optimizer.Topology() = topology;
      optimizer.Sharing() = sharing;
      Optimize(optimizer, probe, iterate);

      // What all visits amount to.
      SumUp(probe.visits);
      const Probe points(240, 5, Probe::Linear);
      arma::mat expected(5, 1, arma::fill::zeros);
      for (size_t i = 0; i < probe.visits.size(); ++i)
      {
        for (size_t k = 0; k < 5; ++k)
          expected[k] -= double(probe.visits[i]) * points.Point(i)[k];
      }
      CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
      CHECK(Same(iterate));

      const dasgd::Report& report = optimizer.Report();
      CHECK(report.Deviation() == 0);
      for (const dasgd::RankReport& rank : report.ranks)
        CHECK(rank.applied == report.Gradients());
    }
  }
}

TEST_CASE("All ranks end with the same bits on every topology", "[ranks]")
{
  for (const dasgd::Topology& topology : Topologies(Ranks()))
  {
    INFO(topology.Name());
    Probe probe(240, 12);
    // Only rank 0's starting point counts.
    arma::mat iterate(4, 3);
    iterate.fill(double(Rank()));
    FixedDASGD optimizer(MeanStep(0.01, 4), 4, 720, -1, true);
    optimizer.Topology() = topology;
    const double objective = Optimize(optimizer, probe, iterate);
    CHECK(Same(iterate));
    CHECK(Same(objective));
    CHECK(iterate.is_finite());
    // Rounding is all that may drive replicas apart.
    CHECK(optimizer.Report().Deviation() < 1e-10);
  }
}

TEST_CASE("Momentum, Adam and single precision end alike everywhere",
    "[ranks]")
{
  const auto check = [](auto optimizer, auto iterate)
  {
    using MatType = decltype(iterate);
    ProbeType<arma::Mat<typename MatType::elem_type>> probe(240, 6);
    optimizer.StepSize() = MeanStep(0.002, 4);
    optimizer.BatchSize() = 4;
    optimizer.MaxIterations() = 1200;
    optimizer.Tolerance() = -1;
    optimizer.Topology() = "exponential";
    iterate.zeros(6);
    const double start = Sum(double(probe.Objective(iterate)));
    const double objective = double(optimizer.Optimize(probe, iterate));
    CHECK(Same(arma::Mat<typename MatType::elem_type>(iterate)));
    CHECK(Same(objective));
    CHECK(iterate.is_finite());
    CHECK(Sum(double(probe.Objective(iterate))) < start);
    CHECK(optimizer.Report().elementBytes ==
        sizeof(typename MatType::elem_type));
    return optimizer.Report().outsideTheorem;
  };
  CHECK(check(FixedDASGD(), arma::vec()) == "");
  CHECK(check(FixedDASGD(), arma::fvec()) == "");
  CHECK(check(dasgd::DASGD<ens::MomentumUpdate>(), arma::vec()) != "");
  CHECK(check(dasgd::DASGD<ens::AdamUpdate>(), arma::vec()) != "");
  CHECK(check(dasgd::DASGD<ens::AdamUpdate>(), arma::fvec()) != "");
}
