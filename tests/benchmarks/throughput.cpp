/**
 * @file throughput.cpp
 *
 * Gradients per second of one way to train one problem; started by
 * benchmarks.py, by mpirun if there is more than one rank.  Prints one line of
 * JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include <malloc.h>

namespace {

//! What was asked for.
struct Options
{
  std::string problem = "logistic";
  std::string algorithm = "dasgd";
  std::string topology = "complete";
  std::string sharing = "static";
  bool single = false;
  size_t gradients = 1000;
  size_t batch = 32;
  size_t slow = 1;
  std::string format = "exact";
  bool messages = false;
  size_t progress = 0;
  size_t window = 0;
  std::string overlap = "auto";
  double share = dasgd::DefaultExchangeShare;
};

using Clock = std::chrono::steady_clock;

int rankOf = 0;
int ranks = 1;

/**
 * A function whose gradients take several times as long on one rank, as if it
 * had a slower processor.
 */
template<typename FunctionType>
class Slowed
{
 public:
  Slowed(FunctionType& function, const size_t times) :
      function(function), times(times) { }

  size_t NumFunctions() const { return function.NumFunctions(); }
  void Shuffle() { function.Shuffle(); }

  template<typename MatType>
  typename MatType::elem_type Evaluate(const MatType& x, const size_t begin,
                                       const size_t size)
  { return function.Evaluate(x, begin, size); }

  template<typename MatType, typename GradType>
  void Gradient(const MatType& x, const size_t begin, GradType& gradient,
                const size_t size)
  { EvaluateWithGradient(x, begin, gradient, size); }

  template<typename MatType, typename GradType>
  typename MatType::elem_type EvaluateWithGradient(const MatType& x,
                                                   const size_t begin,
                                                   GradType& gradient,
                                                   const size_t size)
  {
    for (size_t i = 1; i < times; ++i)
      (void) function.EvaluateWithGradient(x, begin, gradient, size);
    return function.EvaluateWithGradient(x, begin, gradient, size);
  }

 private:
  FunctionType& function;
  size_t times;
};

/**
 * Synchronous SGD: every rank computes the gradient of a batch, the sum goes to
 * all, all take the same step.
 */
class AllReduce
{
 public:
  AllReduce(const double stepSize, const size_t batchSize,
            const size_t maxIterations) :
      stepSize(stepSize), batchSize(batchSize), maxIterations(maxIterations)
  { }

  template<typename FunctionType, typename MatType>
  typename MatType::elem_type Optimize(FunctionType& function, MatType& iterate)
  {
    using ElemType = typename MatType::elem_type;
    MatType gradient(iterate.n_rows, iterate.n_cols);
    ElemType sum = 0;
    const size_t points = function.NumFunctions() / batchSize * batchSize;
    size_t at = size_t(rankOf) * batchSize % points;
    const size_t steps = maxIterations / batchSize / size_t(ranks);
    for (size_t i = 0; i < steps; ++i)
    {
      if (i % std::max<size_t>(1, points / batchSize / size_t(ranks)) == 0)
        function.Shuffle();
      sum += function.EvaluateWithGradient(iterate, at, gradient, batchSize);
      at = (at + size_t(ranks) * batchSize) % points;
      MPI_Allreduce(MPI_IN_PLACE, gradient.memptr(), int(gradient.n_elem),
          std::is_same<ElemType, double>::value ? MPI_DOUBLE : MPI_FLOAT,
          MPI_SUM, MPI_COMM_WORLD);
      iterate -= ElemType(stepSize / double(batchSize * size_t(ranks))) *
          gradient;
    }
    return sum;
  }

 private:
  double stepSize;
  size_t batchSize;
  size_t maxIterations;
};

/**
 * Independent training, and beside it messages of MPI as long as the model,
 * back and forth between neighbours in a ring: the next one leaves after a
 * gradient if the last one is through.  Nothing is done with what arrives, so
 * no exchange of as many bytes can be cheaper.
 */
class PlainExchange
{
 public:
  explicit PlainExchange(ens::StandardSGD& optimizer) : optimizer(optimizer) { }

  template<typename FunctionType, typename MatType>
  typename MatType::elem_type Optimize(FunctionType& function, MatType& iterate)
  {
    using ElemType = typename MatType::elem_type;
    const size_t bytes = iterate.n_elem * sizeof(ElemType);
    outgoing.resize(bytes);
    incoming.resize(bytes);
    Receive();
    const ElemType objective = optimizer.Optimize(function, iterate, *this);
    // The end is an empty message.
    bool ended = (sending == MPI_REQUEST_NULL);
    if (ended)
      Send(0);
    for (bool last = false; !(last && ended && sending == MPI_REQUEST_NULL); )
    {
      last = Look() || last;
      if (!ended && sending == MPI_REQUEST_NULL)
      {
        Send(0);
        ended = true;
      }
    }
    return objective;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    Look();
    if (sending == MPI_REQUEST_NULL)
      Send(outgoing.size());
    return false;
  }

