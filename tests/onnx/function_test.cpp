/**
 * @file function_test.cpp
 *
 * OnnxFunction: losses, batches of any size, statistics, masks, files, and
 * what it refuses.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

#include <dasgd/onnx/operators/operators.hpp>

#include <onnxruntime_cxx_api.h>

#include <set>

using Catch::Matchers::ContainsSubstring;
using differences::Message;
using models::Dims;
using models::Maker;

namespace {

//! A function of a model for a few random points of three classes.
template<typename MatType>
dasgd::OnnxFunction<MatType> Classifier(const std::string& bytes,
                                        const size_t inputs,
                                        const size_t count,
                                        models::TemporaryFile& file)
{
  file.Write(bytes);
  arma::Row<size_t> labels(count);
  for (size_t i = 0; i < count; ++i)
    labels[i] = i % 3;
  return dasgd::OnnxFunction<MatType>(file.Path(),
      differences::Random<MatType>(inputs, count, -1, 1, 3), labels);
}

//! A perceptron that ends in one more operator.
std::string EndingIn(const std::string& operation)
{
  Maker maker({ 4 });
  maker.Add(operation, { maker.Add("Gemm", { "x", maker.Weight({ 4, 3 }),
      maker.Weight({ 3 }) }) });
  return maker.FinishHere();
}

} // namespace

TEST_CASE("the cross entropy is that of the softmax", "[onnx]")
{
  // Logits, their logarithms of probabilities, or probabilities are the same.
  models::TemporaryFile file;
  arma::mat reference;
  for (const char* operation : { "Identity", "LogSoftmax", "Softmax" })
  {
    auto function = Classifier<arma::mat>(EndingIn(operation), 4, 6, file);
    const arma::mat iterate = function.GetInitialPoint();
    arma::mat gradient, output, points = differences::Random<arma::mat>(4, 6,
        -1, 1, 3);
    const double loss = function.EvaluateWithGradient(iterate, 0, gradient, 6);
    function.Predict(iterate, points, output);
    if (operation[0] != 'S')
    {
      output = arma::exp(output);
      output.each_row() /= arma::sum(output);
    }
    double expected = 0;
    for (size_t i = 0; i < 6; ++i)
      expected -= std::log(output(i % 3, i));
    CHECK(loss == Approx(expected));
    if (reference.is_empty())
      reference = gradient;
    CHECK(arma::approx_equal(gradient, reference, "absdiff", 1e-12));
  }
}

TEST_CASE("the binary cross entropy is that of the sigmoid", "[onnx]")
{
  models::TemporaryFile file;
  const arma::mat points = differences::Random<arma::mat>(4, 5, -1, 1, 3);
  const arma::mat truth = arma::round(differences::Random<arma::mat>(3, 5, 0, 1,
      4));
  arma::mat reference;
  for (const char* operation : { "Identity", "Sigmoid" })
  {
    file.Write(EndingIn(operation));
    dasgd::OnnxFunction<arma::mat> function(file.Path(), points, truth,
        dasgd::OnnxLoss::BinaryCrossEntropy);
    const arma::mat iterate = function.GetInitialPoint();
    arma::mat gradient, output;
    const double loss = function.EvaluateWithGradient(iterate, 0, gradient, 5);
    function.Predict(iterate, points, output);
    if (operation[0] != 'S')
      output = 1 / (1 + arma::exp(-output));
    CHECK(loss == Approx(-arma::accu(truth % arma::log(output) + (1 - truth) %
        arma::log(1 - output)) / 3));
    if (reference.is_empty())
      reference = gradient;
    CHECK(arma::approx_equal(gradient, reference, "absdiff", 1e-12));
  }
}

TEST_CASE("a batch of any size is the sum of its points", "[onnx]")
{
  models::TemporaryFile file;
  auto function = Classifier<arma::mat>(models::Perceptron({ 5, 4, 3 }), 5, 20,
      file);
  const arma::mat iterate = function.GetInitialPoint();
  arma::mat sum(arma::size(iterate), arma::fill::zeros), gradient;
  double loss = 0;
  for (size_t i = 0; i < 20; ++i)
  {
    loss += function.EvaluateWithGradient(iterate, i, gradient, 1);
    sum += gradient;
  }
  // More sizes than are kept.
  for (const size_t size : { 20, 7, 3, 9, 11, 13, 6, 20, 3 })
  {
    double found = 0;
    arma::mat total(arma::size(iterate), arma::fill::zeros);
    for (size_t begin = 0; begin < 20; begin += size)
    {
      const size_t batch = std::min<size_t>(size, 20 - begin);
      const double part = function.EvaluateWithGradient(iterate, begin,
          gradient, batch);
      CHECK(function.Evaluate(iterate, begin, batch) == Approx(part));
      found += part;
      total += gradient;
    }
    CHECK(found == Approx(loss));
    CHECK(arma::approx_equal(total, sum, "absdiff", 1e-12));
  }
  CHECK_THAT(Message([&]() { function.Evaluate(iterate, 15, 6); }),
      ContainsSubstring("there are 20"));
}

TEST_CASE("points and labels are shuffled alike", "[onnx]")
{
  models::TemporaryFile file;
  auto function = Classifier<arma::mat>(models::Perceptron({ 5, 3 }), 5, 12,
      file);
  const arma::mat iterate = function.GetInitialPoint();
  arma::arma_rng::set_seed(4);
  arma::mat before, after;
  const auto losses = [&]()
  {
    arma::vec values(12);
    for (size_t i = 0; i < 12; ++i)
      values[i] = function.Evaluate(iterate, i, 1);
    return values;
  };
  const arma::vec first = losses();
  function.Shuffle();
  const arma::vec second = losses();
  CHECK(arma::abs(first - second).max() > 0);
  CHECK(arma::approx_equal(arma::sort(first), arma::sort(second), "absdiff",
      1e-12));
}

TEST_CASE("a saved model gives the same predictions when it is loaded",
    "[onnx]")
{
  models::TemporaryFile file, saved;
  auto function = Classifier<arma::fmat>(models::Perceptron({ 5, 4, 3 }), 5, 8,
      file);
  arma::fmat iterate = function.GetInitialPoint();
  iterate *= 1.5f;
  function.Save(saved.Path(), iterate);
  dasgd::OnnxFunction<arma::fmat> loaded(saved.Path());
  CHECK(arma::approx_equal(loaded.GetInitialPoint(), iterate, "absdiff", 0));
  // More points than are computed at once.
  const arma::fmat points = differences::Random<arma::fmat>(5, 600, -1, 1, 9);
  arma::fmat first, second, few;
  function.Predict(iterate, points, first);
  loaded.Predict(iterate, points, second);
  CHECK(arma::approx_equal(first, second, "absdiff", 0));
  loaded.Predict(iterate, points.cols(0, 9), few);
  CHECK(arma::approx_equal(few, second.cols(0, 9), "absdiff", 1e-6));
}

TEST_CASE("a saved model gives the same predictions in any program", "[onnx]")
{
  models::TemporaryFile file, saved;
  auto function = Classifier<arma::fmat>(models::Perceptron({ 5, 4, 3 }), 5, 8,
      file);
  const arma::fmat iterate = 0.5f * function.GetInitialPoint();
  function.Save(saved.Path(), iterate);
  arma::fmat points = differences::Random<arma::fmat>(5, 20, -1, 1, 9), output;
  function.Predict(iterate, points, output);

  // As a program that knows nothing of dasgd loads it.
  Ort::Env environment(ORT_LOGGING_LEVEL_ERROR, "test");
  Ort::Session session(environment, saved.Path().c_str(),
      Ort::SessionOptions());
  const std::int64_t dims[] = { 20, 5 };
  const Ort::Value input = Ort::Value::CreateTensor<float>(
      Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault),
      points.memptr(), points.n_elem, dims, 2);
  Ort::AllocatorWithDefaultOptions allocator;
  const auto outputName = session.GetOutputNameAllocated(0, allocator);
  const char* names[] = { "x", outputName.get() };
  const auto results = session.Run(Ort::RunOptions{ nullptr }, names, &input, 1,
      names + 1, 1);
  const arma::fmat found(results[0].GetTensorData<float>(), 3, 20);
  CHECK(arma::approx_equal(found, output, "absdiff", 1e-6));
}

TEST_CASE("running statistics follow the batches, and are saved", "[onnx]")
{
  const size_t count = 10;
  Maker maker({ 3 });
  maker.Add("BatchNormalization", { "x", maker.Weight({ 3 }), maker.Weight({
      3 }), maker.Weight({ 3 }), maker.Weight({ 3 }, 0.5, 1) },
      { { "momentum", 0.75 } });
  models::TemporaryFile file, saved;
  auto function = Classifier<arma::mat>(maker.FinishHere(), 3, count, file);
  // Statistics are no weights.
  CHECK(function.Parameters().size() == 2);
  std::vector<arma::mat> before, after;
  function.VisitStatistics([&](arma::mat& each) { before.push_back(each); });
  REQUIRE(before.size() == 2);
  const arma::mat iterate = function.GetInitialPoint();
  arma::mat gradient;
  function.Evaluate(iterate, 0, count);
  function.EvaluateWithGradient(iterate, 0, gradient, count);
  function.VisitStatistics([&](arma::mat& each) { after.push_back(each); });
  const arma::mat points = differences::Random<arma::mat>(3, count, -1, 1, 3);
  // Once: evaluations alone leave them as they are.
  CHECK(arma::approx_equal(after[0], 0.75 * before[0] + 0.25 *
      arma::mean(points, 1), "absdiff", 1e-9));
  CHECK(arma::approx_equal(after[1], 0.75 * before[1] + 0.25 *
      arma::var(points, 1, 1), "absdiff", 1e-9));

  function.Save(saved.Path(), iterate);
  dasgd::OnnxFunction<arma::mat> loaded(saved.Path());
  std::vector<arma::mat> read;
  loaded.VisitStatistics([&](arma::mat& each) { read.push_back(each); });
  // The file is of single precision.
  CHECK(arma::approx_equal(read[0], after[0], "absdiff", 1e-6));
  arma::mat first, second;
  function.Predict(iterate, points, first);
  loaded.Predict(iterate, points, second);
  CHECK(arma::approx_equal(first, second, "absdiff", 1e-5));
}

TEST_CASE("statistics that a file has once for two nodes become two", "[onnx]")
{
  Maker maker({ 3 });
  const std::string mean = maker.Weight({ 3 });
  const std::string variance = maker.Weight({ 3 }, 0.5, 1);
  std::string value = "x";
  for (int i = 0; i < 2; ++i)
  {
    value = maker.Add("BatchNormalization", { maker.Add("Tanh", { value }),
        maker.Weight({ 3 }), maker.Weight({ 3 }), mean, variance });
  }
  models::TemporaryFile file;
  auto function = Classifier<arma::mat>(maker.FinishHere(), 3, 9, file);
  arma::mat gradient;
  function.EvaluateWithGradient(function.GetInitialPoint(), 0, gradient, 9);
  std::vector<arma::mat> statistics;
  function.VisitStatistics([&](arma::mat& each)
      { statistics.push_back(each); });
  REQUIRE(statistics.size() == 4);
  CHECK(arma::abs(statistics[0] - statistics[2]).max() > 1e-3);
}

TEST_CASE("Dropout drops in training only, by its seed", "[onnx]")
{
  Maker maker({ 200 });
  const std::string product = maker.Add("Mul", { "x", maker.Weight({ 200 }) });
  maker.Add("ReduceSum", { maker.Add("Dropout", { product,
      maker.build.Scalar(0.25) }), maker.Ints({ 1 }) });
  const std::string bytes = maker.FinishHere();
  models::TemporaryFile file;
  file.Write(bytes);
  const arma::fmat points(200, 1, arma::fill::ones);
  const auto gradients = [&](const std::uint64_t seed, const size_t times)
  {
    dasgd::OnnxOptions options;
    options.seed = seed;
    // The output is far from this response: the gradient of the loss is twice
    // the error times that of the output.
    dasgd::OnnxFunction<arma::fmat> function(file.Path(), points,
        arma::fmat(1, 1, arma::fill::zeros), dasgd::OnnxLoss::MeanSquaredError,
        options);
    const arma::fmat iterate = function.GetInitialPoint();
    std::vector<arma::fmat> found(times);
    for (arma::fmat& each : found)
    {
      const double loss = function.EvaluateWithGradient(iterate, 0, each, 1);
      const double factor = 2 * std::sqrt(loss);
      each = arma::abs(each / float(factor));
      // What is kept is scaled, so that the mean stays.
      std::set<int> values;
      for (const float value : each)
        values.insert(int(std::lround(value * 300)));
      CHECK(values == std::set<int>{ 0, 400 });
      const double kept = double(arma::accu(each > 0.5f)) / 200;
      CHECK(std::abs(kept - 0.75) < 0.15);
    }
    arma::fmat output;
    function.Predict(iterate, points, output);
    CHECK(output[0] == Approx(arma::accu(iterate)).margin(1e-4));
    return found;
  };
  const auto first = gradients(1, 2), again = gradients(1, 2);
  CHECK(arma::approx_equal(first[0], again[0], "absdiff", 1e-3));
  CHECK(arma::approx_equal(first[1], again[1], "absdiff", 1e-3));
  CHECK(arma::abs(first[0] - first[1]).max() > 0.5);
  CHECK(arma::abs(first[0] - gradients(50, 1)[0]).max() > 0.5);
}

TEST_CASE("initializers can be frozen", "[onnx]")
{
  models::TemporaryFile file;
  file.Write(models::Perceptron({ 5, 4, 3 }));
  dasgd::OnnxOptions options;
  options.frozen = { "w1", "w2" };
  dasgd::OnnxFunction<arma::fmat> function(file.Path(), options);
  CHECK(function.GetInitialPoint().n_elem == 4 * 3 + 3);
  options.frozen = { "w*" };
  CHECK_THAT(Message([&]()
      { dasgd::OnnxFunction<arma::fmat>(file.Path(), options); }),
      ContainsSubstring("no initializer that could be trained"));
}

TEST_CASE("an operator without gradient is refused with a list", "[onnx]")
{
  Maker maker({ 4 });
  auto& graph = *maker.proto.mutable_graph();
  maker.Add("Hardmax", { maker.Add("Mul", { "x", maker.Weight({ 4 }) }) });
  graph.mutable_node(graph.node_size() - 1)->set_name("the_largest");
  models::TemporaryFile file;
  file.Write(maker.FinishHere());
  const std::string message = Message([&]()
      { dasgd::OnnxFunction<arma::fmat> function(file.Path()); });
  CHECK_THAT(message, ContainsSubstring("'the_largest' (Hardmax)") &&
      ContainsSubstring(file.Path()) && ContainsSubstring("Gemm") &&
      ContainsSubstring("BatchNormalization"));
}

TEST_CASE("every operator that was promised has a gradient", "[onnx]")
{
  for (const char* name : { "Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Neg",
      "Exp", "Log", "Sqrt", "Pow", "Relu", "LeakyRelu", "Sigmoid", "Tanh",
      "Softmax", "LogSoftmax", "Conv", "MaxPool", "AveragePool",
      "GlobalAveragePool", "BatchNormalization", "Flatten", "Reshape",
      "Transpose", "Concat", "Slice", "ReduceSum", "ReduceMean", "Identity",
      "Dropout" })
  {
    CAPTURE(name);
    CHECK(dasgd::graph::Operators().count(name) == 1);
  }
}

TEST_CASE("what is wrong with a model or its data is told", "[onnx]")
{
  models::TemporaryFile file;
  const auto make = [&](const arma::fmat& points,
                        const arma::Row<size_t>& labels)
  {
    return Message([&]()
        { dasgd::OnnxFunction<arma::fmat>(file.Path(), points, labels); });
  };
  const arma::fmat points(5, 2, arma::fill::zeros);
  const arma::Row<size_t> labels{ 0, 1 };
  CHECK_THAT(make(points, labels), ContainsSubstring("Cannot read"));
  file.Write("no model");
  CHECK_THAT(make(points, labels), ContainsSubstring("this is no ONNX model"));
  const std::string good = models::Perceptron({ 5, 3 });
  file.Write(good);
  CHECK_THAT(make(points, { 0, 3 }), ContainsSubstring("a label is 3") &&
      ContainsSubstring("3 outputs"));
  CHECK_THAT(make(points, { 0 }), ContainsSubstring("2 points, but 1 labels"));
  CHECK_THAT(make(points.rows(0, 3), labels), ContainsSubstring("takes 5") &&
      ContainsSubstring("have 4"));

  const auto changed = [&](const auto& change)
  {
    models::pb::ModelProto proto;
    proto.ParseFromString(good);
    change(proto);
    file.Write(proto.SerializeAsString());
    return make(points, labels);
  };
  using Proto = models::pb::ModelProto;
  CHECK_THAT(changed([](Proto& p)
      { p.mutable_graph()->mutable_initializer(0)->set_dims(0, 7); }),
      ContainsSubstring("35 values, but holds 15"));
  CHECK_THAT(changed([](Proto& p)
      { p.mutable_graph()->mutable_initializer(0)->set_dims(0, -1); }),
      ContainsSubstring("impossible dimensions"));
  CHECK_THAT(changed([](Proto& p)
      { p.mutable_graph()->mutable_initializer(0)->set_data_location(
        models::pb::TensorProto::EXTERNAL); }),
      ContainsSubstring("in a file beside the model"));
  CHECK_THAT(changed([](Proto& p)
      { p.mutable_graph()->mutable_node(0)->set_input(1, "nothing"); }),
      ContainsSubstring("uses 'nothing'"));
  CHECK_THAT(changed([](Proto& p)
      { p.mutable_opset_import(0)->set_version(6); }),
      ContainsSubstring("version 6"));
  // A model for batches of one point.
  Maker maker({ 2, 3 });
  file.Write(maker.Finish(maker.Add("Reshape", { maker.Add("Mul", { "x",
      maker.Weight({ 2, 3 }) }), maker.Ints({ 1, -1 }) })));
  CHECK_THAT(Message([&]()
      { dasgd::OnnxFunction<arma::fmat> function(file.Path()); }),
      ContainsSubstring("dynamic batch size"));
}
