/**
 * @file errors_test.cpp
 *
 * Whatever goes wrong on one rank ends all ranks, with a message that says what
 * and where, and leaves them able to train again.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <csignal>
#include <limits>

using namespace tests;

namespace {

//! The rank on which things go wrong.
size_t Culprit() { return Ranks() - 1; }

//! A run that ends only if something goes wrong.
struct Endless
{
  Probe probe{2 * Ranks(), 3};
  arma::mat iterate{3, 1, arma::fill::ones};
  FixedDASGD optimizer{1e-3, 1, 0, -1};
  Hooks hooks;

  Ending Run()
  { return Try([&]() { return Optimize(optimizer, probe, iterate, hooks); }); }
};

//! Something is thrown on one rank: what all ranks see of it.
void CheckThrown(Endless& run)
{
  const Ending ending = run.Run();
  INFO(ending);
  const std::string name = "rank " + std::to_string(Culprit());
  if (Rank() == Culprit())
  {
    // The user's own type comes out where it was thrown.
    CHECK(ending.kind == Ending::Own);
    CHECK(ending.value == 7);
  }
  else
  {
    CHECK(ending.kind == Ending::RuntimeError);
    CHECK(ending.Says(name));
  }
  CHECK(run.hooks.begins == 1);
  CHECK(run.hooks.ends == 1);
  const dasgd::Report& report = run.optimizer.Report();
  CHECK(report.reason == dasgd::StopReason::Error);
  CHECK(report.stopRank == Culprit());
  CHECK(Same(run.iterate));
  CHECK(StillWorks());
}

//! Throw on one rank once a count is reached.
std::function<void()> ThrowAt(const size_t& count, const size_t when)
{
  return [&count, when]()
  {
    if (Rank() == Culprit() && count == when)
      throw OwnError{ 7 };
  };
}

//! What is wrong is found before anything starts, on all ranks alike.
void CheckRefused(const Ending& ending, const std::vector<std::string>& parts)
{
  INFO(ending);
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(Same(ending.text));
  for (const std::string& part : parts)
  {
    INFO("expected: " << part);
    CHECK(ending.Says(part));
  }
  CHECK(StillWorks());
}

/**
 * The last rank does otherwise than rank 0.
 *
 * @param change Applied on the last rank only.
 * @param parts What the message must say besides the two ranks.
 */
void CheckMismatch(const std::function<void(Endless&)>& change,
                   std::vector<std::string> parts)
{
  if (Ranks() == 1)
    return;
  Endless run;
  if (Rank() == Culprit())
    change(run);
  const Ending ending = run.Run();
  parts.push_back("ranks 0 and " + std::to_string(Culprit()));
  CheckRefused(ending, parts);
  CHECK(run.hooks.begins == 0);
}

//! The same mistake everywhere.
void CheckMistake(const std::function<void(Endless&)>& mistake,
                  const std::vector<std::string>& parts)
{
  Endless run;
  mistake(run);
  CheckRefused(run.Run(), parts);
}

} // namespace

