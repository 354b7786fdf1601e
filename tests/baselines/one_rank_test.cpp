/**
 * @file one_rank_test.cpp
 *
 * With one rank each of the optimizers is the ens::SGD of the installed
 * ensmallen, bit for bit.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "../optimizer/one_rank.hpp"

#include "baselines.hpp"

using namespace tests;

namespace {

//! Multiplies the step size after each step.
class Shrink
{
 public:
  explicit Shrink(const double factor = 1) : factor(factor) { }

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

//! The ways to call that all of them must survive.
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
  add([](Call& c) { c.maxIterations = 179; c.batchSize = 7; });
  add([](Call& c) { c.maxIterations = 25; });
  add([](Call& c) { c.batchSize = 100; c.maxIterations = 200; });
  add([](Call& c) { c.exactObjective = true; c.maxIterations = 170; });
  add([](Call& c) { c.tolerance = 5; c.maxIterations = 0; });
  add([](Call& c) { c.tolerance = 0.5; c.maxIterations = 120; });
  add([](Call& c) { c.times = 2; c.resetPolicy = false; });
  add([](Call& c) { c.times = 2; });
  for (const char* event : { "Evaluate", "Gradient", "StepTaken", "BeginEpoch",
      "EndEpoch" })
  {
    add([event](Call& c) { c.stopAt = event; c.stopCall = 2; });
    add([event](Call& c)
    {
      c.stopAt = event;
      c.stopCall = 1;
      c.batchSize = 60;
    });
  }
  return calls;
}

/**
 * Compare all that a program can see of both.  With several ranks, the last
 * does this alone: it shows that a communicator of one rank is all that counts.
 */
template<template<typename, typename> class OptimizerType,
         typename UpdateType,
         typename DecayType>
void Compare(const UpdateType& update,
             const DecayType& decay,
             const bool shrinks = false)
{
  if (Rank() + 1 != Ranks())
    return;
  const SixtyPoints<arma::mat> problem;
  for (const Call& call : Calls())
  {
    // If policies start afresh, the step size does so here, and not there.
    if (shrinks && call.resetPolicy && call.times > 1)
      continue;
    ens::SGD<UpdateType, DecayType> theirs(call.stepSize, call.batchSize,
        call.maxIterations, call.tolerance, call.shuffle, update, decay,
        call.resetPolicy, call.exactObjective);
    OptimizerType<UpdateType, DecayType> ours(call.stepSize, call.batchSize,
        call.maxIterations, call.tolerance, call.shuffle, update, decay,
        call.resetPolicy, call.exactObjective);
    ours.Communicator() = MPI_COMM_SELF;
    const std::vector<std::string> expected = Record(theirs, problem.function,
        problem.start, call);
    const std::vector<std::string> got = Record(ours, problem.function,
        problem.start, call);

    INFO(call.Text());
    CHECK(got.size() == expected.size());
    size_t first = 0;
    while (first < std::min(got.size(), expected.size()) &&
        got[first] == expected[first])
      ++first;
    INFO("events before the first difference: " << first);
    if (first < std::min(got.size(), expected.size()))
      CHECK(got[first] == expected[first]);
  }
}

//! For those that run DASGD's own worker at one rank, which tests/optimizer
//! compares with all kinds of policies.
template<template<typename, typename> class OptimizerType>
void ComparePlain()
{
  Compare<OptimizerType>(ens::VanillaUpdate(), ens::NoDecay());
}

template<template<typename, typename> class OptimizerType>
void CompareAll()
{
  ComparePlain<OptimizerType>();
  for (const double factor : { 1.0, 0.9 })
  {
    INFO("steps shrink by " << factor);
    Compare<OptimizerType>(ens::MomentumUpdate(0.9), Shrink(factor),
        factor < 1);
    Compare<OptimizerType>(ens::AdamUpdate(), Shrink(factor),
        factor < 1);
  }
}

} // namespace

TEST_CASE("AllreduceSGD at one rank is ens::SGD", "[one]")
{
  CompareAll<dasgd::AllreduceSGD>();
}

TEST_CASE("LocalSGD at one rank is ens::SGD", "[one]")
{
  CompareAll<dasgd::LocalSGD>();
}

TEST_CASE("DiLoCo at one rank is ens::SGD", "[one]")
{
  CompareAll<dasgd::DiLoCo>();
}

TEST_CASE("DPSGD at one rank is ens::SGD", "[one]")
{
  ComparePlain<dasgd::DPSGD>();
}

TEST_CASE("ADPSGD at one rank is ens::SGD", "[one]")
{
  ComparePlain<dasgd::ADPSGD>();
}

TEST_CASE("SWIFT at one rank is ens::SGD", "[one]")
{
  ComparePlain<dasgd::SWIFT>();
}

TEST_CASE("ParameterServerSGD at one rank is ens::SGD", "[one]")
{
  ComparePlain<dasgd::ParameterServerSGD>();
}

TEMPLATE_TEST_CASE("The defaults are those of ens::SGD",
    "[one]",
    DASGD_BASELINES)
{
  ens::SGD<> theirs;
  TestType ours;
  CHECK(ours.StepSize() == theirs.StepSize());
  CHECK(ours.BatchSize() == theirs.BatchSize());
  CHECK(ours.MaxIterations() == theirs.MaxIterations());
  CHECK(ours.Tolerance() == theirs.Tolerance());
  CHECK(ours.Shuffle() == theirs.Shuffle());
  CHECK(ours.ResetPolicy() == theirs.ResetPolicy());
  CHECK(ours.ExactObjective() == theirs.ExactObjective());
}
