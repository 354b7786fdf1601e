/**
 * @file train.hpp
 *
 * From the shared parameters to a training.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_TRAIN_HPP
#define DASGD_BINDINGS_COMMON_TRAIN_HPP

#include "optimize.hpp"
#include "ranks.hpp"

#include <dasgd.hpp>
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
  std::error_code ignored;
  const auto real = [&](const std::string& given)
  {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(given,
        ignored), ignored).string();
  };
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
        option[0] == '-' && real(value) == real(path))
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
      throw std::invalid_argument("'--" + std::string(name) + "' is of use "
          "only with '--checkpoint_file'; give that as well!");
    }
  }
  if (params.Has("restarts") && params.Get<int>("ranks") < 2)
  {
    throw std::invalid_argument("'--restarts' is of use only with '--ranks' of "
        "2 and more: others are not started by this program, and cannot be "
        "started again by it; give '--ranks', without mpirun!");
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
      "checkpoint_file" })
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
    if (!reason.empty() && name == "checkpoint_file" &&
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

//! Set an optimizer up as the parameters say, train, and keep the accounts.
template<typename OptimizerType, typename TrainType>
void TrainWith(OptimizerType& optimizer,
               mlpack::util::Params& params,
               const size_t points,
               const size_t seed,
               const Batch kind,
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
  optimizer.Restart() = params.Has("restart");
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
  optimizer.StepSize() = params.Get<double>("step_size");
  const bool sums = (kind == Batch::Sum) && !adam;
  if (ensmallen::dividesStep && !sums)
    optimizer.StepSize() *= batch;
  else if (!ensmallen::dividesStep && sums)
    optimizer.StepSize() /= batch;

  const size_t epochs = size_t(params.Get<int>("epochs"));
  optimizer.MaxIterations() = (epochs > 0) ? epochs * total :
      size_t(params.Get<int>("max_iterations"));
  const std::string trace = params.Get<std::string>("trace_file");
  optimizer.RecordHistory() = !trace.empty();

  {
    ProgressLine progress(params.Has("progress") && Rank() == 0 && OnTerminal(),
        total, optimizer.MaxIterations(), optimizer.BatchSize(),
        kind == Batch::Mean ? batch : 1);
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
    catch (const std::exception&)
    {
      // Whatever it has led to, this is what there is to say.
      if (Ranks() > 1 && mpi::IsDead(MPI_COMM_WORLD, 0))
        throw std::runtime_error(RootLost());
      throw;
    }
  }

  mlpack::Log::Info << optimizer.Report() << std::endl;
  if (optimizer.Report().reason == StopReason::NonFinite)
  {
    std::ostringstream step;
    step << params.Get<double>("step_size");
    throw std::runtime_error("The training diverged (" +
        optimizer.Report().Reason() + "); give a smaller '--step_size' than " +
        step.str() + "!");
  }
  if (Rank() != 0)
    return;
  // What cannot be written now must not cost the model.
  const auto save = [](const std::string& name, const std::string& path,
                       const auto& action)
  {
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
  save("report_file", params.Get<std::string>("report_file"),
      [&](const std::string& path)
  {
    SaveFile(path, [&](std::ostream& out)
        { out << optimizer.Report().Json() << "\n"; });
  });
  save("trace_file", trace, [&](const std::string& path)
      { SaveTrace(optimizer.History(), path); });
}

/**
 * Train a model with DASGD.
 *
 * @param points Points that this rank holds.
 * @param seed See Seed().
 * @param kind What the model's function gives for a batch.
 * @param train Called as train(optimizer): hands it to the model.
 */
template<typename TrainType>
void Train(mlpack::util::Params& params,
           const size_t points,
           const size_t seed,
           const Batch kind,
           TrainType&& train)
{
  if (!params.Has("sharded") && points < Ranks())
  {
    throw std::invalid_argument("The training data has " +
        std::to_string(points) + " points, which cannot be divided over " +
        std::to_string(Ranks()) + " ranks; start at most " +
        std::to_string(points) + " ('--ranks')!");
  }
  const std::string update = params.Get<std::string>("update");
  if (update == "momentum")
  {
    DASGD<ens::MomentumUpdate> optimizer;
    TrainWith(optimizer, params, points, seed, kind, train);
  }
  else if (update == "adam")
  {
    DASGD<ens::AdamUpdate> optimizer;
    TrainWith(optimizer, params, points, seed, kind, train);
  }
  else
  {
    DASGD<> optimizer;
    TrainWith(optimizer, params, points, seed, kind, train);
  }
}

} // namespace cli
} // namespace dasgd

#endif
