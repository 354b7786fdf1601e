/**
 * @file reuse_test.cpp
 *
 * One optimizer, many runs: again, on other functions, as copies, and on other
 * communicators.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

using namespace tests;

namespace {

//! Halves the step size after each step.
struct Halve
{
  template<typename MatType, typename GradType>
  struct Policy
  {
    explicit Policy(Halve&) { }
    void Update(MatType&, double& stepSize, const GradType&) { stepSize /= 2; }
  };
};

/**
 * A run whose result is exact: every point's gradient once.
 *
 * @return Was that the result?
 */
template<typename OptimizerType>
bool Exact(OptimizerType& optimizer,
           const size_t points,
           const size_t rows,
           const size_t cols = 1)
{
  const MPI_Comm comm = optimizer.Communicator();
  Probe probe(points, rows * cols, Probe::Linear);
  arma::mat iterate(rows, cols, arma::fill::zeros);
  const arma::mat expected = -probe.FullGradient(iterate);
  optimizer.StepSize() = 1;
  optimizer.BatchSize() = 1;
  optimizer.MaxIterations() = points;
  optimizer.Tolerance() = -1;
  optimizer.Optimize(probe, iterate);
  return arma::approx_equal(iterate, expected, "absdiff", 0) &&
      optimizer.Report().ranks.size() == Ranks(comm) &&
      optimizer.Report().elements == rows * cols;
}

} // namespace

TEST_CASE("Optimize() can be called again, on another function and shape",
    "[reuse]")
{
  FixedDASGD optimizer;
  CHECK(Exact(optimizer, 50, 3));
  CHECK(Exact(optimizer, 50, 3));
  CHECK(Exact(optimizer, 80, 2, 5));
  optimizer.Topology() = "ring";
  CHECK(Exact(optimizer, 20, 7));

  // And on another type of element.
  ProbeType<arma::fmat> probe(40, 4, ProbeType<arma::fmat>::Linear);
  arma::fvec iterate(4, arma::fill::zeros);
  optimizer.MaxIterations() = 40;
  optimizer.Optimize(probe, iterate);
  CHECK(arma::approx_equal(iterate, -probe.FullGradient(iterate), "absdiff",
      0));
  CHECK(Exact(optimizer, 50, 3));
}

TEST_CASE("A policy with state follows another shape and type", "[reuse]")
{
  for (const bool reset : { true, false })
  {
    dasgd::DASGD<ens::MomentumUpdate> optimizer;
    optimizer.UpdatePolicy().Momentum() = 0;
    optimizer.StalenessDamping() = 0;
    optimizer.ResetPolicy() = reset;
    CHECK(Exact(optimizer, 40, 3));
    CHECK(Exact(optimizer, 40, 2, 4));
    CHECK(Exact(optimizer, 40, 4, 2));
    ProbeType<arma::fmat> probe(40, 6);
    arma::fmat iterate(6, 1, arma::fill::zeros);
    optimizer.StepSize() = 1e-3;
    optimizer.Optimize(probe, iterate);
    CHECK(Same(iterate));
    CHECK(Exact(optimizer, 40, 3));
  }
}

TEST_CASE("ResetPolicy() = false keeps momentum, true forgets it", "[reuse]")
{
  for (const bool reset : { true, false })
  {
    Probe probe(8 * Ranks(), 2, Probe::Linear);
    arma::mat iterate(2, 1, arma::fill::zeros);
    dasgd::DASGD<ens::MomentumUpdate> optimizer(1, 1, probe.NumFunctions(), -1,
        true, ens::MomentumUpdate(0.5), ens::NoDecay(), reset);
    optimizer.Optimize(probe, iterate);

    // Without a step of its own, only what is left of the momentum moves it.
    optimizer.StepSize() = 0;
    const arma::mat before = iterate;
    optimizer.Optimize(probe, iterate);
    CHECK(arma::approx_equal(iterate, before, "absdiff", 0) == reset);
    CHECK(Same(iterate));
  }
}

TEST_CASE("The next Optimize() begins with the step that decay has left",
    "[reuse]")
{
  for (const bool reset : { true, false })
  {
    // Steps are 1, 1/2, 1/4, ... times a constant gradient.
    Probe probe(8 * Ranks(), 2, Probe::Linear);
    probe.spoil = [](double&, arma::mat& gradient) { gradient.ones(); };
    dasgd::DASGD<ens::VanillaUpdate, Halve> optimizer(1, 1,
        probe.NumFunctions(), -1, true, ens::VanillaUpdate(), Halve(), reset);
    arma::mat iterate(2, 1, arma::fill::zeros);
    optimizer.Optimize(probe, iterate);
    CHECK(optimizer.StepSize() == std::pow(0.5, 8 * double(Ranks())));
    // Ranks that have not yet heard of each other's steps may take the same.
    if (Ranks() == 1)
      CHECK(iterate[0] == -(2 - std::pow(0.5, 7)));
    optimizer.Optimize(probe, iterate);
    CHECK(optimizer.StepSize() == std::pow(0.5, 16 * double(Ranks())));
    if (Ranks() == 1)
      CHECK(iterate[0] == -(2 - std::pow(0.5, 15)));
    CHECK(Same(iterate));
  }
}

