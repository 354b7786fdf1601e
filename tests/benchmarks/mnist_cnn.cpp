/**
 * @file mnist_cnn.cpp
 *
 * What people who use mlpack write: a convolutional network, ens::Adam, early
 * stopping by points that are held out, and the accuracy in the end.  It knows
 * nothing of ranks.  Compiled as it is, and with drop_in.hpp; see proof.py.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <fashion_mnist.hpp>

#include <chrono>
#include <iostream>

using namespace mlpack;

int main()
{
  constexpr double validationPart = 0.1;
  constexpr double stepSize = 1.2e-3;
  constexpr size_t batchSize = 50;
  constexpr size_t mostEpochs = 3;

  RandomSeed(1);
  const example::FashionMnist all("train"), test("t10k");
  arma::mat train, valid;
  arma::Row<size_t> trainLabels, validLabels;
  data::Split(all.images, all.labels, train, valid, trainLabels, validLabels,
      validationPart);
  const arma::mat trainTargets = arma::conv_to<arma::mat>::from(trainLabels);
  const arma::mat validTargets = arma::conv_to<arma::mat>::from(validLabels);

  FFN<NegativeLogLikelihood, GlorotInitialization> model;
  model.Add<Convolution>(6, 5, 5, 1, 1, 0, 0);
  model.Add<LeakyReLU>();
  model.Add<MaxPooling>(2, 2, 2, 2, true);
  model.Add<Convolution>(16, 5, 5, 1, 1, 0, 0);
  model.Add<LeakyReLU>();
  model.Add<MaxPooling>(2, 2, 2, 2, true);
  model.Add<Linear>(10);
  model.Add<LogSoftMax>();
  model.InputDimensions() = { 28, 28, 1 };

  ens::Adam optimizer(stepSize, batchSize, 0.9, 0.999, 1e-8,
      mostEpochs * train.n_cols, 1e-8, true);
  size_t epochs = 0;
  const auto begin = std::chrono::steady_clock::now();
  model.Train(train, trainTargets, optimizer, ens::PrintLoss(),
      ens::EarlyStopAtMinLoss(
      [&](const arma::mat&)
      {
        ++epochs;
        const double loss = model.Evaluate(valid, validTargets);
        std::cout << "Validation loss: " << loss << "." << std::endl;
        return loss;
      }));
  const double seconds = std::chrono::duration<double>(
      std::chrono::steady_clock::now() - begin).count();

  arma::mat likely;
  model.Predict(test.images, likely);
  size_t right = 0;
  for (size_t i = 0; i < likely.n_cols; ++i)
    right += (likely.col(i).index_max() == test.labels[i]);
  std::cout << "Test accuracy: " << 100.0 * double(right) / likely.n_cols
      << " %\n";
  std::cout << "Trained " << epochs << " epochs in " << seconds << " seconds\n";
}
