/**
 * @file tasks.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "tasks.hpp"

#include <ffn/ffn.hpp>
#include <mlpack/methods/logistic_regression/logistic_regression.hpp>
#include <mlpack/methods/softmax_regression/softmax_regression.hpp>

#include <cmath>

namespace dasgd {
namespace study {

namespace {

using Action = std::function<void(Separable&, arma::mat&)>;

//! What a model's Train() is given, to hand function and iterate on.
cli::Captured::Action Hand(const Action& action)
{
  return { [&action](Separable& function, arma::mat& iterate)
  {
    action(function, iterate);
    return 0.0;
  }, nullptr };
}

//! mlpack's logistic regression; labels are 0 and 1.
class LogisticTask : public Task
{
 public:
  explicit LogisticTask(const LabelledSet& train) : train(train) { }

  void Train(const Action& action) override
  {
    mlpack::LogisticRegression<> model(0, 0);
    model.Parameters().zeros(train.points.n_rows + 1);
    const auto handing = Hand(action);
    cli::Captured optimizer(handing);
    model.Train(train.points, train.labels, optimizer);
  }

  bool Sums() const override { return true; }

  void LogProbabilities(const arma::mat& iterate,
                        const arma::mat& points,
                        arma::mat& result) override
  {
    const arma::rowvec weights(const_cast<double*>(iterate.memptr()) + 1,
        iterate.n_elem - 1, false, true);
    const arma::rowvec score = iterate[0] + weights * points;
    result.set_size(2, points.n_cols);
    for (size_t i = 0; i < score.n_elem; ++i)
    {
      // Whichever sign the score has, no power is too large.
      const double rest = std::log1p(std::exp(-std::abs(score[i])));
      result(0, i) = -rest - std::max(0.0, score[i]);
      result(1, i) = -rest + std::min(0.0, score[i]);
    }
  }

 private:
  const LabelledSet& train;
};

//! mlpack's softmax regression.
class SoftmaxTask : public Task
{
 public:
  SoftmaxTask(const LabelledSet& train, const size_t classes) :
      train(train), classes(classes) { }

  void Train(const Action& action) override
  {
    mlpack::SoftmaxRegression<> model(train.points.n_rows, classes, true);
    const auto handing = Hand(action);
    cli::Captured optimizer(handing);
    model.Train(train.points, train.labels, classes, optimizer, 0.0, true);
  }

  bool Sums() const override { return false; }

  void LogProbabilities(const arma::mat& iterate,
                        const arma::mat& points,
                        arma::mat& result) override
  {
    result = iterate.tail_cols(iterate.n_cols - 1) * points;
    result.each_col() += iterate.col(0);
    result.each_row() -= arma::rowvec(arma::max(result, 0));
    result.each_row() -= arma::rowvec(arma::log(arma::sum(arma::exp(result),
        0)));
  }

 private:
  const LabelledSet& train;
  size_t classes;
};

//! A network of mlpack.
class NetworkTask : public Task
{
 public:
  NetworkTask(const LabelledSet& train,
              const std::string& layers,
              const std::string& shape) :
      train(train), layers(ffn::ParseLayers(layers)),
      shape(ffn::ParseShape(shape))
  {
    // A second network to evaluate models, so that the trained one is not
    // touched.
    judge = ffn::MakeNetwork(this->layers, this->shape);
  }

  void Train(const Action& action) override
  {
    const auto network = ffn::MakeNetwork(layers, shape);
    const auto handing = Hand(action);
    ffn::Train(*network, train.points, train.labels, cli::Captured(handing));
  }

  bool Sums() const override { return true; }

  void LogProbabilities(const arma::mat& iterate,
                        const arma::mat& points,
                        arma::mat& result) override
  {
    judge->Parameters() = iterate;
    ffn::Predict(*judge, points, result);
  }

 private:
  const LabelledSet& train;
  std::vector<ffn::LayerSpec> layers;
  ffn::Shape shape;
  std::unique_ptr<ffn::Network> judge;
};

} // namespace

std::unique_ptr<Task> MakeTask(const std::string& problem,
                               const std::string& layers,
                               const DataSet& data)
{
  if (problem == "logistic")
    return std::make_unique<LogisticTask>(data.train);
  if (problem == "softmax")
    return std::make_unique<SoftmaxTask>(data.train, data.classes);
  return std::make_unique<NetworkTask>(data.train, layers, data.shape);
}

} // namespace study
} // namespace dasgd
