/**
 * @file training_test.cpp
 *
 * ONNX models are trained by ens::SGD and by DASGD, on any number of ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <ensmallen.hpp>

#include "models.hpp"

#include <dasgd.hpp>
#include <dasgd_onnx.hpp>

#include "catch.hpp"

using dasgd::OnnxFunction;
using models::Dims;
using models::Maker;

namespace {

//! Three clouds of points, far enough apart for a line between them.
struct Clouds
{
  explicit Clouds(const size_t count) : points(6, count), labels(count)
  {
    const auto noise = models::Numbers(6 * count, -0.6, 0.6, 11);
    for (size_t i = 0; i < count; ++i)
    {
      labels[i] = i * 7 % 3;
      for (size_t j = 0; j < 6; ++j)
        points(j, i) = float(noise[6 * i + j] + (j % 3 == labels[i]));
    }
  }

  //! The share of points that a model takes for what they are.
  double Accuracy(OnnxFunction<arma::fmat>& function,
                  const arma::fmat& iterate) const
  {
    arma::fmat output;
    function.Predict(iterate, points, output);
    size_t right = 0;
    for (size_t i = 0; i < labels.n_elem; ++i)
      right += output.col(i).index_max() == labels[i];
    return double(right) / double(labels.n_elem);
  }

  arma::fmat points;
  arma::Row<size_t> labels;
};

//! With everything that behaves otherwise in training.
std::string Normalizing()
{
  Maker maker({ 6 });
  const std::string hidden = maker.Add("BatchNormalization", {
      maker.Add("Gemm", { "x", maker.Weight({ 6, 8 }) }),
      maker.Weight({ 8 }, 0.9, 1.1), maker.Weight({ 8 }, 0, 0.1),
      maker.Weight({ 8 }, 0, 0.1), maker.Weight({ 8 }, 0.9, 1.1) });
  maker.Add("Gemm", { maker.Add("Dropout", { maker.Add("Relu", { hidden }),
      maker.build.Scalar(0.1) }), maker.Weight({ 8, 3 }),
      maker.Weight({ 3 }) });
  return maker.FinishHere();
}

//! The same bytes on all ranks?
bool SameOnAllRanks(const std::string& bytes)
{
  const auto all = dasgd::MpiCommunicator(MPI_COMM_WORLD).Gather(bytes);
  for (const std::string& each : all)
  {
    if (each != all[0])
      return false;
  }
  return true;
}

std::string Bytes(const arma::fmat& iterate)
{
  return std::string(reinterpret_cast<const char*>(iterate.memptr()),
      iterate.n_elem * sizeof(float));
}

} // namespace

TEST_CASE("DASGD on one rank trains as ens::SGD does", "[onnx][one]")
{
  if (dasgd::MpiCommunicator(MPI_COMM_WORLD).Size() > 1)
    return;
  const Clouds clouds(90);
  models::TemporaryFile file;
  file.Write(models::Perceptron({ 6, 5, 3 }));
  OnnxFunction<arma::fmat> function(file.Path(), clouds.points, clouds.labels);
  // 90 points in batches of 32: the last one is smaller.
  arma::fmat first = function.GetInitialPoint(), second = first;
  ens::StandardSGD sgd(0.05, 32, 90 * 5, -1, false);
  dasgd::DASGD dasgd(0.05, 32, 90 * 5, -1, false);
  sgd.Optimize(function, first);
  dasgd.Optimize(function, second);
  CHECK(arma::approx_equal(first, second, "absdiff", 1e-6));
}

TEST_CASE("an ONNX model trains on any number of ranks", "[onnx]")
{
  const Clouds clouds(600);
  models::TemporaryFile file;
  for (const bool normalizing : { false, true })
  {
    file.Write(normalizing ? Normalizing() : models::Perceptron({ 6, 8, 3 }));
    dasgd::OnnxOptions options;
    options.seed = 1 + dasgd::MpiCommunicator(MPI_COMM_WORLD).Rank();
    OnnxFunction<arma::fmat> function(file.Path(), clouds.points,
        clouds.labels, options);
    arma::fmat iterate = function.GetInitialPoint();
    dasgd::DASGD optimizer(0.05, 20, 600 * 15, -1);
    optimizer.Seed() = 3;
    CHECK(std::isfinite(optimizer.Optimize(function, iterate)));
    CHECK(SameOnAllRanks(Bytes(iterate)));
    CHECK(clouds.Accuracy(function, iterate) > 0.9);

    // Any rank may save it.
    models::TemporaryFile saved;
    function.Save(saved.Path(), iterate);
    std::ifstream stream(saved.Path(), std::ios::binary);
    CHECK(SameOnAllRanks(std::string(std::istreambuf_iterator<char>(stream),
        { })));
    OnnxFunction<arma::fmat> loaded(saved.Path());
    CHECK(clouds.Accuracy(loaded, loaded.GetInitialPoint()) ==
        clouds.Accuracy(function, iterate));
  }
}
