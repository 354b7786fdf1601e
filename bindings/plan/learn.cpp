/**
 * @file learn.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "learn.hpp"

#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>
#include <data/text.hpp>
#include <problems/simulated.hpp>

#include <cmath>
#include <limits>

namespace dasgd {
namespace planning {

namespace {

//! The mean loss of a model on some points.
double Loss(study::Task& judge,
            const arma::mat& model,
            const study::LabelledSet& points)
{
  arma::mat likely;
  judge.LogProbabilities(model, points.points, likely);
  double sum = 0;
  for (size_t i = 0; i < points.labels.n_elem; ++i)
    sum -= likely(points.labels[i], i);
  return sum / double(points.labels.n_elem);
}

//! What is known of a run while it lasts.
struct Watched
{
  study::Task& judge;
  const study::LabelledSet& test;
  double target;
  double budget;
  double clock = 0;
  double next = 0;
  double reachedAt = std::numeric_limits<double>::infinity();
  //! The last one that was looked at.
  double loss = std::numeric_limits<double>::infinity();
};

//! Ends a run at the target or the end of its time; rank 0 looks.
struct Watch
{
  Watched* watched;
  bool looks;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType& model)
  {
    const bool over = watched->clock >= watched->budget;
    if (!looks || (watched->clock < watched->next && !over))
      return over;
    // As fine as it matters: a percent of what has passed.
    watched->next = watched->clock * 1.01;
    watched->loss = Loss(watched->judge, model, watched->test);
    if (watched->loss <= watched->target)
      watched->reachedAt = watched->clock;
    return over || watched->loss <= watched->target ||
        !std::isfinite(watched->loss);
  }
};

template<typename OptimizerType>
LearnedRow Run(const LearnSettings& settings,
               OptimizerType&& optimizer,
               const std::string& topology,
               const size_t ranks,
               const double step,
               Watched& watched)
{
  LearnedRow row;
  row.ranks = ranks;
  row.topology = topology;
  row.step = step;
  optimizer.StepSize() = study::StepAlongMean(watched.judge, step,
      double(settings.model.batchSize));
  optimizer.BatchSize() = settings.model.batchSize;
  optimizer.MaxIterations() = 0;
  optimizer.Tolerance() = -1;
  optimizer.Seed() = settings.seed;
  optimizer.Topology() = topology;
  settings.task()->Train([&](study::Separable& function, arma::mat& iterate)
  {
    std::vector<study::SharedFunction> functions(ranks, study::SharedFunction(
        function, iterate, watched.judge.Sums(), settings.model.batchSize,
        ranks));
    SimCluster machine = study::SimulatedMachine(settings.model,
        settings.cluster, ranks, topology);
    machine.seed = settings.seed;
    machine.clock = &watched.clock;
    std::vector<Watch> watches;
    for (size_t i = 0; i < ranks; ++i)
      watches.push_back(Watch{ &watched, i == 0 });
    arma::mat model = iterate;
    Simulate(optimizer, functions, model, machine, watches);
  });
  row.seconds = watched.reachedAt;
  row.staleness = optimizer.Report().StalenessAverage();
  return row;
}

LearnedRow RunNamed(const LearnSettings& settings,
                    const std::string& algorithm,
                    const std::string& topology,
                    const size_t ranks,
                    const double step,
                    Watched& watched)
{
  LearnedRow row = (algorithm == "DASGD") ?
      Run(settings, DASGD<>(), topology, ranks, step, watched) :
      Run(settings, AllreduceSGD<>(), "complete", ranks, step, watched);
  row.algorithm = algorithm;
  return row;
}

//! Seconds of so many epochs of one rank.
double EpochSeconds(const LearnSettings& settings, const double epochs)
{
  return epochs * double(settings.model.points) /
      double(settings.model.batchSize) * settings.model.gradientSeconds;
}

} // namespace

double LearnTarget(const LearnSettings& settings)
{
  if (std::isfinite(settings.target))
    return settings.target;
  double best = std::numeric_limits<double>::infinity();
  for (const double step : settings.steps)
  {
    const std::unique_ptr<study::Task> judge = settings.task();
    Watched watched{ *judge, *settings.test,
        -std::numeric_limits<double>::infinity(), EpochSeconds(settings, 2) };
    Run(settings, DASGD<>(), "complete", 1, step, watched);
    if (std::isfinite(watched.loss))
      best = std::min(best, watched.loss);
  }
  return best;
}

LearnedRow Learn(const LearnSettings& settings,
                 const std::string& algorithm,
                 const std::string& topology,
                 const size_t ranks)
{
  LearnedRow best;
  best.algorithm = algorithm;
  best.ranks = ranks;
  best.topology = topology;
  best.seconds = std::numeric_limits<double>::infinity();
  for (const double step : settings.steps)
  {
    const std::unique_ptr<study::Task> judge = settings.task();
    // No longer than the best till now, or five times what one rank needs.
    Watched watched{ *judge, *settings.test, settings.target,
        std::min(best.seconds, EpochSeconds(settings, 10)) };
    const LearnedRow row = RunNamed(settings, algorithm, topology, ranks, step,
        watched);
    if (row.seconds < best.seconds)
      best = row;
  }
  return best;
}

std::string LearnedAdvice(const std::vector<LearnedRow>& rows, size_t& ranks)
{
  const double none = std::numeric_limits<double>::infinity();
  double one = none, least = none;
  const LearnedRow* chosen = nullptr;
  for (const LearnedRow& row : rows)
  {
    if (row.algorithm != "DASGD")
      continue;
    if (row.ranks == 1)
      one = row.seconds;
    least = std::min(least, row.seconds);
  }
  for (const LearnedRow& row : rows)
  {
    if (!chosen && row.algorithm == "DASGD" && std::isfinite(row.seconds) &&
        row.seconds <= 1.1 * least)
      chosen = &row;
  }
  if (!chosen)
    return "";
  ranks = chosen->ranks;
  std::string text = "Trained with real gradients on virtual time, " +
      study::Counted(ranks, "rank") + (ranks == 1 ? " gets" : " get") +
      " to the target " + (ranks == 1 ? "as soon as more do." :
      study::NumberText(one / chosen->seconds, 2) + " times as fast as one, "
      "with a step size of " + study::NumberText(chosen->step, 4) + ".");
  return text;
}

} // namespace planning
} // namespace dasgd