 private:
  void Send(const size_t bytes)
  {
    MPI_Isend(outgoing.data(), int(bytes), MPI_BYTE, (rankOf + 1) % ranks, 0,
        MPI_COMM_WORLD, &sending);
  }

  void Receive()
  {
    MPI_Irecv(incoming.data(), int(incoming.size()), MPI_BYTE,
        (rankOf + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &receiving);
  }

  //! Has the last message come?
  bool Look()
  {
    int done = 0, bytes = 1;
    MPI_Test(&sending, &done, MPI_STATUS_IGNORE);
    if (receiving == MPI_REQUEST_NULL)
      return true;
    MPI_Status status;
    MPI_Test(&receiving, &done, &status);
    if (!done)
      return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes > 0)
      Receive();
    return bytes == 0;
  }

  ens::StandardSGD& optimizer;
  std::vector<char> outgoing, incoming;
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
};

//! Megabytes of memory that this process accounts for; what it shares with
//! others is divided between them.
double Megabytes()
{
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word; )
  {
    if (word == "Pss:" && file >> word)
      return std::stod(word) * 1024 / 1e6;
  }
  return 0;
}

//! A model of 50 million elements whose gradient takes one pass over memory;
//! looks at the memory in use each time.
struct HugeFunction
{
  static constexpr size_t Elements = 50000000;

  size_t NumFunctions() const { return 2048; }
  void Shuffle() { }

  template<typename MatType>
  typename MatType::elem_type Evaluate(const MatType&, size_t, size_t)
  { return 0; }

  template<typename MatType, typename GradType>
  void Gradient(const MatType& x, size_t, GradType& gradient, size_t)
  {
    for (size_t i = 0; i < x.n_elem; ++i)
      gradient[i] = x[i] - 1;
  }

  template<typename MatType, typename GradType>
  typename MatType::elem_type EvaluateWithGradient(const MatType& x,
      const size_t begin, GradType& gradient, const size_t size)
  {
    Gradient(x, begin, gradient, size);
    megabytes = std::max(megabytes, Megabytes());
    return 0;
  }

  static inline double megabytes = 0;
};

/**
 * Times the inner optimizer, from the moment that all ranks are ready to the
 * end on the slowest, and slows rank 0 down.
 */
template<typename OptimizerType>
class Timed
{
 public:
  Timed(OptimizerType& optimizer, const size_t slow, double& seconds) :
      optimizer(&optimizer), slow(slow), seconds(&seconds) { }

