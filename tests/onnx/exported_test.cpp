/**
 * @file exported_test.cpp
 *
 * Models that PyTorch has exported, see export.py: one step of SGD and one of
 * Adam end where PyTorch's do.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <ensmallen.hpp>

#include <dasgd.hpp>
#include <dasgd_onnx.hpp>

#include <dasgd/onnx/model/proto.hpp>

#include "catch.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using dasgd::OnnxArray;
using dasgd::OnnxFunction;
using dasgd::OnnxLoss;
namespace graph = dasgd::graph;

//! As in export.py.
constexpr double SgdRate = 0.05, AdamRate = 0.01, Epsilon = 1e-3;

//! The tensors beside a model, by name.
std::map<std::string, graph::pb::TensorProto> ReadData(const std::string& name)
{
  const std::string path = std::string(DASGD_EXPORTED) + "/" + name + ".data";
  std::ifstream file(path, std::ios::binary);
  graph::pb::GraphProto container;
  INFO(path);
  REQUIRE(container.ParseFromIstream(&file));
  std::map<std::string, graph::pb::TensorProto> tensors;
  for (const graph::pb::TensorProto& tensor : container.initializer())
    tensors[tensor.name()] = tensor;
  return tensors;
}

//! A tensor whose first dimension is the batch.
OnnxArray ToArray(const std::string& name,
                  const graph::pb::TensorProto& tensor)
{
  OnnxArray array;
  array.name = name;
  const graph::Dims dims = graph::DimsOf(tensor);
  array.dims.assign(dims.begin() + 1, dims.end());
  const size_t points = size_t(dims[0]);
  const size_t rows = graph::Elements(array.dims, name);
  if (graph::IsReal(tensor.data_type()))
  {
    const std::vector<float> values = graph::Reals<float>(tensor);
    array.values = arma::fmat(values.data(), rows, points);
  }
  else
  {
    const graph::Dims values = graph::Integers(tensor);
    arma::Mat<arma::s64> numbers(rows, points);
    std::copy(values.begin(), values.end(), numbers.begin());
    array.values = std::move(numbers);
  }
  return array;
}

//! The largest difference between the iterate and what PyTorch has.
void CheckIterate(const OnnxFunction<arma::fmat>& function,
                  const arma::fmat& iterate,
                  const std::string& optimizer,
                  const std::map<std::string, graph::pb::TensorProto>& data)
{
  size_t found = 0, expected = 0;
  for (const auto& each : data)
    expected += each.first.compare(0, optimizer.size(), optimizer) == 0;
  for (const dasgd::OnnxParameter& parameter : function.Parameters())
  {
    const auto tensor = data.find(optimizer + parameter.name);
    INFO(optimizer << parameter.name);
    REQUIRE(tensor != data.end());
    ++found;
    const std::vector<float> values = graph::Reals<float>(tensor->second);
    REQUIRE(values.size() == parameter.elements);
    float worst = 0;
    for (size_t i = 0; i < values.size(); ++i)
    {
      const float difference = std::abs(iterate[parameter.offset + i] -
          values[i]);
      // Also if it is not a number.
      if (!(difference <= worst))
        worst = difference;
    }
    CHECK(worst < 1e-5f);
  }
  CHECK(found == expected);
}

void CheckModel(const std::string& name, const OnnxLoss loss)
{
  const std::string file = std::string(DASGD_EXPORTED) + "/" + name + ".onnx";
  const std::vector<std::string> problems =
      dasgd::CheckOnnxModel(file).problems;
  CAPTURE(problems);
  CHECK(problems.empty());
  const auto data = ReadData(name);
  std::vector<OnnxArray> inputs;
  for (size_t i = 0; data.count("input" + std::to_string(i)) > 0; ++i)
  {
    const std::string input = "input" + std::to_string(i);
    inputs.push_back(ToArray(input, data.at(input)));
  }
  const size_t batch = inputs[0].Points();
  OnnxFunction<arma::fmat> function(file, inputs, loss == OnnxLoss::Model ?
      OnnxArray() : ToArray("", data.at("target")), loss);
  const arma::fmat start = function.GetInitialPoint();
  const double mean = double(function.Evaluate(start, 0, batch)) /
      double(batch);
  CHECK(mean == Approx(graph::Reals<double>(data.at("loss"))[0]).epsilon(1e-5));

  // PyTorch's gradients are those of the mean; steps of newer versions of
  // ensmallen are divided by the size of the batch.
  const double count = double(batch);
  const bool divides = dasgd::ensmallen::dividesStep;
  arma::fmat iterate = start;
  dasgd::DASGD sgd(divides ? SgdRate : SgdRate / count, batch, batch, -1,
      false);
  sgd.Optimize(function, iterate);
  CheckIterate(function, iterate, "sgd:", data);
  // In ensmallen, what keeps from dividing by zero is not corrected for the
  // bias of the first steps.
  iterate = start;
  dasgd::Adam adam(divides ? AdamRate * count : AdamRate, batch, 0.9, 0.999,
      Epsilon * std::sqrt(1 - 0.999) * count, batch, -1, false);
  adam.Optimize(function, iterate);
  CheckIterate(function, iterate, "adam:", data);
}

} // namespace

TEST_CASE("one step of PyTorch's models is PyTorch's", "[onnx][one]")
{
  if (dasgd::MpiCommunicator(MPI_COMM_WORLD).Size() > 1)
    return;
  for (const char* name : { "gelu_mlp", "resnet", "mobilenet", "unet",
      "encoder", "encoder_old", "gpt", "lstm", "gru", "rnn" })
  {
    DYNAMIC_SECTION(name) { CheckModel(name, OnnxLoss::CrossEntropy); }
  }
  for (const char* name : { "autoencoder", "regression" })
  {
    DYNAMIC_SECTION(name) { CheckModel(name, OnnxLoss::MeanSquaredError); }
  }
  for (const char* name : { "own_loss", "own_mean" })
  {
    DYNAMIC_SECTION(name) { CheckModel(name, OnnxLoss::Model); }
  }
}
