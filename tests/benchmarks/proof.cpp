/**
 * @file proof.cpp
 *
 * Time to test accuracies on Fashion-MNIST: DASGD, an all-reduce and ensmallen
 * alone, on one network after the other.  Takes a file of runs, one in each
 * line, and appends a row for each to a table; started by proof.py.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include <fashion_mnist.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <malloc.h>
#include <sched.h>

namespace {

using Network = mlpack::FFN<mlpack::NegativeLogLikelihood,
    mlpack::GlorotInitialization>;
using Clock = std::chrono::steady_clock;

//! Of accuracies on the test images.
constexpr std::array<double, 5> targets{ 0.84, 0.85, 0.86, 0.87, 0.88 };

//! How closely a network's way is followed: what times between two copies of
//! the model grow by, and how many of the targets there are.  Test images take
//! long where gradients do.
struct Care
{
  double growth;
  size_t targets;
};

Care CareOf(const std::string& problem)
{
  return (problem == "cnn") ? Care{ 1.08, 3 } : (problem == "mlp1m") ?
      Care{ 1.05, 4 } : (problem == "mlp10m") ? Care{ 1.15, 2 } :
      Care{ 1.05, targets.size() };
}

int rankOf = 0;
int ranks = 1;
//! Hosts that are network namespaces see the same memory, and must not use it.
bool sharesMemory = true;

//! What a line of the file asks for.
struct Run
{
  std::string problem, way, policy;
  double step = 0;
  size_t batch = 32;
  size_t seed = 0;
  //! How long it lasts.
  double seconds = 0;
  //! How many times longer the last rank takes for a gradient.
  size_t slow = 1;
  //! It is slow in every second period of so many seconds; 0: always.
  double period = 0;
};

//! A model, when it was copied, and how many gradients were in it.
struct Copy
{
  double seconds = 0;
  double gradients = 0;
  arma::mat iterate;
};

double Seconds(const Clock::time_point& begin)
{ return std::chrono::duration<double>(Clock::now() - begin).count(); }

//! Applied gradients, where an optimizer tells.
template<typename OptimizerType>
auto Applied(OptimizerType& optimizer, const size_t, int)
    -> decltype(optimizer.Live(), double())
{ return optimizer.Live() ? double(optimizer.Live()->applied) : 0.0; }

template<typename OptimizerType>
double Applied(OptimizerType&, const size_t steps, long)
{ return double(steps); }

/**
 * Copies the model of rank 0 whenever the time has grown by a factor, and stops
 * the run when its time is over.  The memory is there before.
 */
class Watch
{
 public:
  Watch(const arma::mat& start, const double budget, const double growth) :
      budget(budget), growth(growth)
  {
    size_t count = 2;
    for (double time = first; time < budget; time *= growth)
      ++count;
    if (rankOf == 0)
      copies.assign(count, Copy{ 0, 0, start });
  }

  void Start() { begin = Clock::now(); }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, MatType& iterate)
  {
    ++steps;
    const double now = Seconds(begin);
    if (rankOf == 0 && now >= next && used < copies.size())
    {
      Copy& copy = copies[used++];
      copy.seconds = now;
      copy.gradients = Applied(optimizer, steps, 0);
      std::copy(iterate.begin(), iterate.end(), copy.iterate.begin());
      while (next <= now)
        next *= growth;
    }
    return rankOf == 0 && now >= budget;
  }

  std::vector<Copy> copies;
  size_t used = 1;
  size_t steps = 0;
  Clock::time_point begin;

 private:
  static constexpr double first = 0.05;
  double budget;
  double growth;
  double next = first;
};

//! A function whose gradients take several times as long, as if its rank had a
//! slower processor.
class Slowed
{
 public:
  Slowed(Network& function, const Run& run) : function(function), run(run) { }

  size_t NumFunctions() const { return function.NumFunctions(); }
  void Shuffle() { function.Shuffle(); }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t size)
  { return function.Evaluate(x, begin, size); }

  void Gradient(const arma::mat& x, const size_t begin, arma::mat& gradient,
                const size_t size)
  { EvaluateWithGradient(x, begin, gradient, size); }

  double EvaluateWithGradient(const arma::mat& x, const size_t begin,
                               arma::mat& gradient, const size_t size)
  {
    const bool isSlow = rankOf == ranks - 1 && (run.period == 0 ||
        size_t(Seconds(start) / run.period) % 2 == 1);
    for (size_t i = 1; i < (isSlow ? run.slow : 1); ++i)
      (void) function.EvaluateWithGradient(x, begin, gradient, size);
    return function.EvaluateWithGradient(x, begin, gradient, size);
  }

 private:
  Network& function;
  Run run;
  Clock::time_point start = Clock::now();
};

//! What a run said of itself.
struct Outcome
{
  double seconds = 0, gradients = 0, staleness = 0, idle = 0;
};

template<typename OptimizerType>
void Optimize(OptimizerType& optimizer, Network& network, arma::mat& iterate,
              const Run& run, Watch& watch)
{
  Slowed slowed(network, run);
  watch.Start();
  if (run.slow > 1)
    optimizer.Optimize(slowed, iterate, watch);
  else
    optimizer.Optimize(network, iterate, watch);
}

