/**
 * @file train.hpp
 *
 * From the shared parameters to a training.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_TRAIN_HPP
#define DASGD_BINDINGS_COMMON_TRAIN_HPP

#include "file_claims.hpp"
#include "job.hpp"
#include "optimize.hpp"
#include "ranks.hpp"

#include <dasgd.hpp>
#include <dasgd/core/history_file.hpp>
#include <dasgd/core/history_trace.hpp>
#include <dasgd/core/whole_file.hpp>

#include <filesystem>
#include <fstream>

namespace dasgd {
namespace cli {

//! What a function of mlpack gives for a batch: the sum over its points, or the
//! mean.
enum class Batch { Sum, Mean };

//! Which other parameter names the same file; empty if none does.
inline std::string AlsoFor(const std::string& name, const std::string& path)
{
  const std::string real = FileIdentity(path);
  if (real.empty())
    return "";
  // The command line as it was given: how parameters keep the names of files
  // is the front end's business.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string word, before;
  while (std::getline(file, word, '\0'))
  {
    const size_t equals = word.find('=');
    const bool joined = word.compare(0, 2, "--") == 0 &&
        equals != std::string::npos;
    const std::string option = joined ? word.substr(0, equals) : before;
    const std::string value = joined ? word.substr(equals + 1) : word;
    if (!value.empty() && option != "--" + name && !option.empty() &&
        option[0] == '-' && FileIdentity(value) == real)
      return option;
    before = word;
  }
  return "";
}

/**
 * Check what the shared parameters say, before any data is looked at: mistakes
 * are the same on all ranks.  To be called first in a binding.
 */
inline void CheckTraining(mlpack::util::Params& params)
{
  using namespace mlpack::util;
  CheckRanks(params);
  RequireParamValue<double>(params, "step_size",
      [](double x) { return std::isfinite(x) && x >= 0.0; }, true,
      "step size must be a finite number of at least 0");
  RequireParamValue<int>(params, "batch_size", [](int x) { return x > 0; },
      true, "batch size must be greater than zero");
  RequireParamValue<int>(params, "threads", [](int x) { return x > 0; }, true,
      "number of threads must be greater than zero");
  RequireParamValue<int>(params, "max_iterations",
      [](int x) { return x >= 0; }, true,
      "maximum number of iterations must be positive or zero");
  RequireParamValue<int>(params, "epochs", [](int x) { return x >= 0; }, true,
      "number of epochs must be positive or zero");
  RequireParamValue<int>(params, "seed", [](int x) { return x >= 0; }, true,
      "seed must be positive or zero");
  RequireParamValue<double>(params, "checkpoint_every",
      [](double x) { return x >= 0; }, true,
      "seconds from one checkpoint to the next must be positive or zero");
  RequireParamValue<int>(params, "restarts", [](int x) { return x >= 0; }, true,
      "number of restarts must be positive or zero");
  for (const char* name : { "checkpoint_every", "restart", "restarts" })
  {
    if (params.Has(name) && !params.Has("checkpoint_file"))
    {
      throw std::invalid_argument("'--" + std::string(name) + "' needs "
          "'--checkpoint_file'; give that as well!");
    }
  }
  if (params.Has("restarts") && params.Get<int>("ranks") < 2)
  {
    throw std::invalid_argument("'--restarts' needs '--ranks' of at least 2: "
        "this program can restart only the processes that it started; give "
        "'--ranks', without mpirun!");
  }
  RequireParamInSet<std::string>(params, "update",
      { "sgd", "momentum", "adam" }, true, "unknown update");
  RequireParamInSet<std::string>(params, "sharing", { "static", "dynamic" },
      true, "unknown sharing");
  RequireOnlyOnePassed(params, { "max_iterations", "epochs" }, true,
      "both say how long to train", true);
  try
  {
    const Topology topology(params.Get<std::string>("topology"));
    // Before they are started as well as after.
    const int asked = params.Get<int>("ranks");
    const size_t ranks = Launched() ? Ranks() : size_t(std::max(asked, 1));
    if (ranks > 1)
      topology.Check(ranks);
  }
  catch (const std::exception& e)
  {
    throw std::invalid_argument("Invalid value of '--topology (-g)' specified "
        "(" + params.Get<std::string>("topology") + "): " + e.what());
  }

  try
  {
    const std::string complaint = WireFormat(params.Get<std::string>(
        "wire_format")).Complaint();
    if (!complaint.empty())
      throw std::invalid_argument(complaint);
  }
  catch (const std::exception& e)
  {
    throw std::invalid_argument("Invalid value of '--wire_format' specified (" +
        params.Get<std::string>("wire_format") + "): " + e.what());
  }

  std::string problem;
  for (const std::string name : { "report_file", "trace_file",
      "history_file", "checkpoint_file" })
  {
    const std::string path = params.Get<std::string>(name);
    if (path.empty() || Rank() != 0)
      continue;
    std::string reason = WholeFile::Problem(path);
    // A training is worth more than its checkpoints: where there is a place for
    // them, but no room, it goes on without.
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::absolute(path,
        ignored).parent_path();
    if ((reason == std::strerror(ENOSPC) || reason == std::strerror(EDQUOT)) &&
        name == "checkpoint_file" &&
        std::filesystem::is_directory(folder, ignored) &&
        !std::filesystem::is_directory(path, ignored))
    {
      mlpack::Log::Warn << "no checkpoint can be written to '" << path
          << "' at present: " << reason << std::endl;
      reason.clear();
    }
    if (!reason.empty())
      reason = "cannot be written: " + reason;
    else
    {
      const std::string other = AlsoFor(name, path);
      if (!other.empty())
        reason = "is also the file of '" + other + "'";
    }
    if (!reason.empty() && problem.empty())
    {
      problem = "The output '" + path + "', given with '--" + name + "', " +
          reason + "!";
    }
  }
  Agree(problem);
}