TEST_CASE("After decay all ranks have the same step, whatever each has done",
    "[reuse]")
{
  // The last rank ends with another step than rank 0.
  Probe probe(8 * Ranks(), 2, Probe::Linear);
  dasgd::DASGD<ens::VanillaUpdate, Halve> optimizer(1, 1,
      probe.NumFunctions(), -1);
  optimizer.Sharing() = dasgd::Sharing::Dynamic;
  Hooks hooks;
  hooks.step = [&]()
  {
    if (Rank() + 1 == Ranks())
      optimizer.StepSize() = 1e-9;
    return false;
  };
  arma::mat iterate(2, 1, arma::fill::zeros);
  optimizer.Optimize(probe, iterate, hooks);
  CHECK(Same(optimizer.StepSize()));
  CHECK(optimizer.StepSize() < 1);
  optimizer.Optimize(probe, iterate, hooks);
  CHECK(Same(optimizer.StepSize()));
}

TEST_CASE("AutoStep stays AutoStep", "[reuse]")
{
  Probe probe(8 * Ranks(), 2);
  dasgd::DASGD<ens::VanillaUpdate, Halve> optimizer(dasgd::AutoStep, 1,
      probe.NumFunctions(), -1);
  arma::mat iterate(2, 1, arma::fill::zeros);
  optimizer.Optimize(probe, iterate);
  CHECK(optimizer.StepSize() == dasgd::AutoStep);
}

TEST_CASE("An optimizer can be copied at any time", "[reuse]")
{
  SECTION("before and after a run")
  {
    dasgd::DASGD<ens::MomentumUpdate> optimizer;
    optimizer.UpdatePolicy().Momentum() = 0;
    optimizer.StalenessDamping() = 0;
    optimizer.Topology() = "ring";
    dasgd::DASGD<ens::MomentumUpdate> before(optimizer);
    CHECK(Exact(optimizer, 50, 3));
    dasgd::DASGD<ens::MomentumUpdate> after(optimizer);
    CHECK(after.Report().Gradients() == 50);
    CHECK(after.Topology().Name() == "ring");
    CHECK(Exact(before, 40, 3));
    CHECK(Exact(after, 30, 3));
    CHECK(Exact(optimizer, 20, 3));

    // Assigned over, in either direction, and back to itself.
    before = after;
    CHECK(Exact(before, 50, 3));
    before = before;
    after = dasgd::DASGD<ens::MomentumUpdate>(before);
    CHECK(Exact(after, 50, 3));
    CHECK(Exact(before, 50, 3));
  }
  SECTION("inside a callback")
  {
    Probe probe(4 * Ranks(), 3, Probe::Linear);
    arma::mat iterate(3, 1, arma::fill::zeros);
    const arma::mat expected = -probe.FullGradient(iterate);
    FixedDASGD optimizer(1, 1, probe.NumFunctions(), -1);
    std::vector<dasgd::DASGD<>> copies;
    Hooks hooks;
    hooks.begin = [&]() { copies.push_back(optimizer); };
    hooks.step = [&]() { copies.push_back(optimizer); return false; };
    hooks.end = [&]() { copies.push_back(optimizer); };
    Optimize(optimizer, probe, iterate, hooks);
    CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
    CHECK(copies.size() == 6);
    CHECK(Exact(copies.front(), 30, 3));
    CHECK(Exact(copies.back(), 30, 3));
  }
}

TEST_CASE("Optimizers on disjoint communicators run at once", "[reuse]")
{
  const size_t half = Rank() % 2;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, int(half), 0, &comm);
  FixedDASGD optimizer;
  optimizer.Communicator() = comm;
  // As different as can be, and many in a row, so that they overlap.
  bool exact = true;
  for (size_t i = 0; i < 5; ++i)
    exact = Exact(optimizer, 40 + 60 * half, 3 + 2 * half) && exact;
  CHECK(exact);
  MPI_Comm_free(&comm);
}

TEST_CASE("Some ranks may train while others do not", "[reuse]")
{
  const bool takesPart = Rank() < (Ranks() + 1) / 2;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, takesPart ? 0 : MPI_UNDEFINED, 0, &comm);
  if (takesPart)
  {
    FixedDASGD optimizer;
    optimizer.Communicator() = comm;
    CHECK(Exact(optimizer, 40, 3));
    MPI_Comm_free(&comm);
  }
}

TEST_CASE("Rank 0 of the communicator is the one whose model counts",
    "[reuse]")
{
  // In reverse order.
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -int(Rank()), &comm);
  Probe probe(2 * Ranks(), 1);
  arma::mat iterate(1, 1);
  iterate.fill(double(Rank()));
  FixedDASGD optimizer(0, 1, probe.NumFunctions(), -1);
  optimizer.Communicator() = comm;
  Optimize(optimizer, probe, iterate);
  CHECK(iterate[0] == double(Ranks() - 1));

  // Output that should appear once appears where that communicator's rank 0 is.
  CHECK((&dasgd::RootStream(comm) == &std::cout) == (Rank() == Ranks() - 1));
  MPI_Comm_free(&comm);
}

TEST_CASE("The user's own messages and ours do not meet", "[reuse]")
{
  // Everybody has a message to its neighbour under way, with the tag that ours
  // have, while the optimizer runs.
  const int right = int((Rank() + 1) % Ranks());
  const int left = int((Rank() + Ranks() - 1) % Ranks());
  double sent = double(Rank()), received = -1;
  MPI_Request requests[2];
  MPI_Irecv(&received, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&sent, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
  FixedDASGD optimizer;
  CHECK(Exact(optimizer, 40, 1));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(received == double(left));
}