TEST_CASE("A function that throws on one rank ends all ranks", "[errors]")
{
  Endless run;
  SECTION("in the first gradient")
  {
    run.probe.onGradient = ThrowAt(run.probe.calls, 1);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 1);
  }
  SECTION("in a later gradient")
  {
    run.probe.onGradient = ThrowAt(run.probe.calls, 50);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 50);
  }
  SECTION("in Shuffle()")
  {
    run.probe.onShuffle = ThrowAt(run.probe.shuffles, 1);
    CheckThrown(run);
  }
  SECTION("in a later Shuffle()")
  {
    run.probe.onShuffle = ThrowAt(run.probe.shuffles, 3);
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

TEST_CASE("NumFunctions() that throws on one rank ends all ranks", "[errors]")
{
  Endless run;
  run.probe.onCount = []()
  {
    if (Rank() == Culprit())
      throw std::out_of_range("no points\nat all");
  };
  const Ending ending = run.Run();
  INFO(ending);
  // The exception itself where it was thrown, and its text elsewhere.
  CHECK(ending.kind == (Rank() == Culprit() ? Ending::Other :
      Ending::RuntimeError));
  CHECK(ending.Says("no points\nat all"));
  CHECK(ending.Says("rank " + std::to_string(Culprit()) +
      " failed before training began") == (Rank() != Culprit()));
  CHECK(run.hooks.begins == 0);
  CHECK(StillWorks());
}

TEST_CASE("A callback that throws on one rank ends all ranks", "[errors]")
{
  Endless run;
  Hooks& hooks = run.hooks;
  const auto bad = [](const size_t& count, const size_t when)
  {
    return [&count, when]() { ThrowAt(count, when)(); return false; };
  };
  const auto badEpoch = [](const size_t& count, const size_t when)
  {
    return [&count, when](size_t, double)
    { ThrowAt(count, when)(); return false; };
  };
  SECTION("BeginOptimization")
  {
    hooks.begin = ThrowAt(hooks.begins, 1);
    CheckThrown(run);
  }
  SECTION("BeginEpoch, the first")
  {
    hooks.beginEpoch = badEpoch(hooks.beginEpochs, 1);
    CheckThrown(run);
  }
  SECTION("BeginEpoch, the third")
  {
    hooks.beginEpoch = badEpoch(hooks.beginEpochs, 3);
    CheckThrown(run);
  }
  SECTION("Evaluate")
  {
    hooks.evaluate = bad(hooks.evaluates, 9);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 9);
  }
  SECTION("Gradient")
  {
    hooks.gradient = bad(hooks.gradients, 9);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 9);
  }
  SECTION("StepTaken")
  {
    hooks.step = bad(hooks.steps, 9);
    CheckThrown(run);
    CHECK(run.optimizer.Report().stopStep == 9);
  }
  SECTION("EndEpoch")
  {
    hooks.endEpoch = badEpoch(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("EndEpoch of the last epoch, when the work is done")
  {
    run.optimizer.MaxIterations() = 4 * Ranks();
    hooks.endEpoch = badEpoch(hooks.endEpochs, 2);
    CheckThrown(run);
  }
  SECTION("EndOptimization")
  {
    run.optimizer.MaxIterations() = 4 * Ranks();
    hooks.end = ThrowAt(hooks.ends, 1);
    CheckThrown(run);
  }
}

TEST_CASE("The others are told what was thrown", "[errors]")
{
  for (const dasgd::Topology& topology : Topologies(Ranks()))
  {
    INFO(topology.Name());
    Endless run;
    run.optimizer.Topology() = topology;
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
      CHECK(ending.Says("rank " + std::to_string(Culprit())));
      CHECK(ending.Says("step 4"));
    }
    CHECK(run.hooks.ends == 1);
  }
  CHECK(StillWorks());
}

TEST_CASE("If several ranks throw, each gets its own back", "[errors]")
{
  // Before the first frame, so that nobody hears of another's error first.
  Endless run;
  run.hooks.begin = []() { throw OwnError{ int(Rank()) }; };
  const Ending ending = run.Run();
  CHECK(ending.kind == Ending::Own);
  CHECK(ending.value == double(Rank()));
  CHECK(Same(run.optimizer.Report().Json()));
  CHECK(StillWorks());
}