/**
 * Start the ranks, if so asked: from here on the process is one of them.  To be
 * called when all has been checked that needs no data.
 */
inline void BecomeRank(mlpack::util::Params& params)
{
  StartRanks(params);

  // With mlpack's own front end, which knows nothing of ranks: only rank 0 is to
  // speak and to write.
  static std::unique_ptr<Voice> voice;
  if (Ranks() > 1 && !Voice::Current())
  {
    voice = std::make_unique<Voice>(Rank());
    for (auto& entry : params.Parameters())
    {
      if (Rank() != 0 && !entry.second.input)
        entry.second.wasPassed = false;
    }
  }
}

/**
 * Random numbers for all ranks alike, from the parameter "seed".  This is where
 * ranks are started: to be called after the checks, before data is read.
 *
 * @return The seed for the order of points; it is not 0.
 */
inline size_t Seed(mlpack::util::Params& params)
{
  BecomeRank(params);
  std::uint64_t seed = std::uint64_t(params.Get<int>("seed"));
  if (seed == 0)
    seed = std::uint64_t(std::time(nullptr));
  if (Ranks() > 1)
    seed = MpiCommunicator(MPI_COMM_WORLD).Gather(seed).front();
  mlpack::RandomSeed(size_t(seed));
  return size_t(seed);
}

//! What is known of a training when it is over.
struct Trained
{
  //! Its steps are along the mean gradient of a batch, as the options say.
  Report report;
  History history;
  //! The loss of the last epoch, for each point.
  double meanLoss = 0;
  size_t batchSize = 0;
  size_t seed = 0;
};

//! Points that the objective is of: those of the last epoch, which need not
//! have been a whole one.
inline std::uint64_t LastEpochPoints(const Report& report)
{
  const std::uint64_t points = (report.maxIterations == 0) ? report.Points() :
      std::max(report.maxIterations, report.pointsBefore);
  const std::uint64_t left = points % report.epochPoints;
  return (left == 0 || report.reason != StopReason::Budget) ?
      report.epochPoints : left;
}

