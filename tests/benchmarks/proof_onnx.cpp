/**
 * @file proof_onnx.cpp
 *
 * Networks of PyTorch, as ONNX files, in single precision; see proof.hpp.  The
 * folder DASGD_MODELS has a file PROBLEM_SEED.onnx for each problem and seed,
 * which proof_ddp.py writes: cifar on the images of CIFAR-10 in DASGD_CIFAR,
 * transformer on Fashion-MNIST.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "proof.hpp"

#include <dasgd_onnx.hpp>

#include <fashion_mnist.hpp>
#include <paper/cifar10.hpp>

#include <memory>

namespace {

//! The points to train with and to test with.
struct Images
{
  std::string problem;
  arma::fmat train, test;
  arma::Row<size_t> trainLabels, testLabels;

  explicit Images(const std::string& problem) : problem(problem)
  {
    if (problem == "cifar")
    {
      example::Cifar10 read = example::LoadCifar10();
      train = std::move(read.trainImages);
      test = std::move(read.testImages);
      trainLabels = arma::conv_to<arma::Row<size_t>>::from(read.trainLabels);
      testLabels = arma::conv_to<arma::Row<size_t>>::from(read.testLabels);
      return;
    }
    const example::FashionMnist first("train"), second("t10k");
    train = arma::conv_to<arma::fmat>::from(first.images);
    test = arma::conv_to<arma::fmat>::from(second.images);
    trainLabels = first.labels;
    testLabels = second.labels;
  }
};

class Model
{
 public:
  Model(const proof::Run& run, const Images& images) :
      images(images),
      function(File(run), images.train, images.trainLabels),
      start(function.GetInitialPoint()), judged(start)
  { arma::arma_rng::set_seed(run.seed); }

  dasgd::OnnxFunction<arma::fmat>& Function() { return function; }
  arma::fmat& Start() { return start; }

  proof::Care Care() const
  {
    return (images.problem == "cifar") ? proof::Care{ 1.08,
        { 0.5, 0.55, 0.6, 0.65, 0.7 } } : proof::Care{ 1.08, { 0.8, 0.82, 0.84,
        0.85, 0.86 } };
  }

  arma::fmat& Judged() { return judged; }
  size_t TestPoints() const { return images.testLabels.n_elem; }

  size_t Right(const size_t first, const size_t count)
  {
    function.Predict(judged, arma::fmat(images.test.cols(first,
        first + count - 1)), output);
    size_t right = 0;
    for (size_t i = 0; i < count; ++i)
      right += (output.col(i).index_max() == images.testLabels[first + i]);
    return right;
  }

 private:
  static std::string File(const proof::Run& run)
  {
    const char* folder = std::getenv("DASGD_MODELS");
    return (folder ? folder + std::string("/") : std::string()) +
        run.problem + "_" + std::to_string(run.seed) + ".onnx";
  }

  const Images& images;
  dasgd::OnnxFunction<arma::fmat> function;
  arma::fmat start, judged, output;
};

} // namespace

int main(int argc, char** argv)
{
  std::unique_ptr<Images> images;
  return proof::Main(argc, argv, [&](const proof::Run& run)
  {
    if (!images || images->problem != run.problem)
      images = std::make_unique<Images>(run.problem);
    return std::make_unique<Model>(run, *images);
  });
}