TEST_CASE("A text longer than a message may be is cut alike on all ranks",
    "[errors]")
{
  // In a gradient; and when all meet at the end.
  for (const bool late : { false, true })
  {
    Endless run;
    std::string text;
    while (text.size() < 5000)
      text += "\u00e4"; // Two bytes in UTF-8.
    const auto fail = [&]()
    {
      if (Rank() == Culprit())
        throw std::runtime_error("x" + text);
    };
    if (late)
    {
      run.optimizer.MaxIterations() = 4 * Ranks();
      run.hooks.end = fail;
    }
    else
    {
      run.probe.onGradient = fail;
    }
    const Ending ending = run.Run();
    CHECK(ending.kind == Ending::RuntimeError);
    const std::string& told = run.optimizer.Report().stopText;
    CHECK(Same(told));
    // An odd number of bytes fits, of which the last character may not be cut.
    CHECK(told == "x" + text.substr(0, 996) + "...");
    if (Rank() == Culprit())
      CHECK(ending.text == "x" + text); // Its own exception.
    else
      CHECK(ending.Says(told));
    CHECK(StillWorks());
  }
}

TEST_CASE("Ranks that disagree on the model are refused", "[errors]")
{
  SECTION("rows")
  {
    CheckMismatch([](Endless& run) { run.iterate.zeros(4, 1); },
        { "rows", ": 3 and 4" });
  }
  SECTION("columns")
  {
    CheckMismatch([](Endless& run) { run.iterate.zeros(3, 2); },
        { "columns", ": 1 and 2" });
  }
  SECTION("as many elements in another shape")
  {
    CheckMismatch([](Endless& run) { run.iterate.zeros(1, 3); },
        { "rows", ": 3 and 1" });
  }
  SECTION("element type")
  {
    if (Ranks() == 1)
      return;
    Ending ending;
    if (Rank() == 0)
    {
      ending = Endless().Run();
    }
    else
    {
      ProbeType<arma::fmat> probe(2 * Ranks(), 3);
      arma::fmat iterate(3, 1, arma::fill::zeros);
      FixedDASGD optimizer(1e-3, 1, 0, -1);
      ending = Try([&]() { return optimizer.Optimize(probe, iterate); });
    }
    CheckRefused(ending, { "ranks 0 and 1", "element type",
        "double and float" });
  }
  SECTION("update policy")
  {
    if (Ranks() == 1)
      return;
    Endless run;
    const Ending ending = Try([&]()
    {
      dasgd::DASGD<ens::MomentumUpdate> other(1e-3, 1, 0, -1);
      other.StalenessDamping() = 0;
      return (Rank() == Culprit()) ? other.Optimize(run.probe, run.iterate) :
          Optimize(run.optimizer, run.probe, run.iterate);
    });
    CheckRefused(ending, { "ranks 0 and " + std::to_string(Culprit()),
        "update policy", "ens::VanillaUpdate and ens::MomentumUpdate" });
  }
}

TEST_CASE("Ranks that disagree on a parameter of a policy are refused",
    "[errors]")
{
  if (Ranks() == 1)
    return;
  const auto check = [](auto optimizer,
                        const std::function<void(decltype(optimizer)&)>& change,
                        const std::vector<std::string>& parts)
  {
    Endless run;
    if (Rank() == Culprit())
      change(optimizer);
    const Ending ending = Try([&]()
    { return optimizer.Optimize(run.probe, run.iterate); });
    CheckRefused(ending, parts);
  };
  using Adam = dasgd::DASGD<ens::AdamUpdate, ens::CyclicalDecay>;
  const Adam adam(1e-3, 1, 1, -1, true, ens::AdamUpdate(),
      ens::CyclicalDecay(3, 2, 1e-3));
  const std::string last = std::to_string(Culprit());
  check(adam, [](Adam& o) { o.UpdatePolicy().Beta1() = 0.75; },
      { "ranks 0 and " + last + " disagree on UpdatePolicy().Beta1(): "
      "0.9 and 0.75; give every rank the same." });
  // Numbers are shown to the last bit in which they differ.
  check(adam, [](Adam& o) { o.UpdatePolicy().Beta1() = 0.9 + 1.2e-16; },
      { "0.9 and 0.9000000000000001" });
  check(adam, [](Adam& o) { o.DecayPolicy().MultFactor() = 4; },
      { "disagree on DecayPolicy().MultFactor(): 2 and 4" });
  check(adam, [](Adam& o) { o.ResetPolicy() = false; },
      { "disagree on ResetPolicy(): true and false" });
}

