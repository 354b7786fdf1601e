/**
 * @file cifar.cpp
 *
 * The paper's third experiment: a convolutional network on CIFAR-10, with 1 to
 * 25 workers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>
#include <dasgd/optimizer/simulate.hpp>

#include "cifar10.hpp"
#include "paper.hpp"

#include <chrono>
#include <deque>
#include <iomanip>
#include <iostream>
#include <memory>

namespace example {

namespace {

using Clock = std::chrono::steady_clock;

/**
 * The network of TensorFlow's tutorial "Convolutional Neural Network (CNN)":
 * three convolutions, two poolings, two dense layers, 122,570 parameters.
 */
class Network
{
 public:
  static constexpr size_t Parameters = 122570;

  Network()
  {
    using MatType = arma::fmat;
    net.Add<mlpack::Convolution<MatType>>(32, 3, 3);
    net.Add<mlpack::ReLU<MatType>>();
    net.Add<mlpack::MaxPooling<MatType>>(2, 2, 2, 2);
    net.Add<mlpack::Convolution<MatType>>(64, 3, 3);
    net.Add<mlpack::ReLU<MatType>>();
    net.Add<mlpack::MaxPooling<MatType>>(2, 2, 2, 2);
    net.Add<mlpack::Convolution<MatType>>(64, 3, 3);
    net.Add<mlpack::ReLU<MatType>>();
    net.Add<mlpack::Linear<MatType>>(64);
    net.Add<mlpack::ReLU<MatType>>();
    net.Add<mlpack::Linear<MatType>>(10);
    net.Add<mlpack::LogSoftMax<MatType>>();
    net.InputDimensions() = { Cifar10::width, Cifar10::width,
        Cifar10::channels };
    net.Reset(Cifar10::values);
    if (net.Parameters().n_elem != Parameters)
    {
      throw std::runtime_error("the network has " +
          std::to_string(net.Parameters().n_elem) + " parameters instead of " +
          std::to_string(Parameters));
    }
  }

  //! A start as the tutorial's library draws it (Glorot, uniform; biases are
  //! 0); mlpack's own does not know which weights belong to which layer.
  static arma::fmat Start(const size_t seed)
  {
    struct Layer { size_t in, out, kernel; };
    const Layer layers[] = { { 3, 32, 9 }, { 32, 64, 9 }, { 64, 64, 9 },
        { 1024, 64, 1 }, { 64, 10, 1 } };
    dasgd::Random random(dasgd::Mix(seed, 2023));
    arma::fmat start(Parameters, 1, arma::fill::zeros);
    size_t at = 0;
    for (const Layer& layer : layers)
    {
      const double limit = std::sqrt(6.0 / double(layer.kernel *
          (layer.in + layer.out)));
      for (size_t i = 0; i < layer.kernel * layer.in * layer.out; ++i)
        start[at++] = float(random.Uniform(-limit, limit));
      at += layer.out;
    }
    return start;
  }

  //! The mean loss of some images, and its gradient.
  double Loss(const arma::fmat& parameters,
              arma::fmat&& images,
              arma::fmat&& labels,
              arma::fmat& gradient)
  {
    const size_t count = images.n_cols;
    // It reads its own memory, whatever it is given.
    std::memcpy(net.Parameters().memptr(), parameters.memptr(),
        parameters.n_elem * sizeof(float));
    net.ResetData(std::move(images), std::move(labels));
    const double sum = double(net.EvaluateWithGradient(net.Parameters(), 0,
        gradient, count));
    gradient /= float(count);
    return sum / double(count);
  }

 private:
  mlpack::FFN<mlpack::NegativeLogLikelihoodType<arma::fmat>,
      mlpack::GlorotInitialization, arma::fmat> net;
};

//! The training set as one rank sees it: each point is a batch of images, and
//! its objective their mean loss.
class Batches
{
 public:
  Batches(const Cifar10& data,
          const std::shared_ptr<Network>& network,
          const size_t batch) :
      data(&data), network(network), batch(batch),
      order(arma::regspace<arma::uvec>(0, data.trainImages.n_cols - 1))
  { }

  size_t NumFunctions() const { return order.n_elem / batch; }
  void Shuffle() { order = arma::shuffle(order); }

  float EvaluateWithGradient(const arma::fmat& parameters,
                             const size_t begin,
                             arma::fmat& gradient,
                             const size_t count)
  {
    double sum = 0;
    arma::fmat one;
    gradient.zeros(parameters.n_rows, parameters.n_cols);
    for (size_t i = begin; i < begin + count; ++i)
    {
      const arma::uvec images = order.subvec(i * batch, (i + 1) * batch - 1);
      sum += network->Loss(parameters, arma::fmat(data->trainImages.cols(
          images)), arma::fmat(data->trainLabels.cols(images)), one);
      gradient += one;
    }
    return float(sum);
  }

  float Evaluate(const arma::fmat& parameters,
                 const size_t begin,
                 const size_t count)
  {
    arma::fmat gradient;
    return EvaluateWithGradient(parameters, begin, gradient, count);
  }

 private:
  const Cifar10* data;
  std::shared_ptr<Network> network;
  size_t batch;
  arma::uvec order;
};

