/**
 * @file mnist_simple.cpp
 *
 * What people who use mlpack write: a network, ens::Adam, early stopping by a
 * part of the points that is held out, a progress bar, and the accuracy in the
 * end.  It knows nothing of ranks.  Compiled as it is, and with drop_in.hpp;
 * see programs.py.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
// So that networks can be saved.
#define MLPACK_ENABLE_ANN_SERIALIZATION
#include <mlpack.hpp>

#include <fashion_mnist.hpp>

#include <chrono>
#include <iostream>

using namespace mlpack;

//! The class of each column.
static arma::Row<size_t> Classes(const arma::mat& likely)
{
  arma::Row<size_t> classes(likely.n_cols);
  for (size_t i = 0; i < likely.n_cols; ++i)
    classes[i] = likely.col(i).index_max();
  return classes;
}

//! In percent.
static double PercentRight(const arma::Row<size_t>& predicted,
                           const arma::Row<size_t>& labels)
{
  return 100.0 * double(arma::accu(predicted == labels)) /
      double(labels.n_elem);
}

int main()
{
  constexpr double validationPart = 0.1;
  constexpr size_t firstHidden = 200;
  constexpr size_t secondHidden = 100;
  constexpr double stepSize = 1.2e-3;
  constexpr size_t batchSize = 50;
  constexpr size_t mostEpochs = 10;

  RandomSeed(1);
  const example::FashionMnist all("train");
  arma::mat train, valid;
  arma::Row<size_t> trainLabels, validLabels;
  data::Split(all.images, all.labels, train, valid, trainLabels, validLabels,
      validationPart);
  const arma::mat trainTargets = arma::conv_to<arma::mat>::from(trainLabels);
  const arma::mat validTargets = arma::conv_to<arma::mat>::from(validLabels);

  FFN<NegativeLogLikelihood, GlorotInitialization> model;
  model.Add<Linear>(firstHidden);
  model.Add<ReLU>();
  model.Add<Linear>(secondHidden);
  model.Add<ReLU>();
  model.Add<Linear>(10);
  model.Add<LogSoftMax>();

  std::cout << "Training ..." << std::endl;
  ens::Adam optimizer(stepSize, batchSize, 0.9, 0.999, 1e-8,
      mostEpochs * train.n_cols, 1e-8, true);
  size_t epochs = 0;
  const auto begin = std::chrono::steady_clock::now();
  model.Train(train, trainTargets, optimizer, ens::PrintLoss(),
      ens::ProgressBar(), ens::EarlyStopAtMinLoss(
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
  model.Predict(valid, likely);
  std::cout << "Validation accuracy: "
            << PercentRight(Classes(likely), validLabels) << " %\n";
  const example::FashionMnist test("t10k");
  model.Predict(test.images, likely);
  std::cout << "Test accuracy: " << PercentRight(Classes(likely), test.labels)
      << " %\n";
  std::cout << "Trained " << epochs << " epochs in " << seconds << " seconds\n";
  mlpack::Save("mnist_simple.bin", model);
}