  template<typename FunctionType, typename MatType, typename... CallbackTypes>
  typename MatType::elem_type Optimize(FunctionType& function,
                                       MatType& iterate,
                                       CallbackTypes&&...)
  {
    // Memory, caches and the processor's clock are warm when it counts.
    {
      MatType gradient(iterate.n_rows, iterate.n_cols);
      for (size_t i = 0; i < 3; ++i)
        function.EvaluateWithGradient(iterate, 0, gradient, 32);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const Clock::time_point start = Clock::now();
    typename MatType::elem_type objective;
    if (slow > 1)
    {
      Slowed<FunctionType> slowed(function, (rankOf == 0) ? slow : 1);
      objective = optimizer->Optimize(slowed, iterate);
    }
    else
      objective = optimizer->Optimize(function, iterate);
    *seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return objective;
  }

 private:
  OptimizerType* optimizer;
  size_t slow;
  double* seconds;
};

//! Points of ten kinds around centres of their own, alike on all ranks; few
//! enough to stay in a cache, so that it is not memory that is measured.
template<typename MatType>
void Draw(const size_t classes, MatType& points, arma::Row<size_t>& labels)
{
  arma::arma_rng::set_seed(1);
  mlpack::RandomSeed(1);
  points.randn(784, 512);
  const MatType centres(784, classes, arma::fill::randn);
  labels.set_size(points.n_cols);
  for (size_t i = 0; i < points.n_cols; ++i)
  {
    labels[i] = i % classes;
    points.col(i) = centres.col(labels[i]) / 4 + points.col(i) / 4;
  }
}

//! Train the problem with an optimizer.
template<typename MatType, typename OptimizerType>
void TrainProblem(const Options& options, OptimizerType optimizer)
{
  using namespace mlpack;
  MatType points;
  arma::Row<size_t> labels;
  if (options.problem == "huge")
  {
    HugeFunction function;
    MatType iterate(HugeFunction::Elements, 1, arma::fill::zeros);
    optimizer.Optimize(function, iterate);
    return;
  }
  if (options.problem == "logistic")
  {
    Draw(2, points, labels);
    LogisticRegressionFunction<MatType> function(points, labels, 0.0);
    arma::Row<typename MatType::elem_type> start(points.n_rows + 1);
    start.zeros();
    MatType iterate(start);
    optimizer.Optimize(function, iterate);
    return;
  }
  Draw(10, points, labels);
  FFN<NegativeLogLikelihoodType<MatType>, GlorotInitialization, MatType>
      network;
  if (options.problem == "mlp")
  {
    network.template Add<Linear<MatType>>(256);
    network.template Add<ReLU<MatType>>();
    network.template Add<Linear<MatType>>(128);
    network.template Add<ReLU<MatType>>();
  }
  else if (options.problem == "large")
  {
    network.template Add<Linear<MatType>>(1024);
    network.template Add<ReLU<MatType>>();
    network.template Add<Linear<MatType>>(512);
    network.template Add<ReLU<MatType>>();
  }
  else if (options.problem == "cnn")
  {
    network.InputDimensions() = { 28, 28, 1 };
    network.template Add<Convolution<MatType>>(6, 5, 5);
    network.template Add<ReLU<MatType>>();
    network.template Add<MaxPooling<MatType>>(2, 2, 2, 2);
    network.template Add<Convolution<MatType>>(16, 5, 5);
    network.template Add<ReLU<MatType>>();
    network.template Add<MaxPooling<MatType>>(2, 2, 2, 2);
  }
  else
    throw std::invalid_argument("problem '" + options.problem + "'?");
  network.template Add<Linear<MatType>>(10);
  network.template Add<LogSoftMax<MatType>>();
  network.Train(points, arma::conv_to<MatType>::from(labels), optimizer);
}

/**
 * Gradients per second over all ranks.
 *
 * @tparam MatType arma::mat or arma::fmat.
 */
template<typename MatType>
double Measure(const Options& options, dasgd::Report& report)
{
  const double step = dasgd::ensmallen::dividesStep ? 1e-3 :
      1e-3 / double(options.batch);
  double seconds = 0, gradients = double(options.gradients);
  if (options.algorithm == "serial" || options.algorithm == "independent" ||
      options.algorithm == "plain")
  {
    // As dasgd does: cores are divided between the ranks.
    const dasgd::BlasThreads threads{ size_t(ranks) };
    ens::StandardSGD optimizer(step, options.batch,
        options.gradients * options.batch, -1);
    if (options.algorithm == "plain")
    {
      PlainExchange plain(optimizer);
      TrainProblem<MatType>(options, Timed<PlainExchange>(plain, options.slow,
          seconds));
    }
    else
    {
      TrainProblem<MatType>(options, Timed<ens::StandardSGD>(optimizer,
          options.slow, seconds));
    }
    gradients *= ranks;
  }
  else if (options.algorithm == "allreduce")
  {
    const dasgd::BlasThreads threads{ size_t(ranks) };
    AllReduce optimizer(step, options.batch,
        options.gradients * options.batch * size_t(ranks));
    TrainProblem<MatType>(options, Timed<AllReduce>(optimizer, options.slow,
        seconds));
    gradients *= ranks;
  }
  else if (options.algorithm == "dasgd")
  {
    dasgd::DASGD<> optimizer(step, options.batch,
        options.gradients * options.batch * size_t(ranks), -1);
    optimizer.Topology() = options.topology;
    optimizer.WireFormat() = options.format;
    optimizer.Window() = options.window;
    optimizer.SharedMemory() = !options.messages;
    optimizer.ExchangeShare() = options.share;
    optimizer.Overlap() = (options.overlap == "always") ?
        dasgd::Overlap::Always : (options.overlap == "never") ?
        dasgd::Overlap::Never : dasgd::Overlap::Auto;
    optimizer.Sharing() = (options.sharing == "dynamic") ?
        dasgd::Sharing::Dynamic : dasgd::Sharing::Static;
    TrainProblem<MatType>(options, Timed<dasgd::DASGD<>>(optimizer,
        options.slow, seconds));
    report = optimizer.Report();
    gradients = double(report.Gradients());
  }
  else
    throw std::invalid_argument("algorithm '" + options.algorithm + "'?");

  // Independent processes need not end together: each by its own clock.
  if (options.algorithm == "independent" || options.algorithm == "plain")
  {
    double mine = gradients / ranks / seconds, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  }
  double slowest = 0;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return gradients / slowest;
}

/**
 * A thread that lets MPI make progress while gradients are computed: what
 * frames would gain by it.
 */
class ProgressThread
{
 public:
  //! @param pause Microseconds between calls; 0 for no thread.
  explicit ProgressThread(const size_t pause)
  {
    if (pause == 0)
    {
      dasgd::mpi::Initialize();
      return;
    }
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
      throw std::runtime_error("this MPI does not allow calls by all threads");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    thread = std::thread([this, pause]()
    {
      while (!done)
      {
        int flag = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &flag, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::microseconds(pause));
      }
    });
  }

