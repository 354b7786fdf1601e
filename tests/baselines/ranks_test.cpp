/**
 * @file ranks_test.cpp
 *
 * What n ranks find together with each of the optimizers: the optimum, the same
 * model everywhere, every point once in every epoch.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include "catch.hpp"

#include <memory>
#include <numeric>

using namespace tests;

namespace {

/**
 * Ranks that compute wait for each other after every ten gradients, so that
 * none of them is left behind on a busy machine: where nobody waits, a rank
 * that has not begun holds the others back, and one that begins when all others
 * have finished learns nothing from them.
 */
class Meetings
{
 public:
  //! @param gradients That all ranks compute together, in equal shares.
  Meetings(Probe& probe,
           const bool computes,
           const size_t workers,
           const size_t gradients) :
      probe(probe),
      // Not all have exactly the same number of them.
      last(gradients / workers / 10 - 1)
  {
    MPI_Comm_split(MPI_COMM_WORLD, computes ? 0 : 1, int(Rank()), &comm);
    probe.onGradient = [this]() { Meet(); };
  }

  ~Meetings()
  {
    probe.onGradient = nullptr;
    MPI_Comm_free(&comm);
  }

  Meetings(const Meetings&) = delete;
  Meetings& operator=(const Meetings&) = delete;

 private:
  void Meet()
  {
    if (probe.calls % 10 != 0 || probe.calls / 10 > last)
      return;
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    dasgd::mpi::Await(request);
  }

  Probe& probe;
  size_t last;
  MPI_Comm comm;
};

/**
 * A convex problem that all of them solve.  With 30 points for each element the
 * eigenvalues of the mean Hessian are between 0.67 and 1.4, and all terms are 0
 * at the solution: there is no noise.  A gradient moves the mean of n models by
 * 1 / n of a step (the server's model by a whole one), so K gradients multiply
 * the error by exp(-0.67 * 0.08 * K / n): exp(-13) for K = 1000 and n = 4, and
 * exp(-6) for K = 500.  Ten gradients that another rank does not know yet make
 * little difference: 0.08 * 0.67 * 10 is 0.5.
 */
struct Convex
{
  static constexpr size_t elements = 64;
  static constexpr size_t points = 1920;
  static constexpr size_t batchSize = 120;
  static constexpr double step = 0.08;

  Probe probe{points, elements};
  arma::mat iterate{elements, 1, arma::fill::zeros};
  double start = probe.Objective(iterate);

  //! How much of the objective is left after so many gradients of all ranks.
  template<typename OptimizerType>
  double Left(OptimizerType& optimizer, const size_t gradients)
  {
    optimizer.StepSize() = MeanStep(step, batchSize);
    optimizer.BatchSize() = batchSize;
    optimizer.MaxIterations() = gradients * batchSize;
    optimizer.Tolerance() = -1;
    ShortenRounds(optimizer);
    // Only rank 0's starting point counts.
    if (Rank() != 0)
      iterate.fill(double(Rank()));
    std::unique_ptr<Meetings> meetings;
    if (optimizer.Sharing() == dasgd::Sharing::Static)
    {
      meetings = std::make_unique<Meetings>(probe, Computes<OptimizerType>(),
          Workers<OptimizerType>(), gradients);
    }
    const double objective = Optimize(optimizer, probe, iterate);
    CHECK(Same(iterate));
    CHECK(Same(objective));
    CHECK(Same(optimizer.Report().Json()));
    CHECK(optimizer.Report().objective == objective);
    return probe.Objective(iterate) / start;
  }
};

} // namespace

TEMPLATE_TEST_CASE("All ranks together reach the optimum and the same model",
    "[ranks]", DASGD_BASELINES)
{
  Convex convex;
  TestType optimizer;
  CHECK(convex.Left(optimizer, 1000) < 0.01);
  CHECK(arma::abs(convex.iterate - convex.probe.Solution()).max() < 0.05);
  CHECK(optimizer.Report().reason == dasgd::StopReason::Budget);
}

