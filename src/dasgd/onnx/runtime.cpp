/**
 * @file runtime.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/runtime.hpp"

#include <stdexcept>

namespace dasgd {
namespace graph {

namespace {

//! One for the whole program, made when it is first needed.
Ort::Env& Environment()
{
  static Ort::Env environment(ORT_LOGGING_LEVEL_ERROR, "dasgd");
  return environment;
}

//! The runtime's words, with what to do where that is known.
[[noreturn]] void Rethrow(const Ort::Exception& e,
                          const std::string& doing,
                          const bool single = true)
{
  std::string text = "ONNX Runtime cannot " + doing + ": " + e.what();
  if (!single && e.GetOrtErrorCode() == ORT_NOT_IMPLEMENTED)
  {
    text += " (it has convolutions, pools and some other operators in single "
        "precision only: use arma::fmat)";
  }
  throw std::runtime_error(text);
}

Ort::MemoryInfo Memory()
{
  return Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
}

//! A tensor over memory of the caller.
template<typename ElemType>
Ort::Value View(ElemType* memory, const Dims& dims)
{
  return Ort::Value::CreateTensor<ElemType>(Memory(), memory,
      Elements(dims, "a tensor"), dims.data(), dims.size());
}

} // namespace

Session::Session(const pb::ModelProto& proto,
                 const std::int32_t type,
                 const size_t threads,
                 const bool optimize)
{
  std::string bytes;
  if (!proto.SerializeToString(&bytes))
    throw std::runtime_error("a graph is too large for an ONNX file");
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(int(threads));
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  // In double precision the runtime would put operators together for which it
  // has no implementation.
  const bool single = type == pb::TensorProto::FLOAT;
  options.SetGraphOptimizationLevel(!optimize ? ORT_DISABLE_ALL : single ?
      ORT_ENABLE_ALL : ORT_ENABLE_BASIC);
  // Ranks share cores; waiting threads must not use them up.
  options.AddConfigEntry("session.intra_op.allow_spinning", "0");
  try
  {
    session = Ort::Session(Environment(), bytes.data(), bytes.size(), options);
    binding = Ort::IoBinding(session);
  }
  catch (const Ort::Exception& e)
  {
    Rethrow(e, "load the graph", single);
  }
}

template<typename ElemType>
void Session::Bind(const std::string& name,
                   ElemType* memory,
                   const Dims& dims,
                   const bool input)
{
  auto& place = places[name];
  if (place.first == memory && place.second == dims)
    return;
  try
  {
    if (input)
      binding.BindInput(name.c_str(), View(memory, dims));
    else
      binding.BindOutput(name.c_str(), View(memory, dims));
  }
  catch (const Ort::Exception& e)
  {
    Rethrow(e, "use '" + name + "'");
  }
  place = { memory, dims };
}

template void Session::Bind(const std::string&, float*, const Dims&,
                            const bool);
template void Session::Bind(const std::string&, double*, const Dims&,
                            const bool);
template void Session::Bind(const std::string&, std::int64_t*, const Dims&,
                            const bool);

void Session::Run()
{
  try
  {
    session.Run(Ort::RunOptions{ nullptr }, binding);
  }
  catch (const Ort::Exception& e)
  {
    Rethrow(e, "run the model");
  }
}

std::vector<Ort::Value> Session::Outputs(
    const std::vector<const char*>& given,
    const std::vector<Ort::Value>& values,
    const std::vector<std::string>& names)
{
  std::vector<const char*> wanted;
  for (const std::string& name : names)
    wanted.push_back(name.c_str());
  try
  {
    return session.Run(Ort::RunOptions{ nullptr }, given.data(), values.data(),
        values.size(), wanted.data(), wanted.size());
  }
  catch (const Ort::Exception& e)
  {
    Rethrow(e, "run the model");
  }
}

namespace {

//! A value that the runtime has computed, to be a constant.
pb::TensorProto ToTensor(const Ort::Value& value, const Dims& dims)
{
  const auto info = value.GetTensorTypeAndShapeInfo();
  const size_t elements = info.GetElementCount();
  // The runtime numbers types as files do.
  const std::int32_t type = std::int32_t(info.GetElementType());
  size_t width = 0;
  switch (info.GetElementType())
  {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: width = 4; break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: width = 8; break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8: width = 1; break;
    default:
      throw std::invalid_argument("a constant of the model is of type " +
          std::to_string(type) + ", which is not supported");
  }
  return MakeTensor("", type, dims, value.GetTensorRawData(),
      elements * width);
}

//! The model with all values as outputs, and their names.
pb::ModelProto WithAllOutputs(const Model& model,
                              const std::vector<Dims>& dims,
                              std::vector<std::string>& names)
{
  pb::ModelProto proto = model.Proto();
  pb::GraphProto& graph = *proto.mutable_graph();
  for (pb::ValueInfoProto& value : *graph.mutable_input())
  {
    for (size_t i = 0; i < dims.size(); ++i)
    {
      if (value.name() != model.Inputs()[i].name)
        continue;
      auto& shape = *value.mutable_type()->mutable_tensor_type()->
          mutable_shape();
      shape.clear_dim();
      for (const std::int64_t dim : dims[i])
        shape.add_dim()->set_dim_value(dim);
    }
  }
  graph.clear_output();
  for (const pb::NodeProto& node : graph.node())
  {
    for (const std::string& name : node.output())
    {
      if (name.empty())
        continue;
      graph.add_output()->set_name(name);
      names.push_back(name);
    }
  }
  return proto;
}

} // namespace

Shapes FindShapes(const Model& model, const std::vector<Dims>& dims)
{
  std::vector<std::string> names;
  Session session(WithAllOutputs(model, dims, names), model.Type(), 1, false);
  // Zeros of any type.
  std::vector<std::vector<double>> memory;
  std::vector<const char*> given;
  std::vector<Ort::Value> zeros;
  Shapes shapes;
  for (size_t i = 0; i < dims.size(); ++i)
  {
    const Input& input = model.Inputs()[i];
    memory.emplace_back(Elements(dims[i], input.name));
    given.push_back(input.name.c_str());
    zeros.push_back(Ort::Value::CreateTensor(Memory(), memory.back().data(),
        memory.back().size() * Width(input.type), dims[i].data(),
        dims[i].size(), ONNXTensorElementDataType(input.type)));
    shapes.dims[input.name] = dims[i];
    shapes.types[input.name] = input.type;
  }
  for (const pb::TensorProto& tensor : model.Graph().initializer())
  {
    shapes.dims[tensor.name()] = DimsOf(tensor);
    shapes.types[tensor.name()] = tensor.data_type();
    if (!model.Varies(tensor.name()))
      shapes.constants[tensor.name()] = tensor;
  }
  const std::vector<Ort::Value> values = session.Outputs(given, zeros, names);
  for (size_t i = 0; i < names.size(); ++i)
  {
    if (!values[i].IsTensor())
      throw std::invalid_argument("'" + names[i] + "' is not a tensor");
    const auto info = values[i].GetTensorTypeAndShapeInfo();
    Dims found = info.GetShape();
    // The runtime numbers types as files do.
    shapes.types[names[i]] = std::int32_t(info.GetElementType());
    if (!model.Varies(names[i]))
      shapes.constants[names[i]] = ToTensor(values[i], found);
    shapes.dims[names[i]] = std::move(found);
  }
  return shapes;
}

} // namespace graph
} // namespace dasgd