  ~ProgressThread()
  {
    done = true;
    if (!thread.joinable())
      return;
    thread.join();
    MPI_Comm_free(&comm);
    MPI_Finalize();
  }

 private:
  std::thread thread;
  std::atomic<bool> done{ false };
  MPI_Comm comm = MPI_COMM_NULL;
};

} // namespace

int main(int argc, char** argv) try
{
  // Where the system takes memory back after each shuffle of the points and
  // gives it anew, with zeros, that takes longer than logistic regression; it
  // depends on chance whether it does.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 30) != 1 ||
      mallopt(M_TRIM_THRESHOLD, 1 << 30) != 1)
    throw std::runtime_error("malloc() cannot be told to keep its memory");

  Options options;
  CLI::App app("Gradients per second of one way to train one problem");
  app.add_option(
      "--problem", options.problem, "logistic, mlp, large, cnn or huge");
  app.add_option("--algorithm", options.algorithm,
      "serial, independent, plain, allreduce or dasgd");
  app.add_option("--topology", options.topology);
  app.add_option("--sharing", options.sharing, "static or dynamic");
  app.add_flag("--single", options.single, "float instead of double");
  app.add_option("--gradients", options.gradients, "for each rank");
  app.add_option("--batch", options.batch);
  app.add_option("--slow", options.slow, "how many times slower rank 0 is");
  app.add_option("--format", options.format, "wire format of dasgd");
  app.add_flag("--messages", options.messages,
      "send frames on one machine as messages, too");
  app.add_option("--window", options.window, "frames under way on each link");
  app.add_option("--share", options.share, "ExchangeShare() of dasgd");
  app.add_option("--overlap", options.overlap, "auto, always or never");
  app.add_option("--progress", options.progress,
      "microseconds between calls of MPI by a thread that does nothing else");
  CLI11_PARSE(app, argc, argv);

  ProgressThread progress(options.progress);
  MPI_Comm_rank(MPI_COMM_WORLD, &rankOf);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  dasgd::Report report;
  const double rate = options.single ? Measure<arma::fmat>(options, report) :
      Measure<arma::mat>(options, report);
  double megabytes = 0;
  MPI_Reduce(&HugeFunction::megabytes, &megabytes, 1, MPI_DOUBLE, MPI_MAX, 0,
      MPI_COMM_WORLD);
  if (rankOf == 0)
  {
    double computing = 0, exchanging = 0, idle = 0;
    std::uint64_t frames = 0, bytes = 0;
    for (const dasgd::RankReport& rank : report.ranks)
    {
      frames += rank.framesReceived;
      bytes += rank.bytesReceived;
      computing += rank.secondsComputing;
      exchanging += rank.secondsExchanging;
      idle += rank.secondsIdle;
    }
    std::cout << "{\"rate\": " << rate << ", \"computing\": " << computing
        << ", \"exchanging\": " << exchanging << ", \"idle\": " << idle
        << ", \"gradients\": " << (report.ranks.empty() ? 0 :
        report.Gradients()) << ", \"frames\": " << frames << ", \"bytes\": "
        << bytes << ", \"staleness\": "
        << (report.ranks.empty() ? 0 : report.StalenessAverage());
    if (megabytes > 0 && !report.ranks.empty())
    {
      // Iterate, gradient, and what else dasgd says it may hold.
      std::cout << ", \"megabytes\": " << megabytes << ", \"bound\": "
          << 1e-6 * double((2 + report.ranks[0].vectorBound) *
          HugeFunction::Elements * (options.single ? 4 : 8));
    }
    std::cout << "}"
        << std::endl;
  }
}
catch (const std::exception& e)
{
  std::cerr << "throughput: " << e.what() << std::endl;
  return 1;
}
