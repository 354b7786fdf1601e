/**
 * @file virtual_study.cpp
 *
 * Compares the algorithms on machines that are only described: many ranks, a
 * slow one among them, a network of given latency and bandwidth.  Gradients are
 * real, seconds are virtual.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>

#include <CLI/CLI.hpp>

#include <fashion_mnist.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>

namespace {

using example::FashionMnist;

/**
 * Logistic regression on Fashion-MNIST: is an image one of the first five
 * classes?  All ranks share the images, and each has an order of its own.
 */
class Logistic
{
 public:
  explicit Logistic(std::shared_ptr<const FashionMnist> dataIn) :
      data(std::move(dataIn)),
      order(arma::regspace<arma::uvec>(0, data->images.n_cols - 1))
  { }

  static arma::mat Start() { return arma::mat(785, 1, arma::fill::zeros); }

  size_t NumFunctions() const { return order.n_elem; }
  void Shuffle() { order = arma::shuffle(order); }

  double Evaluate(const arma::mat& model, const size_t begin, const size_t size)
  { return Visit(model, begin, size, nullptr); }

  double EvaluateWithGradient(const arma::mat& model,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t size)
  {
    gradient.zeros(model.n_rows, 1);
    return Visit(model, begin, size, gradient.memptr());
  }

  //! The mean over the first so many points.
  double Loss(const arma::mat& model, const size_t points)
  { return Visit(model, 0, points, nullptr) / double(points); }

 private:
  double Visit(const arma::mat& model,
               const size_t begin,
               const size_t size,
               double* gradient) const
  {
    const size_t pixels = data->images.n_rows;
    const double* x = model.memptr();
    double sum = 0;
    for (size_t i = begin; i < begin + size; ++i)
    {
      const double* image = data->images.colptr(order[i]);
      double score = x[pixels];
      for (size_t k = 0; k < pixels; ++k)
        score += x[k] * image[k];
      const double sign = (data->labels[order[i]] < 5) ? 1 : -1;
      const double margin = sign * score;
      sum += (margin > 0) ? std::log1p(std::exp(-margin)) :
          std::log1p(std::exp(margin)) - margin;
      if (!gradient)
        continue;
      const double factor = -sign / (1 + std::exp(margin));
      for (size_t k = 0; k < pixels; ++k)
        gradient[k] += factor * image[k];
      gradient[pixels] += factor;
    }
    return sum;
  }

  std::shared_ptr<const FashionMnist> data;
  arma::uvec order;
};

//! What the user chooses.
struct Options
{
  std::string experiment;
  std::string out = "virtual-study";
  double target = 0.2;
  double gradientSeconds = 1e-3;
  double latency = 50e-6;
  double megabytesPerSecond = 125;
  size_t points = 12000;
  size_t seeds = 3;
  size_t minRanks = 4;
  size_t maxRanks = 256;
  //! Ranks of each machine.
  size_t machineRanks = 1;
  //! How many times slower one rank is.
  double slow = 1;
  //! Frames take as long as if the model had so many parameters; 0: as it has.
  double parameters = 0;
  //! Seconds of one rank after which a run is given up.
  double patience = 80;
  std::vector<std::string> only;
  size_t batchSize = 1;
  //! Ascending, each twice the one before.
  std::vector<double> steps{ 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032,
      0.064, 0.128, 0.256, 0.512, 1.024 };
};

//! One run, and what came of it.
struct Run
{
  std::string algorithm;
  std::string topology;
  size_t ranks = 1;
  double slow = 1;
  //! Of pace: ExchangeShare(), and what a frame costs of a gradient's time.
  double share = 0;
  double cost = 0;
  double step = 0;
  size_t seed = 1;
  double budget = 0;

  double seconds = 0;
  bool reached = false;
  dasgd::Report report;

  std::string Key(const std::string& phase) const
  {
    std::ostringstream text;
    text << phase << ',' << algorithm;
    if (share > 0)
      text << " cost " << cost << " share " << share;
    text << ',' << topology << ',' << ranks << ','
        << slow << ',' << step << ',' << seed;
    return text.str();
  }
};

//! Ends a run when rank `watcher` has the loss, or nobody needs it any more.
class Watch
{
 public:
  Watch(Logistic& judge, const Run& run, const double target,
        const double& clock, double& reachedAt, const bool watches) :
      judge(&judge), target(target), clock(&clock), reachedAt(&reachedAt),
      budget(run.budget), watches(watches) { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType& model)
  {
    if (*clock >= budget)
      return true;
    if (!watches || *clock < next)
      return false;
    // As fine as it matters: half a percent of what has passed.
    next = *clock * 1.005;
    const double loss = judge->Loss(model, 4000);
    if (!(loss <= target))
      return !std::isfinite(loss);
    *reachedAt = *clock;
    return true;
  }