//! What to say of a training that diverged.
inline std::string DivergenceText(const Report& report,
                                  const std::string& checkpoint)
{
  const double limit = report.StepLimit();
  // One digit, rounded down.
  const double most = (limit > 0 && limit < report.stepSize) ? limit :
      report.stepSize / 10;
  const double unit = std::pow(10, std::floor(std::log10(most)));
  std::string text = "Training diverged on rank " +
      std::to_string(report.stopRank) + " at step " +
      std::to_string(report.stopStep);
  if (report.stepSize > 0)
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

//! Set an optimizer up as the parameters say, and train.
template<typename OptimizerType, typename TrainType>
Trained TrainWith(OptimizerType& optimizer,
                  mlpack::util::Params& params,
                  const size_t points,
                  const size_t seed,
                  const Batch kind,
                  const Tags& tags,
                  TrainType&& train)
{
  optimizer.BatchSize() = size_t(params.Get<int>("batch_size"));
  optimizer.Tolerance() = params.Get<double>("tolerance");
  optimizer.Topology() = params.Get<std::string>("topology");
  optimizer.WireFormat() = params.Get<std::string>("wire_format");
  optimizer.Sharing() = (params.Get<std::string>("sharing") == "dynamic") ?
      Sharing::Dynamic : Sharing::Static;
  optimizer.Data() = params.Has("sharded") ? Data::Sharded : Data::Replicated;
  optimizer.Seed() = seed;
  const std::string checkpoint = params.Get<std::string>("checkpoint_file");
  optimizer.Checkpoint(checkpoint, params.Get<double>("checkpoint_every"));
  optimizer.CheckpointTags() = JobTags(params, tags);
  optimizer.Restart() = params.Has("restart");
  const size_t epochs = size_t(params.Get<int>("epochs"));
  optimizer.Messages().stepSize = "--step_size";
  optimizer.Messages().maxIterations = (epochs > 0) ? "--epochs" :
      "--max_iterations";
  optimizer.Messages().restart = "--restart";
  optimizer.Messages().advice = false; // Told below, with names of options.
  if (!checkpoint.empty() && Rank() == 0)
    SayOnTermination(checkpoint);
  size_t total = points, fewest = points;
  if (params.Has("sharded") && Ranks() > 1)
  {
    const std::vector<std::uint64_t> held =
        MpiCommunicator(MPI_COMM_WORLD).Gather(std::uint64_t(points));
    total = size_t(std::accumulate(held.begin(), held.end(),
        std::uint64_t(0)));
    fewest = size_t(*std::min_element(held.begin(), held.end()));
  }
  // The same on all ranks, also if one has fewer points than make a batch.
  optimizer.BatchSize() = std::min(optimizer.BatchSize(),
      std::max<size_t>(fewest, 1));

  // Whatever version of ensmallen this is: a step along the mean gradient, and
  // Adam's own step size for Adam.
  const double batch = double(optimizer.BatchSize());
  const bool adam = params.Get<std::string>("update") == "adam";
  const double given = params.Get<double>("step_size");
  const bool sums = (kind == Batch::Sum) && !adam;
  double factor = 1;
  if (ensmallen::dividesStep && !sums)
    factor = batch;
  else if (!ensmallen::dividesStep && sums)
    factor = 1 / batch;
  optimizer.StepSize() = given * factor;

  optimizer.MaxIterations() = (epochs > 0) ? epochs * total :
      size_t(params.Get<int>("max_iterations"));
  optimizer.RecordHistory() = !params.Get<std::string>("trace_file").empty() ||
      !params.Get<std::string>("history_file").empty();
  // Objectives become sums over points.
  const double scale = (kind == Batch::Mean) ? batch : 1;

  {
    // One thread unless asked for more: OpenBLAS would use all cores, which
    // takes longer for matrices of the size of a batch.
    const BlasThreads threads = BlasThreads::AtMost(
        size_t(params.Get<int>("threads")));
    ProgressLine progress(params.Has("progress") && Rank() == 0 && OnTerminal(),
        total, optimizer.MaxIterations(), optimizer.BatchSize(), scale);
    if (Ranks() > 1 && mpi::Tolerant())
    {
      // Without rank 0 there is nobody to write what the others would compute.
      progress.Check([]()
      {
        if (mpi::IsDead(MPI_COMM_WORLD, 0))
          throw std::runtime_error(RootLost());
      });
    }
    // Some methods of mlpack copy what they are given, and the report would be
    // lost with the copy.
    const Captured::Action action = [&](AnyFunction& function,
                                        arma::mat& iterate)
    { return Optimize(optimizer, function, iterate, progress); };
    try
    {
      train(Captured(action));
    }
    catch (const std::exception& e)
    {
      // Whatever it has led to, this is what there is to say.
      if (Ranks() > 1 && mpi::IsDead(MPI_COMM_WORLD, 0))
        throw std::runtime_error(RootLost());
      // Without the function that has found it.
      const std::string text = e.what(), start = "DASGD::Optimize(): ";
      if (text.compare(0, start.size(), start) == 0)
        throw std::runtime_error(text.substr(start.size()));
      throw;
    }
  }

  Trained trained;
  trained.report = optimizer.Report();
  trained.report.stepSize = given;
  trained.report.stepScale *= factor;
  trained.history = optimizer.History();
  trained.meanLoss = scale * trained.report.objective /
      double(LastEpochPoints(trained.report));
  trained.batchSize = optimizer.BatchSize();
  trained.seed = seed;
  if (trained.report.reason == StopReason::NonFinite)
  {
    mlpack::Log::Info << trained.report << std::endl;
    throw std::runtime_error(DivergenceText(trained.report, checkpoint));
  }
  if (Rank() == 0 && trained.report.PausedLong())
  {
    mlpack::Log::Warn << "gradients took less time than an exchange, so that "
        << "they were stale (S_avg " << report::Short(
        trained.report.StalenessAverage()) << "); take a larger --batch_size, "
        << "fewer ranks, or a smaller --step_size." << std::endl;
  }
  return trained;
}

/**
 * Train a model with DASGD.
 *
 * @param points Points that this rank holds.
 * @param seed See Seed().
 * @param kind What the model's function gives for a batch.
 * @param tags What a checkpoint is tied to besides the options; see DataTags().
 * @param train Called as train(optimizer): hands it to the model.
 */
template<typename TrainType>
Trained Train(mlpack::util::Params& params,
              const size_t points,
              const size_t seed,
              const Batch kind,
              const Tags& tags,
              TrainType&& train)
{
  if (!params.Has("sharded") && points < Ranks())
  {
    throw std::invalid_argument("The training data has " +
        std::to_string(points) + " points, too few for " +
        std::to_string(Ranks()) + " ranks; start at most " +
        std::to_string(points) + " ('--ranks')!");
  }
  const std::string update = params.Get<std::string>("update");
  if (update == "momentum")
  {
    DASGD<ens::MomentumUpdate> optimizer;
    return TrainWith(optimizer, params, points, seed, kind, tags, train);
  }
  if (update == "adam")
  {
    DASGD<ens::AdamUpdate> optimizer;
    return TrainWith(optimizer, params, points, seed, kind, tags, train);
  }
  DASGD<> optimizer;
  return TrainWith(optimizer, params, points, seed, kind, tags, train);
}

/**
 * Print and write what is known of a training, on rank 0.
 *
 * @param accuracy On test points, from 0 to 1; not a number if there are none.
 */
inline void SaveAccounts(mlpack::util::Params& params,
                         const Trained& trained,
                         const double accuracy)
{
  if (Rank() != 0)
    return;
  mlpack::Log::Info << trained.report << "mean loss "
      << report::Short(trained.meanLoss) << ", step size "
      << report::Short(trained.report.stepSize) << ", batch size "
      << trained.batchSize << ", seed " << trained.seed << std::endl;
  // What cannot be written now must not cost the model.
  const auto save = [&](const std::string& name, const auto& action)
  {
    const std::string path = params.Get<std::string>(name);
    if (path.empty())
      return;
    try
    {
      action(path);
    }
    catch (const std::exception& e)
    {
      const WriteError* error = dynamic_cast<const WriteError*>(&e);
      NotWritten().push_back(OutputText(path, "'--" + name + "'") +
          ", cannot be written: " + (error ? error->Reason() : InWords(e)));
      // With mlpack's own front end nobody says so later.
      if (!ToldAtEnd())
        mlpack::Log::Warn << NotWritten().back() << std::endl;
    }
  };
  save("report_file", [&](const std::string& path)
  {
    const Tags more = {
        { "program", report::JsonString("mlpack_" + params.BindingName()) },
        { "versions", VersionsJson() },
        { "update", report::JsonString(params.Get<std::string>("update")) },
        { "batch_size", std::to_string(trained.batchSize) },
        { "seed", std::to_string(trained.seed) },
        { "mean_loss", report::JsonNumber(trained.meanLoss) },
        { "test_accuracy", report::JsonNumber(accuracy) } };
    SaveFile(path, [&](std::ostream& out)
        { out << trained.report.Json(more); });
  });
  save("trace_file", [&](const std::string& path)
      { SaveTrace(trained.history, path); });
  save("history_file", [&](const std::string& path)
      { SaveHistory(trained.history, path); });
}

} // namespace cli
} // namespace dasgd

#endif
