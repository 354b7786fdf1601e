/**
 * @file check_training.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "check_training.hpp"

#include <data/file_claims.hpp>
#include <data/number.hpp>
#include <launcher/launch.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/param_checks.hpp>
#include <terminal/params.hpp>

#include <dasgd.hpp>
#include <dasgd/files/whole_file.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

namespace dasgd {
namespace cli {

namespace {

//! Which other option names the same file; empty if none does.
std::string OptionOfSameFile(const std::string& name, const std::string& path)
{
  const std::string real = FileIdentity(path);
  if (real.empty())
    return "";
  // Front ends keep the names of files in different ways, so look at the
  // command line itself.
  std::string before;
  for (const std::string& word : CommandWords())
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

//! Check texts that the library reads.
void CheckFormats(mlpack::util::Params& params)
{
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
        "wire_format")).Validate();
    if (!complaint.empty())
      throw std::invalid_argument(complaint);
  }
  catch (const std::exception& e)
  {
    throw std::invalid_argument("Invalid value of '--wire_format' specified (" +
        params.Get<std::string>("wire_format") + "): " + e.what());
  }
}

//! Check that the files can be written which are not parameters of the binding
//! for matrices or models.  Collective.
void CheckOutputs(mlpack::util::Params& params)
{
std::string problem;
  for (const std::string name : { "report_file", "trace_file",
      "history_file", "checkpoint_file" })
  {
    const std::string path = params.Get<std::string>(name);
    if (path.empty() || Rank() != 0)
      continue;
    std::string reason = WholeFile::Problem(path);
    // A full disk now does not mean a full disk later, and a training is worth
    // more than its checkpoints.
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
      const std::string other = OptionOfSameFile(name, path);
      if (!other.empty())
        reason = "is also the file of '" + other + "'";
    }
    if (!reason.empty() && problem.empty())
      problem = OutputText(path, "'--" + name + "'") + ", " + reason + "!";
  }
  CheckAllRanks(problem);
}

//! What the options say of ranks.
RankSettings ReadRankSettings(mlpack::util::Params& params)
{
  RankSettings settings;
  settings.ranks = params.Has("ranks") ? size_t(params.Get<int>("ranks")) : 0;
  settings.hostFile = params.Get<std::string>("hostfile");
  settings.ranksFile = params.Get<std::string>("ranks_file");
  settings.command = params.Get<std::string>("ranks_command");
  settings.elastic = params.Has("elastic");
  settings.least = size_t(params.Get<int>("min_ranks"));
  settings.most = size_t(params.Get<int>("max_ranks"));
  if (settings.hostFile.empty() && settings.command.empty() &&
      (settings.most == 0 || settings.most > MostRanks()))
    settings.most = MostRanks();
  return settings;
}

//! Check what is said of ranks that are to be started here.
void CheckStart(mlpack::util::Params& params)
{
  using namespace mlpack::util;
  RequireParamValue<int>(params, "min_ranks", [](int x) { return x > 0; }, true,
      "least number of ranks must be greater than zero");
  RequireParamValue<int>(params, "max_ranks", [](int x) { return x >= 0; },
      true, "greatest number of ranks must be positive or zero");
  const RankSettings settings = ReadRankSettings(params);
  const auto needs = [&](const std::string& name, const std::string& other)
  {
    throw std::invalid_argument("'--" + name + "' needs " + other +
        "; give that as well!");
  };
  for (const char* name : { "min_ranks", "max_ranks", "ranks_file",
      "ranks_command" })
  {
    if (params.Has(name) && !settings.elastic)
      needs(name, "'--elastic'");
  }
  if (settings.elastic && settings.hostFile.empty() &&
      settings.ranksFile.empty() && settings.command.empty())
    needs("elastic", "'--hostfile', '--ranks_file' or '--ranks_command', which "
        "says how many ranks there are to be");
  for (const char* name : { "hostfile", "ranks_file" })
  {
    if (params.Has(name) && !settings.command.empty())
    {
      throw std::invalid_argument("'--ranks_command' and '--" +
          std::string(name) + "' exclude each other: both say how many ranks "
          "there are to be!");
    }
  }
  if (settings.elastic && !params.Has("checkpoint_file"))
    needs("elastic", "'--checkpoint_file'");
  if (settings.elastic && params.Has("sharded"))
  {
    throw std::invalid_argument("'--elastic' and '--sharded' exclude each "
        "other: points of a rank that is no more would be missing!");
  }
  if (settings.most > 0 && settings.most < settings.least)
  {
    throw std::invalid_argument("'--max_ranks' (" + std::to_string(
        settings.most) + ") is less than '--min_ranks' (" + std::to_string(
        settings.least) + ")!");
  }
}

//! Check each number that says how to train.
void CheckNumbers(mlpack::util::Params& params)
{
  using namespace mlpack::util;
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
  RequireParamValue<double>(params, "exchange_share",
      [](double x) { return x > 0.0 && x <= 1.0; }, true,
      "share of the time must be positive and at most 1");
  for (const char* name : { "staleness_damping", "look_ahead" })
  {
    RequireParamValue<std::string>(params, name, [](const std::string& text)
    {
      double value = 0;
      return text == "auto" || (ParseNumber(text, value) &&
          std::isfinite(value) && value >= 0);
    }, true, "must be 'auto' or a finite number of at least 0");
  }
  double lookAhead = 0;
  if (params.Get<std::string>("update") == "sgd" && ParseNumber(
      params.Get<std::string>("look_ahead"), lookAhead) && lookAhead > 0)
  {
    throw std::invalid_argument("'--look_ahead' is " +
        params.Get<std::string>("look_ahead") + ", but '--update sgd' has no "
        "momentum to look ahead with; leave it at 'auto', or give '--update "
        "momentum' or '--update adam'!");
  }
}

//! Check what is said of checkpoints and restarts.
void CheckRestarts(mlpack::util::Params& params)
{
  using namespace mlpack::util;
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
  if (params.Has("restarts") && !params.Has("hostfile") &&
      !params.Has("ranks_file") && !params.Has("ranks_command") &&
      params.Get<int>("ranks") < 2)
  {
    throw std::invalid_argument("'--restarts' needs '--ranks' of at least 2: "
        "this program can restart only the processes that it started; give "
        "'--ranks', without mpirun!");
  }
}

/**
 * Start the ranks, if so asked: from here on the process is one of them.  If
 * ranks are started, this process does not return.
 */