 private:
  Logistic* judge;
  double target;
  const double* clock;
  double* reachedAt;
  double budget;
  bool watches;
  double next = 0;
};

template<typename OptimizerType>
void Play(const Options& options,
          const std::shared_ptr<const FashionMnist>& data,
          Run& run,
          OptimizerType& optimizer)
{
  optimizer.StepSize() = run.step;
  optimizer.BatchSize() = options.batchSize;
  optimizer.MaxIterations() = 0;
  optimizer.Tolerance() = -1;
  optimizer.Seed() = run.seed;
  if (!run.topology.empty())
    optimizer.Topology() = run.topology;

  double clock = 0, reachedAt = -1;
  dasgd::SimCluster machine;
  machine.seed = run.seed;
  machine.clock = &clock;
  machine.computeSeconds.assign(run.ranks, options.gradientSeconds);
  // Rank 1: rank 0 may be a server, which computes nothing.
  if (run.ranks > 1)
    machine.computeSeconds[1] *= run.slow;
  machine.computeSpread = 0.1;
  // Within a machine, frames go through memory.
  const size_t each = options.machineRanks;
  for (size_t i = 0; i < run.ranks; ++i)
    machine.machines.push_back(i / each);
  machine.machineBytesPerSecond = 1e6 * options.megabytesPerSecond;
  machine.link = [&options, each](const size_t from, const size_t to)
  {
    dasgd::SimLink link;
    link.latency = options.latency;
    if (from / each == to / each)
    {
      link.latency = 10e-6;
      link.bytesPerSecond = 5e9;
    }
    return link;
  };
  if (options.parameters > 0)
  {
    machine.vectorBytes = size_t(8 * std::max(0.0, options.parameters -
        double(Logistic::Start().n_elem)));
    // One pass over the model, and about two.
    machine.applySeconds = 1e-9 * options.parameters;
    machine.relaySeconds = 2e-9 * options.parameters;
  }
  if (run.share > 0)
  {
    machine.applySeconds = run.cost * options.gradientSeconds;
    optimizer.ExchangeShare() = run.share;
    optimizer.Overlap() = dasgd::Overlap::Never;
  }

  Logistic judge(data);
  std::vector<Logistic> functions(run.ranks, judge);
  std::vector<Watch> watches;
  for (size_t i = 0; i < run.ranks; ++i)
  {
    watches.emplace_back(judge, run, options.target, clock, reachedAt,
        i == (run.ranks > 2 ? 2 : run.ranks - 1));
  }
  arma::mat model = Logistic::Start();
  dasgd::Simulate(optimizer, functions, model, machine, watches);
  run.report = optimizer.Report();
  run.reached = (reachedAt >= 0);
  run.seconds = run.reached ? reachedAt : run.report.seconds;
}

void Play(const Options& options,
          const std::shared_ptr<const FashionMnist>& data,
          Run& run)
{
  const auto with = [&](auto optimizer)
  { Play(options, data, run, optimizer); };
  if (run.algorithm == "DASGD" || run.algorithm == "ens::SGD")
  {
    // Each step that is tried is meant as it is.
    dasgd::DASGD<> optimizer;
    optimizer.StalenessDamping() = 0;
    with(optimizer);
  }
  else if (run.algorithm == "AllreduceSGD")
    with(dasgd::AllreduceSGD<>());
  else if (run.algorithm == "LocalSGD")
    with(dasgd::LocalSGD<>());
  else if (run.algorithm == "DPSGD")
    with(dasgd::DPSGD<>());
  else if (run.algorithm == "ADPSGD")
    with(dasgd::ADPSGD<>());
  else if (run.algorithm == "SWIFT")
    with(dasgd::SWIFT<>());
  else
    with(dasgd::ParameterServerSGD<>());
}

//! The rows of a study, which goes on where it was.
class Table
{
 public:
  explicit Table(const std::string& path) : path(path)
  {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line))
    {
      // The key is what stands before the seventh comma.
      size_t at = 0;
      for (size_t i = 0; i < 7 && at != std::string::npos; ++i)
        at = line.find(',', at + 1);
      if (at != std::string::npos)
        rows[line.substr(0, at)] = line.substr(at + 1);
    }
    if (rows.empty())
    {
      std::ofstream(path) << "phase,algorithm,topology,ranks,slow,step,seed,"
          "reached,seconds,gradients,gradients_per_second,idle,"
          "bytes_per_gradient,staleness,bytes_between_machines\n";
    }
  }

  const std::string* Find(const std::string& key) const
  {
    const auto found = rows.find(key);
    return found == rows.end() ? nullptr : &found->second;
  }

  void Add(const std::string& key, const std::string& row)
  {
    rows[key] = row;
    std::ofstream(path, std::ios::app) << key << ',' << row << std::endl;
  }

 private:
  std::string path;
  std::map<std::string, std::string> rows;
};

