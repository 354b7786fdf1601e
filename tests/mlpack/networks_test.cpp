/**
 * @file networks_test.cpp
 *
 * mlpack's neural networks end as well with DASGD as with ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "against_serial.hpp"

namespace {

//! A ring around a cloud: no straight line separates them.
void Ring(arma::mat& data, arma::mat& responses)
{
  mlpack::RandomSeed(11);
  data.randn(2, 600);
  data *= 0.3;
  responses.zeros(1, 600);
  for (size_t i = 0; i < 600; i += 2)
  {
    const double angle = arma::datum::tau * double(i) / 600.0;
    data(0, i) += 2.0 * std::cos(angle);
    data(1, i) += 2.0 * std::sin(angle);
    responses[i] = 1.0;
  }
}

//! Noisy images of 8 x 8 pixels with a bar, upright or lying, anywhere.
void Bars(arma::mat& data, arma::mat& responses)
{
  mlpack::RandomSeed(12);
  data.randn(64, 300);
  data *= 0.3;
  responses.zeros(1, 300);
  for (size_t i = 0; i < 300; ++i)
  {
    arma::mat image(data.colptr(i), 8, 8, false, true);
    const size_t where = (i / 2) % 8;
    if (i % 2 == 0)
      image.col(where) += 1.0;
    else
      image.row(where) += 1.0;
    responses[i] = double(i % 2);
  }
}

//! Sequences of 5 noisy numbers; the kind is told by the sign of the first two,
//! so the network has to remember it.
void Sequences(arma::cube& data, arma::cube& responses)
{
  mlpack::RandomSeed(13);
  data.randn(1, 300, 5);
  data *= 0.3;
  responses.zeros(1, 300, 1);
  for (size_t i = 0; i < 300; ++i)
  {
    data.slice(0)(0, i) += (i % 2 == 0) ? 1.0 : -1.0;
    data.slice(1)(0, i) += (i % 2 == 0) ? 1.0 : -1.0;
    responses(0, i, 0) = double(i % 2);
  }
}

arma::Row<size_t> Labels(const arma::mat& responses)
{
  return arma::conv_to<arma::Row<size_t>>::from(responses);
}

} // namespace

// All accuracies may fall behind by 2 per cent points: a few points near the
// border.

TEST_CASE("FFN as MLP", "[mlpack]")
{
  arma::mat data, responses;
  Ring(data, responses);
  CheckAgainstSerial({ Batches::Sum, 0.05, 20, 60000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        model;
    model.template Add<mlpack::Linear>(16);
    model.template Add<mlpack::TanH>();
    model.template Add<mlpack::Linear>(16);
    model.template Add<mlpack::ReLU>();
    model.template Add<mlpack::Linear>(2);
    model.template Add<mlpack::LogSoftMax>();
    model.Train(data, responses, optimizer);

    arma::mat output;
    model.Predict(data, output);
    return Trained{ model.Parameters(),
        Accuracy(Largest(output), Labels(responses)) };
  });
}

// The loss starts at 0.69 and ends below 0.1; runs of one format differ by
// about 0.005, since gradients arrive in another order each time.
TEST_CASE("An MLP converges as well in every format on the wire", "[format]")
{
  arma::mat data, responses;
  Ring(data, responses);
  double exact = 0;
  for (const std::string format : { "exact", "float32", "bfloat16",
      "topk:0.1" })
  {
    INFO(format);
    mlpack::RandomSeed(5);
    mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        model;
    model.Add<mlpack::Linear>(16);
    model.Add<mlpack::TanH>();
    model.Add<mlpack::Linear>(16);
    model.Add<mlpack::ReLU>();
    model.Add<mlpack::Linear>(2);
    model.Add<mlpack::LogSoftMax>();
    dasgd::DASGD<> optimizer(dasgd::ensmallen::dividesStep ? 0.05 : 0.05 / 20,
        20, 60000, -1);
    optimizer.WireFormat() = format;
    // On a board there would be no frames of exact numbers.
    optimizer.Topology() = "complete";
    // On a busy machine, steps would be shortened by chance.
    optimizer.StalenessDamping() = 0;
    optimizer.Seed() = 3;
    model.Train(data, responses, optimizer);
    const double loss = model.Evaluate(data, responses) /
        double(data.n_cols);
    CHECK(optimizer.Report().Deviation() < 1e-9);
    if (format == "exact")
      exact = loss;
    CHECK(loss < 0.1);
    CHECK(loss < exact + 0.03);
  }
}

// Dropout draws random numbers in each gradient, and differs in training and
// prediction.
TEST_CASE("FFN with dropout", "[mlpack]")
{
  arma::mat data, responses;
  Ring(data, responses);
  CheckAgainstSerial({ Batches::Sum, 0.05, 20, 60000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        model;
    model.template Add<mlpack::Linear>(32);
    model.template Add<mlpack::ReLU>();
    model.template Add<mlpack::Dropout>(0.2);
    model.template Add<mlpack::Linear>(2);
    model.template Add<mlpack::LogSoftMax>();
    model.Train(data, responses, optimizer);

    arma::mat output;
    model.Predict(data, output);
    return Trained{ model.Parameters(),
        Accuracy(Largest(output), Labels(responses)) };
  });
}

TEST_CASE("FFN as CNN", "[mlpack]")
{
  arma::mat data, responses;
  Bars(data, responses);
  CheckAgainstSerial({ Batches::Sum, 0.2, 10, 30000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        model;
    model.InputDimensions() = { 8, 8, 1 };
    model.template Add<mlpack::Convolution>(4, 3, 3);
    model.template Add<mlpack::ReLU>();
    model.template Add<mlpack::MaxPooling>(2, 2, 2, 2);
    model.template Add<mlpack::Linear>(2);
    model.template Add<mlpack::LogSoftMax>();
    model.Train(data, responses, optimizer);

    arma::mat output;
    model.Predict(data, output);
    return Trained{ model.Parameters(),
        Accuracy(Largest(output), Labels(responses)) };
  });
}

TEST_CASE("RNN with LSTM", "[mlpack]")
{
  arma::cube data, responses;
  Sequences(data, responses);
  CheckAgainstSerial({ Batches::Sum, 0.2, 10, 30000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    // One response for each sequence, at its end.
    mlpack::RNN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        model(5, true);
    model.template Add<mlpack::LSTM>(4);
    model.template Add<mlpack::Linear>(2);
    model.template Add<mlpack::LogSoftMax>();
    model.Train(data, responses, optimizer);

    arma::cube output;
    model.Predict(data, output);
    return Trained{ model.Parameters(),
        Accuracy(Largest(output.slice(output.n_slices - 1)),
        Labels(responses.slice(0))) };
  });
}

#if __has_include(<mlpack/methods/ann/dag_network.hpp>)

TEST_CASE("DAGNetwork", "[mlpack]")
{
  arma::mat data, responses;
  Ring(data, responses);
  CheckAgainstSerial({ Batches::Sum, 0.05, 20, 60000, 98.0, 2.0 },
      [&](auto& optimizer)
  {
    mlpack::DAGNetwork<mlpack::NegativeLogLikelihood,
        mlpack::GlorotInitialization> model;
    // Two ways from the input to the output, which are then joined.
    const size_t input = model.template Add<mlpack::Linear>(16);
    const size_t left = model.template Add<mlpack::TanH>();
    const size_t right = model.template Add<mlpack::ReLU>();
    const size_t output = model.template Add<mlpack::Linear>(2);
    const size_t softMax = model.template Add<mlpack::LogSoftMax>();
    model.Connect(input, left);
    model.Connect(input, right);
    model.Connect(left, output);
    model.Connect(right, output);
    model.Connect(output, softMax);
    model.Train(data, responses, optimizer);

    arma::mat predicted;
    model.Predict(data, predicted);
    return Trained{ model.Parameters(),
        Accuracy(Largest(predicted), Labels(responses)) };
  });
}

#endif

TEST_CASE("AutoStep looks at a network where its parameters are", "[mlpack]")
{
  arma::mat data, responses;
  Ring(data, responses);
  const auto train = [&](dasgd::DASGD<>& optimizer)
  {
    mlpack::RandomSeed(5);
    mlpack::FFN<mlpack::NegativeLogLikelihood, mlpack::GlorotInitialization>
        network;
    network.Add<mlpack::Linear>(8);
    network.Add<mlpack::Sigmoid>();
    network.Add<mlpack::Linear>(2);
    network.Add<mlpack::LogSoftMax>();
    network.Train(data, responses, optimizer);
    return arma::mat(network.Parameters());
  };
  dasgd::DASGD<> optimizer(dasgd::AutoStep, 20, 1200, -1, false);
  const arma::mat chosen = train(optimizer);
  // A network that is flat has a limit that is the same for all; one whose
  // parameters were not moved would look flat.
  const double smoothness = optimizer.Report().smoothness;
  CHECK(smoothness > 0.01);
  CHECK(smoothness < 100);

  if (optimizer.Report().ranks.size() == 1)
  {
    // Looking left the parameters as they were.
    dasgd::DASGD<> given(optimizer.Report().stepSize, 20, 1200, -1, false);
    CHECK(arma::approx_equal(train(given), chosen, "absdiff", 0.0));
  }
}