//! Trains by one of dasgd's optimizers, with its defaults and no end but time.
template<typename OptimizerType>
Outcome TrainTogether(OptimizerType&& optimizer, Network& network,
                      arma::mat& iterate, const Run& run, Watch& watch)
{
  optimizer.Seed() = run.seed;
  optimizer.SharedMemory() = sharesMemory;
  Optimize(optimizer, network, iterate, run, watch);
  const dasgd::Report& report = optimizer.Report();
  double idle = 0;
  for (const dasgd::RankReport& rank : report.ranks)
    idle += rank.secondsIdle;
  return { report.seconds, double(report.Gradients()),
      report.StalenessAverage(), idle / (report.seconds *
      double(std::max<size_t>(report.ranks.size(), 1))) };
}

template<typename PolicyType>
Outcome With(const PolicyType& policy, Network& network, arma::mat& iterate,
             const Run& run, Watch& watch)
{
  // Adam's step does not depend on how long the gradient is, so nothing is to
  // be divided by the batch size.
  const bool isAdam = std::is_same<PolicyType, ens::AdamUpdate>::value;
  const double step = run.step * (isAdam && dasgd::ensmallen::dividesStep ?
      double(run.batch) : 1);
  if (run.way == "serial" || run.way == "threads")
  {
    ens::SGD<PolicyType> optimizer(step, run.batch, 0, -1, true, policy);
    Optimize(optimizer, network, iterate, run, watch);
    return { Seconds(watch.begin), double(watch.steps), 0, 0 };
  }
  if (run.way == "allreduce")
  {
    return TrainTogether(dasgd::AllreduceSGD<PolicyType, ens::NoDecay>(step,
        run.batch, 0, -1, true, policy), network, iterate, run, watch);
  }
  // Its name may be followed by how updates are written.
  if (run.way.compare(0, 5, "dasgd") == 0)
  {
    dasgd::DASGD<PolicyType, ens::NoDecay> optimizer(step, run.batch, 0, -1,
        true, policy);
    if (run.way.size() > 5)
      optimizer.WireFormat() = run.way.substr(6);
    return TrainTogether(optimizer, network, iterate, run, watch);
  }
  throw std::invalid_argument("way '" + run.way + "'?");
}

Network Build(const std::string& problem)
{
  Network network;
  // Parameters: 235,146, 1,035,690 and 9,810,730.
  const std::map<std::string, std::array<size_t, 2>> hidden = {
      { "mlp", { 256, 128 } }, { "mlp1m", { 1024, 224 } },
      { "mlp10m", { 3072, 2400 } } };
  if (hidden.count(problem))
  {
    network.InputDimensions() = { 784 };
    for (const size_t outputs : hidden.at(problem))
    {
      network.Add<mlpack::Linear>(outputs);
      network.Add<mlpack::ReLU>();
    }
  }
  else if (problem == "cnn")
  {
    network.InputDimensions() = { 28, 28, 1 };
    network.Add<mlpack::Convolution>(6, 5, 5);
    network.Add<mlpack::ReLU>();
    network.Add<mlpack::MaxPooling>(2, 2, 2, 2);
    network.Add<mlpack::Convolution>(16, 5, 5);
    network.Add<mlpack::ReLU>();
    network.Add<mlpack::MaxPooling>(2, 2, 2, 2);
  }
  else
    throw std::invalid_argument("problem '" + problem + "'?");
  network.Add<mlpack::Linear>(10);
  network.Add<mlpack::LogSoftMax>();
  return network;
}

//! The points to train with and to test with.
struct Images
{
  arma::mat points, targets;
  arma::Row<size_t> labels;

  explicit Images(const std::string& part)
  {
    const example::FashionMnist read(part);
    points = read.images;
    labels = read.labels;
    targets = arma::conv_to<arma::mat>::from(labels);
  }
};

//! The part of right answers of rank 0's model on the first so many test
//! images, which all ranks judge together.
double Accuracy(Network& network, const arma::mat& iterate, const Images& test,
                const size_t count)
{
  arma::mat& model = network.Parameters();
  if (rankOf == 0)
    std::copy(iterate.begin(), iterate.end(), model.begin());
  if (ranks > 1)
  {
    MPI_Bcast(model.memptr(), int(model.n_elem * sizeof(double)), MPI_BYTE, 0,
        MPI_COMM_WORLD);
  }
  const size_t begin = count * size_t(rankOf) / size_t(ranks);
  const size_t end = count * size_t(rankOf + 1) / size_t(ranks);
  double right = 0;
  arma::mat output;
  for (size_t i = begin; i < end; i += 250)
  {
    const size_t size = std::min<size_t>(250, end - i);
    network.Predict(arma::mat(test.points.cols(i, i + size - 1)), output);
    for (size_t j = 0; j < size; ++j)
      right += (output.col(j).index_max() == test.labels[i + j]);
  }
  if (ranks > 1)
  {
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_DOUBLE, MPI_SUM,
        MPI_COMM_WORLD);
  }
  return right / double(count);
}