TEST_CASE("Ranks that disagree on a setting are refused", "[errors]")
{
  CheckMismatch([](Endless& run) { run.optimizer.StepSize() = 0.5; },
      { "StepSize()", "0.001", "0.5" });
  CheckMismatch([](Endless& run)
      { run.optimizer.StepSize() = dasgd::AutoStep; },
      { "StepSize()", "0.001", "AutoStep" });
  CheckMismatch([](Endless& run) { run.optimizer.BatchSize() = 2; },
      { "BatchSize()", ": 1 and 2" });
  CheckMismatch([](Endless& run) { run.optimizer.MaxIterations() = 5; },
      { "MaxIterations()", ": 0 and 5" });
  CheckMismatch([](Endless& run) { run.optimizer.Tolerance() = 1; },
      { "Tolerance()", ": -1 and 1" });
  CheckMismatch([](Endless& run) { run.optimizer.Shuffle() = false; },
      { "Shuffle()", "true and false" });
  CheckMismatch([](Endless& run) { run.optimizer.ExactObjective() = true; },
      { "ExactObjective()", "false and true" });
  CheckMismatch([](Endless& run) { run.optimizer.Topology() = "ring"; },
      { "Topology()", "auto and ring" });
  CheckMismatch([](Endless& run)
      { run.optimizer.Data() = dasgd::Data::Sharded; },
      { "Data()", "replicated and sharded" });
  CheckMismatch([](Endless& run)
      { run.optimizer.Sharing() = dasgd::Sharing::Dynamic; },
      { "Sharing()", "static and dynamic" });
  CheckMismatch([](Endless& run) { run.optimizer.Seed() = 9; },
      { "Seed()", ": 0 and 9" });
  CheckMismatch([](Endless& run) { run.optimizer.ExchangeShare() = 0.5; },
      { "ExchangeShare()", ": 0.1 and 0.5" });
  CheckMismatch([](Endless& run) { run.optimizer.StalenessDamping() = 3; },
      { "StalenessDamping()", ": 0 and 3" });
  CheckMismatch([](Endless& run) { run.optimizer.LookAhead() = 0; },
      { "LookAhead()", ": Automatic and 0" });
  CheckMismatch([](Endless& run) { run.optimizer.Window() = 3; },
      { "Window()", ": 0 and 3" });
  CheckMismatch([](Endless& run) { run.optimizer.Smoothness() = 5; },
      { "Smoothness()", ": 0 and 5" });
  CheckMismatch([](Endless& run) { run.optimizer.RecordHistory() = true; },
      { "RecordHistory()", "false and true" });
}

TEST_CASE("Replicated data that is not the same everywhere is refused",
    "[errors]")
{
  if (Ranks() == 1)
    return;
  Endless run;
  Probe probe(2 * Ranks() + (Rank() == Culprit() ? 1 : 0), 3);
  const Ending ending = Try([&]()
  { return Optimize(run.optimizer, probe, run.iterate); });
  CheckRefused(ending, { "ranks 0 and " + std::to_string(Culprit()),
      "number of points", std::to_string(2 * Ranks()) + " and " +
      std::to_string(2 * Ranks() + 1), "Sharded" });
}

