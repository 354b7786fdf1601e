/**
 * @file dasgd_plan_main.cpp
 *
 * Predicts what more ranks and machines would do for a training.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#undef BINDING_NAME
#define BINDING_NAME dasgd_plan

#include <mlpack/core/util/mlpack_main.hpp>

#include <dasgd/files/whole_file.hpp>
#include <dasgd/core/blas_threads.hpp>
#include <dasgd/transport/mpi_link_speed.hpp>
#include <data/file_claims.hpp>
#include <launcher/launch.hpp>
#include <plan/measure.hpp>
#include <plan/page.hpp>
#include <problems/data_options.hpp>
#include <problems/other_load.hpp>
#include <problems/tasks.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/progress_line.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Plan of Decentralized Training");

BINDING_SHORT_DESC(
    "Predicts how fast a training will be on more processes and machines: "
    "measures a gradient and the network, simulates all ranks and frames, and "
    "recommends a number of ranks.");

BINDING_LONG_DESC(
    "Answers whether more ranks will help, before there are any.  The program "
    "measures on this machine how long a gradient takes and how long it takes "
    "to apply one, and then simulates decentralized asynchronous SGD with " +
    PRINT_PARAM_STRING("min_ranks") + " to " + PRINT_PARAM_STRING("max_ranks") +
    " ranks, each twice as many as the last, and all topologies: every frame "
    "that ranks would exchange, on virtual time.  It prints the gradients per "
    "second, the staleness S_avg, what the busiest machine sends, the memory "
    "of a rank and the time of an epoch, for comparison the same for an "
    "all-reduce after each gradient, and one recommendation, marked with a "
    "star in the table."
    "\n\n"
    "Stale gradients make shorter steps, so the speed-up is not all: the "
    "column 'worth' is the speed-up times 3 / (1 + S_avg) where that is below "
    "1, as for --staleness_damping of the programs that train, or 6 / (1 + "
    "S_avg) with " + PRINT_PARAM_STRING("update") + " momentum or adam.  "
    "Recommended are the fewest ranks that are worth nearly as much as any, "
    "over a network that is not full; and one rank if an epoch takes it less "
    "than 10 ms.\n\n"
    "Without options on machines, ranks have the cores of this machine, and "
    "beyond these, other machines like it."
    "\n\n"
    "The problem and the data are those of mlpack_dasgd_study; instead, " +
    PRINT_PARAM_STRING("parameters") + " and " +
    PRINT_PARAM_STRING("gradient_seconds") + " describe a model that you have "
    "measured yourself."
    "\n\n"
    "The network is described by " + PRINT_PARAM_STRING("bandwidth") + ", " +
    PRINT_PARAM_STRING("latency") + " and " +
    PRINT_PARAM_STRING("ranks_per_machine") + ", or measured: with a " +
    PRINT_PARAM_STRING("hostfile") + ", or under mpirun on several machines, "
    "the program measures all links between them for some seconds, and takes "
    "the slowest."
    "\n\n"
    "With " + PRINT_PARAM_STRING("learn") + " it also trains, with real "
    "gradients on virtual time, and compares the time to a test loss, with the "
    "best of the " + PRINT_PARAM_STRING("step_sizes") + " for each.  That "
    "takes as long as computing all those gradients in one process."
    "\n\n"
    "Predictions hold for ranks with a core of their own, or two with a "
    "topology that relays, on machines like this one.  Nothing else should run "
    "on it meanwhile; the program warns if something does.");

BINDING_EXAMPLE(
    "To plan a training of a network on up to 64 machines with a network of "
    "1 Gbit/s, and look at the page:"
    "\n\n" +
    PRINT_CALL("dasgd_plan", "problem", "mlp", "max_ranks", 64, "bandwidth",
        1000, "report_file", "plan.html") +
    "\n\n"
    "To plan for a model with 25 million parameters whose gradient takes half "
    "a second, with 8 ranks on each machine:"
    "\n\n" +
    PRINT_CALL("dasgd_plan", "parameters", 25000000, "gradient_seconds", 0.5,
        "max_ranks", 256, "ranks_per_machine", 8, "bandwidth", 10000));

PARAM_INT_IN("parameters", "Number of parameters of a model, instead of a "
    "problem.", "", 0);
PARAM_DOUBLE_IN("gradient_seconds", "Seconds that a gradient takes; 0 measures "
    "it.", "", 0.0);
PARAM_DOUBLE_IN("gradient_spread", "By which part the time of a gradient "
    "varies by chance, up and down; 0 measures it, or stands for 0.02.", "",
    0.0);
PARAM_INT_IN("min_ranks", "The smallest number of ranks to plan, besides 1.",
    "", 2);
PARAM_INT_IN("max_ranks", "The largest number of ranks to plan; up to 4096.",
    "R", 64);
PARAM_INT_IN("ranks_per_machine", "Ranks on each machine; 0 stands for the "
    "cores of this machine, or for what is found under mpirun.", "", 0);
PARAM_DOUBLE_IN("bandwidth", "What a machine can send to all others together, "
    "in Mbit/s; 0 measures it if there are several machines, or stands for "
    "1000.", "", 0.0);
PARAM_DOUBLE_IN("latency", "Seconds that a message takes to another machine; 0 "
    "measures it if there are several machines, or stands for 0.00005.", "",
    0.0);
PARAM_STRING_IN("hostfile", "List of machines, to measure the network between "
    "them.", "", "");
PARAM_STRING_IN("topologies", "Topologies to plan, separated by semicolons; "
    "all that fit unless given.", "g", "");
PARAM_STRING_IN("update", "Update rule that gradients are for: 'sgd', "
    "'momentum' or 'adam'.", "u", "sgd");
PARAM_STRING_IN("wire_format", "How updates are written in messages: 'exact', "
    "'float32', 'bfloat16' or 'topk:FRACTION'.", "", "exact");
PARAM_FLAG("learn", "Compare the time to a test loss, too.", "");
PARAM_DOUBLE_IN("target_loss", "Test loss to reach; 0 takes that of one rank "
    "after two epochs.", "", 0.0);
PARAM_STRING_IN("step_sizes", "Step sizes to try, separated by commas; steps "
    "are along the mean gradient of a batch.", "s", "0.05,0.1,0.2,0.4");
PARAM_INT_IN("learn_ranks", "The largest number of ranks to learn on.", "", 16);
PARAM_STRING_IN("report_file", "File to write a page for a browser to.", "r",
    "");
PARAM_STRING_IN("rows_file", "File to write the table to, as CSV.", "o", "");
PARAM_INT_IN("seed", "Random seed.", "", 1);

namespace study = dasgd::study;
namespace planning = dasgd::planning;

using study::Refuse;

//! Everything that was asked for.
struct Settings
{
  std::string problem;
  dasgd::PlanModel model;
  dasgd::PlanCluster cluster;
  std::vector<size_t> ranks;
  std::vector<std::string> topologies;
  std::vector<double> steps;
  size_t seed = 1;
};

//! 1, and then each twice the last.
static std::vector<size_t> RanksOf(util::Params& params)
{
  const size_t least = study::AtLeast(params, "min_ranks", 1);
  const size_t most = study::AtLeast(params, "max_ranks", 1);
  if (most > 4096)
  {
    Refuse("max_ranks", std::to_string(most), "plans are made for up to 4096 "
        "ranks");
  }
  if (most < least && params.Has("min_ranks"))
  {
    Refuse("max_ranks", std::to_string(most), "give at least " +
        PRINT_PARAM_STRING("min_ranks") + " (" + std::to_string(least) + ")");
  }
  std::vector<size_t> ranks = { 1 };
  for (size_t count = std::max<size_t>(2, least); count <= most; count *= 2)
    ranks.push_back(count);
  if (ranks.back() != most && most > 1)
    ranks.push_back(most);
  return ranks;
}

static std::vector<std::string> TopologiesOf(util::Params& params)
{
  const std::string text = params.Get<std::string>("topologies");
  std::vector<std::string> topologies;
  for (const std::string& name : study::Split(text, ';'))
  {
    try
    {
      topologies.push_back(dasgd::Topology(name).Name());
    }
    catch (const std::exception& e)
    {
      Refuse("topologies", text, e.what());
    }
  }
  return topologies;
}

//! A model that is described by its size needs the time of a gradient, and is
//! no problem of this program.
static void CheckDescription(util::Params& params,
                             const dasgd::PlanModel& model)
{
  if (model.elements == 0)
    return;
  if (model.gradientSeconds == 0)
  {
    throw std::invalid_argument(PRINT_PARAM_STRING("parameters") + " is given, "
        "but not how long a gradient of such a model takes; give " +
        PRINT_PARAM_STRING("gradient_seconds") + ", too!");
  }
  for (const std::string name : { "problem", "data", "training_file",
      "layers", "learn" })
  {
    if (params.Has(name))
    {
      throw std::invalid_argument("Give only one of " +
          PRINT_PARAM_STRING("parameters") + " and " +
          PRINT_PARAM_STRING(name) + ", which is for problems that this "
          "program computes gradients of!");
    }
  }
}

//! Outputs must be files that can be written, and none that are read.
static void CheckOutputs(util::Params& params)
{
  for (const std::string name : { "report_file", "rows_file" })
  {
    const std::string path = params.Get<std::string>(name);
    const std::string problem = path.empty() ? "" :
        dasgd::WholeFile::Problem(path);
    if (!problem.empty())
    {
      Refuse(name, path, "it cannot be written (" + problem + "); choose "
          "another place");
    }
    for (const std::string input : { "training_file", "labels_file",
        "test_file", "test_labels_file", "hostfile" })
    {
      if (!path.empty() && params.Has(input) && dasgd::cli::SameFile(path,
          params.Get<std::string>(input)))
      {
        Refuse(name, path, "it is the same file as " +
            PRINT_PARAM_STRING(input) + ", which would be overwritten");
      }
    }
  }
}

//! Everything that was asked for.
static Settings SettingsOf(util::Params& params)
{
  Settings settings;
  settings.problem = study::OneOf(params, "problem", { "logistic", "softmax",
      "mlp", "cnn" });
  settings.model.batchSize = study::AtLeast(params, "batch_size", 1);
  settings.model.elements = study::AtLeast(params, "parameters", 0);
  settings.model.gradientSeconds = study::NotNegative(params,
      "gradient_seconds");
  const double spread = study::NotNegative(params, "gradient_spread");
  if (spread > 1)
  {
    Refuse("gradient_spread", study::NumberText(spread), "give a number from 0 "
        "to 1");
  }
  if (spread > 0)
    settings.model.gradientSpread = spread;
  CheckDescription(params, settings.model);
  try
  {
    settings.model.wireFormat = dasgd::WireFormat(params.Get<std::string>(
        "wire_format"));
  }
  catch (const std::exception& e)
  {
    Refuse("wire_format", params.Get<std::string>("wire_format"), e.what());
  }
  // As DASGD's StalenessDamping() is by default.
  settings.model.stalenessDamping = (study::OneOf(params, "update", { "sgd",
      "momentum", "adam" }) == "sgd") ? 3 : 6;
  settings.ranks = RanksOf(params);
  settings.topologies = TopologiesOf(params);
  settings.seed = study::AtLeast(params, "seed", 0);
  for (const std::string& part : study::Split(params.Get<std::string>(
      "step_sizes"), ','))
  {
    double step = 0;
    if (!study::ReadNumber(part, step) || step <= 0)
    {
      Refuse("step_sizes", params.Get<std::string>("step_sizes"), "'" + part +
          "' is not a number above 0");
    }
    settings.steps.push_back(step);
  }
  CheckOutputs(params);
  return settings;
}

//! The network: as given, as measured between the machines of this job, or
//! usual values.  All ranks call it.
static std::string FindNetwork(util::Params& params,
                               dasgd::PlanCluster& cluster)
{
  cluster.bytesPerSecond = study::NotNegative(params, "bandwidth") * 1e6 / 8;
  cluster.latency = study::NotNegative(params, "latency");
  cluster.ranksPerMachine = study::AtLeast(params, "ranks_per_machine", 0);
  std::string text = "as given";
  if (dasgd::cli::Ranks() > 1)
  {
    const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
    const std::vector<size_t> machines = comm.Machines();
    if (cluster.ranksPerMachine == 0)
    {
      cluster.ranksPerMachine = size_t(std::count(machines.begin(),
          machines.end(), size_t(0)));
    }
    const bool all = cluster.bytesPerSecond > 0 && cluster.latency > 0;
    if (!all && dasgd::cli::Rank() == 0)
    {
      Log::Info << "Measuring the links between "
          << machines.back() + 1 << " machines." << std::endl;
    }
    const std::vector<dasgd::MpiLinkSpeed> links = all ?
        std::vector<dasgd::MpiLinkSpeed>() : dasgd::MeasureLinks(comm);
    double latency = 0, bytesPerSecond = 1e300;
    for (const dasgd::MpiLinkSpeed& link : links)
    {
      latency = std::max(latency, link.latency);
      bytesPerSecond = std::min(bytesPerSecond, link.bytesPerSecond);
    }
    if (!links.empty())
    {
      text = "measured between " + std::to_string(machines.back() + 1) +
          " machines";
      if (cluster.latency == 0)
        cluster.latency = latency;
      if (cluster.bytesPerSecond == 0)
        cluster.bytesPerSecond = bytesPerSecond;
    }
  }
  const dasgd::PlanCluster usual;
  if (cluster.latency == 0)
    cluster.latency = usual.latency;
  if (cluster.bytesPerSecond == 0)
  {
    text = "assumed; give '--bandwidth', or '--hostfile' to measure it";
    cluster.bytesPerSecond = usual.bytesPerSecond;
  }
  if (cluster.ranksPerMachine == 0)
    cluster.ranksPerMachine = dasgd::cli::Cores();
  return text;
}

//! Simulate everything that was asked for.
static void Simulate(const Settings& settings, planning::Findings& findings)
{
  std::vector<dasgd::PlanRow> ours;
  for (const size_t ranks : settings.ranks)
  {
    std::vector<std::string> topologies = settings.topologies;
    if (ranks == 1)
      topologies = { "complete" };
    else if (topologies.empty())
      topologies = dasgd::PlanTopologies(ranks);
    dasgd::PlanEffort effort;
    effort.seed = settings.seed;
    // Enough for figures that do not change any more, but no more than that.
    effort.gradients = std::max<size_t>(24, std::min<size_t>(400,
        12800 / ranks));
    for (const std::string& topology : topologies)
    {
      Log::Info << "Simulating " << study::Counted(ranks, "rank") << ", "
          << topology << "." << std::endl;
      try
      {
        ours.push_back(dasgd::PlanDasgd(settings.model, settings.cluster, ranks,
            topology, effort));
        findings.rows.push_back(ours.back());
      }
      catch (const std::invalid_argument& e)
      {
        // Of several numbers of ranks, some may fit.
        Log::Warn << study::Counted(ranks, "rank") << ", topology " << topology
            << " left out: " << e.what() << std::endl;
      }
    }
    if (ranks > 1)
    {
      findings.rows.push_back(dasgd::PlanAllreduce(settings.model,
          settings.cluster, ranks));
    }
  }
  size_t best = 0;
  findings.advice = dasgd::PlanAdvice(ours, best);
  // Its place among all rows.
  for (size_t i = 0, k = 0; i < findings.rows.size(); ++i)
  {
    if (findings.rows[i].algorithm == "DASGD" && k++ == best)
      findings.best = i;
  }
}

static void LearnAll(util::Params& params,
                     const Settings& settings,
                     const study::DataSet& data,
                     const std::string& layers,
                     planning::Findings& findings)
{
  planning::LearnSettings learn;
  learn.task = [&]()
  { return study::MakeTask(settings.problem, layers, data); };
  learn.test = &data.test;
  learn.model = settings.model;
  learn.cluster = settings.cluster;
  learn.steps = settings.steps;
  learn.seed = settings.seed;
  const double given = study::NotNegative(params, "target_loss");
  learn.target = (given > 0) ? given : study::Unknown;
  learn.target = findings.target = planning::LearnTarget(learn);
  const size_t most = study::AtLeast(params, "learn_ranks", 1);
  for (const size_t ranks : settings.ranks)
  {
    if (ranks > most)
      break;
    for (const std::string algorithm : { "DASGD", "AllreduceSGD" })
    {
      if (ranks == 1 && algorithm != "DASGD")
        continue;
      Log::Info << "Learning on " << study::Counted(ranks, "rank") << ", "
          << algorithm << "." << std::endl;
      findings.learned.push_back(planning::Learn(learn, algorithm, "auto",
          ranks));
    }
  }
  // That is better than a rule.
  size_t ranks = 0;
  const std::string advice = planning::LearnedAdvice(findings.learned, ranks);
  if (ranks == 0)
    return;
  findings.advice = advice + "  Without that: " + findings.advice;
  for (size_t i = 0; i < findings.rows.size(); ++i)
  {
    const dasgd::PlanRow& row = findings.rows[i];
    if (row.algorithm == "DASGD" && row.ranks == ranks &&
        (ranks == 1 || row.topology == "auto"))
      findings.best = i;
  }
}

//! What the plan was made from, as one reads it.
static std::vector<std::pair<std::string, std::string>> Inputs(
    const Settings& settings,
    const std::string& network)
{
  const dasgd::PlanModel& model = settings.model;
  const dasgd::PlanCluster& cluster = settings.cluster;
  return { { "parameters", std::to_string(model.elements) },
      { "gradient", planning::SecondsText(model.gradientSeconds) + " for " +
      study::Counted(model.batchSize, "point") + ", give or take " +
      study::NumberText(100 * model.gradientSpread, 2) + " %" },
      { "applying a frame", planning::SecondsText(model.applySeconds) },
      { "a pass over a shared model", planning::SecondsText(
      model.passSeconds) },
      { "a gradient's own cost beside others", planning::SecondsText(
      model.stepSeconds) + ", and " + planning::SecondsText(model.rankSeconds) +
      " more for each rank above 2" },
      { "sending or receiving a message", planning::SecondsText(
      model.messageSeconds) },
      { "wire format", model.wireFormat.Name() },
      { "ranks on each machine", std::to_string(cluster.ranksPerMachine) },
      { "bandwidth of a machine", study::NumberText(cluster.bytesPerSecond *
      8e-6, 4) + " Mbit/s" },
      { "latency", planning::SecondsText(cluster.latency) },
      { "network", network } };
}

//! What a reader should know if others use the machine; or nothing.
static std::string Busy(const double cores)
{
  const size_t there = dasgd::cli::Cores();
  return dasgd::cli::OtherLoad::Matters(cores, there) ? "Other programs kept " +
      study::NumberText(cores, 2) + " of " + study::Counted(there, "core") +
      " busy while gradients were measured, so these took longer than they "
      "need; make the plan again when those programs have ended." : "";
}

//! Read the points, make the model and measure its gradients, but for what was
//! given.
static void MeasureModel(util::Params& params,
                         Settings& settings,
                         study::DataSet& data,
                         std::string& layers)
{
  data = study::ReadData(study::RequestOf(params, settings.problem,
      settings.model.batchSize, settings.seed));
  layers = study::LayersOf(params, settings.problem, data);
  settings.model.points = data.train.points.n_cols;
  const dasgd::PlanModel given = settings.model;
  const dasgd::BlasThreads threads(settings.cluster.ranksPerMachine);
  planning::MeasureGradient(*study::MakeTask(settings.problem, layers, data),
      settings.model);
  if (given.gradientSeconds > 0)
    settings.model.gradientSeconds = given.gradientSeconds;
  if (params.Get<double>("gradient_spread") > 0)
    settings.model.gradientSpread = given.gradientSpread;
}

//! Rank 0's part: measure, simulate, and tell.
static void MakePlan(util::Params& params,
                     util::Timers& timers,
                     Settings& settings,
                     const std::string& network)
{
  planning::Findings findings;
  const dasgd::cli::OtherLoad load;
  std::string layers;
  study::DataSet data;
  if (settings.model.elements == 0)
  {
    timers.Start("measuring");
    MeasureModel(params, settings, data, layers);
    findings.title = "Plan: " + settings.problem + ", " +
        study::Counted(settings.model.elements, "parameter");
    timers.Stop("measuring");
  }
  else
  {
    findings.title = "Plan: " + study::Counted(settings.model.elements,
        "parameter");
  }
  // Whoever has asked for no numbers of ranks need not wait for those of many
  // machines if one rank is enough.
  const double epoch = double(settings.model.points) /
      double(settings.model.batchSize) * settings.model.gradientSeconds;
  while (!params.Has("max_ranks") && epoch > 0 && epoch < dasgd::ShortEpoch &&
      settings.ranks.back() > std::max<size_t>(2,
      settings.cluster.ranksPerMachine))
    settings.ranks.pop_back();
  planning::MeasureFrames(settings.model);
  planning::MeasureSteps(settings.model);
  // Under mpirun the others wait, and that is not for free.
  findings.warning = (dasgd::cli::Ranks() > 1) ? "" : Busy(load.Cores());
  findings.settings = Inputs(settings, network);
  findings.command = study::CommandText();
  if (!findings.warning.empty())
    std::cout << findings.warning << "\n\n";
  for (const auto& input : findings.settings)
    std::cout << input.first << ": " << input.second << "\n";
  std::cout << std::endl;

  timers.Start("simulating");
  Simulate(settings, findings);
  timers.Stop("simulating");
  if (params.Has("learn"))
  {
    timers.Start("learning");
    LearnAll(params, settings, data, layers, findings);
    timers.Stop("learning");
  }
  planning::PrintTable(std::cout, findings);
  std::cout << "\n" << findings.advice << std::endl;
  if (params.Has("rows_file"))
    planning::SaveRows(params.Get<std::string>("rows_file"), findings);
  if (params.Has("report_file"))
    planning::SavePage(params.Get<std::string>("report_file"), findings);
}

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  Settings settings = SettingsOf(params);
  const std::string hostFile = params.Get<std::string>("hostfile");
  if (!hostFile.empty() && !dasgd::cli::Launched())
  {
    dasgd::cli::RankSettings ranks;
    ranks.hostFile = hostFile;
    throw std::runtime_error(dasgd::cli::Launch(ranks, "", 0));
  }
  std::string network;
  dasgd::cli::OnAllRanks([&]()
  { network = FindNetwork(params, settings.cluster); });
  // The others wait for the end, or for what goes wrong.
  dasgd::cli::OnAllRanks([&]()
  {
    if (dasgd::cli::Rank() == 0)
      MakePlan(params, timers, settings, network);
  });
}