void StartRanks(mlpack::util::Params& params)
{
  const size_t ranks = CheckRanks(params);
  if (ranks > 1 && !Launched())
  {
    const size_t restarts = params.Has("restarts") ||
        !params.Has("elastic") ? size_t(params.Get<int>("restarts")) : 3;
    throw std::runtime_error(Launch(ReadRankSettings(params),
        params.Get<std::string>("checkpoint_file"), restarts));
  }

  // mlpack's own front end knows nothing of ranks: let only rank 0 print and
  // write.
  static std::unique_ptr<RankOutput> output;
  if (Ranks() > 1 && !RankOutput::Current())
  {
    output = std::make_unique<RankOutput>(Rank());
    for (auto& entry : params.Parameters())
    {
      if (Rank() != 0 && !entry.second.input)
        entry.second.wasPassed = false;
    }
  }
}

} // namespace

//! How many ranks the files that are given say; at least 2, since there are
//! ranks to be started.
static size_t CheckFiles(mlpack::util::Params& params)
{
  std::string problem;
  const Allocation first = RankSource(ReadRankSettings(params)).Read(problem);
  if (!problem.empty())
  {
    const char* name = params.Has("ranks_command") ? "ranks_command" :
        params.Has("ranks_file") ? "ranks_file" : "hostfile";
    throw std::invalid_argument("Cannot use '" + params.Get<std::string>(name) +
        "', given by '--" + name + "': " + problem + "!");
  }
  size_t slots = 0;
  for (const Host& host : first.hosts)
    slots += host.slots;
  if (slots > 0 && first.ranks > slots)
  {
    throw std::invalid_argument("'" + params.Get<std::string>("hostfile") +
        "' has room for " + RanksText(slots) + ", not for " + std::to_string(
        first.ranks) + "; raise its 'slots=', or start fewer ('--ranks')!");
  }
  return std::max<size_t>(first.ranks, 2);
}

size_t CheckRanks(mlpack::util::Params& params)
{
  const auto& known = params.Parameters();
  const auto found = known.find("ranks");
  if (found == known.end() || found->second.cppType != "int")
    return 1;
  if (!Launched() && known.count("hostfile") > 0 &&
      (params.Has("hostfile") || params.Has("ranks_file") ||
      params.Has("ranks_command")))
    return CheckFiles(params);
  if (!params.Has("ranks"))
    return 1;
  const int ranks = params.Get<int>("ranks");
  const std::string invalid = "Invalid value of '--ranks' specified (" +
      std::to_string(ranks) + "): ";
  if (ranks < 1 || ranks > 65536)
    throw std::invalid_argument(invalid + "must be 1 to 65536!");
  if (Launched() && size_t(ranks) != Ranks() && !(known.count("elastic") > 0 &&
      params.Has("elastic")))
  {
    throw std::invalid_argument(invalid + std::to_string(Ranks()) + " ranks "
        "have been started by mpirun or srun; leave '--ranks' out there!");
  }
  if (!Launched() && size_t(ranks) > MostRanks())
  {
    throw std::invalid_argument(invalid + "this machine has " +
        std::to_string(Cores()) + (Cores() == 1 ? " core" : " cores") +
        "; start at most " + std::to_string(MostRanks()) + " here, or use "
        "mpirun with several machines!");
  }
  return size_t(ranks);
}

void CheckTraining(mlpack::util::Params& params)
{
  using namespace mlpack::util;
#if defined(DASGD_MLPACK_FRONT_END)
  // It switches the streams of the binding's own file only.
  SwitchLog(params.Has("verbose"), true);
#endif
  CheckRanks(params);
  CheckStart(params);
  CheckNumbers(params);
  CheckRestarts(params);
  RequireParamInSet<std::string>(params, "update",
      { "sgd", "momentum", "adam" }, true, "unknown update");
  RequireParamInSet<std::string>(params, "sharing", { "static", "dynamic" },
      true, "unknown sharing");
  RequireParamInSet<std::string>(params, "overlap", { "auto", "always",
      "never" }, true, "unknown overlap");
  RequireOnlyOnePassed(params, { "max_iterations", "epochs" }, true,
      "both say how long to train", true);
  CheckFormats(params);
  CheckOutputs(params);
}

size_t Seed(mlpack::util::Params& params)
{
  StartRanks(params);
  std::uint64_t seed = std::uint64_t(params.Get<int>("seed"));
  if (seed == 0)
    seed = std::uint64_t(std::time(nullptr));
  if (Ranks() > 1)
    seed = MpiCommunicator(MPI_COMM_WORLD).Gather(seed).front();
  mlpack::RandomSeed(size_t(seed));
  return size_t(seed);
}

} // namespace cli
} // namespace dasgd
