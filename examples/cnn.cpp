/**
 * @file cnn.cpp
 *
 * A convolutional network with 5,142 parameters on Fashion-MNIST.
 *
 *     mpirun -n 4 cnn --topology exponential --hash
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include "example.hpp"
#include "fashion_mnist.hpp"

using namespace mlpack;

int main(int argc, char** argv) try
{
  const example::Options options(argc, argv, 1, 60000);
  example::FashionMnist train("train", options.points), test("t10k");

  FFN<NegativeLogLikelihood, GlorotInitialization> model;
  model.InputDimensions() = { 28, 28, 1 };
  model.Add<Convolution>(6, 5, 5);
  model.Add<ReLU>();
  model.Add<MaxPooling>(2, 2, 2, 2);
  model.Add<Convolution>(16, 5, 5);
  model.Add<ReLU>();
  model.Add<MaxPooling>(2, 2, 2, 2);
  model.Add<Linear>(10);
  model.Add<LogSoftMax>();

  // ens::StandardSGD optimizer(example::Step(0.1, 32), 32,
  //     options.epochs * train.images.n_cols);
  dasgd::DASGD optimizer(example::Step(0.1, 32), 32,
      options.epochs * train.images.n_cols);
  optimizer.Topology() = options.topology;

  model.Train(std::move(train.images),
      arma::conv_to<arma::mat>::from(train.labels), optimizer,
      ens::ProgressBar(30, dasgd::RootStream()));

  arma::mat output;
  model.Predict(test.images, output);
  const double correct = arma::accu(arma::index_max(output) == test.labels);
  example::PrintResult(optimizer.Report(), 100 * correct / output.n_cols,
      model.Parameters(), options);
}
catch (const std::exception& e)
{
  return example::Failed(e);
}