//! The mean loss of the last 30 gradients, as far as they are known here.
struct Losses
{
  std::deque<double> last;
  size_t gradients = 0;
  //! When it fell to the error, if it did.
  size_t reached = 0;
  Clock::time_point said = Clock::now();

  double Mean() const
  {
    double sum = 0;
    for (const double loss : last)
      sum += loss;
    return sum / double(std::max<size_t>(1, last.size()));
  }
};

//! Stops the run when that is small enough.
class SmallLoss
{
 public:
  SmallLoss(const std::shared_ptr<Losses>& losses,
            const Options& options,
            const size_t share,
            const std::string& name) :
      losses(losses), error(options.error),
      maxGradients(options.maxGradients / share), name(name)
  { }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Evaluate(OptimizerType&,
                FunctionType&,
                const MatType&,
                const double objective)
  {
    Losses& seen = *losses;
    seen.last.push_back(objective);
    if (seen.last.size() > 30)
      seen.last.pop_front();
    ++seen.gradients;
    if (seen.reached == 0 && seen.last.size() == 30 && seen.Mean() <= error)
      seen.reached = seen.gradients;
    if (!name.empty() && Clock::now() - seen.said > std::chrono::seconds(60))
    {
      seen.said = Clock::now();
      std::cerr << name << ": " << seen.gradients << " gradients, loss "
          << seen.Mean() << std::endl;
    }
    return seen.reached != 0 || seen.gradients >= maxGradients;
  }

 private:
  std::shared_ptr<Losses> losses;
  double error;
  size_t maxGradients;
  std::string name;
};

template<typename UpdatePolicyType>
std::string Go(const Options& options,
               const Cifar10& data,
               const size_t workers,
               const size_t run,
               const std::string& key)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  const Clock::time_point begin = Clock::now();
  dasgd::DASGD<UpdatePolicyType> optimizer(options.step, 1, 0, -1, true);
  optimizer.Window() = options.window;
  optimizer.Sharing() = dasgd::Sharing::Dynamic;
  // The paper's steps have one size, and its policies do not look ahead.
  optimizer.StalenessDamping() = 0;
  optimizer.LookAhead() = 0;
  optimizer.RecordHistory() = true;
  optimizer.Seed() = run;

  arma::fmat model = Network::Start(run);
  const auto network = std::make_shared<Network>();
  const Batches function(data, network, options.batch);
  const auto losses = std::make_shared<Losses>();
  if (options.mpi)
  {
    SmallLoss callback(losses, options, workers, comm.Rank() == 0 ? key : "");
    Batches own(function);
    optimizer.Optimize(own, model, callback);
    if (comm.Rank() != 0)
      return "";
  }
  else
  {
    dasgd::SimCluster machine;
    machine.seed = run;
    machine.computeSeconds.assign(workers, options.seconds);
    machine.computeSpread = 0.05;
    machine.applySeconds = 1e-4;
    machine.link = [](size_t, size_t)
    {
      // A network of 10 Gbit/s.
      dasgd::SimLink link;
      link.latency = 5e-5;
      link.bytesPerSecond = 1.25e9;
      return link;
    };
    std::vector<Batches> functions(workers, function);
    std::vector<SmallLoss> callbacks(workers, SmallLoss(losses, options, 1,
        key));
    dasgd::Simulate(optimizer, functions, model, machine, callbacks);
  }

  const dasgd::Report& report = optimizer.Report();
  // A rank alone sees its own gradients, but all count.
  const size_t iterations = options.mpi ? size_t(report.Gradients()) :
      losses->gradients;
  // Whichever rank saw it.
  const bool reached = (report.reason == dasgd::StopReason::Callback &&
      iterations < options.maxGradients);
  return Row(key, iterations, report.seconds, report.LooseMax(),
      report.LooseAverage(), report.StalenessMax(), report.StalenessAverage(),
      losses->Mean(), reached ? "yes" : "no",
      std::chrono::duration<double>(Clock::now() - begin).count());
}

} // namespace

int RunCifar(const Options& options)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  if (!options.mpi && comm.Size() > 1)
    throw std::runtime_error("start it without mpirun, or give --mpi");
  const Cifar10 data = LoadCifar10(options.data.empty() ? Cifar10Folder() :
      options.data, options.points);
  const std::vector<size_t> workers = options.mpi ?
      std::vector<size_t>(1, comm.Size()) : options.workers;
  const std::string mode = options.mpi ? "mpi" : "simulated";

  Table table(options.out, "mode,n,run,update,step,error,batch,points,window,"
      "iterations,seconds,loose_max,loose_avg,s_max,s_avg,loss,reached,"
      "wall_seconds", 9);
  for (size_t run = options.firstRun; run < options.firstRun + options.runs;
      ++run)
  {
    for (const size_t n : workers)
    {
      const std::string key = Row(mode, n, run, options.update, options.step,
          options.error, options.batch, data.trainImages.n_cols,
          options.window);
      std::uint8_t skip = table.Has(key);
      comm.Broadcast(&skip, 1);
      if (skip)
        continue;
      const std::string row = (options.update == "adam") ?
          Go<ens::AdamUpdate>(options, data, n, run, key) :
          Go<ens::VanillaUpdate>(options, data, n, run, key);
      if (comm.Rank() != 0)
        continue;
      table.Add(row);
      std::cerr << "cifar: " << row << std::endl;
    }
  }
  return 0;
}

} // namespace example