//! Images less their mean, which makes the problem far better conditioned.
std::shared_ptr<const FashionMnist> Centred(const size_t points)
{
  auto data = std::make_shared<FashionMnist>("train", points);
  const arma::vec mean = arma::mean(data->images, 1);
  data->images.each_col() -= mean;
  return data;
}

class Study
{
 public:
  Study(const Options& options, Table& table) :
      options(options), table(table),
      data(Centred(options.points)) { }

  /**
   * Find the best step of the grid for an algorithm on a machine, then run it.
   * From a step that is likely, go down and up the grid as long as it gets
   * better.
   *
   * @param worst Seconds after which a run is given up.
   */
  void Compare(Run run, const double worst)
  {
    std::ostringstream key;
    key << run.algorithm << run.topology << run.ranks * (run.share > 0);
    const std::string name = key.str();
    const auto& grid = options.steps;
    if (likely.find(name) == likely.end())
      likely[name] = likely.empty() ? grid.size() / 2 : likely.begin()->second;
    double best = worst;
    size_t chosen = grid.size();
    const size_t start = likely[name];
    const auto walk = [&](const int direction)
    {
      size_t failures = 0;
      for (int at = int(start) + (direction > 0); failures < 2 && at >= 0 &&
          at < int(grid.size()); at += direction)
      {
        run.step = grid[size_t(at)];
        run.seed = 1;
        // Nothing that takes longer than what is known can be the best.
        run.budget = best;
        const double seconds = Do(run, "tune");
        if (seconds > 0 && seconds < best)
        {
          best = seconds;
          chosen = size_t(at);
          failures = 0;
        }
        else if (chosen < grid.size())
          ++failures;
      }
    };
    walk(-1);
    walk(+1);
    if (chosen == grid.size())
    {
      std::cout << "  the target was not reached within " << worst << " s\n";
      return;
    }
    likely[name] = chosen;
    run.step = grid[chosen];
    run.budget = 3 * best;
    for (size_t seed = 2; seed < 2 + options.seeds; ++seed)
    {
      run.seed = seed;
      Do(run, "run");
    }
  }

  //! @return Seconds to the target, or 0.
  double Do(Run& run, const std::string& phase)
  {
    const std::string key = run.Key(phase);
    if (const std::string* row = table.Find(key))
    {
      const bool reached = (row->substr(0, 1) == "1");
      return reached ? std::stod(row->substr(2)) : 0;
    }
    Play(options, data, run);
    const dasgd::Report& report = run.report;
    double idle = 0, bytes = 0, between = 0;
    std::uint64_t stale = 0, measured = 0;
    for (const dasgd::RankReport& rank : report.ranks)
    {
      idle += rank.secondsIdle / (report.seconds * double(run.ranks));
      bytes += double(rank.bytesSent);
      between += double(rank.bytesBetween);
      stale += rank.staleness.Sum();
      measured += rank.staleness.Measured();
    }
    const double gradients = double(report.Gradients());
    std::ostringstream row;
    row << run.reached << ',' << run.seconds << ',' << gradients << ','
        << gradients / report.seconds << ',' << idle << ','
        << bytes / gradients << ',';
    if (measured > 0)
      row << double(stale) / double(measured);
    row << ',' << between / gradients;
    table.Add(key, row.str());
    std::cout << key << ": " << (run.reached ? "target after " :
        "not reached after ") << run.seconds << " s, " << gradients
        << " gradients" << std::endl;
    return run.reached ? run.seconds : 0;
  }

 private:
  const Options& options;
  Table& table;
  std::shared_ptr<const FashionMnist> data;
  //! Where the best step was last found.
  std::map<std::string, size_t> likely;
};

//! Sixteen ranks on a ring, one of them slow.
void Ring(Study& study)
{
  for (const double slow : { 1.0, 2.0, 4.0 })
  {
    for (const char* algorithm : { "DASGD", "AllreduceSGD",
        "ParameterServerSGD", "DPSGD", "ADPSGD", "SWIFT", "LocalSGD" })
    {
      Run run;
      run.algorithm = algorithm;
      run.ranks = 16;
      run.slow = slow;
      const std::set<std::string> free{ "DASGD", "DPSGD", "ADPSGD", "SWIFT" };
      run.topology = free.count(algorithm) ? "ring" : "";
      study.Compare(run, 25);
    }
  }
}

