/**
 * @file callbacks_test.cpp
 *
 * ensmallen's callbacks at any number of ranks: each works, each can stop the
 * run for all, and the end is announced once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include "catch.hpp"

#include <chrono>
#include <limits>
#include <sstream>
#include <thread>

using namespace tests;

namespace {

//! Counts the gradients of all ranks, as a progress bar does.
struct CountsAll
{
  size_t evaluates = 0, steps = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Evaluate(OptimizerType&, FunctionType&, const MatType&, const double)
  {
    ++evaluates;
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    ++steps;
    return false;
  }
};

//! What std::cout gets while this lives.
class Capture
{
 public:
  Capture() : before(std::cout.rdbuf(stream.rdbuf())) { }
  ~Capture() { std::cout.rdbuf(before); }

  std::string Text() const { return stream.str(); }

  std::vector<std::string> Lines() const
  {
    std::vector<std::string> lines;
    std::istringstream in(stream.str());
    for (std::string line; std::getline(in, line);)
      lines.push_back(line);
    return lines;
  }

 private:
  std::ostringstream stream;
  std::streambuf* before;
};

/**
 * A run that goes on until somebody stops it: two points for each rank, batches
 * of one, so that epochs are short.
 */
struct EndlessTraining
{
  Probe probe{2 * Ranks(), 3};
  arma::mat iterate{3, 1, arma::fill::zeros};
  FixedDASGD optimizer{1e-3, 1, 0, -1};

  template<typename... CallbackTypes>
  double Run(CallbackTypes&... callbacks)
  { return optimizer.Optimize(probe, iterate, callbacks...); }

  double Run(Hooks& hooks)
  { return Optimize(optimizer, probe, iterate, hooks); }
};

} // namespace

namespace dasgd {

template<>
struct SeesAllRanks<CountsAll> : std::true_type { };

} // namespace dasgd

TEST_CASE("Live() shows callbacks the counts of the run that is under way",
    "[callbacks]")
{
  EndlessTraining run;
  CHECK(run.optimizer.Live() == nullptr);
  Hooks hooks;
  size_t wrong = 0;
  hooks.step = [&]()
  {
    const dasgd::RankReport* live = run.optimizer.Live();
    // A copy is not running.
    const FixedDASGD copy(run.optimizer);
    wrong += !live || copy.Live() || live->computed != hooks.steps ||
        live->staleness.Measured() < hooks.steps;
    return hooks.steps == 7;
  };
  run.Run(hooks);
  CHECK(wrong == 0);
  CHECK(run.optimizer.Live() == nullptr);
}

TEST_CASE("A callback of any kind that asks to stop on one rank stops all",
    "[callbacks]")
{
  const size_t who = Ranks() - 1;
  const auto check = [who](const std::string& name,
                           const std::function<void(Hooks&)>& prepare)
  {
    INFO(name);
    EndlessTraining run;
    Hooks hooks;
    if (Rank() == who)
      prepare(hooks);
    const double objective = run.Run(hooks);
    const dasgd::Report& report = run.optimizer.Report();
    CHECK(report.reason == dasgd::StopReason::Callback);
    CHECK(report.stopRank == who);
    CHECK(report.Reason().find("rank " + std::to_string(who)) !=
        std::string::npos);
    CHECK(hooks.begins == 1);
    CHECK(hooks.ends == 1);
    CHECK(Same(run.iterate));
    CHECK(Same(objective));
    return report.stopStep;
  };

  check("BeginEpoch, the first", [](Hooks& hooks)
  { hooks.beginEpoch = [](size_t, double) { return true; }; });
  check("BeginEpoch, the third", [](Hooks& hooks)
  { hooks.beginEpoch = [](size_t epoch, double) { return epoch == 3; }; });
  check("EndEpoch", [](Hooks& hooks)
  { hooks.endEpoch = [](size_t epoch, double) { return epoch == 3; }; });

  // These know at which of their rank's steps they asked.
  CHECK(check("Evaluate", [](Hooks& hooks)
  { hooks.evaluate = [&hooks]() { return hooks.evaluates == 3; }; }) == 3);
  CHECK(check("Gradient", [](Hooks& hooks)
  { hooks.gradient = [&hooks]() { return hooks.gradients == 4; }; }) == 4);
  CHECK(check("StepTaken", [](Hooks& hooks)
  { hooks.step = [&hooks]() { return hooks.steps == 5; }; }) == 5);
}

