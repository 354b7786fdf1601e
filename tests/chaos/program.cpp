/**
 * @file program.cpp
 *
 * A training with checkpoints that is made to be disturbed: run.py kills and
 * stops its ranks and resumes it, soak.py lets it go on for hours.  MPI is left
 * to dasgd, as in most programs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <chrono>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

double Since(const Clock::time_point start)
{ return std::chrono::duration<double>(Clock::now() - start).count(); }

//! At once, so that lines of several ranks do not mix.
void Say(const std::string& line)
{ std::cout << line + "\n" << std::flush; }

//! No number of ranks divides the points, and yet no rank has a small batch at
//! the end of its share, which would be mostly noise.
constexpr size_t points = 4211, elements = 400, batchSize = 250;

/**
 * Least squares with noise, f_i(x) = (a_i'x - y_i)^2 / 2, the same on all
 * ranks.  All directions are about equally steep, so that a training is soon
 * where only noise moves it, and what a rank that was stopped brings back from
 * its past is forgotten soon.
 */
class LeastSquares
{
 public:
  LeastSquares() :
      order(arma::regspace<arma::uvec>(0, points - 1))
  {
    arma::arma_rng::set_seed(11);
    a.randn(elements, points);
    const arma::vec solution(elements, arma::fill::randn);
    y = a.t() * solution + 0.5 * arma::vec(points, arma::fill::randn);
  }

  size_t NumFunctions() const { return points; }
  void Shuffle() { order = arma::shuffle(order); }

  double Evaluate(const arma::mat& x, const size_t begin, const size_t count)
  {
    Take(x, begin, count);
    return 0.5 * arma::dot(residual, residual);
  }

  double EvaluateWithGradient(const arma::mat& x,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t count)
  {
    Take(x, begin, count);
    gradient = batch * residual;
    return 0.5 * arma::dot(residual, residual);
  }

  //! The mean over all points.
  double Loss(const arma::mat& x)
  { return Evaluate(x, 0, points) / double(points); }

 private:
  void Take(const arma::mat& x, const size_t begin, const size_t count)
  {
    const arma::uvec chosen = order.subvec(begin, begin + count - 1);
    batch = a.cols(chosen);
    residual = batch.t() * x - y.elem(chosen);
  }

  arma::uvec order;
  arma::mat a, batch;
  arma::vec y, residual;
};

//! Says that a rank is under way, and from time to time how far the training
//! is; ends it when its time is up.
struct Watch
{
  size_t rank = 0;
  //! Seconds to train, and seconds from one line to the next (0: no limit, no
  //! lines).
  double limit = 0;
  double every = 0;

  size_t epochs = 0;
  double next = 0;
  Clock::time_point start;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool BeginOptimization(OptimizerType&, FunctionType&, MatType&)
  {
    // Not at the first step: a rank whose share is done takes none.
    Say("running " + std::to_string(rank) + " " + std::to_string(getpid()));
    start = Clock::now();
    next = every;
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, const MatType&)
  {
    if (rank != 0 || limit == 0)
      return false;
    const double seconds = Since(start);
    if (every > 0 && seconds >= next)
    {
      next += every;
      std::ostringstream line;
      line << "progress " << std::fixed << std::setprecision(1) << seconds
          << " s, " << optimizer.Live()->applied << " gradients, "
          << epochs * points << " points in complete epochs";
      Say(line.str());
    }
    return seconds >= limit;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&,
                FunctionType&,
                const MatType&,
                const size_t number,
                const double)
  {
    epochs = number;
    return false;
  }
};

