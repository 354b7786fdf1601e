/**
 * @file errors_test.cpp
 *
 * Whatever ends one rank of these optimizers ends all, with a message that
 * says what and where, and leaves them able to train again.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "baselines.hpp"

#include "catch.hpp"

#include <limits>

using namespace tests;

namespace {

//! The rank on which things go wrong; the server, if there is one, is another.
size_t Culprit() { return Ranks() - 1; }

//! Throw on one rank once a count is reached.
std::function<void()> ThrowAt(const size_t& count, const size_t when)
{
  return [&count, when]()
  {
    if (Rank() == Culprit() && count == when)
      throw OwnError{ 7 };
  };
}

std::function<bool()> StepAt(const size_t& count, const size_t when)
{ return [&count, when]() { ThrowAt(count, when)(); return false; }; }

std::function<bool(size_t, double)> EpochAt(const size_t& count,
                                            const size_t when)
{
  return [&count, when](size_t, double)
  { ThrowAt(count, when)(); return false; };
}

//! Something is thrown on one rank: what all ranks see of it.
template<typename OptimizerType>
void CheckThrown(Endless<OptimizerType>& run)
{
  const Ending ending = run.Run();
  INFO(ending);
  if (Rank() == Culprit())
  {
    // The user's own type comes out where it was thrown.
    CHECK(ending.kind == Ending::Own);
    CHECK(ending.value == 7);
  }
  else
  {
    CHECK(ending.kind == Ending::RuntimeError);
    CHECK(ending.Says(NameOf(run.optimizer) + "::Optimize()"));
    CHECK(ending.Says("rank " + std::to_string(Culprit()) + " "));
  }
  CHECK(run.hooks.begins == 1);
  CHECK(run.hooks.ends == 1);
  const dasgd::Report& report = run.optimizer.Report();
  CHECK(report.reason == dasgd::StopReason::Error);
  CHECK(report.stopRank == Culprit());
  CHECK(Same(report.Json()));
  CHECK(Same(run.iterate));
  CHECK(StillWorks());
}

//! A callback on one rank asks to stop.
template<typename OptimizerType>
void CheckStopped(Endless<OptimizerType>& run)
{
  const Ending ending = run.Run();
  INFO(ending);
  CHECK(ending.kind == Ending::Returned);
  CHECK(Same(ending.value));
  CHECK(run.hooks.ends == 1);
  const dasgd::Report& report = run.optimizer.Report();
  CHECK(report.reason == dasgd::StopReason::Callback);
  CHECK(report.stopRank == Culprit());
  CHECK(Same(report.Json()));
  CHECK(Same(run.iterate));
  CHECK(StillWorks());
}

} // namespace

TEMPLATE_TEST_CASE("A function that throws on one rank ends all", "[errors]",
    DASGD_BASELINES)
{
  Endless<TestType> run;
  SECTION("in the first gradient")
  {
    run.probe.onGradient = ThrowAt(run.probe.calls, 1);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 1);
  }
  SECTION("in a later gradient")
  {
    run.probe.onGradient = ThrowAt(run.probe.calls, 20);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 20);
  }
  SECTION("in Shuffle()")
  {
    run.probe.onShuffle = ThrowAt(run.probe.shuffles, 2);
    CheckThrown(run);
  }
  SECTION("in Evaluate(), for the exact objective")
  {
    run.optimizer.MaxIterations() = 10 * Ranks();
    run.optimizer.ExactObjective() = true;
    const size_t always = 0;
    run.probe.onEvaluate = ThrowAt(always, 0);
    CheckThrown(run);
  }
}

TEMPLATE_TEST_CASE("A callback that throws on one rank ends all", "[errors]",
    DASGD_BASELINES)
{
  Endless<TestType> run;
  Hooks& hooks = run.hooks;
  SECTION("BeginOptimization")
  {
    hooks.begin = ThrowAt(hooks.begins, 1);
    CheckThrown(run);
  }
  SECTION("StepTaken")
  {
    hooks.step = StepAt(hooks.steps, 9);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 9);
  }
  SECTION("EndEpoch")
  {
    hooks.endEpoch = EpochAt(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("EndEpoch of the last epoch, when the work is done")
  {
    run.optimizer.MaxIterations() = 4 * Ranks();
    hooks.endEpoch = EpochAt(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("EndOptimization")
  {
    run.optimizer.MaxIterations() = 4 * Ranks();
    hooks.end = ThrowAt(hooks.ends, 1);
    CheckThrown(run);
  }
}

TEMPLATE_TEST_CASE("The others are told what was thrown", "[errors]",
    DASGD_BASELINES)
{
  Endless<TestType> run;
  run.probe.onGradient = [&run]()
  {
    if (Rank() == Culprit() && run.probe.calls == 4)
      throw std::runtime_error("the disk \"D:\"\nis full");
  };
  const Ending ending = run.Run();
  INFO(ending);
  CHECK(ending.kind == Ending::RuntimeError);
  CHECK(ending.Says("the disk \"D:\"\nis full"));
  if (Rank() != Culprit())
  {
    CHECK(ending.Says("rank " + std::to_string(Culprit()) + " "));
    CHECK(ending.Says("step 4"));
  }
  CHECK(StillWorks());
}

TEMPLATE_TEST_CASE("If several ranks throw, each gets its own back",
    "[errors]", DASGD_BASELINES)
{
  Endless<TestType> run;
  run.hooks.begin = []() { throw OwnError{ int(Rank()) }; };
  const Ending ending = run.Run();
  CHECK(ending.kind == Ending::Own);
  CHECK(ending.value == double(Rank()));
  CHECK(Same(run.optimizer.Report().Json()));
  CHECK(StillWorks());
}

TEMPLATE_TEST_CASE("A callback that stops one rank stops all", "[errors]",
    DASGD_BASELINES)
{
  Endless<TestType> run;
  Hooks& hooks = run.hooks;
  SECTION("StepTaken")
  {
    hooks.step = [&hooks]() { return Rank() == Culprit() && hooks.steps == 7; };
    CheckStopped(run);
    CHECK(run.optimizer.Report().stopStep == 7);
  }
  SECTION("Gradient")
  {
    hooks.gradient = [&hooks]()
    { return Rank() == Culprit() && hooks.gradients == 7; };
    CheckStopped(run);
  }
  SECTION("EndEpoch")
  {
    hooks.endEpoch = [](const size_t epoch, double)
    { return Rank() == Culprit() && epoch == 3; };
    CheckStopped(run);
  }
  SECTION("BeginEpoch, before anything was computed")
  {
    hooks.beginEpoch = [](const size_t epoch, double)
    { return Rank() == Culprit() && epoch == 1; };
    CheckStopped(run);
  }
}

TEMPLATE_TEST_CASE("A gradient or objective that is not finite ends all",
    "[errors]", DASGD_BASELINES)
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const auto check = [](const double badObjective,
                        const double badElement,
                        const size_t when)
  {
    INFO("objective " << badObjective << ", element " << badElement
        << ", step " << when);
    Endless<TestType> run;
    run.probe.spoil = [&](double& objective, arma::mat& gradient)
    {
      if (Rank() != Culprit() || run.probe.calls != when)
        return;
      objective += badObjective;
      gradient[2] += badElement;
    };
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == Ending::Returned);
    CHECK(!std::isfinite(ending.value));
    CHECK(run.iterate.is_finite());
    CHECK(Same(run.iterate));
    CHECK(run.hooks.ends == 1);
    const dasgd::Report& report = run.optimizer.Report();
    CHECK(report.reason == dasgd::StopReason::NonFinite);
    CHECK(report.stopRank == Culprit());
    CHECK(report.stopStep == when);
    CHECK(report.ranks[Culprit()].computed == when - 1);
    CHECK(Same(report.Json()));
  };
  check(0, nan, 1);
  check(0, nan, 30);
  check(0, -infinite, 3);
  check(nan, 0, 3);
  check(infinite, 0, 9);
  CHECK(StillWorks());
}

TEMPLATE_TEST_CASE("A gradient of another shape ends all", "[errors]",
    DASGD_BASELINES)
{
  for (const size_t rows : { size_t(2), size_t(40), size_t(0) })
  {
    Endless<TestType> run;
    run.probe.spoil = [&](double&, arma::mat& gradient)
    {
      if (Rank() == Culprit() && run.probe.calls == 5)
        gradient.set_size(rows, rows > 0 ? 1 : 0);
    };
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == (Rank() == Culprit() ? Ending::InvalidArgument :
        Ending::RuntimeError));
    CHECK(ending.Says("the function made a gradient of " +
        std::to_string(rows) + " x "));
    CHECK(ending.Says("but the iterate is "));
    CHECK(Same(run.iterate));
    CHECK(StillWorks());
  }
}

TEMPLATE_TEST_CASE("A step that is too large diverges as in ens::SGD",
    "[errors]", DASGD_BASELINES)
{
  Endless<TestType> run;
  run.optimizer.StepSize() = 1e3;
  const Ending ending = run.Run();
  CHECK(ending.kind == Ending::Returned);
  CHECK(!std::isfinite(ending.value));
  CHECK(run.optimizer.Report().reason == dasgd::StopReason::NonFinite);
  CHECK(StillWorks());
}

TEST_CASE("What goes wrong in the server's callbacks ends all ranks",
    "[errors]")
{
  Endless<dasgd::ParameterServerSGD<>> run;
  run.optimizer.ServerRank() = Culprit();
  Hooks& hooks = run.hooks;
  SECTION("thrown in BeginOptimization")
  {
    hooks.begin = ThrowAt(hooks.begins, 1);
    CheckThrown(run);
  }
  SECTION("thrown in StepTaken")
  {
    hooks.step = StepAt(hooks.steps, 9);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 9);
  }
  SECTION("thrown in EndEpoch")
  {
    hooks.endEpoch = EpochAt(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("thrown in EndEpoch of the last epoch")
  {
    run.optimizer.MaxIterations() = 4 * Ranks();
    hooks.endEpoch = EpochAt(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("StepTaken asks to stop")
  {
    hooks.step = [&hooks]() { return Rank() == Culprit() && hooks.steps == 7; };
    CheckStopped(run);
    CHECK(run.optimizer.Report().stopStep == 7);
  }
  SECTION("EndEpoch asks to stop")
  {
    hooks.endEpoch = [](const size_t epoch, double)
    { return Rank() == Culprit() && epoch == 3; };
    CheckStopped(run);
  }
}
