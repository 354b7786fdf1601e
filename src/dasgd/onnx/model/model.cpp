/**
 * @file model.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/model/model.hpp"

#include "dasgd/onnx/model/external_data.hpp"
#include "dasgd/onnx/model/local_functions.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace dasgd {
namespace graph {

namespace {

//! Nested graphs can be as deep as a file says; what is deeper is no model.
constexpr int MaxDepth = 8;

//! Check every tensor in a graph, also those within attributes.
void CheckTensors(const pb::GraphProto& graph, const int depth)
{
  if (depth > MaxDepth)
  {
    throw std::invalid_argument("graphs are nested more than " +
        std::to_string(MaxDepth) + " deep");
  }
  for (const pb::TensorProto& tensor : graph.initializer())
    CheckTensor(tensor);
  for (const pb::NodeProto& node : graph.node())
  {
    for (const pb::AttributeProto& attribute : node.attribute())
    {
      if (attribute.has_t())
        CheckTensor(attribute.t());
      for (const pb::TensorProto& tensor : attribute.tensors())
        CheckTensor(tensor);
      if (attribute.has_g())
        CheckTensors(attribute.g(), depth + 1);
      for (const pb::GraphProto& inner : attribute.graphs())
        CheckTensors(inner, depth + 1);
    }
  }
}

//! Does a node have graphs of its own, as If and Loop do?
bool HasSubgraphs(const pb::GraphProto& graph)
{
  for (const pb::NodeProto& node : graph.node())
  {
    for (const pb::AttributeProto& attribute : node.attribute())
    {
      if (attribute.has_g() || attribute.graphs_size() > 0)
        return true;
    }
  }
  return false;
}

//! Is it one of the standard's operators?
bool IsStandard(const pb::NodeProto& node)
{
  return node.domain().empty() || node.domain() == "ai.onnx";
}

bool Is(const pb::NodeProto& node, const char* operation)
{
  return IsStandard(node) && node.op_type() == operation;
}

//! Can an input be a weight, or is it a setting of the operator?
bool IsWeight(const pb::NodeProto& node, const int index)
{
  if (Is(node, "BatchNormalization"))
    return index < 3;
  // Weights of classes are no weights of the model.
  if (Is(node, "SoftmaxCrossEntropyLoss") ||
      Is(node, "NegativeLogLikelihoodLoss"))
    return index < 2;
  for (const char* operation : { "Dropout", "Clip", "Resize", "Pad",
      "OneHot" })
  {
    if (Is(node, operation))
      return index < 1;
  }
  return true;
}

//! Is a name of the form of a pattern, in which '*' stands for anything?
bool Matches(const std::string& name, const std::string& pattern)
{
  // Where to go on after the last '*': it then takes one letter more.
  size_t at = 0, star = std::string::npos, resume = 0;
  size_t i = 0;
  while (i < name.size())
  {
    if (at < pattern.size() && pattern[at] == '*')
    {
      star = at++;
      resume = i;
    }
    else if (at < pattern.size() && pattern[at] == name[i])
    {
      ++at;
      ++i;
    }
    else if (star != std::string::npos)
    {
      at = star + 1;
      i = ++resume;
    }
    else
      return false;
  }
  return pattern.find_first_not_of('*', at) == std::string::npos;
}

//! Is it a mask to be added before Softmax?  Files do not tell buffers from
//! weights, but no weights look like this.
bool IsMask(const pb::TensorProto& tensor)
{
  bool masks = false;
  for (const float value : Reals<float>(tensor))
  {
    if (value != 0 && !(value <= -1e4f))
      return false;
    masks = masks || value != 0;
  }
  return masks;
}

//! Does an operator draw random numbers?
bool IsRandom(const pb::NodeProto& node)
{
  return node.op_type().compare(0, 6, "Random") == 0 ||
      node.op_type() == "Multinomial" || node.op_type() == "Bernoulli";
}

//! Let statistics be initializers themselves: exporters write a tensor that is
//! used twice as an Identity of the first.
void SkipCopies(pb::GraphProto& graph,
                const std::map<std::string, pb::TensorProto>& given)
{
  std::map<std::string, std::string> copies;
  for (pb::NodeProto& node : *graph.mutable_node())
  {
    if (Is(node, "Identity") && node.input_size() == 1)
    {
      const auto copied = copies.find(node.input(0));
      copies[node.output(0)] = copied == copies.end() ? node.input(0) :
          copied->second;
    }
    for (int i = 3; Is(node, "BatchNormalization") && i < 5; ++i)
    {
      const auto copied = copies.find(node.input(i));
      if (copied != copies.end() && given.count(copied->second))
        node.set_input(i, copied->second);
    }
  }
}

} // namespace

Model::Model(const std::string& bytes,
             const std::int32_t type,
             const std::vector<std::string>& frozen,
             const OutputChoice& output,
             const std::string& folder) :
    type(type)
{
  if (bytes.size() > size_t(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), int(bytes.size())) ||
      proto.graph().node_size() == 0)
  {
    throw std::invalid_argument("this is no ONNX model: its " +
        std::to_string(bytes.size()) + " bytes are not one graph with nodes");
  }
  if (!folder.empty())
    ReadExternalData(*proto.mutable_graph(), folder);
  InlineFunctions(proto);
  CheckGraph();
  ToInferenceForm();
  SeparateStatistics();
  original = proto;
  ChooseOutput(output);
  Prune();
  FindInputs();
  Convert();
  FindParameters(frozen);
  FollowValues();
}

size_t Model::Size() const
{
  return parameters.empty() ? 0 :
      parameters.back().offset + parameters.back().elements;
}

const pb::TensorProto* Model::Initializer(const std::string& name) const
{
  const auto found = initializers.find(name);
  return found == initializers.end() ? nullptr :
      &proto.graph().initializer(found->second);
}

void Model::CheckGraph()
{
  for (const pb::OperatorSetIdProto& set : proto.opset_import())
  {
    if (set.domain().empty() || set.domain() == "ai.onnx")
      opset = set.version();
  }
  // Before version 7 operators broadcast in another way.
  if (opset < 7 || opset > 1000)
  {
    throw std::invalid_argument("the model uses version " +
        std::to_string(opset) + " of ONNX's operators, but 7 is the oldest "
        "that is understood; export it anew, best with version 17");
  }
  const pb::GraphProto& graph = proto.graph();
  if (graph.sparse_initializer_size() > 0)
    throw std::invalid_argument("sparse initializers are not supported");
  CheckTensors(graph, 0);

  std::set<std::string> known;
  const auto define = [&](const std::string& name, const bool again)
  {
    if (!known.insert(name).second && !again)
      throw std::invalid_argument("'" + name + "' is defined twice");
  };
  for (const pb::TensorProto& tensor : graph.initializer())
    define(tensor.name(), false);
  // An input may have the same name as the initializer that it defaults to.
  for (const pb::ValueInfoProto& value : graph.input())
    define(value.name(), true);
  for (const pb::NodeProto& node : graph.node())
  {
    for (const std::string& name : node.input())
    {
      if (!name.empty() && !known.count(name))
      {
        throw std::invalid_argument(Describe(node) + " uses '" + name +
            "', which nothing before it defines");
      }
    }
    if (node.output_size() == 0 || node.output(0).empty())
      throw std::invalid_argument(Describe(node) + " has no output");
    for (const std::string& name : node.output())
    {
      if (!name.empty())
        define(name, false);
    }
  }
  for (const pb::ValueInfoProto& value : graph.output())
  {
    if (!known.count(value.name()))
    {
      throw std::invalid_argument("nothing computes the output '" +
          value.name() + "'");
    }
  }
  if (graph.output_size() == 0)
    throw std::invalid_argument("the model has no output");
}

void Model::ChooseOutput(const OutputChoice& choice)
{
  pb::GraphProto& graph = *proto.mutable_graph();
  std::string names;
  int chosen = -1;
  for (int i = 0; i < graph.output_size(); ++i)
  {
    const std::string& name = graph.output(i).name();
    names += (i == 0 ? "'" : ", '") + name + "'";
    const bool fits = !choice.name.empty() ? name == choice.name :
        (name == "loss") == choice.isLoss;
    if (fits && chosen < 0)
      chosen = i;
  }
  if (chosen < 0 && choice.name.empty() && graph.output_size() == 1)
    chosen = 0;
  if (chosen < 0)
  {
    throw std::invalid_argument("the model has no output '" +
        (choice.name.empty() ? "loss" : choice.name) + "'; name one of " +
        names);
  }
  const pb::ValueInfoProto output = graph.output(chosen);
  graph.clear_output();
  *graph.add_output() = output;
}

void Model::FindInputs()
{
  pb::GraphProto& graph = *proto.mutable_graph();
  std::set<std::string> given, used;
  for (const pb::TensorProto& tensor : graph.initializer())
    given.insert(tensor.name());
  for (const pb::NodeProto& node : graph.node())
    used.insert(node.input().begin(), node.input().end());
  std::vector<pb::ValueInfoProto> kept;
  for (const pb::ValueInfoProto& value : graph.input())
  {
    const auto& tensor = value.type().tensor_type();
    if (given.count(value.name()))
    {
      kept.push_back(value);
      continue;
    }
    // Subgraphs use values of the graph around them without saying so.
    if (!used.count(value.name()) && !HasSubgraphs(graph))
      continue;
    kept.push_back(value);
    Input input{ value.name(), tensor.elem_type(), { }, { } };
    if (!tensor.has_shape() ||
        (!IsReal(input.type) && !IsWhole(input.type)))
    {
      throw std::invalid_argument("the input '" + input.name +
          "' must be a "
          "tensor of floating-point or whole numbers whose dimensions the "
          "model "
          "tells");
    }
    for (const auto& dim : tensor.shape().dim())
    {
      input.dims.push_back(dim.has_dim_value() && dim.dim_value() > 0 ?
          dim.dim_value() : -1);
      input.symbols.push_back(dim.dim_param());
    }
    if (input.dims.empty())
    {
      throw std::invalid_argument("the input '" + input.name + "' is a scalar; "
          "its first dimension must be the batch");
    }
    input.type = IsReal(input.type) ? type : std::int32_t(
        pb::TensorProto::INT64);
    inputs.push_back(input);
  }
  if (inputs.empty())
    throw std::invalid_argument("the output '" + Output() + "' depends on no "
        "input, but points are needed");
  graph.clear_input();
  for (const pb::ValueInfoProto& value : kept)
    *graph.add_input() = value;
}

void Model::ToInferenceForm()
{
  std::set<std::string> used;
  for (const pb::ValueInfoProto& value : proto.graph().output())
    used.insert(value.name());
  for (const pb::NodeProto& node : proto.graph().node())
    used.insert(node.input().begin(), node.input().end());
  for (pb::NodeProto& node : *proto.mutable_graph()->mutable_node())
  {
    const bool norm = Is(node, "BatchNormalization");
    if (!norm && !Is(node, "Dropout"))
      continue;
    for (int i = 1; i < node.output_size(); ++i)
    {
      if (!node.output(i).empty() && used.count(node.output(i)))
      {
        throw std::invalid_argument(Describe(node) + ": its output '" +
            node.output(i) + "' is used, which only training has; only the "
            "first output may be used");
      }
    }
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
    // In training, dasgd uses its own form of both.
    RemoveAttribute(node, "training_mode");
    if (!norm && node.input_size() > 2)
      node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
    if (norm && node.input_size() != 5)
    {
      throw std::invalid_argument(Describe(node) + " has " +
          std::to_string(node.input_size()) + " inputs, but must have 5");
    }
  }
  // Hints about dimensions hold for the batch that the model was exported with.
  proto.mutable_graph()->clear_value_info();
}

void Model::Prune()
{
  pb::GraphProto& graph = *proto.mutable_graph();
  std::set<std::string> used{ graph.output(0).name() };
  std::vector<bool> keep(size_t(graph.node_size()), false);
  for (int i = graph.node_size() - 1; i >= 0; --i)
  {
    const pb::NodeProto& node = graph.node(i);
    keep[size_t(i)] = std::any_of(node.output().begin(), node.output().end(),
        [&](const std::string& name) { return used.count(name) > 0; });
    if (keep[size_t(i)])
      used.insert(node.input().begin(), node.input().end());
  }
  pb::GraphProto kept = graph;
  kept.clear_node();
  for (int i = 0; i < graph.node_size(); ++i)
  {
    if (keep[size_t(i)])
      *kept.add_node() = graph.node(i);
  }
  graph.Swap(&kept);
  statistics.erase(std::remove_if(statistics.begin(), statistics.end(),
      [&](const Statistic& statistic) { return !used.count(statistic.node); }),
      statistics.end());
}

void Model::SeparateStatistics()
{
  pb::GraphProto& graph = *proto.mutable_graph();
  std::map<std::string, pb::TensorProto> given;
  for (const pb::TensorProto& tensor : graph.initializer())
    given[tensor.name()] = tensor;
  SkipCopies(graph, given);
  std::map<std::string, int> uses;
  std::set<std::string> names;
  for (const pb::NodeProto& node : graph.node())
  {
    for (const std::string& name : node.input())
      ++uses[name];
    names.insert(node.output().begin(), node.output().end());
  }
  const auto own = [&](pb::NodeProto& node, const int index)
  {
    const std::string name = node.input(index);
    const auto found = given.find(name);
    if (found == given.end() || !IsReal(found->second.data_type()))
    {
      throw std::invalid_argument(Describe(node) + ": its statistics '" + name +
          "' are no initializer of floating-point numbers");
    }
    if (uses[name]-- == 1)
      return name;
    // Exporters write equal tensors once; these will not stay equal.
    std::string fresh = name;
    do
      fresh += "_" + node.output(0);
    while (given.count(fresh) || names.count(fresh));
    pb::TensorProto copy = found->second;
    copy.set_name(fresh);
    given[fresh] = copy;
    *graph.add_initializer() = copy;
    node.set_input(index, fresh);
    return fresh;
  };
  for (pb::NodeProto& node : *graph.mutable_node())
  {
    if (!Is(node, "BatchNormalization"))
      continue;
    Statistic statistic;
    statistic.node = node.output(0);
    statistic.mean = own(node, 3);
    statistic.variance = own(node, 4);
    statistic.elements = Elements(DimsOf(given[statistic.mean]),
        statistic.mean);
    statistic.momentum = Real(node, "momentum", 0.9);
    if (DimsOf(given[statistic.mean]) != DimsOf(given[statistic.variance]))
    {
      throw std::invalid_argument(Describe(node) + ": mean and variance have "
          "different dimensions");
    }
    statistics.push_back(statistic);
  }
}

void Model::Convert()
{
  pb::GraphProto& graph = *proto.mutable_graph();
  const auto convert = [&](pb::ValueInfoProto& value)
  {
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    if (IsReal(tensor.elem_type()))
      tensor.set_elem_type(type);
  };
  for (pb::TensorProto& tensor : *graph.mutable_initializer())
    ConvertReals(tensor, type);
  for (pb::ValueInfoProto& value : *graph.mutable_input())
    convert(value);
  for (pb::ValueInfoProto& value : *graph.mutable_output())
    convert(value);
  for (pb::NodeProto& node : *graph.mutable_node())
  {
    for (pb::AttributeProto& attribute : *node.mutable_attribute())
    {
      if (attribute.has_t())
        ConvertReals(*attribute.mutable_t(), type);
      if ((attribute.name() == "to" || attribute.name() == "dtype") &&
          IsReal(std::int32_t(attribute.i())))
        attribute.set_i(type);
    }
    // Without a value it makes zeros of single precision.
    if (Is(node, "ConstantOfShape") && !FindAttribute(node, "value"))
    {
      const double zero = 0;
      pb::AttributeProto& value = *node.add_attribute();
      value.set_name("value");
      value.set_type(pb::AttributeProto::TENSOR);
      *value.mutable_t() = MakeReals("", type, { 1 }, &zero);
    }
    // Constants may also be written without a tensor, and are float then.
    if (!Is(node, "Constant") || node.attribute_size() == 0 ||
        type == pb::TensorProto::FLOAT)
      continue;
    pb::AttributeProto& value = *node.mutable_attribute(0);
    std::vector<double> reals(value.floats().begin(), value.floats().end());
    Dims dims{ std::int64_t(reals.size()) };
    if (value.name() == "value_float")
    {
      reals.assign(1, double(value.f()));
      dims.clear();
    }
    else if (value.name() != "value_floats")
      continue;
    value.Clear();
    value.set_name("value");
    value.set_type(pb::AttributeProto::TENSOR);
    *value.mutable_t() = MakeReals("", type, dims, reals.data());
  }
  CastInputs();
}

void Model::CastInputs()
{
  pb::GraphProto& graph = *proto.mutable_graph();
  std::set<std::string> taken;
  for (const pb::TensorProto& tensor : graph.initializer())
    taken.insert(tensor.name());
  for (const pb::NodeProto& node : graph.node())
  {
    taken.insert(node.input().begin(), node.input().end());
    taken.insert(node.output().begin(), node.output().end());
  }
  std::vector<pb::NodeProto> casts;
  for (const Input& input : inputs)
  {
    for (pb::ValueInfoProto& value : *graph.mutable_input())
    {
      auto& tensor = *value.mutable_type()->mutable_tensor_type();
      if (value.name() != input.name || tensor.elem_type() == input.type)
        continue;
      std::string fresh = input.name;
      do
        fresh += "_cast";
      while (!taken.insert(fresh).second);
      pb::NodeProto cast;
      cast.set_op_type("Cast");
      cast.set_name(fresh);
      cast.add_input(input.name);
      cast.add_output(fresh);
      pb::AttributeProto& to = *cast.add_attribute();
      to.set_name("to");
      to.set_type(pb::AttributeProto::INT);
      to.set_i(tensor.elem_type());
      tensor.set_elem_type(input.type);
      for (pb::NodeProto& node : *graph.mutable_node())
        std::replace(node.mutable_input()->begin(), node.mutable_input()->end(),
            input.name, fresh);
      casts.push_back(cast);
    }
  }
  if (casts.empty())
    return;
  google::protobuf::RepeatedPtrField<pb::NodeProto> nodes(casts.begin(),
      casts.end());
  nodes.MergeFrom(graph.node());
  graph.mutable_node()->Swap(&nodes);
}

void Model::FindParameters(const std::vector<std::string>& frozen)
{
  const pb::GraphProto& graph = proto.graph();
  std::set<std::string> weights;
  for (const pb::NodeProto& node : graph.node())
  {
    for (int i = 0; i < node.input_size(); ++i)
    {
      if (IsWeight(node, i))
        weights.insert(node.input(i));
    }
  }
  for (const std::string& pattern : frozen)
  {
    // In the file; what has no use or learns by itself may be named, too.
    if (std::none_of(original.graph().initializer().begin(),
        original.graph().initializer().end(), [&](const pb::TensorProto& each)
        { return Matches(each.name(), pattern); }))
      unmatched.push_back(pattern);
  }
  size_t offset = 0;
  for (int i = 0; i < graph.initializer_size(); ++i)
  {
    const pb::TensorProto& tensor = graph.initializer(i);
    initializers[tensor.name()] = i;
    // Scalars are constants of formulas; weights have dimensions.
    if (!IsReal(tensor.data_type()) || tensor.dims_size() == 0 ||
        !weights.count(tensor.name()) || IsMask(tensor) ||
        std::any_of(frozen.begin(), frozen.end(), [&](const std::string& each)
        { return Matches(tensor.name(), each); }))
      continue;
    Parameter parameter{ tensor.name(), DimsOf(tensor), offset, 0 };
    parameter.elements = Elements(parameter.dims, tensor.name());
    if (parameter.elements == 0)
      continue;
    offset += parameter.elements;
    parameters.push_back(parameter);
  }
}

void Model::FollowValues()
{
  for (const Parameter& parameter : parameters)
    active.insert(parameter.name);
  varying = active;
  for (const Input& input : inputs)
    varying.insert(input.name);
  for (const pb::NodeProto& node : proto.graph().node())
  {
    // Dimensions are known, whatever the values are.
    if (Is(node, "Shape") || Is(node, "Size"))
      continue;
    bool isActive = false, varies = IsRandom(node);
    for (const std::string& name : node.input())
    {
      isActive = isActive || active.count(name) > 0;
      varies = varies || varying.count(name) > 0;
    }
    for (const std::string& name : node.output())
    {
      if (isActive)
        active.insert(name);
      if (varies)
        varying.insert(name);
    }
  }
  active.erase("");
  varying.erase("");
  if (!Active(Output()))
  {
    throw std::invalid_argument("the output '" + Output() + "' depends on no "
        "initializer that could be trained; there are " +
        std::to_string(parameters.size()));
  }
}

std::string Model::Write(
    const std::map<std::string, std::vector<double>>& values) const
{
  pb::ModelProto written = original;
  for (pb::TensorProto& tensor :
      *written.mutable_graph()->mutable_initializer())
  {
    const auto found = values.find(tensor.name());
    if (found == values.end())
      continue;
    if (found->second.size() != Elements(DimsOf(tensor), tensor.name()))
    {
      throw std::invalid_argument("'" + tensor.name() + "' has dimensions " +
          Text(DimsOf(tensor)) + ", but was given " +
          std::to_string(found->second.size()) + " values");
    }
    tensor = MakeReals(tensor.name(), tensor.data_type(), DimsOf(tensor),
        found->second.data());
  }
  std::string bytes;
  if (!written.SerializeToString(&bytes))
    throw std::runtime_error("the model cannot be written as an ONNX file");
  return bytes;
}

} // namespace graph
} // namespace dasgd