TEST_CASE("A rank that has done its share can still stop the others",
    "[callbacks]")
{
  if (Ranks() == 1)
    return;
  // Rank 0 computes its part in no time, the others wait with theirs for its
  // wish, which comes with the first gradient that it hears of.
  for (const bool throws : { false, true })
  {
    INFO("throws: " << throws);
    const size_t points = 64 * Ranks();
    Probe probe(points, 3);
    arma::mat iterate(3, 1, arma::fill::ones);
    FixedDASGD optimizer(1e-3, 1, points * 2000, -1);
    Hooks hooks;
    if (Rank() == 0)
    {
      hooks.endEpoch = [&](const size_t epoch, double)
      {
        if (probe.calls < 2000 * 64 || epoch < 10)
          return false;
        if (throws)
          throw OwnError{ 7 };
        return true;
      };
    }
    else
    {
      probe.onGradient = [&]()
      { std::this_thread::sleep_for(std::chrono::microseconds(50)); };
    }
    const Ending ending = Try([&]()
    { return Optimize(optimizer, probe, iterate, hooks); });
    CHECK(ending.kind == (!throws ? Ending::Returned : Rank() == 0 ?
        Ending::Own : Ending::RuntimeError));
    const dasgd::Report& report = optimizer.Report();
    CHECK(report.reason == (throws ? dasgd::StopReason::Error :
        dasgd::StopReason::Callback));
    CHECK(report.stopRank == 0);
    CHECK(Same(report.Reason()));
    CHECK(report.Points() < optimizer.MaxIterations() * 3 / 4);
    CHECK(hooks.ends == 1);
  }
}

