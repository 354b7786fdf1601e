/**
 * @file fuzz_onnx.cpp
 *
 * Model files: the input is the file.  What is read is differentiated, with
 * dimensions that the file claims, so that these need not fit each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "../fuzz/require.hpp"

#include <dasgd/onnx/training_graph.hpp>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace dasgd;
using namespace dasgd::graph;

namespace {

//! Dimensions of what the runtime has computed would fit into memory.
constexpr size_t MaxElements = 5000;

void SetDims(Shapes& shapes, const pb::ValueInfoProto& value)
{
  Dims dims;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : 2);
  // Each step of a sequence is written out.
  const bool isLong = !dims.empty() && dims[0] > 50 && dims[0] <= 5000;
  if (isLong || Elements(dims, value.name()) > MaxElements)
    throw std::invalid_argument("too large");
  shapes.dims[value.name()] = dims;
  shapes.types[value.name()] = value.type().tensor_type().elem_type();
}

//! Dimensions as the file has them, in place of those that a run would find.
Shapes ClaimedShapes(const std::string& bytes, const Model& model)
{
  pb::ModelProto proto;
  fuzz::Require(proto.ParseFromString(bytes), "what was read is read again");
  Shapes shapes;
  for (const pb::ValueInfoProto& value : proto.graph().input())
    SetDims(shapes, value);
  for (const pb::ValueInfoProto& value : proto.graph().output())
    SetDims(shapes, value);
  for (const pb::ValueInfoProto& value : proto.graph().value_info())
    SetDims(shapes, value);
  for (const pb::TensorProto& tensor : model.Graph().initializer())
  {
    shapes.dims[tensor.name()] = DimsOf(tensor);
    shapes.types[tensor.name()] = tensor.data_type();
    if (!model.Varies(tensor.name()))
      shapes.constants[tensor.name()] = tensor;
  }
  // A run would also compute what depends neither on points nor on weights, or
  // refuse the model.
  for (const pb::NodeProto& node : model.Graph().node())
  {
    for (const std::string& name : node.output())
    {
      if (name.empty() || model.Varies(name))
        continue;
      const Dims& dims = shapes.Of(name);
      const std::vector<std::int64_t> zeros(Elements(dims, name));
      shapes.constants[name] = MakeTensor(name, pb::TensorProto::INT64, dims,
          zeros.data(), zeros.size() * sizeof(std::int64_t));
    }
  }
  return shapes;
}

//! A graph uses only what it has defined, and defines it once.
void CheckDefined(const pb::GraphProto& graph)
{
  std::set<std::string> known;
  for (const pb::TensorProto& tensor : graph.initializer())
    fuzz::Require(known.insert(tensor.name()).second, "constants differ");
  for (const pb::ValueInfoProto& value : graph.input())
    fuzz::Require(known.insert(value.name()).second, "inputs differ");
  for (const pb::NodeProto& node : graph.node())
  {
    for (const std::string& name : node.input())
      fuzz::Require(name.empty() || known.count(name), "inputs are defined");
    for (const std::string& name : node.output())
      fuzz::Require(known.insert(name).second, "outputs differ");
  }
  for (const pb::ValueInfoProto& value : graph.output())
    fuzz::Require(known.count(value.name()), "outputs are defined");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try
  {
    const Model model(bytes, pb::TensorProto::FLOAT, { "frozen*" });
    size_t elements = 0;
    for (const Parameter& parameter : model.Parameters())
    {
      fuzz::Require(parameter.offset == elements, "weights are one vector");
      elements += parameter.elements;
      fuzz::Require(Reals<float>(*model.Initializer(parameter.name)).size() ==
          parameter.elements, "weights have values");
    }
    fuzz::Require(model.Size() == elements, "weights are counted");
    model.Write({ });
    CheckOperators(model);
    const Shapes shapes = ClaimedShapes(bytes, model);
    for (const OnnxLoss loss : { OnnxLoss::CrossEntropy,
        OnnxLoss::MeanSquaredError, OnnxLoss::BinaryCrossEntropy })
    {
      const TrainingGraph graph = MakeTrainingGraph(model, shapes, loss, true,
          1);
      fuzz::Require(graph.gradients.size() == model.Parameters().size(),
          "every weight has a gradient");
      CheckDefined(graph.proto.graph());
    }
  }
  catch (const std::invalid_argument&)
  {
    // Refused with a message.
  }
  try
  {
    // A check goes on after what is wrong.
    const Model model(bytes, pb::TensorProto::FLOAT, { });
    std::vector<std::string> problems = OperatorProblems(model);
    MakeTrainingGraph(model, ClaimedShapes(bytes, model),
        OnnxLoss::MeanSquaredError, true, 1, &problems);
  }
  catch (const std::invalid_argument&)
  {
    // Refused with a message.
  }
  return 0;
}

// protobuf's own words about broken files are not wanted.
extern "C" int LLVMFuzzerInitialize(int*, char***)
{
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}
