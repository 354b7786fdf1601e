/**
 * @file short_problems_test.cpp
 *
 * Problems whose gradients take a microsecond, with steps near the limit of
 * what one rank can take: at several ranks they must end where they do at one.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include <dasgd/optimizer/simulate.hpp>

#include "catch.hpp"

using namespace tests;

namespace {

//! With more ranks gradients are staler than steps this large allow, be they
//! exchanged ever so quickly.
bool TooMany() { return Ranks() > 3; }

//! Any of ensmallen's problems, so that optimizers are compiled for one type.
struct Problem
{
  template<typename FunctionType>
  explicit Problem(FunctionType function) :
      start(function.template GetInitialPoint<arma::mat>()),
      points(function.NumFunctions())
  {
    auto shared = std::make_shared<FunctionType>(std::move(function));
    shuffle = [shared]() { shared->Shuffle(); };
    evaluate = [shared](const arma::mat& x, const size_t begin,
        const size_t count) { return shared->Evaluate(x, begin, count); };
    gradient = [shared](const arma::mat& x, const size_t begin, arma::mat& out,
        const size_t count) { shared->Gradient(x, begin, out, count); };
  }

  size_t NumFunctions() const { return points; }
  void Shuffle() { shuffle(); }
  double Evaluate(const arma::mat& x, const size_t begin, const size_t count)
  { return evaluate(x, begin, count); }
  void Gradient(const arma::mat& x,
                const size_t begin,
                arma::mat& out,
                const size_t count)
  { gradient(x, begin, out, count); }

  arma::mat start;
  size_t points;
  std::function<void()> shuffle;
  std::function<double(const arma::mat&, size_t, size_t)> evaluate;
  std::function<void(const arma::mat&, size_t, arma::mat&, size_t)> gradient;
};

//! Where the optimizer ends.
template<typename OptimizerType>
arma::vec End(OptimizerType& optimizer, Problem problem)
{
  arma::mat x = problem.start;
  optimizer.Optimize(problem, x);
  INFO(optimizer.Report());
  CHECK(Same(x));
  return arma::vectorise(x);
}

//! Optimize, and say how far the farthest coordinate is from where it should
//! be.
template<typename OptimizerType>
double Miss(OptimizerType& optimizer,
            Problem problem,
            const arma::vec& solution)
{
  return arma::abs(End(optimizer, std::move(problem)) - solution).max();
}

//! Miss() of Rosenbrock's function of ten variables.  It has two minima,
//! (1, 1, ..., 1) and one within 0.007 of (-1, 1, ..., 1), around which
//! constant steps oscillate by as much again; the order of the gradients
//! decides in which of them a run ends.
template<typename OptimizerType>
double MissRosenbrock(OptimizerType& optimizer)
{
  arma::vec x = End(optimizer,
      Problem(ens::test::GeneralizedRosenbrockFunction(10)));
  x[0] = std::abs(x[0]);
  return arma::abs(x - 1.0).max();
}

} // namespace

TEST_CASE("Adam ends where it does at one rank", "[short]")
{
  if (TooMany())
    return;
  // A tolerance that two epochs of one model would meet.
  dasgd::DASGD<ens::AdamUpdate> optimizer(0.1, 2, 500000, 1e-3, false,
      ens::AdamUpdate(1e-8, 0.7, 0.999));
  CHECK(Miss(optimizer, Problem(ens::test::SphereFunction(2)), { 0, 0 }) < 0.1);
  CHECK(Miss(optimizer, Problem(ens::test::StyblinskiTangFunction(2)),
      { -2.9035, -2.9035 }) < 0.03);
  // One point: one rank computes.
  optimizer.StepSize() = 0.5;
  optimizer.BatchSize() = 1;
  optimizer.Tolerance() = 1e-5;
  CHECK(Miss(optimizer, Problem(ens::test::McCormickFunction()),
      { -0.547, -1.547 }) < 0.02);
  optimizer.StepSize() = 0.1;
  optimizer.Tolerance() = 1e-9;
  optimizer.Shuffle() = true;
  CHECK(Miss(optimizer, Problem(ens::test::BoothFunction()), { 1, 3 }) < 0.005);
}

TEST_CASE("Adam takes large steps at equal ranks", "[short]")
{
  // On virtual time: a rank that the system keeps from running for as long as
  // ten gradients take finds others' steps of 0.5 beyond the next minimum.
  if (Ranks() > 1)
    return;
  const auto miss = [](const Problem& problem,
                       const size_t ranks,
                       const double solution)
  {
    dasgd::DASGD<ens::AdamUpdate> optimizer(0.5, 2, 500000, 1e-3, false,
        ens::AdamUpdate(1e-8, 0.7, 0.999));
    std::vector<Problem> problems(ranks, problem);
    dasgd::SimCluster machine;
    machine.computeSeconds.assign(ranks, 1e-6);
    machine.computeSpread = 0.5;
    machine.link = [](size_t, size_t)
    {
      dasgd::SimLink link;
      link.latency = 1e-7;
      return link;
    };
    arma::mat x = problem.start;
    dasgd::Simulate(optimizer, problems, x, machine);
    return arma::abs(x - solution).max();
  };
  for (size_t ranks = 1; ranks <= 3; ++ranks)
  {
    CAPTURE(ranks);
    CHECK(miss(Problem(ens::test::SphereFunction(2)), ranks, 0) < 0.1);
    CHECK(miss(Problem(ens::test::StyblinskiTangFunction(2)), ranks,
        -2.9035) < 0.03);
  }
}

TEST_CASE("Momentum ends where it does at one rank", "[short]")
{
  if (TooMany())
    return;
  dasgd::DASGD<ens::MomentumUpdate> optimizer(0.0008, 1, 500000, -1, true,
      ens::MomentumUpdate(0.4));
  CHECK(MissRosenbrock(optimizer) < 0.02);
}

TEST_CASE("Nesterov's momentum ends where it does at one rank", "[short]")
{
  if (TooMany())
    return;
  dasgd::DASGD<ens::NesterovMomentumUpdate> optimizer(0.0001, 1, 800000, -1,
      true, ens::NesterovMomentumUpdate(0.9));
  CHECK(MissRosenbrock(optimizer) < 0.02);
  // At the very limit of what one rank can take.
  optimizer.StepSize() = 0.0008;
  optimizer.BatchSize() = 32;
  optimizer.MaxIterations() = 100000;
  optimizer.Tolerance() = 1e-9;
  optimizer.UpdatePolicy() = ens::NesterovMomentumUpdate(0.6);
  CHECK(Miss(optimizer, Problem(ens::test::GeneralizedRosenbrockFunction(2)),
      { 1, 1 }) < 0.01);
}
