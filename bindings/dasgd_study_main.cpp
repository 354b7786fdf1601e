/**
 * @file dasgd_study_main.cpp
 *
 * Compares algorithms for training on several processes, on one problem.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#undef BINDING_NAME
#define BINDING_NAME dasgd_study

#include <mlpack/core/util/mlpack_main.hpp>

#include <data/load.hpp>
#include <terminal/suggest.hpp>
#include <dasgd/topology/topology.hpp>
#include <dasgd/files/whole_file.hpp>
#include <ffn/layers.hpp>
#include <launcher/launch.hpp>
#include <launcher/spawn.hpp>
#include <problems/data_options.hpp>
#include <problems/read_data.hpp>
#include <problems/tasks.hpp>
#include <ranks/ranks.hpp>
#include <study/data.hpp>
#include <study/page.hpp>
#include <study/process.hpp>
#include <study/run.hpp>
#include <study/result_files.hpp>
#include <study/study.hpp>

#include <ctime>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Study of Decentralized Training");

BINDING_SHORT_DESC(
    "Compares ways to train on several processes: decentralized asynchronous "
    "SGD, all-reduce, a parameter server, gossip and others, against serial "
    "SGD.  Tunes the step size of each, runs each several times, and writes a "
    "table and a page for a browser.");

BINDING_LONG_DESC(
    "Finds out which algorithm trains a model fastest on this machine.  For "
    "each combination of " + PRINT_PARAM_STRING("ranks") + ", " +
    PRINT_PARAM_STRING("topologies") + " and " + PRINT_PARAM_STRING("slow") +
    ", each of the " + PRINT_PARAM_STRING("algorithms") + " trains the same "
    "model with " + PRINT_PARAM_STRING("seeds") + " different seeds.  The "
    "program starts mpirun itself; do not start it with mpirun.  Algorithms "
    "are compared by the time they take to reach a given test loss, the "
    "target.  Without options, a study takes two to three minutes on two "
    "cores; close other programs meanwhile, since they change what is measured."
    "\n\n"
    "The problem is 'softmax' (softmax regression), 'logistic' (logistic "
    "regression; with more than two classes, it learns whether the label is "
    "in the lower half), 'mlp' (a network with one hidden layer of 64 units, "
    "unless " + PRINT_PARAM_STRING("layers") + " are given), 'cnn' (two "
    "convolutions of 5 x 5 with 8 and 16 maps, each followed by relu and "
    "pooling of 2 x 2) or 'onnx' (the network of " +
    PRINT_PARAM_STRING("model_file") + ", computed by ONNX Runtime).  The data "
    "is Fashion-MNIST from Debian's package "
    "dataset-fashion-mnist, 'cifar10' from the folder " +
    PRINT_PARAM_STRING("data_dir") + " (in both, the mean of each pixel is "
    "subtracted), 'synthetic', or your own: " +
    PRINT_PARAM_STRING("training_file") + " with " +
    PRINT_PARAM_STRING("labels_file") + ", and optionally " +
    PRINT_PARAM_STRING("test_file") + " with " +
    PRINT_PARAM_STRING("test_labels_file") + ", as matrices or IDX files.  "
    "Without a test file, some of the points are held out for testing."
    "\n\n"
    "The algorithms are 'dasgd', with the variants 'dasgd_float32' and "
    "'dasgd_bfloat16'; 'allreduce'; 'ps', a parameter server, with "
    "'ps_adaptive', which takes shorter steps for late gradients, and "
    "'ps_picky:0.5', which drops gradients of models farther away than that; "
    "'dpsgd', 'adpsgd' and 'swift', which average with neighbours; 'local', "
    "which averages from time to time, and 'diloco', which then steps with "
    "momentum ('local:16', 'swift:4' and 'diloco:100' after that many steps); "
    "'dasgd' and 'allreduce' with the steps of another optimizer: "
    "'dasgd_momentum', 'dasgd_nesterov', 'dasgd_adam', 'dasgd_rmsprop', "
    "'allreduce_momentum' and so on; 'ps_momentum', 'local_momentum' and "
    "'adpsgd_momentum'; and, in one process, 'sgd', which is serial SGD, "
    "'momentum', 'nesterov', 'adam', 'rmsprop', 'threads' and "
    "'threads_momentum', which are serial SGD whose matrix products may use "
    "all cores, and 'parallel', which is ensmallen's ParallelSGD, for "
    "'logistic' and 'softmax'.  Momentum and Nesterov's are 0.9, and try a "
    "tenth of the step sizes; Adam and RMSProp try a hundredth."
    "\n\n"
    "Every algorithm gets its own step size.  It tries each of the " +
    PRINT_PARAM_STRING("step_sizes") + " once, on points held out for this, "
    "and those that are at most twice as slow as the best " +
    PRINT_PARAM_STRING("tuning_seeds") + " times in all; the lowest median "
    "time to the target wins, or a shorter step that is at most a tenth "
    "slower.  Where no step gets there in most of its tries, shorter ones are "
    "tried, and it is said if none is found.  If the winner is the smallest or "
    "the largest step size, the program tries smaller or larger ones, by "
    "factors of 2.  Unless " + PRINT_PARAM_STRING("target_loss") + " is given, "
    "the target is the loss that serial SGD with its best step size has after "
    "a quarter of its time, or where it has made 99 % of its progress, "
    "whichever is easier."
    "\n\n"
    "The result is the mean time to the target with its 95 % confidence "
    "interval, and the speed-up, which is the mean time of serial SGD divided "
    "by that of the algorithm.  Algorithms whose intervals overlap cannot "
    "be distinguished; they share their places.  A run that does not reach the "
    "target counts with its whole time budget, and the page says how many did. "
    " The intervals cover the differences between seeds, not what other "
    "programs do to the machine."
    "\n\n"
    "A run ends soon after the target or after " +
    PRINT_PARAM_STRING("time_budget") + " seconds.  Losses are computed "
    "afterwards, from copies of the model, so they cost no training time.  A "
    "run that diverges, fails or exceeds the " +
    PRINT_PARAM_STRING("timeout") + " becomes a row of the table with the "
    "reason, and the study continues.  Ranks can be slowed down: '0:4' makes "
    "rank 0 take 4 times as long for each gradient."
    "\n\n"
    "With " + PRINT_PARAM_STRING("simulate") + ", ranks are not processes but "
    "run on virtual time, so that a study of 25 ranks needs one core.  "
    "Gradients and messages are real; how long they take follows from " +
    PRINT_PARAM_STRING("gradient_seconds") + ", " +
    PRINT_PARAM_STRING("bandwidth") + " and " + PRINT_PARAM_STRING("latency") +
    ".  A run of n ranks, if n is above 4, may take 4 / n of " +
    PRINT_PARAM_STRING("time_budget") + "."
    "\n\n"
    "All results are kept in " + PRINT_PARAM_STRING("results_dir") + ": "
    "'runs.csv' has a row for each run, and the folder 'curves' has its loss "
    "over time.  To continue an interrupted study, give the same command "
    "again; with more " + PRINT_PARAM_STRING("seeds") + " or other " +
    PRINT_PARAM_STRING("algorithms") + ", only what is new is run.  The " +
    PRINT_PARAM_STRING("report_file") + " is a page that "
    "needs no network.");

BINDING_EXAMPLE(
    "To compare all algorithms on softmax regression with two processes:"
    "\n\n" +
    PRINT_CALL("dasgd_study", "report_file", "softmax.html") +
    "\n\n"
    "To see how a slow rank affects four algorithms that train a network:"
    "\n\n" +
    PRINT_CALL("dasgd_study", "problem", "mlp", "algorithms",
        "dasgd,allreduce,ps,sgd", "ranks", "2", "slow", "'none;0:4'",
        "time_budget", 10, "results_dir", "slow_rank", "report_file",
        "slow_rank.html"));

PARAM_STRING_IN("algorithms", "Algorithms to compare, separated by commas.",
    "a", "dasgd,allreduce,ps,dpsgd,adpsgd,swift,local,sgd");
PARAM_STRING_IN("ranks", "Numbers of processes, at least 2, separated by "
    "commas.", "R", "2");
PARAM_STRING_IN("topologies", "Which ranks are connected: 'auto' (by the "
    "machines that they run on), 'complete', 'ring', 'exponential', 'tree:K', "
    "'mesh:RxC', 'graph:0-1,1-2,...' or 'file:PATH'; several are separated by "
    "semicolons.", "g", "auto");
PARAM_STRING_IN("slow", "Which ranks to slow down, and how much: '0:4,1:2' "
    "makes rank 0 four times slower and rank 1 two times; several "
    "configurations are separated by semicolons, as in 'none;0:4'.", "",
    "none");
PARAM_INT_IN("seeds", "Number of runs of each algorithm, each with its own "
    "seed.", "", 10);
PARAM_STRING_IN("step_sizes", "Step sizes to try first, separated by commas; a "
    "single one is taken without a try.  Steps are along the mean gradient of "
    "a batch.", "s", "0.05,0.1,0.2,0.4");
PARAM_INT_IN("tuning_seeds", "Number of tries, each with its own seed, of a "
    "step size that may be the best.", "", 3);
PARAM_INT_IN("validation_points", "Number of points held out to choose step "
    "sizes with; 0 stands for a tenth as many as train, or 1000 if that is "
    "more, but a sixth of all if there are too few.", "", 0);
PARAM_DOUBLE_IN("target_loss", "Test loss to reach; 0 derives it from runs of "
    "serial SGD.", "", 0.0);
PARAM_STRING_IN("model_file", "ONNX file of the network to train, for the "
    "problem 'onnx'.", "m", "");
PARAM_DOUBLE_IN("target_accuracy", "Test accuracy to reach, as 0.65, in place "
    "of a loss; 0 for none.", "", 0.0);
PARAM_DOUBLE_IN("time_budget", "Seconds per run; 0 picks 1, or 2 for 'mlp' "
    "and 5 for 'cnn'.", "", 0.0);
PARAM_DOUBLE_IN("timeout", "Seconds after which a run that has not ended is "
    "stopped; 0 picks one minute plus ten times the time budget.", "", 0.0);
PARAM_FLAG("simulate", "Simulate the ranks on virtual time.", "");
PARAM_DOUBLE_IN("gradient_seconds", "With --simulate, seconds that a gradient "
    "takes; 0 measures it.", "", 0.0);
PARAM_DOUBLE_IN("bandwidth", "With --simulate, what a machine can send to all "
    "others together, in Mbit/s.", "", 1000.0);
PARAM_DOUBLE_IN("latency", "With --simulate, seconds that a message takes to "
    "another machine.", "", 50e-6);
PARAM_INT_IN("ranks_per_machine", "With --simulate, ranks on each machine.", "",
    1);
PARAM_STRING_IN("results_dir", "Folder for the results.", "o", "dasgd_study");
PARAM_STRING_IN("report_file", "File to write the page to.", "r",
    "report.html");
PARAM_STRING_IN("only", "Algorithms to run this time, separated by commas; the "
    "same command without it runs the others.", "", "");
PARAM_STRING_IN("studies", "Folders with the results of studies, separated by "
    "commas: write one page of all of them, and run nothing.", "", "");
PARAM_FLAG("restart", "Delete earlier results in the folder and start anew.",
    "");
PARAM_INT_IN("seed", "First random seed, for the initial model and the order "
    "of points; the runs use this one and those that follow.", "", 1);
PARAM_STRING_IN("run_file", "For internal use: a single run of a study.", "",
    "");

namespace study = dasgd::study;

using study::AtLeast;
using study::CommandText;
using study::NotNegative;
using study::OneOf;
using study::Refuse;

//! What to compare.
static std::vector<study::Algorithm> AlgorithmsOf(util::Params& params)
{
  std::vector<std::string> known;
  std::vector<study::Algorithm> usual;
  for (const study::Algorithm& algorithm : study::Algorithms())
  {
    known.push_back(algorithm.name);
    if (algorithm.usual)
      usual.push_back(algorithm);
  }
  const std::string text = params.Get<std::string>("algorithms");
  if (text == "all")
    return usual;
  std::vector<study::Algorithm> algorithms;
  for (const std::string& part : study::Split(text, ','))
  {
    const size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const study::Algorithm* found = study::FindAlgorithm(name);
    if (!found)
    {
      const std::string best = dasgd::Nearest(name, known);
      Refuse("algorithms", text, "there is no '" + name + "'; known are " +
          study::Join(known, ", ") + (best.empty() ? "" : "; did you mean '" +
          best + "'"));
    }
    study::Algorithm algorithm = *found;
    if (colon != std::string::npos)
    {
      try
      {
        algorithm = study::WithNumber(*found, part.substr(colon + 1));
      }
      catch (const std::invalid_argument& e)
      {
        Refuse("algorithms", text, e.what());
      }
    }
    else if (name == "ps_picky")
    {
      Refuse("algorithms", text, "'ps_picky' needs a distance; write "
          "ps_picky:0.5 to drop gradients of models that are farther away");
    }
    const bool again = std::any_of(algorithms.begin(), algorithms.end(),
        [&](const study::Algorithm& other)
        { return other.name == algorithm.name; });
    if (!again)
      algorithms.push_back(algorithm);
  }
  if (algorithms.empty())
    Refuse("algorithms", text, "name at least one, e.g. dasgd,sgd");
  return algorithms;
}

//! Which of them to run this time.
static std::vector<std::string> OnlyOf(
    util::Params& params,
    const std::vector<study::Algorithm>& algorithms)
{
  const std::string text = params.Get<std::string>("only");
  std::vector<std::string> names, only;
  for (const study::Algorithm& algorithm : algorithms)
    names.push_back(algorithm.name);
  for (const std::string& name : study::Split(text, ','))
  {
    if (std::find(names.begin(), names.end(), name) == names.end())
    {
      Refuse("only", text, "'" + name + "' is not one of " +
          PRINT_PARAM_STRING("algorithms") + " (" + study::Join(names, ",") +
          "); name some of these");
    }
    only.push_back(name);
  }
  return only;
}

static std::vector<size_t> RanksOf(util::Params& params)
{
  const std::string text = params.Get<std::string>("ranks");
  std::vector<size_t> ranks;
  for (const std::string& part : study::Split(text, ','))
  {
    double number = 0;
    if (!study::ReadNumber(part, number) || number != std::floor(number) ||
        number < 2 || number > 4096)
    {
      Refuse("ranks", text, "'" + part + "' is not a whole number from 2 to "
          "4096; for a single process, there is the algorithm 'sgd'");
    }
    if (std::find(ranks.begin(), ranks.end(), size_t(number)) == ranks.end())
      ranks.push_back(size_t(number));
  }
  if (ranks.empty())
    Refuse("ranks", text, "give at least one number, e.g. 2");
  return ranks;
}

static std::vector<std::string> TopologiesOf(util::Params& params,
                                             const std::vector<size_t>& ranks)
{
  const std::string text = params.Get<std::string>("topologies");
  std::vector<std::string> topologies;
  for (const std::string& name : study::Split(text, ';'))
  {
    try
    {
      const dasgd::Topology topology(name);
      for (const size_t count : ranks)
        topology.Check(count);
    }
    catch (const std::exception& e)
    {
      Refuse("topologies", name, e.what());
    }
    if (std::find(topologies.begin(), topologies.end(), name) ==
        topologies.end())
      topologies.push_back(name);
  }
  if (topologies.empty())
    Refuse("topologies", text, "give at least one, e.g. complete");
  return topologies;
}

static std::vector<std::string> SlowOf(util::Params& params,
                                       const std::vector<size_t>& ranks)
{
  const std::string text = params.Get<std::string>("slow");
  std::vector<std::string> all;
  for (std::string slow : study::Split(text, ';'))
  {
    slow.erase(std::remove(slow.begin(), slow.end(), ' '), slow.end());
    if (slow.empty())
    {
      Refuse("slow", text, "between two semicolons there is nothing; write "
          "'none' where no rank is slow");
    }
    std::string name;
    try
    {
      for (const size_t count : ranks)
        name = study::SlowName(study::SlowFactors(slow, count));
    }
    catch (const std::exception& e)
    {
      Refuse("slow", text, e.what());
    }
    // However it is written, it is measured once.
    if (std::find(all.begin(), all.end(), name) == all.end())
      all.push_back(name);
  }
  if (all.empty())
    Refuse("slow", text, "write 'none' if no rank is slow");
  return all;
}

static std::vector<double> StepsOf(util::Params& params)
{
  const std::string text = params.Get<std::string>("step_sizes");
  std::vector<double> steps;
  for (const std::string& part : study::Split(text, ','))
  {
    double step = 0;
    if (!study::ReadNumber(part, step) || step <= 0)
      Refuse("step_sizes", text, "'" + part + "' is not a number above 0; "
          "give numbers separated by commas, such as 0.1,0.2");
    if (std::find(steps.begin(), steps.end(), step) == steps.end())
      steps.push_back(step);
  }
  if (steps.empty())
    Refuse("step_sizes", text, "give at least one number, e.g. 0.1");
  return steps;
}

//! Whether ranks are simulated, and where.
static study::Simulation SimulationOf(
    util::Params& params,
    const std::vector<study::Algorithm>& algorithms)
{
  study::Simulation simulation;
  simulation.wanted = params.Has("simulate");
  if (!simulation.wanted)
  {
    for (const std::string name : { "gradient_seconds", "bandwidth", "latency",
        "ranks_per_machine" })
    {
      if (params.Has(name))
      {
        throw std::invalid_argument(PRINT_PARAM_STRING(name) + " is for ranks "
            "that are simulated; give " + PRINT_PARAM_STRING("simulate") +
            " as well, or leave it out!");
      }
    }
    return simulation;
  }
  for (const study::Algorithm& algorithm : algorithms)
  {
    if (algorithm.allCores)
    {
      Refuse("algorithms", algorithm.name, "it uses the cores of this machine, "
          "which is not simulated; leave it out");
    }
  }
  const auto above = [&](const std::string& name)
  {
    const double value = NotNegative(params, name);
    if (value == 0)
      Refuse(name, study::NumberText(value), "give a number above 0");
    return value;
  };
  simulation.gradientSeconds = NotNegative(params, "gradient_seconds");
  simulation.bandwidth = above("bandwidth");
  simulation.latency = above("latency");
  simulation.ranksPerMachine = AtLeast(params, "ranks_per_machine", 1);
  return simulation;
}

//! The ONNX file of the network; empty if there is none.
static std::string ModelFileOf(util::Params& params, const std::string& problem)
{
  const std::string file = params.Get<std::string>("model_file");
  if (problem != "onnx")
  {
    if (!file.empty())
    {
      Refuse("model_file", file, "the problem is '" + problem + "'; give " +
          PRINT_PARAM_STRING("problem") + " onnx as well");
    }
    return "";
  }
  const std::string reason = file.empty() ? "none was given" :
      dasgd::cli::ReadProblem(file);
  if (!reason.empty())
  {
    Refuse("model_file", file, "the problem 'onnx' needs an ONNX file that can "
        "be read (" + reason + "); give its name");
  }
  if (access(study::OnnxProgram().c_str(), X_OK) != 0)
  {
    Refuse("problem", problem, "there is no '" + study::OnnxProgram() + "', "
        "which trains ONNX models; build the project with "
        "-DDASGD_WITH_ONNX=ON, or give another problem");
  }
  return std::filesystem::absolute(file).string();
}

//! A file that the study reads, and the option that names it.
struct Input
{
  std::string option;
  std::string path;
};

//! All files that the study reads.
static std::vector<Input> InputsOf(const study::DataRequest& request,
                                   const study::Settings& settings)
{
  std::vector<Input> inputs;
  for (const Input& input : { Input{ "training_file", request.training },
      Input{ "labels_file", request.labels }, Input{ "test_file",
      request.test }, Input{ "test_labels_file", request.testLabels },
      Input{ "model_file", settings.modelFile } })
  {
    if (!input.path.empty())
      inputs.push_back(input);
  }
  for (const std::string& name : study::DataFiles(request.data))
    inputs.push_back({ "data_dir", request.folder + "/" + name });
  for (const std::string& topology : settings.topologies)
  {
    if (topology.compare(0, 5, "file:") == 0)
      inputs.push_back({ "topologies", topology.substr(5) });
  }
  return inputs;
}

//! Refuse to write to what is read, and the page to what holds the results.
static void CheckOutputs(const study::Settings& settings,
                         const std::vector<Input>& inputs)
{
  const std::vector<std::string> results =
      study::FilesOfResults(settings.resultsDir);
  for (const Input& input : inputs)
  {
    const std::string given = PRINT_PARAM_STRING(input.option) + " (" +
        input.path + ")";
    if (dasgd::cli::SameFile(settings.reportFile, input.path))
    {
      Refuse("report_file", settings.reportFile, "it is the same file as " +
          given + ", which would be overwritten; choose another name for the "
          "page");
    }
    for (const std::string& path : results)
    {
      if (dasgd::cli::SameFile(path, input.path))
      {
        Refuse("results_dir", settings.resultsDir, "its file '" + path + "' is "
            "the same as " + given + ", which the study reads; choose another "
            "folder for the results");
      }
    }
  }
  if (study::OfResults(settings.resultsDir, settings.reportFile))
  {
    Refuse("report_file", settings.reportFile, "the study keeps its results "
        "there, by " + PRINT_PARAM_STRING("results_dir") + " (" +
        settings.resultsDir + "); choose another name for the page");
  }
}

//! By which it is seen that a file is another one than before.
static std::string FileState(const std::string& path)
{
  struct stat state;
  if (stat(path.c_str(), &state) != 0)
    return "not there";
  char time[32];
  std::strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S",
      std::gmtime(&state.st_mtim.tv_sec));
  const std::string nanoseconds = std::to_string(state.st_mtim.tv_nsec);
  return std::to_string(state.st_size) + " bytes, changed " + time + "." +
      std::string(9 - nanoseconds.size(), '0') + nanoseconds + " UTC";
}

//! The loss or the accuracy to reach.
static void SetTarget(util::Params& params, study::Settings& settings)
{
  const double target = NotNegative(params, "target_loss");
  settings.target = (target > 0) ? target : study::Unknown;
  const double accuracy = params.Get<double>("target_accuracy");
  if (!(accuracy >= 0 && accuracy < 1))
  {
    Refuse("target_accuracy", std::isnan(accuracy) ? "nan" :
        study::NumberText(accuracy), "give a part of all answers below 1, as "
        "0.65 for 65 %, or 0 for none");
  }
  if (accuracy > 0 && target > 0)
  {
    Refuse("target_accuracy", study::NumberText(accuracy), "there is " +
        PRINT_PARAM_STRING("target_loss") + " (" + study::NumberText(target) +
        ") as well; give one of both");
  }
  settings.accuracy = (accuracy > 0) ? accuracy : study::Unknown;
}

//! ens::ParallelSGD is for some problems only.
static void CheckParallel(const study::Settings& settings)
{
  if (settings.problem == "logistic" || settings.problem == "softmax")
    return;
  for (const study::Algorithm& algorithm : settings.algorithms)
  {
    if (algorithm.name == "parallel")
    {
      Refuse("algorithms", algorithm.name, "ParallelSGD computes gradients in "
          "several threads at once, which the problem '" + settings.problem +
          "' does not bear; leave it out, or give 'logistic' or 'softmax' by " +
          PRINT_PARAM_STRING("problem"));
    }
  }
}

//! The folder of results, and the page.
static void SetOutputs(util::Params& params, study::Settings& settings)
{
  settings.resultsDir = params.Get<std::string>("results_dir");
  settings.reportFile = params.Get<std::string>("report_file");
  for (const std::string name : { "results_dir", "report_file" })
  {
    if (params.Get<std::string>(name).empty())
      Refuse(name, "", "give a name");
  }
  const std::string problem = dasgd::WholeFile::Problem(settings.reportFile);
  if (!problem.empty())
  {
    Refuse("report_file", settings.reportFile, "it cannot be written (" +
        problem + "); choose another place");
  }
}

//! How long a run may take where that was not given.
static void SetTimes(study::Settings& settings)
{
  if (settings.budget == 0)
  {
    settings.budget = (settings.problem == "cnn" ||
        settings.problem == "onnx") ? 5 : (settings.problem == "mlp") ? 2 : 1;
  }
  if (settings.timeout == 0)
  {
    // Nobody knows how long virtual time takes.
    settings.timeout = settings.simulation.wanted ? 86400 :
        60 + 10 * settings.budget;
  }
  if (settings.timeout <= settings.budget && !settings.simulation.wanted)
  {
    Refuse("timeout", study::NumberText(settings.timeout), "each run takes " +
        study::NumberText(settings.budget) + " seconds by " +
        PRINT_PARAM_STRING("time_budget") + ", so all would be ended before; "
        "give more than that");
  }
}

//! What a reader of the page should know of the data.
static void Describe(study::Settings& settings,
                     const study::DataRequest& request,
                     const study::DataSet& data)
{
  const bool images = request.data == "fashion_mnist" ||
      request.data == "cifar10";
  const bool drawn = request.data.compare(0, 9, "synthetic") == 0;
  settings.data = (request.data == "fashion_mnist") ? "Fashion-MNIST" :
      (request.data == "cifar10") ? "CIFAR-10" :
      (request.data == "synthetic") ? "synthetic data" :
      (request.data == "synthetic_sparse") ? "sparse synthetic data" :
      request.training.substr(request.training.rfind('/') + 1);
  settings.remark = std::to_string(data.train.labels.n_elem) +
      " points to train with, " + std::to_string(data.validation.labels.n_elem)
      + " to choose step sizes, " + std::to_string(data.test.labels.n_elem) +
      " to test; a point is " + data.shape + ", in " +
      std::to_string(data.classes) + " classes" +
      (images ? ", every pixel from 0 to 1 less its mean" : "") +
      (settings.problem == "logistic" && !drawn ? "; of more than two classes "
      "it is asked whether the label is in the lower half" : "");
}

//! A list as it was understood: without what was named twice.
template<typename ListType, typename TextType>
static std::string ListText(const ListType& values,
                            const std::string& between,
                            TextType&& text)
{
  std::vector<std::string> parts;
  for (const auto& value : values)
    parts.push_back(text(value));
  return study::Join(parts, between);
}

//! Keep what the results depend on, in the order of the parameters.
static void KeepParameters(util::Params& params,
                           const study::DataRequest& request,
                           study::Settings& settings)
{
  study::Entries& all = settings.parameters;
  const auto keep = [&](const std::string& name)
  { all.Set(name, params.Get<std::string>(name)); };
  const auto count = [&](const std::string& name, const size_t value)
  { all.Set(name, std::to_string(value)); };
  const auto number = [&](const std::string& name, const double value)
  { all.Set(name, study::NumberText(value)); };
  const auto same = [](const std::string& text) { return text; };
  keep("problem");
  all.Set("data", request.data);
  all.Set("data_dir", request.folder);
  for (const std::string name : { "training_file", "labels_file", "test_file",
      "test_labels_file", "input_shape" })
  {
    if (!params.Has(name))
      continue;
    keep(name);
    if (name != "input_shape")
      settings.files.Set(name, FileState(params.Get<std::string>(name)));
  }
  if (!settings.layers.empty())
    all.Set("layers", settings.layers);
  if (!settings.modelFile.empty())
  {
    keep("model_file");
    settings.files.Set("model_file", FileState(settings.modelFile));
  }
  count("points", request.points);
  count("test_points", request.testPoints);
  count("batch_size", settings.batchSize);
  all.Set("algorithms", ListText(settings.algorithms, ",",
      [](const study::Algorithm& algorithm) { return algorithm.name; }));
  all.Set("ranks", ListText(settings.ranks, ",",
      [](const size_t ranks) { return std::to_string(ranks); }));
  all.Set("topologies", ListText(settings.topologies, ";", same));
  all.Set("slow", ListText(settings.slow, ";", [](const std::string& slow)
      { return slow.empty() ? std::string("none") : slow; }));
  count("seeds", settings.seeds);
  all.Set("step_sizes", ListText(settings.steps, ",",
      [](const double step) { return study::NumberText(step); }));
  count("tuning_seeds", settings.tuningSeeds);
  count("validation_points", request.validationPoints);
  for (const std::string name : { "target_loss", "target_accuracy" })
    number(name, params.Get<double>(name));
  number("time_budget", settings.budget);
  number("timeout", settings.timeout);
  count("seed", settings.seed);
  if (settings.simulation.wanted)
  {
    all.Set("simulate", "yes");
    for (const std::string name : { "gradient_seconds", "bandwidth",
        "latency" })
      number(name, params.Get<double>(name));
    count("ranks_per_machine", settings.simulation.ranksPerMachine);
  }
  std::vector<std::string> graphs;
  for (const std::string& topology : settings.topologies)
  {
    if (topology.compare(0, 5, "file:") == 0)
      graphs.push_back(FileState(topology.substr(5)));
  }
  if (!graphs.empty())
    settings.files.Set("topologies", study::Join(graphs, "; "));
}

//! Everything that was asked for, checked; the points are read, too.
static study::Settings SettingsOf(util::Params& params, study::DataSet& data)
{
  study::Settings settings;
  settings.problem = OneOf(params, "problem", { "logistic", "softmax", "mlp",
      "cnn", "onnx" });
  settings.modelFile = ModelFileOf(params, settings.problem);
  settings.batchSize = AtLeast(params, "batch_size", 1);
  settings.algorithms = AlgorithmsOf(params);
  settings.ranks = RanksOf(params);
  settings.topologies = TopologiesOf(params, settings.ranks);
  settings.slow = SlowOf(params, settings.ranks);
  settings.seeds = AtLeast(params, "seeds", 1);
  settings.steps = StepsOf(params);
  settings.tuningSeeds = AtLeast(params, "tuning_seeds", 1);
  settings.seed = AtLeast(params, "seed", 0);
  SetTarget(params, settings);
  settings.only = OnlyOf(params, settings.algorithms);
  settings.simulation = SimulationOf(params, settings.algorithms);
  CheckParallel(settings);
  settings.budget = NotNegative(params, "time_budget");
  settings.timeout = NotNegative(params, "timeout");
  if (settings.budget > 1e6)
  {
    Refuse("time_budget", study::NumberText(settings.budget), "give at most "
        "1000000 seconds, which is eleven days for each run");
  }
  SetOutputs(params, settings);
  settings.command = CommandText();
  SetTimes(settings);

  study::DataRequest request = study::RequestOf(params, settings.problem,
      settings.batchSize, settings.seed);
  request.validationPoints = AtLeast(params, "validation_points", 0);
  if (request.validationPoints > 0 && request.validationPoints < 10)
  {
    Refuse("validation_points", std::to_string(request.validationPoints),
        "give at least 10, or 0 for a tenth as many as train");
  }
  CheckOutputs(settings, InputsOf(request, settings));
  data = study::ReadData(request);
  settings.layers = study::LayersOf(params, settings.problem, data);
  const size_t points = data.train.labels.n_elem;
  const size_t most = *std::max_element(settings.ranks.begin(),
      settings.ranks.end());
  if (points / settings.batchSize < most)
  {
    Refuse("ranks", params.Get<std::string>("ranks"), "there are " +
        std::to_string(points) + " points to train with, which make fewer than "
        "one batch of " + std::to_string(settings.batchSize) + " for each "
        "rank; give fewer ranks or more '--points'");
  }
  Describe(settings, request, data);
  KeepParameters(params, request, settings);
  return settings;
}

//! One run of a study, on this rank.
static void RunOne(const std::string& path)
{
  study::Entries run;
  if (!run.Load(path) || !run.Has("algorithm"))
  {
    throw std::invalid_argument("Cannot open file '" + path + "', given with " +
        PRINT_PARAM_STRING("run_file") + "; it is written by a study for its "
        "own runs!");
  }
  // End even if mpirun is killed.
  dasgd::cli::SignalWithParent(SIGKILL);
  alarm(unsigned(std::min(1e8, run.Number("timeout"))) + 10);
  const study::DataSet data = study::LoadData(run.Text("data"));
  mlpack::RandomSeed(run.Count("seed"));
  const auto task = study::MakeTask(run.Text("problem"), run.Text("layers"),
      data);
  study::Run(run, data, *task);
}

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  if (params.Has("run_file"))
  {
    RunOne(params.Get<std::string>("run_file"));
    return;
  }
  if (params.Has("studies"))
  {
    const std::string file = params.Get<std::string>("report_file");
    study::SavePageOf(study::Split(params.Get<std::string>("studies"), ','),
        file);
    std::cout << "Look at '" << file << "' with a browser." << std::endl;
    return;
  }
  if (dasgd::cli::Launched())
  {
    throw std::invalid_argument("A study starts its processes itself; start it "
        "without mpirun, and give " + PRINT_PARAM_STRING("ranks") + "!");
  }

  timers.Start("loading_points");
  study::DataSet data;
  const study::Settings settings = SettingsOf(params, data);
  timers.Stop("loading_points");
  study::FolderLock lock;
  study::OpenFolder(settings, params.Has("restart"), lock);
  timers.Start("runs");
  const int signal = study::Conduct(settings, [&](const std::string& folder)
  {
    study::SaveData(folder, data);
    data = study::DataSet(); // The runs need the memory.
  });
  timers.Stop("runs");
  if (signal != 0)
  {
    // As if it had not been caught: whoever started this sees why it ended.
    std::cout << std::flush;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}
