/**
 * @file one_rank_test.cpp
 *
 * One rank behaves as the ens::SGD of the installed ensmallen does, bit for
 * bit: however it is called, and however it ends.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "one_rank.hpp"

using namespace tests;

namespace {

//! The ways to call that every policy must survive.
std::vector<Call> Calls()
{
  std::vector<Call> calls;
  const auto add = [&calls](const std::function<void(Call&)>& change)
  {
    for (const bool shuffle : { false, true })
    {
      Call call;
      change(call);
      call.shuffle = shuffle;
      calls.push_back(call);
    }
  };
  add([](Call&) { }); // MaxIterations is a multiple of the points.
  add([](Call& c) { c.maxIterations = 170; });
  add([](Call& c) { c.maxIterations = 179; c.batchSize = 6; });
  add([](Call& c) { c.maxIterations = 25; });
  add([](Call& c) { c.batchSize = 7; });
  add([](Call& c) { c.batchSize = 60; });
  add([](Call& c) { c.batchSize = 100; c.maxIterations = 200; });
  add([](Call& c) { c.batchSize = 1; c.maxIterations = 61; });
  add([](Call& c) { c.exactObjective = true; c.maxIterations = 170; });
  add([](Call& c) { c.exactObjective = true; c.batchSize = 7; });
  return calls;
}

/**
 * With each type of iterate, in each way.
 */
template<typename UpdateType>
void CompareEverywhere(const UpdateType& update)
{
  for (const Call& call : Calls())
  {
    CompareWithSGD<arma::mat>(call, update);
    CompareWithSGD<arma::fmat>(call, update);
    CompareWithSGD<arma::vec>(call, update);
  }
}

//! Multiplies the step size after each step.
class Shrink
{
 public:
  explicit Shrink(const double factor = 0.9) : factor(factor) { }

  template<typename MatType, typename GradType>
  class Policy
  {
   public:
    explicit Policy(Shrink& parent) : parent(parent) { }

    void Update(MatType&, double& stepSize, const GradType&)
    { stepSize *= parent.factor; }

   private:
    Shrink& parent;
  };

 private:
  double factor;
};

//! A function that has Evaluate() and Gradient(), but not both in one.
class Apart
{
 public:
  size_t NumFunctions() const { return probe.NumFunctions(); }
  void Shuffle() { probe.Shuffle(); }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t batch)
  { return probe.Evaluate(x, begin, batch); }

  void Gradient(const arma::mat& x,
                const size_t begin,
                arma::mat& gradient,
                const size_t batch)
  { probe.EvaluateWithGradient(x, begin, gradient, batch); }

 private:
  Probe probe{60, 6};
};

//! Shrinks the step after its first 30 steps, which it counts by itself.
struct Waits
{
  template<typename MatType, typename GradType>
  struct Policy
  {
    explicit Policy(Waits&) { }
    void Update(MatType&, double& stepSize, const GradType&)
    {
      if (++steps > 30)
        stepSize *= 0.9;
    }
    size_t steps = 0;
  };
};

} // namespace

TEST_CASE("One rank with the vanilla policy is ens::SGD", "[one]")
{
  CompareEverywhere(ens::VanillaUpdate());
}

TEST_CASE("One rank with momentum is ens::SGD", "[one]")
{
  CompareEverywhere(ens::MomentumUpdate(0.9));
}

TEST_CASE("One rank with Nesterov momentum is ens::SGD", "[one]")
{
  CompareEverywhere(ens::NesterovMomentumUpdate(0.7));
}

TEST_CASE("One rank with Adam is ens::SGD", "[one]")
{
  CompareEverywhere(ens::AdamUpdate());
}

TEST_CASE("One rank stops by tolerance where ens::SGD does", "[one]")
{
  for (const double tolerance : { 1e3, 5.0, 0.5, 1e-3 })
  {
    for (const size_t maxIterations : { 6000, 0, 60, 120 })
    {
      Call call;
      call.tolerance = tolerance;
      call.maxIterations = maxIterations;
      CompareWithSGD<arma::mat>(call, ens::VanillaUpdate());
      CompareWithSGD<arma::fmat>(call, ens::VanillaUpdate());
      CompareWithSGD<arma::mat>(call, ens::AdamUpdate());
    }
  }
}

TEST_CASE("One rank stops by callback where ens::SGD does", "[one]")
{
  for (const char* event : { "Evaluate", "Gradient", "StepTaken", "BeginEpoch",
      "EndEpoch" })
  {
    for (const size_t stopCall : { 1, 2, 3 })
    {
      for (const size_t batchSize : { 8, 60 })
      {
        Call call;
        call.stopAt = event;
        call.stopCall = stopCall;
        call.batchSize = batchSize;
        CompareWithSGD<arma::mat>(call, ens::VanillaUpdate());
        CompareWithSGD<arma::mat>(call, ens::MomentumUpdate(0.9));
        call.exactObjective = true;
        CompareWithSGD<arma::mat>(call, ens::VanillaUpdate());
      }
    }
  }
}

TEST_CASE("One rank with a decay policy is ens::SGD", "[one]")
{
  const SixtyPoints<arma::mat> problem;
  CompareWithSGD(Call(), problem.function, problem.start,
      ens::VanillaUpdate(), Shrink());
  CompareWithSGD(Call(), problem.function, problem.start,
      ens::MomentumUpdate(0.9), Shrink());
}