TEST_CASE("Settings that make no sense are refused", "[errors]")
{
  const double infinite = std::numeric_limits<double>::infinity();
  CheckMistake([](Endless& run) { run.optimizer.StepSize() = -0.1; },
      { "StepSize()", "-0.1" });
  CheckMistake([](Endless& run)
      { run.optimizer.StepSize() = std::numeric_limits<double>::quiet_NaN(); },
      { "StepSize()", "nan" });
  CheckMistake([=](Endless& run) { run.optimizer.StepSize() = infinite; },
      { "StepSize()", "inf" });
  CheckMistake([](Endless& run) { run.optimizer.BatchSize() = 0; },
      { "BatchSize()" });
  CheckMistake([](Endless& run) { run.optimizer.Window() = 5000; },
      { "Window()", "5000", "4096" });
  CheckMistake([](Endless& run) { run.optimizer.ExchangeShare() = 0; },
      { "ExchangeShare()", "0", "at most 1" });
  CheckMistake([](Endless& run) { run.optimizer.StalenessDamping() = -2; },
      { "StalenessDamping()", "-2" });
  CheckMistake([](Endless& run) { run.optimizer.LookAhead() = -2; },
      { "LookAhead()", "-2" });
  CheckMistake([](Endless& run) { run.optimizer.LookAhead() = 2; },
      { "LookAhead() is 2", "VanillaUpdate", "leave it at dasgd::Automatic" });
  for (const int number : { 0, -3, 1000, SIGKILL, SIGSTOP, SIGSEGV })
  {
    CheckMistake([=](Endless& run)
        { run.optimizer.StopSignals() = { SIGUSR1, number }; },
        { "StopSignals() has " + std::to_string(number) + ",", "SIGTERM" });
  }
  CheckMistake([](Endless& run) { run.optimizer.Smoothness() = -1; },
      { "Smoothness()", "-1" });
  CheckMistake([](Endless& run) { run.iterate.reset(); }, { "iterate" });
  CheckMistake([](Endless& run)
      { run.optimizer.Topology() = dasgd::Topology::Mesh(7, Ranks()); },
      { "7", std::to_string(Ranks()) });
  // The last rank has no edge.
  CheckMistake([](Endless& run)
      {
        const size_t n = Ranks();
        run.optimizer.Topology() = (n > 2) ?
            dasgd::Topology::Graph({ { 0, 1 } }) :
            dasgd::Topology::Graph({ { n, n + 1 } });
      }, { });
}

TEST_CASE("One rank's mistake is told to all", "[errors]")
{
  // Sharded data may differ in size, but not down to nothing.
  Endless run;
  run.optimizer.Data() = dasgd::Data::Sharded;
  Probe probe(Rank() == Culprit() ? 0 : 5, 3);
  const Ending ending = Try([&]()
  { return Optimize(run.optimizer, probe, run.iterate); });
  CheckRefused(ending, { "rank " + std::to_string(Culprit()), "no data" });
}

TEST_CASE("An empty data set is refused", "[errors]")
{
  for (const dasgd::Data data : { dasgd::Data::Replicated,
      dasgd::Data::Sharded })
  {
    Endless run;
    run.optimizer.Data() = data;
    Probe probe(0, 3);
    const Ending ending = Try([&]()
    { return Optimize(run.optimizer, probe, run.iterate); });
    CheckRefused(ending, { "no data" });
  }
}

TEST_CASE("Data that differs between ranks is refused, if it is of one size",
    "[errors]")
{
  // Other points, other answers, another order.
  CheckMismatch([](Endless& run)
  { run.probe = Probe(2 * Ranks(), 3, Probe::LeastSquares, 2); },
      { "hold different data", "objective of the first points is ", " and ",
      "seed random splits alike", "Data::Sharded" });
  CheckMismatch([](Endless& run) { run.probe.Shuffle(); },
      { "hold different data" });

  // Every rank has points of its own: no reason to complain.
  Endless run;
  run.probe = Probe(8, 3, Probe::LeastSquares, 1 + Rank());
  run.optimizer.MaxIterations() = 16 * Ranks();
  run.optimizer.Data() = dasgd::Data::Sharded;
  CHECK(run.Run().kind == Ending::Returned);
}

TEST_CASE("A function that answers at random has no fingerprint", "[errors]")
{
  Endless run;
  size_t questions = 0;
  run.probe.onEvaluate = [&]() { ++questions; };
  run.probe.noise = [&]() { return double(Rank()) + 0.1 * double(questions); };
  run.optimizer.MaxIterations() = 16 * Ranks();
  CHECK(run.Run().kind == Ending::Returned);
  CHECK(questions == (Ranks() > 1 ? 5 : 0));
}

