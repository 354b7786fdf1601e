/**
 * @file smoke.cpp
 *
 * The shortest proof that mlpack's models accept the optimizer; it is also
 * built with the second pair of mlpack and ensmallen.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include "catch.hpp"

namespace {

//! Two clouds of points, far enough apart that every model separates them.
void TwoClouds(arma::mat& data, arma::Row<size_t>& labels)
{
  mlpack::RandomSeed(7);
  data.randn(2, 400);
  labels.zeros(400);
  data.cols(200, 399) += 8.0;
  labels.cols(200, 399).ones();
}

} // namespace

TEST_CASE("logistic regression trains with DASGD", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  TwoClouds(data, labels);

  dasgd::DASGD optimizer(0.01, 10, 400 * 20);
  mlpack::LogisticRegression<> model(2);
  model.Train(data, labels, optimizer);

  CHECK(model.ComputeAccuracy(data, labels) > 95.0);
}

TEST_CASE("a network trains with DASGD", "[mlpack]")
{
  arma::mat data;
  arma::Row<size_t> labels;
  TwoClouds(data, labels);
  const arma::mat responses = arma::conv_to<arma::mat>::from(labels);

  mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::RandomInitialization>
      model;
  model.Add<mlpack::Linear>(8);
  model.Add<mlpack::Sigmoid>();
  model.Add<mlpack::Linear>(2);
  model.Add<mlpack::LogSoftMax>();

  dasgd::DASGD optimizer(0.01, 10, 400 * 50);
  model.Train(data, responses, optimizer);

  arma::mat predictions;
  model.Predict(data, predictions);
  const arma::Row<size_t> predicted = arma::conv_to<arma::Row<size_t>>::from(
      arma::index_max(predictions, 0));
  CHECK(arma::accu(predicted == labels) > 380);
}