TEMPLATE_TEST_CASE("Together ranks find what none of them could find alone",
    "[ranks]", DASGD_BASELINES)
{
  // The gradients of each rank know some of the elements only; the others it
  // has to learn from the other ranks.  Without that, the mean of n models
  // keeps (n - 1) / n of the error: a quarter of the objective or more.  Here
  // 1000 / n gradients move an element of the mean, each by 1 / n of a step,
  // and leave exp(-0.67 * 0.08 * 1000 / 16) = 4 % of the error if n is 4.
  Convex convex;
  const size_t workers = Workers<TestType>();
  const size_t place = Rank() + workers - Ranks();
  convex.probe.spoil = [=](double&, arma::mat& gradient)
  {
    for (size_t i = 0; i < gradient.n_elem; ++i)
      gradient[i] *= (i % workers == place) ? 1 : 0;
  };
  TestType optimizer;
  CHECK(convex.Left(optimizer, 1000) < 0.1);
}

TEMPLATE_TEST_CASE("Other topologies lead to the optimum, too", "[ranks]",
    DASGD_BASELINES_ON_TOPOLOGIES)
{
  for (const char* topology : { "ring", "exponential", "tree" })
  {
    INFO(topology);
    Convex convex;
    TestType optimizer;
    optimizer.Topology() = topology;
    CHECK(convex.Left(optimizer, 500) < 0.1);
    CHECK(optimizer.Report().topology == dasgd::Topology(topology).Name());
  }
}

TEMPLATE_TEST_CASE("Dynamic sharing leads to the optimum and stops at "
    "MaxIterations()", "[ranks]", DASGD_BASELINES)
{
  // Here ranks cannot meet, for nobody knows how many gradients each computes;
  // and a rank that is never given a core counts as much in the mean of models
  // as one that has arrived.
  Convex convex;
  TestType optimizer;
  optimizer.Sharing() = dasgd::Sharing::Dynamic;
  CHECK(convex.Left(optimizer, 500) < (drifts<TestType> ? 1 : 0.1));
  const dasgd::Report& report = optimizer.Report();
  CHECK(report.Points() >= 500 * Convex::batchSize);
  CHECK(report.Overrun() == report.Points() - 500 * Convex::batchSize);
}

TEMPLATE_TEST_CASE("Sharded data leads to the optimum; a server holds none",
    "[ranks]", DASGD_BASELINES)
{
  // All shards have the same solution; each has points of its own.
  const size_t mine = Computes<TestType>() ?
      Convex::points / Workers<TestType>() : 0;
  Probe probe(mine, Convex::elements, Probe::LeastSquares, 1 + Rank());
  arma::mat iterate(Convex::elements, 1, arma::fill::zeros);
  const double start = Sum(probe.Objective(iterate));
  TestType optimizer(MeanStep(Convex::step, 80), 80, 500 * 80, -1);
  optimizer.Data() = dasgd::Data::Sharded;
  ShortenRounds(optimizer);
  {
    const Meetings meetings(probe, Computes<TestType>(), Workers<TestType>(),
        500);
    Optimize(optimizer, probe, iterate);
  }
  CHECK(Sum(probe.Objective(iterate)) < 0.1 * start);
  CHECK(Same(iterate));
  CHECK(Same(optimizer.Report().Json()));
  CHECK(optimizer.Report().Points() == 500 * 80);
  CHECK(optimizer.Report().epochPoints ==
      Workers<TestType>() * (Convex::points / Workers<TestType>()));
}

TEMPLATE_TEST_CASE("With static sharing every point is visited once in every "
    "epoch", "[ranks]", DASGD_BASELINES)
{
  // Were it not so in one of the epochs, it would show in the first run that
  // has it.
  for (const size_t epochs : { 1, 2, 3, 4, 7 })
  {
    INFO(epochs << " epochs");
    Probe probe(43, 3);
    arma::mat iterate(3, 1, arma::fill::zeros);
    TestType optimizer(MeanStep(1e-3, 4), 4, epochs * 43, -1);
    Hooks hooks;
    Optimize(optimizer, probe, iterate, hooks);
    SumUp(probe.visits);
    CHECK(probe.visits == std::vector<size_t>(43, epochs));
    CHECK(optimizer.Report().Points() == epochs * 43);
    CHECK(hooks.endEpochs == epochs);
  }
}

