/**
 * @file proof.cpp
 *
 * mlpack's networks on Fashion-MNIST, in double precision; see proof.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include "proof.hpp"

#include <fashion_mnist.hpp>

#include <map>
#include <memory>

namespace {

using Network = mlpack::FFN<mlpack::NegativeLogLikelihood,
    mlpack::GlorotInitialization>;

//! The points to train with and to test with.
struct Images
{
  arma::mat points, targets;
  arma::Row<size_t> labels;

  explicit Images(const std::string& part)
  {
    const example::FashionMnist read(part);
    points = read.images;
    labels = read.labels;
    targets = arma::conv_to<arma::mat>::from(labels);
  }
};

class Model
{
 public:
  Model(const proof::Run& run, const Images& train, const Images& test) :
      name(run.problem), test(test)
  {
    mlpack::RandomSeed(run.seed);
    Build();
    network.ResetData(train.points, train.targets);
    network.Reset();
    network.SetNetworkMode(true);
  }

  Network& Function() { return network; }
  arma::mat& Start() { return network.Parameters(); }

  proof::Care Care() const
  {
    const std::vector<double> all{ 0.84, 0.85, 0.86, 0.87, 0.88 };
    const auto first = [&](const size_t count)
    { return std::vector<double>(all.begin(), all.begin() + count); };
    return (name == "cnn") ? proof::Care{ 1.08, first(3) } :
        (name == "mlp1m") ? proof::Care{ 1.05, first(4) } :
        (name == "mlp10m") ? proof::Care{ 1.15, first(2) } :
        proof::Care{ 1.05, all };
  }

  arma::mat& Judged() { return network.Parameters(); }
  size_t TestPoints() const { return test.labels.n_elem; }

  size_t Right(const size_t first, const size_t count)
  {
    network.Predict(arma::mat(test.points.cols(first, first + count - 1)),
        output);
    size_t right = 0;
    for (size_t i = 0; i < count; ++i)
      right += (output.col(i).index_max() == test.labels[first + i]);
    return right;
  }

 private:
  void Build()
  {
    // Parameters: 235,146, 1,035,690 and 9,810,730.
    const std::map<std::string, std::array<size_t, 2>> hidden = {
        { "mlp", { 256, 128 } }, { "mlp1m", { 1024, 224 } },
        { "mlp10m", { 3072, 2400 } } };
    if (hidden.count(name))
    {
      network.InputDimensions() = { 784 };
      for (const size_t outputs : hidden.at(name))
      {
        network.Add<mlpack::Linear>(outputs);
        network.Add<mlpack::ReLU>();
      }
    }
    else if (name == "cnn")
    {
      network.InputDimensions() = { 28, 28, 1 };
      network.Add<mlpack::Convolution>(6, 5, 5);
      network.Add<mlpack::ReLU>();
      network.Add<mlpack::MaxPooling>(2, 2, 2, 2);
      network.Add<mlpack::Convolution>(16, 5, 5);
      network.Add<mlpack::ReLU>();
      network.Add<mlpack::MaxPooling>(2, 2, 2, 2);
    }
    else
      throw std::invalid_argument("problem '" + name + "'?");
    network.Add<mlpack::Linear>(10);
    network.Add<mlpack::LogSoftMax>();
  }

  std::string name;
  const Images& test;
  Network network;
  arma::mat output;
};

} // namespace

int main(int argc, char** argv)
{
  std::unique_ptr<Images> train, test;
  return proof::Main(argc, argv, [&](const proof::Run& run)
  {
    if (!train)
    {
      train = std::make_unique<Images>("train");
      test = std::make_unique<Images>("t10k");
    }
    return std::make_unique<Model>(run, *train, *test);
  });
}
