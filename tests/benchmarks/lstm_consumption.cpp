/**
 * @file lstm_consumption.cpp
 *
 * What people who use mlpack write: a recurrent network that predicts the next
 * hour of a series of numbers, trained by ens::Adam.  The series is made up: a
 * house's consumption, with days, weeks and noise.  It knows nothing of ranks.
 * Compiled as it is, and with drop_in.hpp; see proof.py.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <chrono>
#include <cmath>
#include <iostream>

using namespace mlpack;

//! What an hour takes, from about 0 to 1.
static arma::rowvec Consumption(const size_t hours)
{
  arma::rowvec series(hours);
  double drift = 0;
  for (size_t i = 0; i < hours; ++i)
  {
    const double day = double(i % 24) / 24, week = double(i % 168) / 168;
    drift = 0.95 * drift + 0.02 * arma::randn();
    series[i] = 0.45 + 0.2 * std::sin(2 * M_PI * day) + 0.1 * std::sin(4 *
        M_PI * day) + ((week > 5.0 / 7) ? 0.1 : 0.0) + drift;
  }
  return series;
}

int main()
{
  constexpr size_t hours = 3000;
  constexpr size_t lookBack = 24;
  constexpr size_t trained = 2400;
  constexpr size_t units = 16;
  constexpr double stepSize = 1e-2;
  constexpr size_t batchSize = 32;
  constexpr size_t epochs = 24;

  RandomSeed(1);
  const arma::rowvec series = Consumption(hours);
  const size_t points = hours - lookBack;
  arma::cube inputs(1, points, lookBack), targets(1, points, lookBack);
  for (size_t i = 0; i < points; ++i)
  {
    for (size_t t = 0; t < lookBack; ++t)
    {
      inputs(0, i, t) = series[i + t];
      targets(0, i, t) = series[i + t + 1];
    }
  }

  RNN<MeanSquaredError, GlorotInitialization> model(lookBack);
  model.Add<LSTM>(units);
  model.Add<Linear>(1);

  ens::Adam optimizer(stepSize, batchSize, 0.9, 0.999, 1e-8, epochs * trained,
      1e-8, true);
  const auto begin = std::chrono::steady_clock::now();
  model.Train(inputs.cols(0, trained - 1), targets.cols(0, trained - 1),
      optimizer, ens::PrintLoss());
  const double seconds = std::chrono::duration<double>(
      std::chrono::steady_clock::now() - begin).count();

  arma::cube predicted;
  model.Predict(inputs.cols(trained, points - 1), predicted);
  const arma::rowvec error = predicted.slice(lookBack - 1) -
      targets.slice(lookBack - 1).cols(trained, points - 1);
  std::cout << "Test RMSE: " << std::sqrt(arma::mean(arma::square(error)))
      << "\n";
  std::cout << "Trained " << epochs << " epochs in " << seconds << " seconds\n";
}
