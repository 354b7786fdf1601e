/**
 * @file train.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "train.hpp"
#include "optimize.hpp"

#include <data/number.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <ranks/termination.hpp>
#include <terminal/terminal.hpp>

#include <dasgd.hpp>
#include <mlpack/core.hpp>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <numeric>

namespace dasgd {
namespace cli {

namespace {

//! Points that the objective is of: those of the last epoch, which need not
//! have been a whole one.
std::uint64_t LastEpochPoints(const Report& report)
{
  const std::uint64_t points = (report.maxIterations == 0) ? report.Points() :
      std::max(report.maxIterations, report.pointsBefore);
  const std::uint64_t left = points % report.epochPoints;
  return (left == 0 || report.reason != StopReason::Budget) ?
      report.epochPoints : left;
}

//! The message of a training that diverged.
std::string DivergenceText(const Report& report,
                           const std::string& checkpoint,
                           const std::string& scales)
{
  const double limit = report.StepLimit();
  // One digit, rounded down.
  const double most = (limit > 0 && limit < report.stepSize) ? limit :
      report.stepSize / 10;
  const double unit = std::pow(10, std::floor(std::log10(most)));
  std::string text = "Training diverged on rank " +
      std::to_string(report.stopRank) + " at step " +
      std::to_string(report.stopStep);
  if (!scales.empty())
    text += ".  " + scales + "; try --standardize";
  else if (report.stepSize > 0)
  {
    text += "; try --step_size " + report::Short(std::floor(most / unit *
        (1 + 1e-9)) * unit);
  }
  if (!checkpoint.empty() && std::filesystem::exists(checkpoint))
  {
    text += " and --restart; '" + checkpoint + "' keeps the last state that "
        "was finite";
  }
  return text + "!";
}

//! How long to train unless told otherwise: until an epoch gains little, but so
//! many epochs, or more of few points.
constexpr size_t fewestEpochs = 10, mostEpochs = 50, fewestPoints = 100000;

//! Has it been told otherwise?
bool LengthGiven(mlpack::util::Params& params)
{ return params.Get<int>("epochs") > 0 || params.Has("max_iterations"); }

//! How the numbers of an optimizer relate to the parameters.
struct Scales
{
  //! Points over all ranks.
  size_t points = 0;
  //! Factor from --step_size to the optimizer's step size.
  double step = 1;
  //! Factor that makes objectives sums over points.
  double objective = 1;
};

//! A parameter that is 'auto' or a number, as CheckTraining() has seen.
double AutoOrNumber(mlpack::util::Params& params, const std::string& name)
{
  double value = Automatic;
  ParseNumber(params.Get<std::string>(name), value);
  return value;
}

//! Set an optimizer up as the parameters say.
template<typename OptimizerType>
Scales SetUp(OptimizerType& optimizer,
             mlpack::util::Params& params,
             const size_t points,
             const Batch kind)
{
  optimizer.BatchSize() = size_t(params.Get<int>("batch_size"));
  optimizer.Tolerance() = params.Get<double>("tolerance");
  optimizer.Topology() = params.Get<std::string>("topology");
  const std::string overlap = params.Get<std::string>("overlap");
  optimizer.Overlap() = (overlap == "always") ? Overlap::Always :
      (overlap == "never") ? Overlap::Never : Overlap::Auto;
  optimizer.ExchangeShare() = params.Get<double>("exchange_share");
  optimizer.StalenessDamping() = AutoOrNumber(params, "staleness_damping");
  optimizer.LookAhead() = AutoOrNumber(params, "look_ahead");
  optimizer.WireFormat() = params.Get<std::string>("wire_format");
  optimizer.Sharing() = (params.Get<std::string>("sharing") == "dynamic") ?
      Sharing::Dynamic : Sharing::Static;
  optimizer.Data() = params.Has("sharded") ? Data::Sharded : Data::Replicated;
  optimizer.Checkpoint(params.Get<std::string>("checkpoint_file"),
      params.Get<double>("checkpoint_every"));
  optimizer.Restart() = params.Has("restart");
  const size_t epochs = size_t(params.Get<int>("epochs"));
  optimizer.Messages().stepSize = "--step_size";
  optimizer.Messages().maxIterations = (epochs > 0) ? "--epochs" :
      "--max_iterations";
  optimizer.Messages().restart = "--restart";
  // DivergenceText() gives advice, with names of options.
  optimizer.Messages().advice = false;

  Scales scales;
  scales.points = points;
  size_t fewest = points;
  if (params.Has("sharded") && Ranks() > 1)
  {
    const std::vector<std::uint64_t> held =
        MpiCommunicator(MPI_COMM_WORLD).Gather(std::uint64_t(points));
    scales.points = size_t(std::accumulate(held.begin(), held.end(),
        std::uint64_t(0)));
    fewest = size_t(*std::min_element(held.begin(), held.end()));
  }
  // The same on all ranks, also if one has fewer points than a batch.
  optimizer.BatchSize() = std::min(optimizer.BatchSize(),
      std::max<size_t>(fewest, 1));
  optimizer.MaxIterations() = (epochs > 0) ? epochs * scales.points :
      params.Has("max_iterations") ? size_t(params.Get<int>("max_iterations")) :
      std::max(fewestPoints, mostEpochs * scales.points);
  optimizer.RecordHistory() = !params.Get<std::string>("trace_file").empty() ||
      !params.Get<std::string>("history_file").empty();

  // With every version of ensmallen a step is along the mean gradient, and Adam
  // has its own step size.
  const double batch = double(optimizer.BatchSize());
  const bool adam = params.Get<std::string>("update") == "adam";
  const bool sums = (kind == Batch::Sum) && !adam;
  if (ensmallen::dividesStep && !sums)
    scales.step = batch;
  else if (!ensmallen::dividesStep && sums)
    scales.step = 1 / batch;
  optimizer.StepSize() = params.Get<double>("step_size") * scales.step;
  scales.objective = (kind == Batch::Mean) ? batch : 1;
  return scales;
}

//! What the epochs of a training have brought; see ProgressLine.
struct Epochs
{
  double lastGain = 0;
  double meanLoss = 0;
};

//! Let the model train with the optimizer.
template<typename OptimizerType>
Epochs Run(OptimizerType& optimizer,
           mlpack::util::Params& params,
           const Scales& scales,
           const std::function<void(Captured)>& train)
{
  // One thread unless asked for more: OpenBLAS would use all cores, which
  // takes longer for matrices of the size of a batch.
  const BlasThreads threads = BlasThreads::AtMost(
      size_t(params.Get<int>("threads")));
  ProgressLine progress(params.Has("progress") && Rank() == 0 && OnTerminal(),
      scales.points, optimizer.MaxIterations(), optimizer.BatchSize(),
      scales.objective);
  if (!LengthGiven(params))
  {
    progress.StopWhenFlat(std::max(fewestEpochs, (fewestPoints +
        scales.points - 1) / scales.points));
  }
  // Some methods of mlpack copy the optimizer that they are given, and the
  // report would be lost with the copy.
  const auto minimize = [&](auto& function, auto& iterate)
  { return Optimize(optimizer, function, iterate, progress); };
  const Captured::Action action{ minimize, minimize };
  try
  {
    train(Captured(action));
  }
  catch (const std::exception& e)
  {
    // Users do not know the function that has found the error.
    const std::string text = e.what(), start = "DASGD::Optimize(): ";
    if (text.compare(0, start.size(), start) == 0)
      throw std::runtime_error(text.substr(start.size()));
    throw;
  }
  return { progress.LastGain(), progress.MeanLoss() };
}

//! Say why a training has ended, unless that is what was asked for, and what
//! may be better.
void TellEnd(mlpack::util::Params& params,
             const Trained& trained,
             const double gain,
             const std::string& scales)
{
  const Report& report = trained.report;
  const bool tolerance = report.reason == StopReason::Tolerance;
  const bool flat = report.reason == StopReason::Callback;
  if (!Writes() || (!tolerance && !flat && (LengthGiven(params) ||
      report.reason != StopReason::Budget)))
    return;
  const size_t points = size_t(report.Points());
  // Other ranks may have begun the next one.
  const size_t epochs = std::max<size_t>(1, points /
      size_t(std::max<std::uint64_t>(report.epochPoints, 1)));
  char percent[32];
  std::snprintf(percent, sizeof(percent), "%.1f", 100 * std::abs(gain));
  std::ostringstream text;
  text << "stopped after " << epochs << (epochs == 1 ? " epoch" : " epochs");
  if (tolerance)
  {
    text << ", as the last one changed the objective by less than --tolerance "
        << params.Get<double>("tolerance");
  }
  else if (!std::isnan(gain))
  {
    text << ", as the last one made the loss " << percent << " % "
        << (gain < 0 ? "larger" : "smaller");
  }
  std::cout << text.str() << "; mean loss " << report::Short(trained.meanLoss)
      << (tolerance ? "; --tolerance -1" : "; --epochs " + std::to_string(
      3 * epochs)) << " goes on" << std::endl;
  if (!flat)
    return;
  // Steps that are too long end a training as early as those that have arrived.
  if (!scales.empty())
    mlpack::Log::Warn << scales << "; try --standardize." << std::endl;
  else if (gain < -0.01)
  {
    mlpack::Log::Warn << "The loss has grown; try a smaller --step_size."
        << std::endl;
  }
}

//! Throw if a training has diverged, and warn if it exchanged too much.
void CheckReport(mlpack::util::Params& params,
                 const Report& report,
                 const std::string& scales)
{
  if (report.reason == StopReason::NonFinite)
  {
    mlpack::Log::Info << report << std::endl;
    throw std::runtime_error(DivergenceText(report,
        params.Get<std::string>("checkpoint_file"), scales));
  }
  if (report.reason == StopReason::Signal)
  {
    mlpack::Log::Info << report << std::endl;
    const std::string ended = "ended by signal " + report.stopText;
    if (!report.checkpointProblem.empty())
    {
      throw std::runtime_error(ended + ", and there is no checkpoint of the "
          "last state: " + report.checkpointProblem + "!");
    }
    throw Interrupted(report.stopSignal, "dasgd: " + ended + " after " +
        std::to_string(report.Points()) + " points; the last checkpoint is " +
        params.Get<std::string>("checkpoint_file") + "; run the same command "
        "to resume");
  }
  if (Writes() && report.PausedLong())
  {
    mlpack::Log::Warn << "gradients took less time than an exchange, so that "
        << "they were stale (S_avg " << report::Short(
        report.StalenessAverage()) << "); take a larger --batch_size, "
        << "fewer ranks, or a smaller --step_size." << std::endl;
  }
}

//! Train with one of the optimizers.
template<typename OptimizerType>
Trained TrainWith(mlpack::util::Params& params,
                  const size_t points,
                  const size_t seed,
                  const Batch kind,
                  const Tags& tags,
                  const std::function<void(Captured)>& train,
                  const std::string& scales)
{
  OptimizerType optimizer;
  const Scales factors = SetUp(optimizer, params, points, kind);
  optimizer.Seed() = seed;
  optimizer.CheckpointTags() = OptionTags(params, tags);
  const std::string checkpoint = params.Get<std::string>("checkpoint_file");
  if (!checkpoint.empty())
    optimizer.StopSignals() = { SIGTERM, SIGUSR1, SIGINT };
  if (!checkpoint.empty() && Rank() == 0)
    HandleTermination(checkpoint);
  Epochs epochs;
  {
    const TerminationNotice notice(!checkpoint.empty());
    epochs = Run(optimizer, params, factors, train);
  }
  if (Rank() != 0 && Writes())
  {
    if (RankOutput::Current())
      RankOutput::Current()->TakeOver();
    mlpack::Log::Warn << "rank 0 of " << Ranks() << " died; rank " << Rank()
        << " writes the files." << std::endl;
  }

  Trained trained;
  trained.report = optimizer.Report();
  trained.report.stepSize = params.Get<double>("step_size");
  trained.report.stepScale *= factors.step;
  trained.history = optimizer.History();
  // Where it has stopped by itself, the objective is that of the next epoch, of
  // which other ranks have done a part, or nobody anything.
  trained.meanLoss = (trained.report.reason == StopReason::Callback &&
      !std::isnan(epochs.meanLoss)) ? epochs.meanLoss : factors.objective *
      trained.report.objective / double(LastEpochPoints(trained.report));
  trained.batchSize = optimizer.BatchSize();
  trained.seed = seed;
  CheckReport(params, trained.report, scales);
  TellEnd(params, trained, epochs.lastGain, scales);
  return trained;
}

} // namespace

Trained Train(mlpack::util::Params& params,
              const size_t points,
              const size_t seed,
              const Batch kind,
              const Tags& tags,
              const std::function<void(Captured)>& train,
              const std::string& scales)
{
  if (!params.Has("sharded") && points < Ranks())
  {
    throw std::invalid_argument("The training data has " +
        std::to_string(points) + " points, too few for " +
        std::to_string(Ranks()) + " ranks; start at most " +
        std::to_string(points) + " ('--ranks')!");
  }
  const std::string update = params.Get<std::string>("update");
  const auto with = (update == "momentum") ?
      &TrainWith<DASGD<ens::MomentumUpdate>> : (update == "adam") ?
      &TrainWith<DASGD<ens::AdamUpdate>> : &TrainWith<DASGD<>>;
  return with(params, points, seed, kind, tags, train, scales);
}

} // namespace cli
} // namespace dasgd
