/**
 * @file onnx_speed.cpp
 *
 * Gradients per second of ONNX models, beside mlpack's networks of the same
 * layers; started by onnx.py, by mpirun if there is more than one rank.  Prints
 * one line of JSON.
 *
 *   onnx_speed WAY MODEL NETWORK SECONDS
 *
 * WAY is "onnx" or "mlpack" (gradients alone), "sgd" (every rank trains on its
 * own) or "dasgd"; NETWORK is mlp, cnn or cifar.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>
#include <dasgd_onnx.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;
using Network = mlpack::FFN<
    mlpack::NegativeLogLikelihoodType<arma::fmat>,
    mlpack::RandomInitialization, arma::fmat>;

constexpr size_t Batch = 32;
constexpr size_t Points = 512;

double Since(const Clock::time_point start)
{ return std::chrono::duration<double>(Clock::now() - start).count(); }

//! The layers of networks.py, in mlpack.
void Build(Network& network, const std::string& name)
{
  const auto linear = [&](const size_t size)
  { network.Add<mlpack::Linear<arma::fmat>>(size); };
  const auto relu = [&]() { network.Add<mlpack::ReLU<arma::fmat>>(); };
  const auto conv = [&](const size_t maps, const size_t size)
  { network.Add<mlpack::Convolution<arma::fmat>>(maps, size, size); relu(); };
  const auto pool = [&]()
  { network.Add<mlpack::MaxPooling<arma::fmat>>(2, 2, 2, 2); };
  if (name == "mlp")
  {
    network.InputDimensions() = { 784 };
    linear(256);
    relu();
    linear(128);
    relu();
  }
  else if (name == "cnn")
  {
    network.InputDimensions() = { 28, 28, 1 };
    conv(6, 5);
    pool();
    conv(16, 5);
    pool();
  }
  else
  {
    network.InputDimensions() = { 32, 32, 3 };
    conv(32, 3);
    pool();
    conv(64, 3);
    pool();
    conv(64, 3);
    linear(64);
    relu();
  }
  linear(10);
  network.Add<mlpack::LogSoftMax<arma::fmat>>();
}

//! Gradients per second of a function at one place.
template<typename FunctionType>
double Rate(FunctionType& function, const arma::fmat& iterate,
            const double seconds)
{
  arma::fmat gradient(iterate.n_rows, iterate.n_cols);
  function.EvaluateWithGradient(iterate, 0, gradient, Batch);
  size_t count = 0;
  const Clock::time_point start = Clock::now();
  do
  {
    function.EvaluateWithGradient(iterate, count * Batch % Points, gradient,
        Batch);
    ++count;
  } while (Since(start) < seconds);
  return double(count) / Since(start);
}

//! The same of an optimizer, for about as long.
template<typename OptimizerType>
double Train(OptimizerType& optimizer,
             dasgd::OnnxFunction<arma::fmat>& function,
             const size_t gradients)
{
  arma::fmat iterate = function.GetInitialPoint();
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock::time_point start = Clock::now();
  optimizer.Optimize(function, iterate);
  MPI_Barrier(MPI_COMM_WORLD);
  return double(gradients) / Since(start);
}

} // namespace

int main(int argc, char** argv)
{
  if (argc != 5)
    return 2;
  dasgd::mpi::Initialize();
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string way = argv[1], name = argv[3];
  const double seconds = std::stod(argv[4]);
  arma::arma_rng::set_seed(1);
  const arma::fmat points(name == "cifar" ? 3072 : 784, Points,
      arma::fill::randn);
  arma::Row<size_t> labels(Points);
  for (size_t i = 0; i < Points; ++i)
    labels[i] = i % 10;

  double rate = 0;
  if (way == "mlpack")
  {
    Network network;
    Build(network, name);
    network.ResetData(points, arma::conv_to<arma::fmat>::from(labels));
    arma::fmat gradient;
    network.Reset(points.n_rows);
    network.SetNetworkMode(true);
    rate = Rate(network, network.Parameters(), seconds);
  }
  else
  {
    dasgd::OnnxFunction<arma::fmat> function(argv[2], points, labels);
    rate = Rate(function, function.GetInitialPoint(), way == "onnx" ? seconds :
        0.2);
    const size_t each = size_t(rate * seconds) + 1;
    // All ranks compute equally many.
    std::uint64_t steps = each;
    MPI_Bcast(&steps, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    const size_t all = size_t(steps) * size_t(ranks);
    if (way == "sgd")
    {
      ens::StandardSGD optimizer(1e-3, Batch, size_t(steps) * Batch, -1);
      rate = Train(optimizer, function, all);
    }
    else if (way == "dasgd")
    {
      dasgd::DASGD optimizer(1e-3, Batch, all * Batch, -1);
      rate = Train(optimizer, function, all);
    }
  }
  if (rank == 0)
    std::printf("{\"gradients_per_second\": %.6g}\n", rate);
  return 0;
}
