/**
 * @file program.cpp
 *
 * A training whose ranks are on different hosts, as far as MPI can tell; run.sh
 * starts it, and does things to the network meanwhile.  It tells how far it is,
 * and in the end what came of it, by writing files into the folder that is its
 * first argument.  It fails if ranks do not end with the same model.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>

namespace {

//! 50,000 parameters of 4 bytes: a gradient has 200 kB.
constexpr size_t features = 50, responses = 1000, points = 4000;
constexpr size_t batchSize = 8;
//! Along the mean over a batch.
constexpr double stepSize = 0.003;
//! A rank that has taken so many steps is in the middle of the training, and
//! tells how many it has taken whenever it has taken so many more.
constexpr size_t underWay = 120, often = 10;

std::string folder;

//! Tell run.sh; complete at once, whoever looks.
void Tell(const std::string& event, const std::string& text = "")
{
  const std::string name = folder + "/" + event;
  std::ofstream(name + ".part") << text << std::endl;
  std::rename((name + ".part").c_str(), name.c_str());
}

/**
 * Least squares, f_i(W) = |W x_i - y_i|^2 / 2, where features are independent
 * and responses are linear but for noise of variance 1: for each response, the
 * mean over points falls from 1.5 at W = 0 to a little below 0.5.  The same on
 * all ranks.
 */
class LeastSquares
{
 public:
  //! @param pause How much longer a gradient takes, as if there were more to
  //!     compute: whoever computes does not look for frames.
  explicit LeastSquares(const std::chrono::milliseconds pause) : pause(pause)
  {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto draw = [&]() { return normal(random); };
    x.set_size(features, points);
    x.imbue(draw);
    arma::fmat truth(responses, features);
    truth.imbue(draw);
    y.set_size(responses, points);
    y.imbue(draw);
    y += float(std::sqrt(2.0 / features)) * truth * x;
  }

  size_t NumFunctions() const { return points; }
  void Shuffle() { }

  float Evaluate(const arma::fmat& w, const size_t begin, const size_t count)
  {
    Residuals(w, begin, count);
    return 0.5f * arma::accu(arma::square(residuals));
  }

  float EvaluateWithGradient(const arma::fmat& w,
                             const size_t begin,
                             arma::fmat& gradient,
                             const size_t count)
  {
    std::this_thread::sleep_for(pause);
    const float objective = Evaluate(w, begin, count);
    gradient = residuals * x.cols(begin, begin + count - 1).t();
    return objective;
  }

  //! The mean over points, for each response.
  double Loss(const arma::fmat& w)
  {
    double sum = 0;
    for (size_t begin = 0; begin < points; begin += batchSize)
      sum += double(Evaluate(w, begin, batchSize));
    return sum / double(points * responses);
  }

 private:
  void Residuals(const arma::fmat& w, const size_t begin, const size_t count)
  {
    residuals = w * x.cols(begin, begin + count - 1) -
        y.cols(begin, begin + count - 1);
  }

  std::chrono::milliseconds pause;
  arma::fmat x, y, residuals;
};

//! Tells how far this rank is.
struct Progress
{
  size_t rank;
  size_t steps = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    ++steps;
    if (steps >= underWay && steps % often == 0)
      Tell("steps." + std::to_string(rank), std::to_string(steps));
    return false;
  }
};

//! Did all ranks say so?
bool All(const dasgd::MpiCommunicator& comm, const bool mine)
{
  bool all = true;
  for (const double other : comm.Gather(mine ? 1.0 : 0.0))
    all = all && other == 1;
  return all;
}

} // namespace

int main(int argc, char** argv)
{
  if (argc < 4)
  {
    std::cerr << "usage: " << argv[0] << " <folder> <gradients of all ranks> "
        "<milliseconds that each takes longer> "
        "[share memory within hosts]" << std::endl;
    return EXIT_FAILURE;
  }
  folder = argv[1];
  const size_t gradients = size_t(std::atol(argv[2]));
  LeastSquares function{ std::chrono::milliseconds(std::atol(argv[3])) };

  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  const size_t rank = comm.Rank();
  dasgd::DASGD<> optimizer(dasgd::ensmallen::dividesStep ? stepSize : stepSize /
      double(batchSize), batchSize, gradients * batchSize, -1);
  // A slow link makes gradients stale, and shorter steps would take longer than
  // this test does.
  optimizer.StalenessDamping() = 0;
  // The hosts are on one machine, and ranks could find each other's memory.
  optimizer.SharedMemory() = (argc > 4);
  arma::fmat model(responses, features, arma::fill::zeros);
  optimizer.Optimize(function, model, Progress{ rank });

  bool good = true;
  const auto check = [&](const bool holds, const std::string& what)
  {
    good = good && holds;
    if (!holds)
      std::cerr << "rank " << rank << ": " << what << std::endl;
  };
  const dasgd::Report& report = optimizer.Report();
  check(report.Gradients() == gradients, "too few gradients, or too many");
  for (const dasgd::RankReport& each : report.ranks)
  {
    check(each.applied == gradients, "gradients were lost");
    check(each.peakVectors <= each.vectorBound, "more vectors than the bound");
  }
  // The same sum in different orders, of numbers around 1.
  check(report.Deviation() < 1e-4, "replicas differed by " +
      std::to_string(report.Deviation()));
  arma::fmat root = model;
  comm.Broadcast(root.memptr(), root.n_elem * sizeof(float));
  check(std::memcmp(root.memptr(), model.memptr(), root.n_elem *
      sizeof(float)) == 0, "the model is not rank 0's");
  good = All(comm, good);

  if (rank == 0)
  {
    std::cout << report;
    std::ostringstream result;
    result << "loss=" << function.Loss(model) << "\nseconds=" << report.seconds
        << "\nstaleness=" << report.StalenessAverage()
        << "\ntopology='" << report.topology << "'";
    double between = 0;
    for (const dasgd::RankReport& each : report.ranks)
      between += double(each.bytesBetween);
    result << "\nmodels_between=" << between / double(gradients) /
        double(report.elements * report.elementBytes);
    for (size_t i = 0; i < report.ranks.size(); ++i)
    {
      result << "\nsent_" << i << "=" << report.ranks[i].bytesSent
          << "\nreceived_" << i << "=" << report.ranks[i].bytesReceived;
    }
    Tell("result", result.str());
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