int Train(dasgd::DASGD<>& optimizer, const double limit, const double every)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  LeastSquares function;
  arma::mat iterate(elements, 1, arma::fill::zeros);
  Watch watch;
  watch.rank = comm.Rank();
  watch.limit = limit;
  watch.every = every;
  optimizer.Optimize(function, iterate, watch);

  const dasgd::Report& report = optimizer.Report();
  arma::mat root = iterate;
  comm.Broadcast(root.memptr(), elements * sizeof(double));
  const bool mine = std::memcmp(root.memptr(), iterate.memptr(), elements *
      sizeof(double)) == 0;
  bool same = true;
  for (const double other : comm.Gather(mine ? 1.0 : 0.0))
    same = same && other == 1;
  const bool interrupted = (report.reason == dasgd::StopReason::Signal);
  const int status = interrupted ? 75 : EXIT_SUCCESS;
  if (comm.Rank() != 0)
    return status;

  // Every rank has applied every gradient, in bounded memory.
  bool complete = true;
  std::uint64_t peak = 0, bound = 0;
  for (const dasgd::RankReport& rank : report.ranks)
  {
    complete = complete && rank.applied + report.gradientsBefore ==
        report.Gradients();
    if (rank.peakVectors * std::max<std::uint64_t>(bound, 1) >=
        peak * rank.vectorBound)
    {
      peak = rank.peakVectors;
      bound = rank.vectorBound;
    }
  }
  std::ostringstream line;
  line << std::setprecision(17) << std::boolalpha << "result {"
      << "\"loss\": " << function.Loss(iterate)
      << ", \"same\": " << same
      << ", \"complete\": " << complete
      << ", \"interrupted\": " << interrupted
      << ", \"deviation\": " << report.Deviation() / arma::abs(iterate).max()
      << ", \"points\": " << report.Points()
      << ", \"gradients\": " << report.Gradients()
      << ", \"points_before\": " << report.pointsBefore
      << ", \"resumes\": " << report.resumes
      << ", \"ranks_before\": " << report.ranksBefore
      << ", \"seconds\": " << report.seconds
      << ", \"staleness_mean\": " << report.StalenessAverage()
      << ", \"staleness_max\": " << report.StalenessMax()
      << ", \"peak_vectors\": " << peak
      << ", \"vector_bound\": " << bound
      << ", \"checkpoints\": " << report.checkpoints
      << ", \"checkpoint_problem\": \""
      << (report.checkpointProblem.empty() ? "" : "yes") << "\"}";
  Say(line.str());
  return status;
}

//! Is this a whole checkpoint, and what does it say?
int Check(const std::string& path)
{
  try
  {
    const std::vector<std::uint8_t> bytes = dasgd::ReadCheckpoint(path,
        sizeof(double) * elements);
    if (bytes.empty())
      throw dasgd::CheckpointError("it is not there");
    const dasgd::Checkpoint found = dasgd::checkpoint::Decode(bytes);
    std::ostringstream line;
    line << std::boolalpha << "{\"points\": " << found.points
        << ", \"ranks\": " << found.held.size() << ", \"resumes\": "
        << found.resumes << ", \"finished\": " << found.finished << "}";
    Say(line.str());
    return EXIT_SUCCESS;
  }
  catch (const std::exception& e)
  {
    std::cerr << path << ": " << e.what() << std::endl;
    return EXIT_FAILURE;
  }
}

} // namespace

int main(int argc, char** argv)
{
  const std::string way = (argc > 1) ? argv[1] : "";
  // Small enough for gradients from before a rank was stopped, and large enough
  // for a training of run.py to last 17 time constants of the flattest
  // direction.
  dasgd::DASGD<> optimizer(
      0.003 / (dasgd::ensmallen::dividesStep ? 1.0 : double(batchSize)),
      batchSize, 0, -1);
  // What a run ends with must not depend on how it was disturbed.
  optimizer.StalenessDamping() = 0;
  if (way == "check" && argc == 3)
    return Check(argv[2]);
  if (way == "train" && argc == 7)
  {
    optimizer.Checkpoint(argv[2], std::stod(argv[3]));
    optimizer.MaxIterations() = size_t(std::stoull(argv[4]));
    optimizer.Topology() = argv[5];
    optimizer.Sharing() = (std::string(argv[6]) == "dynamic") ?
        dasgd::Sharing::Dynamic : dasgd::Sharing::Static;
    // One that comes after the end changes nothing.
    std::signal(SIGUSR1, [](int) { });
    optimizer.StopSignals() = { SIGUSR1 };
    return Train(optimizer, 0, 0);
  }
  if (way == "soak" && argc == 7)
  {
    optimizer.Checkpoint(argv[2], std::stod(argv[3]));
    optimizer.Topology() = argv[6];
    return Train(optimizer, std::stod(argv[4]), std::stod(argv[5]));
  }
  std::cerr << "usage: " << argv[0] << " train <checkpoint> <seconds between> "
      "<points> <topology> <static|dynamic>\n       " << argv[0] << " soak "
      "<checkpoint> <seconds between> <seconds> <seconds between lines> "
      "<topology>\n       " << argv[0] << " check <checkpoint>" << std::endl;
  return EXIT_FAILURE;
}