TEMPLATE_TEST_CASE("With static sharing MaxIterations() is met exactly",
    "[ranks]", DASGD_BASELINES)
{
  for (const size_t maxIterations : { 1, 3, 30, 97, 100, 201 })
  {
    INFO("maximum " << maxIterations);
    Probe probe(43, 3);
    arma::mat iterate(3, 1, arma::fill::zeros);
    TestType optimizer(MeanStep(1e-3, 4), 4, maxIterations, -1);
    Optimize(optimizer, probe, iterate);
    const std::vector<size_t> mine = probe.visits;
    size_t total = 0, wrong = 0;
    SumUp(probe.visits);
    for (const size_t visits : probe.visits)
    {
      total += visits;
      wrong += (visits < maxIterations / 43 || visits > maxIterations / 43 + 1);
    }
    CHECK(total == maxIterations);
    CHECK(wrong == 0);
    const dasgd::Report& report = optimizer.Report();
    CHECK(report.Points() == maxIterations);
    CHECK(Same(iterate));
    CHECK(Same(report.Json()));

    // Each rank knows what it did itself, and of all gradients.
    const size_t own = size_t(std::accumulate(mine.begin(), mine.end(),
        size_t(0)));
    CHECK(report.ranks[Rank()].points == own);
    CHECK(report.ranks[Rank()].computed == probe.calls);
    for (const dasgd::RankReport& rank : report.ranks)
      CHECK(rank.applied == report.Gradients());
    if (!Computes<TestType>())
      CHECK(own == 0);
  }
}

TEMPLATE_TEST_CASE("The tolerance rule sees the objective over all ranks",
    "[ranks]", DASGD_BASELINES)
{
  // Without steps and with integers, every epoch has exactly the same
  // objective, so the second one ends the run.  (Epochs that are shorter than
  // what may be under way between ranks take more.)
  Probe probe(803, 3, Probe::Linear);
  arma::mat iterate(3, 1, arma::fill::ones);
  TestType optimizer(0, 4, 0, 1e-5);
  Hooks hooks;
  double told = 0;
  hooks.endEpoch = [&told](size_t, const double objective)
  {
    told = objective;
    return false;
  };
  const double objective = Optimize(optimizer, probe, iterate, hooks);
  CHECK(objective == probe.Objective(iterate));
  CHECK(told == Approx(objective / 803));
  CHECK(hooks.endEpochs == 2);
  CHECK(hooks.beginEpochs == 2);
  CHECK(optimizer.Report().reason == dasgd::StopReason::Tolerance);
  CHECK(optimizer.Report().objective == objective);
  CHECK(Same(optimizer.Report().Json()));
}

TEMPLATE_TEST_CASE("ExactObjective() is the objective at the result",
    "[ranks]", DASGD_BASELINES)
{
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    INFO(dasgd::ToString(data));
    const bool sharded = (data == dasgd::Data::Sharded);
    Probe probe((sharded && !Computes<TestType>()) ? 0 : 43, 6,
        Probe::LeastSquares, sharded ? 1 + Rank() : 1);
    arma::mat iterate(6, 1, arma::fill::zeros);
    TestType optimizer(MeanStep(1e-3, 4), 4, 300, -1);
    optimizer.Data() = data;
    optimizer.ExactObjective() = true;
    const double objective = Optimize(optimizer, probe, iterate);
    const double direct = sharded ? Sum(probe.Objective(iterate)) :
        probe.Objective(iterate);
    // The same terms, added up in another order.
    CHECK(objective == Approx(direct).epsilon(1e-12));
    CHECK(Same(objective));
    CHECK(optimizer.Report().objective == objective);
  }
}
