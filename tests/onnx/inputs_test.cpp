/**
 * @file inputs_test.cpp
 *
 * What models are given and what they are trained for: several inputs, whole
 * numbers, open dimensions, weights of other kinds and in other files, and all
 * losses.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

#include <filesystem>

using Catch::Matchers::ContainsSubstring;
using dasgd::OnnxArray;
using dasgd::OnnxFunction;
using dasgd::OnnxLoss;
using dasgd::OnnxOptions;
using differences::Message;
using models::Dims;
using models::Maker;
using models::pb::TensorProto;

namespace {

using Whole = arma::Mat<arma::s64>;

//! One more input; sizes below 0 are open and have the names that are given.
void AddInput(Maker& maker,
              const std::string& name,
              const std::int32_t type,
              const Dims& dims,
              const std::string& symbol = "")
{
  auto& value = *maker.proto.mutable_graph()->add_input();
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  for (const std::int64_t dim : dims)
  {
    auto& size = *tensor.mutable_shape()->add_dim();
    if (dim < 0)
      size.set_dim_param(symbol);
    else
      size.set_dim_value(dim);
  }
}

template<typename MatType>
OnnxArray Array(const std::string& name, MatType values, const Dims& dims = { })
{
  OnnxArray array;
  array.name = name;
  array.dims = dims;
  array.values = std::move(values);
  return array;
}

Whole Labels(const size_t rows, const size_t columns, const int classes)
{
  Whole labels(rows, columns);
  for (size_t i = 0; i < labels.n_elem; ++i)
    labels[i] = arma::s64(i * 7 % size_t(classes));
  return labels;
}

//! The gradient beside differences of the loss, in double precision.
void CheckGradient(OnnxFunction<arma::mat>& function)
{
  const size_t count = function.NumFunctions();
  arma::mat iterate = function.GetInitialPoint(), gradient;
  const double loss = function.EvaluateWithGradient(iterate, 0, gradient,
      count);
  CHECK(loss == Approx(function.Evaluate(iterate, 0, count)));
  arma::mat differences(arma::size(gradient));
  for (size_t i = 0; i < iterate.n_elem; ++i)
  {
    const double step = 1e-5, before = iterate[i];
    iterate[i] = before + step;
    const double above = function.Evaluate(iterate, 0, count);
    iterate[i] = before - step;
    differences[i] = (above - function.Evaluate(iterate, 0, count)) /
        (2 * step);
    iterate[i] = before;
  }
  CHECK(arma::abs(gradient).max() > 1e-3);
  CHECK(arma::approx_equal(gradient, differences, "absdiff", 1e-7));
}

//! Tokens as numbers times weights: an output of 4 classes for each token.
std::string TokenModel(const bool classesFirst = false)
{
  Maker maker({ -1, 3 });
  auto& shape = *maker.proto.mutable_graph()->mutable_input(0)->mutable_type()->
      mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(1)->set_dim_param("length");
  std::string value = maker.Add("MatMul", { "x", maker.Weight({ 3, 4 }) });
  if (classesFirst)
  {
    value = maker.Add("Transpose", { value }, { { "perm",
        Dims{ 0, 2, 1 } } });
  }
  return maker.Finish(value);
}

} // namespace

TEST_CASE("a model has several inputs, also of whole numbers", "[onnx]")
{
  for (const std::int32_t type : { TensorProto::INT64, TensorProto::INT32,
      TensorProto::BOOL })
  {
    CAPTURE(type);
    Maker maker({ 3 });
    AddInput(maker, "ids", type, { 3 });
    AddInput(maker, "unused", TensorProto::FLOAT, { 2 });
    const std::string ids = maker.Add("Cast", { "ids" }, { { "to", 1 } });
    maker.Add("Gemm", { maker.Add("Add", { "x", maker.Add("Mul", { ids,
        maker.Weight({ 3 }) }) }), maker.Weight({ 3, 4 }), maker.Weight(
        { 4 }) });
    models::TemporaryFile file;
    file.Write(maker.FinishHere());
    const arma::mat points = differences::Random<arma::mat>(3, 6, -1, 1, 3);
    const Whole ids64 = Labels(3, 6, 2);
    OnnxFunction<arma::mat> function(file.Path(), { Array("ids", ids64),
        Array("x", points) }, Array("", Labels(1, 6, 4)),
        OnnxLoss::CrossEntropy);
    REQUIRE(function.Inputs().size() == 2);
    CHECK(function.Inputs()[1].whole);
    CheckGradient(function);

    // The values of both count, and are shuffled together.
    const arma::mat iterate = function.GetInitialPoint();
    const double before = function.Evaluate(iterate, 0, 6);
    function.Shuffle();
    CHECK(function.Evaluate(iterate, 0, 6) == Approx(before));
    arma::mat output, other;
    function.Predict(iterate, { Array("ids", ids64), Array("x", points) },
        output);
    function.Predict(iterate, { Array("ids", Whole(1 - ids64)), Array("x",
        points) }, other);
    CHECK(arma::abs(output - other).max() > 0.01);

    // Tables hold floating-point numbers.
    function.Predict(iterate, { Array("ids", arma::conv_to<arma::mat>::from(
        ids64)), Array("x", points) }, other);
    CHECK(arma::approx_equal(output, other, "absdiff", 0));
    CHECK_THAT(
        Message(
            [&]()
            {
              function.Predict(iterate,
                  { Array("ids",
                        arma::mat(arma::conv_to<arma::mat>::from(ids64) + 0.5)),
                      Array("x", points) },
                  other);
            }),
        ContainsSubstring("whole numbers"));
    CHECK_THAT(Message([&]() { function.Predict(iterate, points, other); }),
        ContainsSubstring("'x', 'ids'") && ContainsSubstring("'ids'"));
  }
}

TEST_CASE("open dimensions are those of the points", "[onnx]")
{
  models::TemporaryFile file;
  file.Write(TokenModel());
  for (const std::int64_t length : { 2, 5 })
  {
    OnnxFunction<arma::mat> function(file.Path(), { Array("x",
        differences::Random<arma::mat>(size_t(length) * 3, 4, -1, 1, 3),
        { length, 3 }) }, Array("", Labels(size_t(length), 4, 4)),
        OnnxLoss::CrossEntropy);
    CHECK(function.OutputDims() == Dims{ length, 4 });
    CheckGradient(function);
  }
  CHECK_THAT(Message([&]() { OnnxFunction<arma::mat> function(file.Path()); }),
      ContainsSubstring("leaves 1 dimensions"));
  OnnxOptions options;
  options.open = 7;
  OnnxFunction<arma::mat> function(file.Path(), options);
  CHECK(function.OutputDims() == Dims{ 7, 4 });
  CHECK_THAT(Message([&]() { OnnxFunction<arma::mat>(file.Path(), { Array("x",
      arma::mat(10, 2), { 5, 2 }) }, OnnxArray(), OnnxLoss::CrossEntropy); }),
      ContainsSubstring("the points have 10 (5x2)"));
}

TEST_CASE("points in another order of dimensions are refused", "[onnx]")
{
  Maker maker({ 2, 3 });
  maker.Add("Gemm", { maker.Add("Flatten", { "x" }), maker.Weight({ 6, 4 }),
      maker.Weight({ 4 }) });
  models::TemporaryFile file;
  file.Write(maker.FinishHere());
  const auto train = [&](const Dims& dims)
  {
    OnnxFunction<arma::mat> function(file.Path(), { Array("x",
        differences::Random<arma::mat>(6, 5, -1, 1, 3), dims) },
        Array("", Labels(1, 5, 4)), OnnxLoss::CrossEntropy);
    arma::mat output;
    function.Predict(function.GetInitialPoint(), std::vector<OnnxArray>{
        Array("x", arma::mat(6, 2), { 3, 2 }) }, output);
  };
  CHECK_THAT(Message([&]() { train({ 3, 2 }); }),
      ContainsSubstring("takes points of 2x3, but they are 3x2"));
  // What is to be predicted, too.
  CHECK_THAT(Message([&]() { train({ 2, 3 }); }),
      ContainsSubstring("points are 3x2, but the input 'x' takes 2x3"));
  CHECK_THAT(Message([&]() { train({ }); }), ContainsSubstring("3x2"));
}

TEST_CASE("the cross entropy of tokens leaves out those that are ignored",
    "[onnx]")
{
  const bool first = GENERATE(false, true);
  const bool ignores = GENERATE(false, true);
  CAPTURE(first, ignores);
  models::TemporaryFile file;
  file.Write(TokenModel(first));
  const arma::mat points = differences::Random<arma::mat>(15, 6, -1, 1, 3);
  Whole labels = Labels(5, 6, 4);
  if (ignores)
  {
    labels(1, 1) = -1;
    labels.col(3).fill(-1);
  }
  OnnxOptions options;
  options.ignored = -1;
  const std::vector<OnnxArray> inputs{ Array("", points, { 5, 3 }) };
  OnnxFunction<arma::mat> function(file.Path(), inputs, Array("", labels),
      OnnxLoss::CrossEntropy, options);
  CheckGradient(function);
  const arma::mat iterate = function.GetInitialPoint();
  arma::mat output;
  function.Predict(iterate, inputs, output);
  double sum = 0, count = 0, right = 0;
  for (size_t point = 0; point < 6; ++point)
  {
    arma::mat logits(output.colptr(point), first ? 5 : 4, first ? 4 : 5);
    if (first)
      logits = logits.t();
    for (size_t t = 0; t < 5; ++t)
    {
      if (labels(t, point) < 0)
        continue;
      const arma::vec column = logits.col(t);
      sum -= column[size_t(labels(t, point))] - std::log(arma::accu(
          arma::exp(column)));
      right += column.index_max() == size_t(labels(t, point));
      ++count;
    }
  }
  CHECK(count == (ignores ? 24 : 30));
  // The mean, as in other frameworks, of each point of the batch.
  CHECK(function.Evaluate(iterate, 0, 6) == Approx(6 * sum / count));
  const dasgd::OnnxScore score = function.Score(iterate, inputs, Array("",
      labels));
  CHECK(score.loss == Approx(sum / count));
  CHECK(score.name == "accuracy");
  CHECK(score.value == Approx(right / count));
  if (ignores)
  {
    arma::mat gradient;
    CHECK(function.EvaluateWithGradient(iterate, 3, gradient, 1) == 0);
    CHECK(arma::abs(gradient).max() == 0);
  }
}

TEST_CASE("errors are measured by their squares or their sizes", "[onnx]")
{
  const OnnxLoss loss = GENERATE(OnnxLoss::MeanSquaredError,
      OnnxLoss::MeanAbsoluteError);
  models::TemporaryFile file;
  file.Write(models::Perceptron({ 4, 2 }));
  const arma::mat points = differences::Random<arma::mat>(4, 300, -1, 1, 3);
  const arma::mat truth = differences::Random<arma::mat>(2, 300, -1, 1, 4);
  OnnxFunction<arma::mat> function(file.Path(), points, truth, loss);
  CheckGradient(function);
  const arma::mat iterate = function.GetInitialPoint();
  arma::mat output;
  function.Predict(iterate, points, output);
  const arma::mat error = output - truth;
  const double expected = loss == OnnxLoss::MeanSquaredError ?
      arma::accu(error % error) / 600 : arma::accu(arma::abs(error)) / 600;
  CHECK(function.Evaluate(iterate, 0, 300) == Approx(300 * expected));
  const dasgd::OnnxScore score = function.Score(iterate, { Array("", points) },
      Array("", truth));
  CHECK(score.loss == Approx(expected));
  CHECK(score.name == "R^2");
  const arma::mat spread = truth.each_col() - arma::mean(truth, 1);
  CHECK(score.value == Approx(1 - arma::accu(error % error) /
      arma::accu(spread % spread)));
}

TEST_CASE("several answers of yes or no are scored", "[onnx]")
{
  const std::string end = GENERATE("Identity", "Sigmoid");
  Maker maker({ 4 });
  maker.Add(end, { maker.Add("Gemm", { "x", maker.Weight({ 4, 3 }),
      maker.Weight({ 3 }) }) });
  models::TemporaryFile file;
  file.Write(maker.FinishHere());
  const arma::mat points = differences::Random<arma::mat>(4, 20, -1, 1, 3);
  const arma::mat truth = arma::round(differences::Random<arma::mat>(3, 20, 0,
      1, 4));
  OnnxFunction<arma::mat> function(file.Path(), points, truth,
      OnnxLoss::BinaryCrossEntropy);
  CheckGradient(function);
  const arma::mat iterate = function.GetInitialPoint();
  arma::mat output;
  function.Predict(iterate, points, output);
  if (end == "Identity")
    output = 1 / (1 + arma::exp(-output));
  const dasgd::OnnxScore score = function.Score(iterate, { Array("", points) },
      Array("", truth));
  CHECK(score.loss == Approx(function.Evaluate(iterate, 0, 20) / 20));
  CHECK(score.value == Approx(arma::mean(arma::vectorise(arma::conv_to<
      arma::mat>::from((output > 0.5) == (truth > 0.5))))));
}

TEST_CASE("an output of the model can be the loss", "[onnx]")
{
  const bool mean = GENERATE(true, false);
  Maker maker({ 3 });
  AddInput(maker, "truth", TensorProto::FLOAT, { 2 });
  const std::string output = maker.Add("Gemm", { "x", maker.Weight({ 3, 2 }),
      maker.Weight({ 2 }) });
  const std::string error = maker.Add("Sub", { output, "truth" });
  const std::string square = maker.Add("Mul", { error, error });
  const std::string loss = maker.Add("ReduceMean", { square }, { { "axes",
      mean ? Dims{ 0, 1 } : Dims{ 1 } }, { "keepdims", 0 } });
  maker.build.AddAs({ "loss" }, "Identity", { loss });
  auto& first = *maker.proto.mutable_graph()->add_output();
  first.set_name("loss");
  first.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  models::TemporaryFile file, saved;
  file.Write(maker.Finish(output));

  const arma::mat points = differences::Random<arma::mat>(3, 8, -1, 1, 3);
  const arma::mat truth = differences::Random<arma::mat>(2, 8, -1, 1, 4);
  OnnxFunction<arma::mat> own(file.Path(), { Array("x", points),
      Array("truth", truth) }, OnnxArray(), OnnxLoss::Model);
  CheckGradient(own);
  // The other output does not need the truth.
  OnnxFunction<arma::mat> other(file.Path(), points, truth,
      OnnxLoss::MeanSquaredError);
  REQUIRE(other.Inputs().size() == 1);
  const arma::mat iterate = own.GetInitialPoint();
  arma::mat a, b;
  CHECK(own.EvaluateWithGradient(iterate, 0, a, 8) ==
      Approx(other.EvaluateWithGradient(iterate, 0, b, 8)));
  CHECK(arma::approx_equal(a, b, "absdiff", 1e-12));
  CHECK(own.Score(iterate, { Array("x", points), Array("truth", truth) },
      OnnxArray()).loss == Approx(own.Evaluate(iterate, 0, 8) / 8));
  CHECK_THAT(Message([&]() { own.Predict(iterate, { Array("x", points),
      Array("truth", truth) }, a); }), ContainsSubstring("is the loss"));

  // Whichever is used, the file has both afterwards.
  own.Save(saved.Path(), iterate);
  OnnxFunction<arma::mat> again(saved.Path(), points, truth,
      OnnxLoss::MeanSquaredError);
  CHECK(again.Evaluate(iterate, 0, 8) == Approx(own.Evaluate(iterate, 0, 8)));
  OnnxOptions options;
  options.output = "nothing";
  CHECK_THAT(Message([&]() { OnnxFunction<arma::mat>(file.Path(), options); }),
      ContainsSubstring("no output 'nothing'; name one of 'loss', 'y'"));
}

TEST_CASE("targets that do not fit are refused", "[onnx]")
{
  models::TemporaryFile file;
  file.Write(TokenModel());
  const auto with = [&](OnnxArray targets, const OnnxLoss loss)
  {
    return Message([&]() { OnnxFunction<arma::mat>(file.Path(), { Array("",
        arma::mat(15, 6), { 5, 3 }) }, targets, loss); });
  };
  CHECK_THAT(with(Array("", Whole(1, 6, arma::fill::zeros)),
      OnnxLoss::CrossEntropy), ContainsSubstring("scalar") &&
      ContainsSubstring("5x4"));
  CHECK_THAT(with(Array("", Whole(5, 5, arma::fill::zeros)),
      OnnxLoss::CrossEntropy), ContainsSubstring("6 points, but 5 labels"));
  CHECK_THAT(with(Array("", arma::mat(4, 6)), OnnxLoss::MeanSquaredError),
      ContainsSubstring("4 x 6, but must be 20 x 6"));
  OnnxFunction<arma::mat> function(file.Path(), { Array("", arma::mat(15, 6),
      { 5, 3 }) }, OnnxArray(), OnnxLoss::CrossEntropy);
  CHECK_THAT(Message([&]() { function.Evaluate(function.GetInitialPoint(), 0,
      1); }), ContainsSubstring("without targets"));
}

TEST_CASE("names of weights that stay are patterns", "[onnx]")
{
  models::TemporaryFile file;
  file.Write(models::Perceptron({ 5, 4, 3 }));
  for (const auto& each : std::vector<std::pair<std::string, size_t>>{
      { "w1", 19 }, { "*1", 19 }, { "w*", 0 }, { "*", 0 }, { "w1*", 19 },
      { "*w*2", 35 }, { "**w*", 0 }, { "x*", 39 }, { "w", 39 }, { "", 39 },
      { "*3*", 27 } })
  {
    CAPTURE(each.first);
    OnnxOptions options;
    options.frozen = { each.first };
    size_t found = 0;
    try
    {
      found = OnnxFunction<arma::fmat>(file.Path(), options).
          GetInitialPoint().n_elem;
    }
    catch (const std::invalid_argument&) { }
    CHECK(found == each.second);
  }
}

TEST_CASE("masks are not trained", "[onnx]")
{
  Maker maker({ 3 });
  const float below = GENERATE(-1e4f, -1e9f, -INFINITY);
  const std::vector<double> values{ 0, double(below), 0 };
  maker.build.AddConstant(dasgd::graph::MakeReals("mask", TensorProto::FLOAT,
      Dims{ 3 }, values.data()));
  maker.Add("Softmax", { maker.Add("Add", { maker.Add("Mul", { "x",
      maker.Weight({ 3 }) }), "mask" }) });
  models::TemporaryFile file;
  file.Write(maker.FinishHere());
  OnnxFunction<arma::fmat> function(file.Path());
  REQUIRE(function.Parameters().size() == 1);
  CHECK(function.Parameters()[0].name == "w1");
}

TEST_CASE("tied weights are one weight", "[onnx]")
{
  // Once in both directions, and once more under another name.
  Maker maker({ 3 });
  const std::string weight = maker.Weight({ 3, 4 });
  const std::string copy = maker.Add("Identity", { weight });
  const std::string hidden = maker.Add("Tanh", { maker.Add("MatMul", { "x",
      weight }) });
  const std::string back = maker.Add("Tanh", { maker.Add("MatMul", { hidden,
      maker.Add("Transpose", { weight }, { { "perm", Dims{ 1, 0 } } }) }) });
  maker.Add("MatMul", { back, copy });
  models::TemporaryFile file;
  file.Write(maker.FinishHere());
  OnnxFunction<arma::mat> function(file.Path(), differences::Random<arma::mat>(
      3, 6, -1, 1, 3), arma::Row<size_t>{ 0, 1, 2, 3, 0, 1 });
  CHECK(function.GetInitialPoint().n_elem == 12);
  CheckGradient(function);
}

TEST_CASE("weights of 16 bits are trained in more, and written back", "[onnx]")
{
  const std::int32_t type = GENERATE(std::int32_t(TensorProto::FLOAT16),
      std::int32_t(TensorProto::BFLOAT16));
  const bool raw = GENERATE(true, false);
  const bool half = type == TensorProto::FLOAT16;
  // Each with its bits: exact ones, zeros, the largest, what lies below the
  // normal numbers, and what is rounded, up, down and to even.
  const std::vector<std::pair<float, unsigned>> numbers = half ?
      std::vector<std::pair<float, unsigned>>{ { 1.0f, 0x3c00 },
      { -2.5f, 0xc100 }, { 0.0f, 0x0000 }, { -0.0f, 0x8000 },
      { 65504.0f, 0x7bff }, { 5.9604645e-8f, 0x0001 },
      { 6.0975552e-5f, 0x03ff }, { 6.1035156e-5f, 0x0400 } } :
      std::vector<std::pair<float, unsigned>>{ { 1.0f, 0x3f80 },
      { -2.5f, 0xc020 }, { 0.0f, 0x0000 }, { -0.0f, 0x8000 },
      { 3.3895314e38f, 0x7f7f }, { 1.1754944e-38f, 0x0080 },
      { 0.5f, 0x3f00 }, { 3.140625f, 0x4049 } };
  Maker maker({ 8 });
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(type);
  tensor.add_dims(8);
  for (const auto& each : numbers)
  {
    if (raw)
    {
      tensor.mutable_raw_data()->push_back(char(each.second & 255));
      tensor.mutable_raw_data()->push_back(char(each.second >> 8));
    }
    else
      tensor.add_int32_data(std::int32_t(each.second));
  }
  maker.build.AddConstant(tensor);
  const std::string x = maker.Add("Cast", { "x" }, { { "to", type } });
  maker.Add("Cast", { maker.Add("Mul", { x, "w" }) }, { { "to", 1 } });
  models::TemporaryFile file, saved;
  file.Write(maker.FinishHere());
  OnnxFunction<arma::fmat> function(file.Path(), arma::fmat(8, 2,
      arma::fill::ones), arma::fmat(8, 2, arma::fill::zeros),
      OnnxLoss::MeanSquaredError);
  arma::fmat iterate = function.GetInitialPoint();
  REQUIRE(iterate.n_elem == 8);
  for (size_t i = 0; i < 8; ++i)
  {
    CHECK(iterate[i] == numbers[i].first);
    CHECK(std::signbit(iterate[i]) == std::signbit(numbers[i].first));
  }

  const auto stored = [&]()
  {
    function.Save(saved.Path(), iterate);
    std::ifstream stream(saved.Path(), std::ios::binary);
    models::pb::ModelProto proto;
    REQUIRE(proto.ParseFromIstream(&stream));
    const TensorProto& found = proto.graph().initializer(0);
    CHECK(found.data_type() == type);
    std::vector<unsigned> bits;
    for (size_t i = 0; i < 16; i += 2)
    {
      bits.push_back(unsigned((unsigned char) found.raw_data()[i]) +
          256 * unsigned((unsigned char) found.raw_data()[i + 1]));
    }
    return bits;
  };
  const std::vector<unsigned> same = stored();
  for (size_t i = 0; i < 8; ++i)
    CHECK(same[i] == numbers[i].second);
  // What is between two numbers goes to the nearer, or to the even one.
  iterate = half ? arma::fmat{ 1.00048828125f, 1.00146484375f, 1.0005f, 65520,
      1e9f, 2.98e-8f, 2.9802322e-8f, -8.9406967e-8f } :
      arma::fmat{ 1.00390625f, 1.01171875f, 1.004f, 3.3961776e38f, -3.4e38f,
      1e-39f, 0.1f, 1.0038f };
  const std::vector<unsigned> rounded = stored();
  const std::vector<unsigned> expected = half ? std::vector<unsigned>{ 0x3c00,
      0x3c02, 0x3c01, 0x7c00, 0x7c00, 0x0000, 0x0000, 0x8002 } :
      std::vector<unsigned>{ 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0xff80, 0x000b,
      0x3dcd, 0x3f80 };
  CHECK(rounded == expected);
}

TEST_CASE("weights may be in files beside the model", "[onnx]")
{
  models::TemporaryFile file, data, saved;
  const std::string whole = models::Perceptron({ 5, 4, 3 });
  models::pb::ModelProto proto;
  REQUIRE(proto.ParseFromString(whole));
  const std::string name = std::filesystem::path(data.Path()).filename();
  std::string bytes = "some bytes before";
  for (TensorProto& tensor : *proto.mutable_graph()->mutable_initializer())
  {
    const auto entry = [&](const char* key, const std::string& value)
    {
      auto& added = *tensor.add_external_data();
      added.set_key(key);
      added.set_value(value);
    };
    entry("location", name);
    entry("offset", std::to_string(bytes.size()));
    entry("length", std::to_string(tensor.raw_data().size()));
    bytes += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
  }
  data.Write(bytes);
  file.Write(proto.SerializeAsString());
  OnnxFunction<arma::fmat> function(file.Path());
  models::TemporaryFile other;
  other.Write(whole);
  const arma::fmat iterate = function.GetInitialPoint();
  CHECK(arma::approx_equal(iterate, OnnxFunction<arma::fmat>(other.Path()).
      GetInitialPoint(), "absdiff", 0));
  // All is in one file afterwards.
  function.Save(saved.Path(), iterate);
  std::filesystem::remove(data.Path());
  CHECK(arma::approx_equal(iterate, OnnxFunction<arma::fmat>(saved.Path()).
      GetInitialPoint(), "absdiff", 0));

  const auto message = [&]()
  {
    file.Write(proto.SerializeAsString());
    return Message([&]() { OnnxFunction<arma::fmat>(file.Path()); });
  };
  CHECK_THAT(message(), ContainsSubstring("keep that file beside the model"));
  data.Write(bytes.substr(0, bytes.size() - 1));
  CHECK_THAT(message(), ContainsSubstring("is it the file of another model"));
  auto& tensor = *proto.mutable_graph()->mutable_initializer(0);
  for (const char* place : { "../secret", "/etc/passwd", "a/../../b", "" })
  {
    tensor.mutable_external_data(0)->set_value(place);
    CHECK_THAT(message(), ContainsSubstring("has to be in a file beside"));
  }
  tensor.mutable_external_data(0)->set_value(".");
  CHECK_THAT(message(), ContainsSubstring("it is no file"));
  tensor.mutable_external_data(0)->set_value(name);
  for (const char* number : { "-1", "1e3", "", "99999999999999999999" })
  {
    tensor.mutable_external_data(1)->set_value(number);
    CHECK_THAT(message(), ContainsSubstring("a number of bytes is expected"));
  }
}