TEST_CASE("A gradient of another shape ends all ranks", "[errors]")
{
  const std::vector<std::pair<size_t, size_t>> shapes = { { 2, 1 }, { 4, 1 },
      { 1, 3 }, { 0, 0 } };
  for (const auto& shape : shapes)
  {
    Endless run;
    const auto change = [&](arma::mat& gradient)
    {
      if (Rank() == Culprit() && run.probe.calls == 5)
        gradient.set_size(shape.first, shape.second);
    };
    run.probe.spoil = [&](double&, arma::mat& gradient) { change(gradient); };
    const Ending ending = run.Run();
    INFO(ending);
    CHECK(ending.kind == (Rank() == Culprit() ? Ending::InvalidArgument :
        Ending::RuntimeError));
    CHECK(ending.Says("the function made a gradient of " +
        std::to_string(shape.first) + " x " + std::to_string(shape.second) +
        ", but the iterate is 3 x 1"));
    CHECK(run.optimizer.Report().stopRank == Culprit());
    CHECK(StillWorks());
  }
}

TEST_CASE("A communicator that this rank is not part of is refused",
    "[errors]")
{
  Endless run;
  run.optimizer.Communicator() = MPI_COMM_NULL;
  CheckRefused(run.Run(), { "MPI_COMM_NULL" });
}

TEST_CASE("A gradient or objective that is not finite ends all ranks",
    "[errors]")
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const auto check = [](const double badObjective,
                        const double badElement,
                        const size_t when)
  {
    INFO("objective " << badObjective << ", element " << badElement
        << ", step " << when);
    Endless run;
    run.optimizer.StepSize() = 1e-3;
    run.probe.spoil = [&](double& objective, arma::mat& gradient)
    {
      if (Rank() != Culprit() || run.probe.calls != when)
        return;
      objective += badObjective;
      gradient[2] += badElement;
    };
    const Ending ending = run.Run();
    INFO(ending);
    // As ens::SGD does: no exception, but a value that says it all.
    CHECK(ending.kind == Ending::Returned);
    CHECK(!std::isfinite(ending.value));
    if (std::isinf(badObjective))
      CHECK(ending.value == badObjective);
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
  check(nan, 0, 1);
  check(nan, 0, 30);
  check(infinite, 0, 3);
  check(-infinite, 0, 3);
  check(0, nan, 1);
  check(0, nan, 30);
  check(0, infinite, 3);
  check(0, -infinite, 3);
  check(nan, nan, 3);
  CHECK(StillWorks());
}

TEST_CASE("A policy's update that is not finite ends all ranks", "[errors]")
{
  // The gradient is finite, the step is not: two large numbers in a row.
  Endless run;
  dasgd::DASGD<ens::MomentumUpdate> optimizer(1, 1, 0, -1, true,
      ens::MomentumUpdate(1e300));
  run.probe.spoil = [](double&, arma::mat& gradient) { gradient.fill(1e200); };
  const double objective = optimizer.Optimize(run.probe, run.iterate);
  if (Ranks() > 1)
  {
    CHECK(!std::isfinite(objective));
    CHECK(run.iterate.is_finite());
    CHECK(Same(run.iterate));
    CHECK(optimizer.Report().reason == dasgd::StopReason::NonFinite);
  }
  CHECK(StillWorks());
}

TEST_CASE("A step that is too large diverges as in ens::SGD", "[errors]")
{
  Endless run;
  run.optimizer.StepSize() = 1e3;
  const Ending ending = run.Run();
  CHECK(ending.kind == Ending::Returned);
  CHECK(!std::isfinite(ending.value));
  CHECK(run.optimizer.Report().reason == dasgd::StopReason::NonFinite);
  CHECK(StillWorks());
}
