/**
 * @file state_test.cpp
 *
 * What networks and optimizers keep beside the parameters: statistics of
 * BatchNorm, moments of Adam, lengths of sequences.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "against_serial.hpp"

namespace {

//! Do all ranks hold the same bits?
template<typename MatType>
bool Same(const MatType& values)
{
  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);
  const std::string mine(reinterpret_cast<const char*>(values.memptr()),
      values.n_elem * sizeof(*values.memptr()));
  for (const std::string& other : world.Gather(mine))
  {
    if (other != mine)
      return false;
  }
  return true;
}

//! Two clouds of points, so far from the origin.
template<typename MatType>
void Clouds(MatType& data, MatType& responses, const double offset)
{
  using ElemType = typename MatType::elem_type;
  mlpack::RandomSeed(14);
  data.randn(3, 600);
  responses.zeros(1, 600);
  for (size_t i = 0; i < 600; i += 2)
  {
    data.col(i) += ElemType(4);
    responses[i] = ElemType(1);
  }
  data += ElemType(offset);
}

//! Per cent of the points whose cloud the model finds.
template<typename ModelType, typename MatType>
double Accuracy(ModelType& model,
                const MatType& data,
                const MatType& responses,
                MatType& output)
{
  model.Predict(data, output);
  size_t right = 0;
  for (size_t i = 0; i < output.n_cols; ++i)
    right += (output.col(i).index_max() == size_t(responses[i]));
  return 100.0 * double(right) / double(output.n_cols);
}

} // namespace

TEST_CASE("BatchNorm holds the statistics of the batches of all ranks",
    "[mlpack]")
{
  arma::mat data, responses;
  Clouds(data, responses, 10);
  mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
      model;
  model.Add<mlpack::BatchNorm>();
  model.Add<mlpack::Linear>(4);
  model.Add<mlpack::BatchNorm>();
  model.Add<mlpack::ReLU>();
  model.Add<mlpack::Linear>(2);
  model.Add<mlpack::LogSoftMax>();
  // Whole epochs, and batches of the same size everywhere.
  dasgd::Adam optimizer(0.01, 20, 0.9, 0.999, 1e-8, 6 * data.n_cols, -1);
  model.Train(data, responses, optimizer);

  // The first layer sees the data itself: the mean over all batches is its
  // mean, whichever ranks have seen them.
  const auto& first =
      dynamic_cast<mlpack::BatchNorm<arma::mat>&>(*model.Network()[0]);
  const arma::vec mean = arma::mean(data, 1);
  CHECK(arma::approx_equal(arma::vectorise(first.TrainingMean()), mean,
      "absdiff", 1e-10));
  CHECK(Same(first.TrainingMean()));
  CHECK(Same(first.TrainingVariance()));
  arma::mat output;
  CHECK(Accuracy(model, data, responses, output) > 95);
  CHECK(Same(output));
}

TEST_CASE("Ranks with different data are refused, with BatchNorm, too",
    "[mlpack]")
{
  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);
  if (world.Size() == 1)
    return;
  arma::mat data, responses;
  Clouds(data, responses, 10);
  data += 0.1 * double(world.Rank());
  mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
      model;
  model.Add<mlpack::BatchNorm>();
  model.Add<mlpack::Linear>(2);
  model.Add<mlpack::LogSoftMax>();
  dasgd::Adam optimizer(0.01, 20, 0.9, 0.999, 1e-8, 6 * data.n_cols, -1);
  CHECK_THROWS_AS(model.Train(data, responses, optimizer),
      std::invalid_argument);
}

TEST_CASE("A network in single precision, trained in parts", "[mlpack]")
{
  arma::fmat data, responses;
  Clouds(data, responses, -2);
  using ModelType = mlpack::FFN<mlpack::NegativeLogLikelihoodType<arma::fmat>,
      mlpack::GlorotInitialization, arma::fmat>;
  const auto train = [&](auto&& optimizer, ModelType& model)
  {
    mlpack::RandomSeed(15);
    model.Add<mlpack::Linear>(4);
    model.Add<mlpack::ReLU>();
    model.Add<mlpack::Linear>(2);
    model.Add<mlpack::LogSoftMax>();
    model.Train(data, responses, optimizer);
    // From where it is, with the moments that it has.
    model.Train(data, responses, optimizer);
  };
  ModelType ours;
  train(dasgd::Adam(0.02, 20, 0.9, 0.999, 1e-8, 6 * data.n_cols, -1, true,
      false), ours);
  arma::fmat output;
  CHECK(Accuracy(ours, data, responses, output) > 95);
  CHECK(Same(output));

  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);
  if (world.Size() == 1)
  {
    ModelType theirs;
    train(ens::Adam(0.02, 20, 0.9, 0.999, 1e-8, 6 * data.n_cols, -1, true,
        false), theirs);
    CHECK(arma::approx_equal(ours.Parameters(), theirs.Parameters(), "absdiff",
        0));
  }
}

TEST_CASE("RNN with sequences of different lengths", "[mlpack]")
{
  // The kind of a sequence is told by its first number.
  mlpack::RandomSeed(16);
  arma::cube data(1, 200, 6, arma::fill::randn), responses(1, 200, 6);
  data *= 0.3;
  arma::urowvec lengths(200);
  for (size_t i = 0; i < 200; ++i)
  {
    lengths[i] = 3 + i % 4;
    data(0, i, 0) += (i % 2 == 0) ? 1.0 : -1.0;
    responses.tube(0, i).fill(double(i % 2));
  }
  mlpack::RNN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
      model(6);
  model.Add<mlpack::LSTM>(4);
  model.Add<mlpack::Linear>(2);
  model.Add<mlpack::LogSoftMax>();
  dasgd::Adam optimizer(0.02, 10, 0.9, 0.999, 1e-8, 20 * 200, -1);
  model.Train(data, responses, lengths, optimizer);

  arma::cube output;
  model.Predict(data, output, lengths);
  size_t right = 0;
  for (size_t i = 0; i < 200; ++i)
  {
    const arma::vec last = output.slice(lengths[i] - 1).col(i);
    right += (last.index_max() == i % 2);
  }
  CHECK(right > 190);
  // What is beyond the end of a sequence is not defined.
  CHECK(Same(output.slice(2)));
}