namespace {

//! Does something to the iterate, as ens::SGD lets it.
struct Meddler
{
  std::function<void(arma::mat&)> begin, step, end;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void BeginOptimization(OptimizerType&, FunctionType&, MatType& iterate)
  {
    if (begin)
      begin(iterate);
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType& iterate)
  {
    if (step)
      step(const_cast<arma::mat&>(iterate));
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndOptimization(OptimizerType&, FunctionType&, MatType& iterate)
  {
    if (end)
      end(iterate);
  }
};

} // namespace

TEST_CASE("A callback that changes the iterate in the middle is refused",
    "[callbacks]")
{
  const size_t who = Ranks() - 1;
  const std::vector<std::function<void(arma::mat&)>> changes = {
      [](arma::mat& iterate) { iterate.clamp(-0.01, 0.01); },
      [](arma::mat& iterate) { iterate[7] = 0; },
      [](arma::mat& iterate)
      {
        arma::mat other(iterate.n_rows, iterate.n_cols, arma::fill::ones);
        iterate = std::move(other);
      },
      [](arma::mat& iterate) { iterate.set_size(3, 1); } };
  // The last kind ens::SGD does not survive, either.
  const size_t kinds = (Ranks() > 1) ? changes.size() : changes.size() - 1;
  for (size_t i = 0; i < kinds; ++i)
  {
    INFO("change " << i);
    Probe probe(64, 20);
    arma::mat iterate(20, 1, arma::fill::ones);
    FixedDASGD optimizer(1e-3, 4, 6400, -1);
    Meddler meddler;
    size_t steps = 0;
    if (Rank() == who)
    {
      meddler.step = [&](arma::mat& model)
      {
        if (++steps == 10)
          changes[i](model);
      };
    }
    const Ending ending = Try([&]()
    { return optimizer.Optimize(probe, iterate, meddler); });
    INFO(ending);
    if (Ranks() == 1)
    {
      CHECK(ending.kind == Ending::Returned);
      continue;
    }
    CHECK(ending.kind != Ending::Returned);
    CHECK(ending.Says("a callback changed the iterate in StepTaken()"));
    CHECK(optimizer.Report().stopRank == who);
    CHECK(optimizer.Report().stopStep == 10);
    CHECK(iterate.n_elem == 20);
    CHECK(Same(iterate));
    CHECK(StillWorks());
  }
}

TEST_CASE("A callback may change where the optimization begins and ends",
    "[callbacks]")
{
  // Every rank does something else; rank 0's counts.
  Probe probe(64, 5, Probe::Linear);
  arma::mat iterate(5, 1, arma::fill::zeros);
  FixedDASGD optimizer(0, 4, 640, -1);
  Meddler meddler;
  meddler.begin = [](arma::mat& model)
  { model = arma::mat(5, 1, arma::fill::value(3.0 + double(Rank()))); };
  meddler.end = [](arma::mat& model)
  { model *= 10.0 + double(Rank()); };
  optimizer.Optimize(probe, iterate, meddler);
  CHECK(arma::all(arma::vectorise(iterate) == 30.0));

  if (Ranks() == 1)
    return;
  // But not its shape.
  meddler.begin = [](arma::mat& model) { model.ones(4, 2); };
  const Ending ending = Try([&]()
  { return optimizer.Optimize(probe, iterate, meddler); });
  INFO(ending);
  CHECK(ending.Says("a callback made the iterate 4 x 2 in "
      "BeginOptimization(), but it was 5 x 1"));
  CHECK(iterate.n_elem == 5);
  CHECK(StillWorks());
}

TEST_CASE("If all ranks ask to stop at once, all name the same one",
    "[callbacks]")
{
  EndlessTraining run;
  Hooks hooks;
  hooks.step = [&hooks]() { return hooks.steps == 20; };
  const double objective = run.Run(hooks);
  CHECK(run.optimizer.Report().reason == dasgd::StopReason::Callback);
  CHECK(Same(run.optimizer.Report().Reason()));
  CHECK(Same(objective));
  CHECK(Same(run.iterate));
  CHECK(hooks.ends == 1);
}

TEST_CASE("EndOptimization is called once on every path", "[callbacks]")
{
  SECTION("all work done")
  {
    EndlessTraining run;
    run.optimizer.MaxIterations() = 10 * Ranks();
    Hooks hooks;
    run.Run(hooks);
    CHECK(run.optimizer.Report().reason == dasgd::StopReason::Budget);
    CHECK(hooks.begins == 1);
    CHECK(hooks.ends == 1);
  }
  SECTION("tolerance")
  {
    EndlessTraining run;
    run.optimizer.Tolerance() = 1e10;
    Hooks hooks;
    run.Run(hooks);
    CHECK(run.optimizer.Report().reason == dasgd::StopReason::Tolerance);
    CHECK(hooks.begins == 1);
    CHECK(hooks.ends == 1);
  }
  SECTION("a gradient that is not finite")
  {
    EndlessTraining run;
    run.probe.spoil = [&run](double&, arma::mat& gradient)
    {
      if (Rank() == 0 && run.probe.calls == 5)
        gradient[1] = std::numeric_limits<double>::quiet_NaN();
    };
    Hooks hooks;
    run.Run(hooks);
    CHECK(run.optimizer.Report().reason == dasgd::StopReason::NonFinite);
    CHECK(hooks.begins == 1);
    CHECK(hooks.ends == 1);
  }
  SECTION("an exception")
  {
    EndlessTraining run;
    run.probe.onGradient = [&run]()
    {
      if (Rank() == 0 && run.probe.calls == 5)
        throw OwnError{ 1 };
    };
    Hooks hooks;
    CHECK(Try([&]() { return run.Run(hooks); }).kind ==
        (Rank() == 0 ? Ending::Own : Ending::RuntimeError));
    CHECK(hooks.begins == 1);
    CHECK(hooks.ends == 1);
  }
}

TEST_CASE("A rank's callbacks see its own gradients and everybody's epochs",
    "[callbacks]")
{
  const size_t epochs = 6;
  Probe probe(8 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::zeros);
  FixedDASGD optimizer(1e-3, 1, epochs * probe.NumFunctions(), -1);
  Hooks hooks;
  std::vector<double> objectives;
  size_t expected = 1;
  hooks.endEpoch = [&](const size_t epoch, const double objective)
  {
    CHECK(epoch == expected++);
    objectives.push_back(objective);
    return false;
  };
  Optimize(optimizer, probe, iterate, hooks);

  const size_t mine = optimizer.Report().ranks[Rank()].computed;
  CHECK(mine == 8 * epochs);
  CHECK(hooks.evaluates == mine);
  CHECK(hooks.gradients == mine);
  CHECK(hooks.steps == mine);
  CHECK(hooks.endEpochs == epochs);
  CHECK(hooks.beginEpochs == epochs + 1);
  // The epochs' objectives are the same everywhere, bit for bit.
  CHECK(objectives.size() == epochs);
  for (const double objective : objectives)
    CHECK(Same(objective));
}

TEST_CASE("A callback that says so sees the gradients of all ranks",
    "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 60 * Ranks();
  CountsAll all;
  run.Run(all);
  CHECK(all.steps == run.optimizer.Report().Gradients());
}

TEST_CASE("RootStream() prints on rank 0 only", "[callbacks]")
{
  Capture capture;
  dasgd::RootStream() << "once";
  CHECK(capture.Text() == (Rank() == 0 ? "once" : ""));
}

TEST_CASE("PrintLoss prints each epoch once", "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 3 * run.probe.NumFunctions();
  ens::PrintLoss print(dasgd::RootStream());
  Capture capture;
  run.Run(print);
  CHECK(capture.Lines().size() == (Rank() == 0 ? 3 : 0));
}

TEST_CASE("ProgressBar reaches the end of every epoch", "[callbacks]")
{
  const size_t epochs = 4;
  Probe probe(12 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::zeros);
  FixedDASGD optimizer(1e-3, 2, epochs * probe.NumFunctions(), -1);
  ens::ProgressBar bar(70, dasgd::RootStream());
  Capture capture;
  optimizer.Optimize(probe, iterate, bar);

  // "12/12 [====] 100% - ...s/epoch; ..." closes an epoch.  A step that came
  // early for the next epoch counts for the one that is under way, so only all
  // of them together are exact.
  size_t steps = 0, closed = 0;
  for (const std::string& line : capture.Lines())
  {
    if (line.find("s/epoch") == std::string::npos)
      continue;
    // Steps before it overwrite each other with carriage returns.
    std::istringstream last(line.substr(line.rfind('\r') + 1));
    size_t count = 0;
    last >> count;
    steps += count;
    ++closed;
  }
  CHECK(closed == (Rank() == 0 ? epochs : 0));
  CHECK(steps == (Rank() == 0 ? optimizer.Report().Gradients() : 0));
  CHECK(capture.Text().empty() == (Rank() != 0));
  if (Rank() == 0)
    CHECK(capture.Text().find(" 100% ") != std::string::npos);
}

TEST_CASE("ens::Report prints once", "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 3 * run.probe.NumFunctions();
  ens::Report report(0.1, dasgd::RootStream());
  Capture capture;
  run.Run(report);
  if (Rank() == 0)
    CHECK(capture.Text().find("Optimization Report") != std::string::npos);
  else
    CHECK(capture.Text().empty());
}

TEST_CASE("EarlyStopAtMinLoss stops all ranks", "[callbacks]")
{
  SECTION("by the loss of the epoch")
  {
    // Without steps the loss never falls.
    EndlessTraining run;
    run.optimizer.StepSize() = 0;
    ens::EarlyStopAtMinLoss stop(3);
    run.Run(stop);
    CHECK(run.optimizer.Report().reason == dasgd::StopReason::Callback);
    CHECK(Same(run.iterate));
  }
  SECTION("by a loss that one rank finds")
  {
    EndlessTraining run;
    double loss = 0;
    ens::EarlyStopAtMinLoss stop([&loss](const arma::mat&)
    {
      // Only rank 0 is asked.
      CHECK(Rank() == 0);
      return loss;
    }, 2);
    run.Run(stop);
    CHECK(run.optimizer.Report().reason == dasgd::StopReason::Callback);
    CHECK(run.optimizer.Report().stopRank == 0);
  }
}

TEST_CASE("TimerStop stops all ranks", "[callbacks]")
{
  EndlessTraining run;
  ens::TimerStop stop(0.01);
  const double objective = run.Run(stop);
  CHECK(run.optimizer.Report().reason == dasgd::StopReason::Callback);
  CHECK(Same(run.iterate));
  CHECK(Same(objective));
}

TEST_CASE("Clipped gradients are what is applied and sent", "[callbacks]")
{
  Probe probe(10 * Ranks(), 4, Probe::Linear);
  const Probe points = probe;
  arma::mat iterate(4, 1, arma::fill::zeros);
  FixedDASGD optimizer(1, 1, probe.NumFunctions(), -1);

  SECTION("by value")
  {
    ens::GradClipByValue clip(-1, 1);
    optimizer.Optimize(probe, iterate, clip);
    // Integers from 0 on, clipped to 0 and 1: still exact.
    arma::mat expected(4, 1, arma::fill::zeros);
    for (size_t i = 0; i < points.NumFunctions(); ++i)
    {
      for (size_t k = 0; k < 4; ++k)
        expected[k] -= std::min(1.0, points.Point(i)[k]);
    }
    CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
  }
  SECTION("by norm")
  {
    ens::GradClipByNorm clip(0.5);
    optimizer.Optimize(probe, iterate, clip);
    arma::mat expected(4, 1, arma::fill::zeros);
    for (size_t i = 0; i < points.NumFunctions(); ++i)
    {
      const arma::mat point(points.Point(i), 4, 1);
      expected -= 0.5 * point / arma::norm(point);
    }
    // Rounding of 10 n additions of vectors of length 0.5.
    CHECK(arma::approx_equal(iterate, expected, "absdiff", 1e-12));
  }
}

TEST_CASE("StoreBestCoordinates holds the best of all ranks, on all of them",
    "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 20 * Ranks();
  double best = std::numeric_limits<double>::max();
  run.probe.spoil = [&best](double& objective, arma::mat&)
  { best = std::min(best, objective); };
  ens::StoreBestCoordinates<arma::mat> store;
  run.Run(store);
  const std::vector<double> bests = Gather(best);
  CHECK(store.BestObjective() ==
      *std::min_element(bests.begin(), bests.end()));
  CHECK(store.BestCoordinates().n_elem == 3);
  CHECK(Same(store.BestCoordinates()));
}

TEST_CASE("Callbacks that hold the same on all ranks are given to all of them",
    "[callbacks]")
{
  if (Ranks() == 1)
    return;
  EndlessTraining run;
  const Ending ending = Try([&]()
  {
    if (Rank() != 0)
      return double(run.optimizer.Optimize(run.probe, run.iterate));
    ens::StoreBestCoordinates<arma::mat> store;
    return double(run.optimizer.Optimize(run.probe, run.iterate, store));
  });
  CHECK(ending.kind == Ending::InvalidArgument);
  CHECK(ending.Says("StoreBestCoordinates"));
}

TEST_CASE("Callbacks that keep nothing may differ between ranks", "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 3 * run.probe.NumFunctions();
  std::ostringstream loss;
  ens::PrintLoss print(loss);
  for (size_t i = 0; i < 2; ++i)
  {
    if (Rank() == 0)
      run.optimizer.Optimize(run.probe, run.iterate, print);
    else
      run.optimizer.Optimize(run.probe, run.iterate);
    CHECK(Same(run.iterate));
  }
}

TEST_CASE("Callbacks of ensmallen that print do so on rank 0 only",
    "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 3 * run.probe.NumFunctions();
  std::ostringstream loss, bar, report;
  ens::PrintLoss printLoss(loss);
  ens::ProgressBar progressBar(70, bar);
  ens::Report printReport(0.1, report);
  run.Run(printLoss, progressBar, printReport);
  CHECK(loss.str().empty() == (Rank() != 0));
  CHECK(bar.str().empty() == (Rank() != 0));
  CHECK(report.str().empty() == (Rank() != 0));
}

TEST_CASE("One rank looks at validation data for all", "[callbacks]")
{
  EndlessTraining run;
  run.optimizer.MaxIterations() = 3 * run.probe.NumFunctions();
  size_t looks = 0;
  ens::EarlyStopAtMinLoss stop([&looks](const arma::mat&)
  { return -double(++looks); }, 2);
  run.Run(stop);
  CHECK(looks == (Rank() == 0 ? 3 : 0));
}

TEST_CASE("What a callback sets counts for the next run, except the step",
    "[callbacks]")
{
  for (const bool everywhere : { true, false })
  {
    Probe probe(8 * Ranks(), 3, Probe::Linear);
    arma::mat iterate(3, 1, arma::fill::zeros);
    const arma::mat expected = -3 * probe.FullGradient(iterate);
    FixedDASGD optimizer(1, 1, 3 * probe.NumFunctions(), -1);
    optimizer.ExactObjective() = true;
    Hooks hooks;
    hooks.step = [&]()
    {
      if (everywhere || Rank() + 1 == Ranks())
      {
        optimizer.BatchSize() = 0;
        optimizer.MaxIterations() = 1;
        optimizer.Tolerance() = 1e300;
        optimizer.ExactObjective() = false;
        optimizer.Sharing() = dasgd::Sharing::Dynamic;
        optimizer.Window() = 7;
        optimizer.Topology() = "ring";
        optimizer.RecordHistory() = true;
        // Alone a rank does as ens::SGD, which reads this at each epoch.
        optimizer.Shuffle() = (Ranks() == 1);
      }
      return false;
    };
    const double objective = Optimize(optimizer, probe, iterate, hooks);
    CHECK(arma::approx_equal(iterate, expected, "absdiff", 0));
    // The probe's numbers are whole, and so are all sums.
    CHECK(objective == probe.Objective(iterate));
    const dasgd::Report& report = optimizer.Report();
    CHECK(Same(report.Json()));
    CHECK(report.topology == (Ranks() == 1 ? "complete" : "board"));
    CHECK(report.sharing == dasgd::Sharing::Static);
    CHECK(report.maxIterations == 3 * probe.NumFunctions());
    CHECK(report.reason == dasgd::StopReason::Budget);
    CHECK(optimizer.History().empty());
    // Every point was visited as often as any other.
    SumUp(probe.visits);
    CHECK(probe.visits == std::vector<size_t>(probe.visits.size(), 3));

    // What was set is what the next run is asked to do.
    if (everywhere || Rank() + 1 == Ranks())
      CHECK(optimizer.BatchSize() == 0);
    const Ending ending = Try([&]()
    { return Optimize(optimizer, probe, iterate, hooks); });
    CHECK(ending.kind == Ending::InvalidArgument);
    CHECK(ending.Says("BatchSize()"));
  }
}

TEST_CASE("A callback may change the step size during the run", "[callbacks]")
{
  // Half of the gradients of each rank count double.
  const size_t mine = 10;
  Probe probe(mine * Ranks(), 1, Probe::Linear);
  probe.spoil = [](double&, arma::mat& gradient) { gradient.ones(); };
  arma::mat iterate(1, 1, arma::fill::zeros);
  FixedDASGD optimizer(1, 1, probe.NumFunctions(), -1);
  Hooks hooks;
  hooks.step = [&]()
  {
    if (hooks.steps == mine / 2)
      optimizer.StepSize() = 2;
    return false;
  };
  Optimize(optimizer, probe, iterate, hooks);
  CHECK(iterate[0] == -1.5 * double(mine * Ranks()));
}