TEST_CASE("One rank calls Optimize() again as ens::SGD does", "[one]")
{
  for (const bool resetPolicy : { true, false })
  {
    Call call;
    call.times = 3;
    call.resetPolicy = resetPolicy;
    CompareWithSGD<arma::mat>(call, ens::VanillaUpdate());
    CompareWithSGD<arma::mat>(call, ens::MomentumUpdate(0.9));
    CompareWithSGD<arma::fmat>(call, ens::AdamUpdate());
  }
}

TEST_CASE("One rank goes on from a decayed step as ens::SGD does", "[one]")
{
  for (const bool resetPolicy : { true, false })
  {
    const SixtyPoints<arma::mat> problem;
    Call call;
    call.times = 3;
    call.resetPolicy = resetPolicy;
    CompareWithSGD(call, problem.function, problem.start, ens::VanillaUpdate(),
        Shrink());
    CompareWithSGD(call, problem.function, problem.start,
        ens::MomentumUpdate(0.9), Waits());
    // Its Policy changes the policy itself.
    ens::CyclicalDecay cyclical(3, 2, call.stepSize);
    cyclical.EpochBatches() = 8;
    CompareWithSGD(call, problem.function, problem.start, ens::VanillaUpdate(),
        cyclical);
  }
}

TEST_CASE("One rank optimizes other functions as ens::SGD does", "[one]")
{
  const SixtyPoints<arma::mat> problem;
  CompareWithSGD(Call(), Apart(), problem.start, ens::MomentumUpdate(0.9),
      ens::NoDecay());

  ens::test::GeneralizedRosenbrockFunction rosenbrock(10);
  const arma::mat start = rosenbrock.GetInitialPoint<arma::mat>();
  Call call;
  call.batchSize = 2;
  call.stepSize = 1e-4;
  CompareWithSGD(call, rosenbrock, start, ens::VanillaUpdate(),
      ens::NoDecay());
}

TEST_CASE("At one rank a seed of one's own makes the order reproducible",
    "[one]")
{
  arma::mat first, again, other;
  std::vector<arma::mat*> results = { &first, &again, &other };
  for (size_t i = 0; i < results.size(); ++i)
  {
    // Whatever the program has drawn before.
    arma::arma_rng::set_seed(100 + i);
    SixtyPoints<arma::mat> problem;
    dasgd::DASGD<> optimizer(0.03, 7, 180, -1, true);
    optimizer.Communicator() = MPI_COMM_SELF;
    optimizer.Seed() = (i < 2) ? 5 : 6;
    optimizer.Optimize(problem.function, problem.start);
    *results[i] = problem.start;
  }
  CHECK(Exact(first) == Exact(again));
  CHECK(Exact(first) != Exact(other));
}

TEST_CASE("Template arguments are deduced as for ens::SGD", "[one]")
{
  dasgd::DASGD none;
  dasgd::DASGD plain(0.01, 32, 1000, 1e-5, true);
  dasgd::DASGD momentum(0.01, 32, 1000, 1e-5, true, ens::MomentumUpdate(0.9));
  dasgd::DASGD both(0.01, 32, 1000, 1e-5, true, ens::AdamUpdate(), Shrink(),
      false, true);
  CHECK((std::is_same<decltype(none), dasgd::DASGD<ens::VanillaUpdate,
      ens::NoDecay>>::value));
  CHECK((std::is_same<decltype(plain), decltype(none)>::value));
  CHECK((std::is_same<decltype(momentum), dasgd::DASGD<ens::MomentumUpdate,
      ens::NoDecay>>::value));
  CHECK((std::is_same<decltype(both), dasgd::DASGD<ens::AdamUpdate,
      Shrink>>::value));
  CHECK(momentum.UpdatePolicy().Momentum() == 0.9);
}

TEST_CASE("The defaults are those of ens::SGD", "[one]")
{
  ens::SGD<> theirs;
  dasgd::DASGD<> ours;
  CHECK(ours.StepSize() == theirs.StepSize());
  CHECK(ours.BatchSize() == theirs.BatchSize());
  CHECK(ours.MaxIterations() == theirs.MaxIterations());
  CHECK(ours.Tolerance() == theirs.Tolerance());
  CHECK(ours.Shuffle() == theirs.Shuffle());
  CHECK(ours.ResetPolicy() == theirs.ResetPolicy());
  CHECK(ours.ExactObjective() == theirs.ExactObjective());
}

// The attributes have the types of those of ens::SGD, to read and to modify.
#define CHECK_ATTRIBUTE(Name) \
  static_assert(std::is_same< \
      decltype(std::declval<ens::SGD<>&>().Name()), \
      decltype(std::declval<dasgd::DASGD<>&>().Name())>::value, \
      #Name "() differs from that of ens::SGD"); \
  static_assert(std::is_same< \
      decltype(std::declval<const ens::SGD<>&>().Name()), \
      decltype(std::declval<const dasgd::DASGD<>&>().Name())>::value, \
      #Name "() const differs from that of ens::SGD")

CHECK_ATTRIBUTE(StepSize);
CHECK_ATTRIBUTE(BatchSize);
CHECK_ATTRIBUTE(MaxIterations);
CHECK_ATTRIBUTE(Tolerance);
CHECK_ATTRIBUTE(Shuffle);
CHECK_ATTRIBUTE(ExactObjective);
CHECK_ATTRIBUTE(ResetPolicy);
CHECK_ATTRIBUTE(UpdatePolicy);
CHECK_ATTRIBUTE(InstUpdatePolicy);
CHECK_ATTRIBUTE(DecayPolicy);
CHECK_ATTRIBUTE(InstDecayPolicy);
