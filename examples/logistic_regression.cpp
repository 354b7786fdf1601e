/**
 * @file logistic_regression.cpp
 *
 * Logistic regression on two classes of Fashion-MNIST: pullovers and coats.
 *
 *     mpirun -n 2 logistic_regression
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
  const example::Options options(argc, argv, 10, 60000);
  example::FashionMnist train("train", options.points), test("t10k");
  train.Keep(2, 4);
  test.Keep(2, 4);

  LogisticRegression<> model(train.images.n_rows, 0.001);

  // ens::StandardSGD optimizer(example::Step(0.02, 32), 32,
  //     options.epochs * train.images.n_cols);
  dasgd::DASGD optimizer(example::Step(0.02, 32), 32,
      options.epochs * train.images.n_cols);
  optimizer.Topology() = options.topology;

  model.Train(train.images, train.labels, optimizer);

  const double accuracy = model.ComputeAccuracy(test.images, test.labels);
  example::PrintResult(optimizer.Report(), accuracy, model.Parameters(),
      options);
}
catch (const std::exception& e)
{
  return example::Failed(e);
}