//! When each target was first reached, on a straight line between two copies;
//! not a number if it was not.
struct Crossings
{
  std::array<double, targets.size()> seconds, gradients;
  double best = 0;
};

Crossings Judge(Network& network, const Watch& watch, const Images& test,
                const size_t wanted)
{
  Crossings result;
  result.seconds.fill(std::nan(""));
  result.gradients.fill(std::nan(""));
  unsigned long count = watch.used;
  if (ranks > 1)
    MPI_Bcast(&count, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  const arma::mat none;
  const auto judge = [&](const size_t i, const size_t points)
  {
    return Accuracy(network, rankOf == 0 ? watch.copies[i].iterate : none, test,
        points);
  };
  size_t target = 0;
  double before = 0;
  bool isWhole = false;
  for (size_t i = 1; i < count && target < wanted; ++i)
  {
    // A fifth of the points is enough for a model that is far away.
    const double part = judge(i, 2000);
    const bool isFar = part < targets[target] - 0.025;
    if (!isFar && !isWhole && i > 1)
      before = judge(i - 1, test.labels.n_elem);
    const double now = isFar ? part : judge(i, test.labels.n_elem);
    isWhole = !isFar;
    if (isWhole)
      result.best = std::max(result.best, now);
    for (; target < wanted && isWhole && now >= targets[target];
         ++target)
    {
      if (rankOf != 0)
        continue;
      const double share = (now > before) ? std::max(0.0,
          (targets[target] - before) / (now - before)) : 1;
      const Copy& from = watch.copies[i - 1];
      const Copy& to = watch.copies[i];
      result.seconds[target] = from.seconds + share * (to.seconds -
          from.seconds);
      result.gradients[target] = from.gradients + share * (to.gradients -
          from.gradients);
    }
    before = now;
  }
  return result;
}

void Train(const Run& run, const Images& train, const Images& test,
           std::ostream& table)
{
  mlpack::RandomSeed(run.seed);
  Network network = Build(run.problem);
  network.ResetData(train.points, train.targets);
  network.Reset();
  network.SetNetworkMode(true);
  arma::mat& iterate = network.Parameters();
  {
    // Memory, caches and the processor's clock are warm when it counts.
    arma::mat gradient(iterate.n_rows, iterate.n_cols);
    for (size_t i = 0; i < 3; ++i)
      network.EvaluateWithGradient(iterate, 0, gradient, 32);
  }
  const Care care = CareOf(run.problem);
  Watch watch(iterate, run.seconds, care.growth);
  if (ranks > 1)
    MPI_Barrier(MPI_COMM_WORLD);
  Outcome outcome;
  if (run.policy == "sgd")
    outcome = With(ens::VanillaUpdate(), network, iterate, run, watch);
  else if (run.policy == "momentum")
    outcome = With(ens::MomentumUpdate(0.9), network, iterate, run, watch);
  else if (run.policy == "adam")
    outcome = With(ens::AdamUpdate(), network, iterate, run, watch);
  else
    throw std::invalid_argument("policy '" + run.policy + "'?");

  const Crossings crossings = Judge(network, watch, test, care.targets);
  if (rankOf != 0)
    return;
  std::ostringstream row;
  row.precision(6);
  row << run.problem << ',' << run.way << ',' << run.policy << ','
      << "double," << ranks << ',' << run.slow << ',' << run.period << ','
      << run.step << ',' << run.batch << ',' << run.seed << ','
      << outcome.seconds << ',' << outcome.gradients << ','
      << outcome.gradients / outcome.seconds << ',' << outcome.staleness << ','
      << outcome.idle << ',' << crossings.best;
  for (const auto& values : { crossings.seconds, crossings.gradients })
  {
    for (const double value : values)
    {
      row << ',';
      if (std::isfinite(value))
        row << value;
    }
  }
  table << row.str() << std::endl;
}

//! Ranks on the same machine get a core each, from this one on.
void Pin(const int first)
{
  const char* rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(size_t(first + (rank ? std::atoi(rank) : 0)), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("a rank cannot be pinned to its core");
}

} // namespace

int main(int argc, char** argv) try
{
  if (argc != 4)
    throw std::invalid_argument("usage: proof RUNS TABLE FIRST_CORE|-1");
  sharesMemory = std::atoi(argv[3]) >= 0;
  if (sharesMemory)
    Pin(std::atoi(argv[3]));
  // As in throughput.cpp: memory is kept.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  dasgd::mpi::Initialize();
  MPI_Comm_rank(MPI_COMM_WORLD, &rankOf);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Images train("train"), test("t10k");
  std::ifstream file(argv[1]);
  std::ofstream table(rankOf == 0 ? argv[2] : "/dev/null", std::ios::app);
  for (Run run; file >> run.problem >> run.way >> run.policy >> run.step
       >> run.batch >> run.seed >> run.seconds >> run.slow >> run.period; )
    Train(run, train, test, table);
}
catch (const std::exception& e)
{
  std::cerr << "proof: " << e.what() << std::endl;
  return 1;
}