//! More and more ranks, with every topology.
void Scaling(Study& study, const Options& options)
{
  Run serial;
  serial.algorithm = "ens::SGD";
  study.Compare(serial, 80);
  for (size_t ranks = 4; ranks <= options.maxRanks; ranks *= 2)
  {
    for (const char* topology : { "complete", "ring", "exponential", "tree:2",
        "AllreduceSGD", "ParameterServerSGD" })
    {
      Run run;
      const bool baseline = std::isupper(topology[0]);
      run.algorithm = baseline ? topology : "DASGD";
      run.topology = baseline ? "" : topology;
      run.ranks = ranks;
      if (!options.only.empty() && std::find(options.only.begin(),
          options.only.end(), topology) == options.only.end())
        continue;
      // With a sum for each origin or peer on each of so many ranks, all in one
      // process, there is not enough memory.
      if (ranks > 128 && (run.topology == "complete" || run.topology == "ring"))
        continue;
      study.Compare(run, 80.0 / double(ranks));
    }
  }
}

//! More and more ranks, with the topology that suits their machines.
void Auto(Study& study, const Options& options)
{
  Run serial;
  serial.algorithm = "ens::SGD";
  study.Compare(serial, options.patience);
  for (size_t ranks = options.minRanks; ranks <= options.maxRanks; ranks *= 2)
  {
    for (const char* algorithm : { "DASGD", "AllreduceSGD", "LocalSGD" })
    {
      Run run;
      run.algorithm = algorithm;
      run.topology = (run.algorithm == "DASGD") ? "auto" : "";
      run.ranks = ranks;
      run.slow = options.slow;
      study.Compare(run, options.patience / double(ranks) * options.slow);
    }
  }
}

//! Frames that cost more and more, and how much time they may take.
void Pace(Study& study, const Options& options)
{
  for (size_t ranks = options.minRanks; ranks <= options.maxRanks; ranks *= 2)
  {
    for (const double cost : { 0.1, 0.3, 1.0 })
    {
      for (const double share : { 1.0, 0.3, 0.2, 0.1, 0.05 })
      {
        Run run;
        run.algorithm = "DASGD";
        run.topology = "complete";
        run.ranks = ranks;
        run.cost = cost;
        run.share = share;
        study.Compare(run, options.patience);
      }
    }
  }
}

} // namespace

int main(int argc, char** argv)
{
  Options options;
  CLI::App app{ "Compares the algorithms on virtual machines; goes on where it "
      "was, if it was interrupted." };
  app.add_option(
         "experiment", options.experiment, "ring, scaling, auto or pace")
      ->required()
      ->check(CLI::IsMember({ "ring", "scaling", "auto", "pace" }));
  const auto add = [&app](const char* name, auto& value, const char* what)
  { app.add_option(name, value, what)->capture_default_str(); };
  add("--out", options.out, "Folder for the rows");
  add("--target", options.target, "Loss to reach");
  add("--gradient_seconds", options.gradientSeconds, "Seconds for a gradient");
  add("--latency", options.latency, "Seconds of a message");
  add("--megabytes_per_second", options.megabytesPerSecond,
      "What a machine can send, and receive");
  add("--points", options.points, "Points to train on");
  add("--batch_size", options.batchSize, "Points of a gradient");
  add("--seeds", options.seeds, "Runs with the best step");
  add("--min_ranks", options.minRanks, "Of auto and pace, where to begin");
  add("--max_ranks", options.maxRanks, "How far to scale");
  add("--machine_ranks", options.machineRanks, "Ranks of each machine");
  add("--slow", options.slow, "Of auto, how many times slower one rank is");
  add("--parameters", options.parameters, "Let frames take as long as if the "
      "model had so many; 0: as it has");
  add("--patience", options.patience,
      "Of auto, seconds of one rank after which "
      "a run is given up; of pace, of all");
  app.add_option("--steps", options.steps, "Step sizes to try, ascending");
  app.add_option("--only", options.only, "Of scaling, these topologies and "
      "algorithms only");
  CLI11_PARSE(app, argc, argv);
  try
  {
    std::filesystem::create_directories(options.out);
    Table table(options.out + "/" + options.experiment + ".csv");
    Study study(options, table);
    if (options.experiment == "ring")
      Ring(study);
    else if (options.experiment == "auto")
      Auto(study, options);
    else if (options.experiment == "pace")
      Pace(study, options);
    else
      Scaling(study, options);
  }
  catch (const std::exception& e)
  {
    std::cerr << "dasgd_virtual_study: " << e.what() << std::endl;
    return 1;
  }
}
