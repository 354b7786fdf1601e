/**
 * @file network_test.cpp
 *
 * Networks made of descriptions are what the descriptions say, by mlpack's own
 * account; and their tables.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <data/load_text.hpp>
#include <ffn/model.hpp>
#include <ffn/network.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace dasgd::ffn;

namespace {

struct Architecture
{
  std::string shape;
  std::string layers;
};

//! Each kind of layer, and all that changes sizes.
std::vector<Architecture> Architectures()
{
  std::vector<Architecture> all = {
      { "20", "linear:3 logsoftmax" },
      { "6x5x2", "linear:7 relu linear:3 logsoftmax" },
      { "9", "batchnorm linear:8 batchnorm tanh linear:3 logsoftmax" },
      { "12x12x1", "conv:4x3x3 relu maxpool:2x2 linear:3 logsoftmax" },
      { "11x9x3", "conv:4x5x3 leakyrelu:0.1 meanpool:2x3 linear:3 logsoftmax" },
      { "11x10x2", "conv:3x3x3:stride=2 elu conv:2x3x2:stride=2 linear:3 "
          "logsoftmax" },
      { "8x7x2", "conv:3x3x3:pad=same gelu conv:2x4x2:pad=same linear:3 "
          "logsoftmax" },
      { "7x8x1", "conv:3x3x3:pad=same:stride=2 linear:3 logsoftmax" },
      { "7x9x2", "conv:3x3x3:pad=1 sigmoid conv:2x3x5:pad=2x1:stride=3 "
          "linear:3 logsoftmax" },
      { "9x9x1", "conv:2x3x3:pad=valid maxpool:3x3:stride=2 linear:3 "
          "logsoftmax" },
      { "13x11x2", "maxpool:3x2:stride=2x3 meanpool:2x2:stride=3x1 linear:3 "
          "logsoftmax" },
      { "8x8x2", "conv:3x3x3 batchnorm softplus dropout:0.2 maxpool:2 linear:5 "
          "batchnorm dropout linear:3 logsoftmax" },
      { "5x5x2", "conv:3x5x5 logsoftmax" },
      { "6x6", "conv:2x1x1 maxpool:6x6 linear:3 logsoftmax" } };
  if (UnequalStrides)
  {
    all.push_back({ "11x10x2", "conv:3x3x3:stride=1x2 conv:2x3x5:pad=2x1:"
        "stride=3x2 linear:3 logsoftmax" });
  }
  return all;
}

Network Built(const Architecture& architecture)
{
  Network network;
  BuildNetwork(network, ParseLayers(architecture.layers),
      ParseShape(architecture.shape));
  return network;
}

//! The same with weights, as a training begins with them.
Network Initialised(const Architecture& architecture)
{
  return *MakeNetwork(ParseLayers(architecture.layers),
      ParseShape(architecture.shape));
}

//! What comes back of a network that is saved and loaded, without a file.
template<typename OutputType, typename InputType>
Network Reloaded(Network& network)
{
  std::stringstream stream;
  dasgd::cli::SaveModel<OutputType>(stream, network);
  Network loaded;
  dasgd::cli::LoadModel<InputType>(stream, loaded);
  return loaded;
}

} // namespace

TEST_CASE("mlpack computes the sizes that were told", "[network]")
{
  for (const Architecture& architecture : Architectures())
  {
    INFO(architecture.shape << ": " << architecture.layers);
    const std::vector<LayerSpec> layers = ParseLayers(architecture.layers);
    const Shape input = ParseShape(architecture.shape);
    const std::vector<LayerSize> sizes = LayerSizes(layers, input);
    Network network = Built(architecture);
    // mlpack's own way, as Train() goes it.
    network.Reset();
    REQUIRE(network.Parameters().n_elem == ParameterCount(sizes));

    const auto& made = std::as_const(network).Network();
    REQUIRE(made.size() == layers.size());
    for (size_t i = 0; i < made.size(); ++i)
    {
      std::vector<size_t> expected = sizes[i].output.Dimensions();
      // mlpack's linear layers keep the number of dimensions.
      expected.resize(std::max(expected.size(),
          made[i]->OutputDimensions().size()), 1);
      REQUIRE(made[i]->OutputDimensions() == expected);
      REQUIRE(made[i]->WeightSize() == sizes[i].parameters);
    }
  }
}

TEST_CASE("Networks of all shapes predict and have gradients", "[network]")
{
  for (const Architecture& architecture : Architectures())
  {
    INFO(architecture.shape << ": " << architecture.layers);
    mlpack::RandomSeed(5);
    Network network = Initialised(architecture);
    const size_t classes = ClassCount(ParseLayers(architecture.layers),
        ParseShape(architecture.shape));
    const arma::mat data(ParseShape(architecture.shape).Elements(), 4,
        arma::fill::randu);
    const arma::mat labels{ { 0, 1, 2, 1 } };

    arma::mat predictions;
    network.Predict(data, predictions);
    REQUIRE(predictions.n_rows == classes);
    REQUIRE(predictions.n_cols == 4);
    // Logarithms of probabilities.
    for (size_t i = 0; i < 4; ++i)
      REQUIRE(arma::accu(arma::exp(predictions.col(i))) == Approx(1.0));

    network.ResetData(data, labels);
    network.SetNetworkMode(true);
    arma::mat gradient;
    network.EvaluateWithGradient(network.Parameters(), 0, gradient, 4);
    REQUIRE(gradient.n_elem == network.Parameters().n_elem);
    REQUIRE(gradient.is_finite());
    REQUIRE(arma::norm(gradient) > 0.0);
  }
}

TEST_CASE("Convolutions are what the description says", "[network]")
{
  std::vector<std::string> texts = { "conv:2x3x5:pad=2x1",
      "conv:2x3x3:stride=2:pad=1", "conv:2x5x2:stride=3" };
  if (UnequalStrides)
    texts.push_back("conv:2x3x5:pad=2x1:stride=3x2");
  const Shape input = ParseShape("7x9x2");
  for (const std::string& text : texts)
  {
    INFO(text);
    mlpack::RandomSeed(8);
    const LayerSpec layer = ParseLayers(text)[0];
    const Shape shape = LayerSizes({ layer }, input)[0].output;
    Network network = Built({ "7x9x2", text });
    network.Reset();
    const arma::mat data(input.Elements(), 1, arma::fill::randu);
    arma::mat output;
    network.Predict(data, output);
    REQUIRE(output.n_rows == shape.Elements());

    // Weights: column by column of each kernel, then the maps' biases.
    const arma::mat& weights = network.Parameters();
    const size_t kernel = layer.width * layer.height;
    for (size_t i = 0; i < output.n_elem; ++i)
    {
      const size_t x = i % shape.width;
      const size_t y = i / shape.width % shape.height;
      const size_t map = i / shape.width / shape.height;
      double expected = weights[kernel * input.channels * shape.channels + map];
      for (size_t k = 0; k < kernel * input.channels; ++k)
      {
        // Counted from the corner of the padding; what is left of the image
        // wraps around to numbers that are too large.
        const size_t column = x * layer.strideWidth + k % layer.width -
            layer.padWidth;
        const size_t row = y * layer.strideHeight +
            k / layer.width % layer.height - layer.padHeight;
        if (column < input.width && row < input.height)
        {
          expected += weights[kernel * input.channels * map + k] *
              data[column + input.width * (row + input.height * (k / kernel))];
        }
      }
      REQUIRE(output[i] == Approx(expected));
    }
  }
}

TEST_CASE("Batch normalisation after a linear layer is by value", "[network]")
{
  // Were it by channel, these would be two.
  Network network = Built({ "4x4x1", "linear:6 batchnorm logsoftmax" });
  network.Reset();
  REQUIRE(std::as_const(network).Network()[1]->WeightSize() == 12);
}

TEST_CASE("The table of a network", "[network]")
{
  const Network network = Built({ "28x28x1", "conv:32x3x3 relu maxpool:2x2 "
      "leakyrelu elu gelu sigmoid tanh softplus dropout batchnorm linear:10 "
      "logsoftmax" });
  REQUIRE(NetworkTable(network) ==
      " #  Layer        Output    Parameters\n"
      "    Input        28x28x1\n"
      " 1  Convolution  26x26x32         320\n"
      " 2  ReLU         26x26x32           0\n"
      " 3  MaxPooling   13x13x32           0\n"
      " 4  LeakyReLU    13x13x32           0\n"
      " 5  ELU          13x13x32           0\n"
      " 6  GELU         13x13x32           0\n"
      " 7  Sigmoid      13x13x32           0\n"
      " 8  TanH         13x13x32           0\n"
      " 9  SoftPlus     13x13x32           0\n"
      "10  Dropout      13x13x32           0\n"
      "11  BatchNorm    13x13x32          64\n"
      "12  Linear       10             54090\n"
      "13  LogSoftMax   10                 0\n"
      "    Total                       54474\n");

  // A network that nobody told its input.
  Network unknown;
  dasgd::ffn::detail::AddLayer<mlpack::Linear>(unknown, size_t(3));
  REQUIRE_THROWS_AS(NetworkTable(unknown), std::invalid_argument);
}

TEST_CASE("A network that was saved and loaded is the same", "[network]")
{
  for (const Architecture& architecture : Architectures())
  {
    INFO(architecture.shape << ": " << architecture.layers);
    mlpack::RandomSeed(6);
    const std::string table = NetworkTable(Built(architecture));
    Network network = Initialised(architecture);
    const arma::mat data(ParseShape(architecture.shape).Elements(), 4,
        arma::fill::randu);
    const arma::mat labels{ { 0, 1, 2, 1 } };
    arma::mat expected, predictions;
    REQUIRE(NetworkTable(network) == table);

    for (const bool binary : { true, false })
    {
      // Anew each time: computing a gradient changes what batch normalisation
      // remembers.
      network.Predict(data, expected);
      Network loaded = binary ?
          Reloaded<cereal::BinaryOutputArchive, cereal::BinaryInputArchive>(
          network) :
          Reloaded<cereal::JSONOutputArchive, cereal::JSONInputArchive>(
          network);
      const arma::mat weights = loaded.Parameters();
      REQUIRE(NetworkTable(loaded) == table);
      // The weights are still there, and where the layers look for them.
      REQUIRE(arma::approx_equal(loaded.Parameters(), weights, "absdiff", 0.0));
      loaded.Predict(data, predictions);
      // JSON has 16 or 17 digits.
      REQUIRE(arma::approx_equal(predictions, expected, "absdiff", 1e-12));
      REQUIRE(NetworkTable(loaded) == table);

      // Training can go on from it.
      arma::mat before, after;
      for (const auto& pair : { std::make_pair(&network, &before),
          std::make_pair(&loaded, &after) })
      {
        mlpack::RandomSeed(7);
        pair.first->ResetData(data, labels);
        pair.first->SetNetworkMode(true);
        pair.first->EvaluateWithGradient(pair.first->Parameters(), 0,
            *pair.second, 4);
        pair.first->SetNetworkMode(false);
      }
      REQUIRE(arma::approx_equal(after, before, "both", 1e-10, 1e-10));
    }
  }
}

TEST_CASE("Layers are given to an empty network, and all or none", "[network]")
{
  Network network;
  REQUIRE_THROWS_AS(BuildNetwork(network,
      ParseLayers("linear:3 conv:1x1x1"), ParseShape("4x4x1")),
      std::invalid_argument);
  REQUIRE(std::as_const(network).Network().empty());
  REQUIRE_THROWS_AS(BuildNetwork(network, {}, ParseShape("4")),
      std::invalid_argument);
  if (!UnequalStrides)
  {
    REQUIRE_THROWS_AS(BuildNetwork(network,
        ParseLayers("conv:1x1x1:stride=1x2"), ParseShape("4x4x1")),
        std::invalid_argument);
    REQUIRE(std::as_const(network).Network().empty());
  }
  BuildNetwork(network, ParseLayers("linear:3"), ParseShape("4"));
  REQUIRE_THROWS_AS(BuildNetwork(network, ParseLayers("linear:3"),
      ParseShape("4")), std::invalid_argument);
}

TEST_CASE("Networks in single precision", "[network]")
{
  mlpack::FFN<mlpack::NegativeLogLikelihoodType<arma::fmat>,
      mlpack::GlorotInitialization, arma::fmat> network;
  Build(network, ParseLayers("conv:2x3x3 relu leakyrelu linear:3 logsoftmax"),
      ParseShape("5x5x1"));
  REQUIRE(LayerTable(network) == NetworkTable(Built({ "5x5x1",
      "conv:2x3x3 relu leakyrelu linear:3 logsoftmax" })));
}

TEST_CASE("A matrix that does not fit into memory is refused", "[load]")
{
  using Catch::Matchers::ContainsSubstring;
  using dasgd::cli::CheckMemory;
  const std::uint64_t giga = 1000000000;
  // A matrix of 8 GB.
  const size_t rows = 1000, cols = 1000000;
  CHECK_NOTHROW(CheckMemory(rows, cols, 1, { 9 * giga, 24 * giga }));
  CHECK_THROWS_WITH(CheckMemory(rows, cols, 1, { 7 * giga, 24 * giga }),
      ContainsSubstring("1000000 points of 1000 values take 8.0 GB, but this "
      "machine has 7.0 GB left; use a machine with more memory"));
  // The other rank has read its own already.
  CHECK_NOTHROW(CheckMemory(rows, cols, 2, { 9 * giga, 24 * giga }));
  CHECK_THROWS_WITH(CheckMemory(rows, cols, 4, { 20 * giga, 24 * giga }),
      ContainsSubstring("8.0 GB on each of 4 ranks, but this machine has 24.0 "
      "GB; start fewer ranks, or use --sharded"));
  CHECK_NOTHROW(CheckMemory(rows, cols, 4, { 0, 0 }));
  CHECK_NOTHROW(CheckMemory(10, 10));
}
