/**
 * @file local_functions.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/model/local_functions.hpp"

#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <stdexcept>
#include <utility>

namespace dasgd {
namespace graph {

namespace {

//! Functions may use others, but no file makes a graph of this size by them.
constexpr int MaxFunctionDepth = 16, MaxInlinedNodes = 200000;

//! The field of a function that holds defaults of its attributes, which older
//! versions of ONNX's library do not know.
constexpr int DefaultsField = 11;

template<typename FunctionType>
auto Defaults(const FunctionType& function, int)
    -> decltype(function.attribute_proto(),
        std::map<std::string, pb::AttributeProto>())
{
  std::map<std::string, pb::AttributeProto> defaults;
  for (const pb::AttributeProto& attribute : function.attribute_proto())
    defaults[attribute.name()] = attribute;
  return defaults;
}

template<typename FunctionType>
std::map<std::string, pb::AttributeProto> Defaults(
    const FunctionType& function, long)
{
  std::map<std::string, pb::AttributeProto> defaults;
  const auto& fields = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < fields.field_count(); ++i)
  {
    const auto& field = fields.field(i);
    pb::AttributeProto attribute;
    if (field.number() == DefaultsField && field.type() ==
        google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        attribute.ParseFromString(field.length_delimited()))
      defaults[attribute.name()] = attribute;
  }
  return defaults;
}

class Inlining
{
 public:
  explicit Inlining(const pb::ModelProto& model)
  {
    for (const auto& set : model.opset_import())
      versions[Domain(set.domain())] = set.version();
    for (const pb::FunctionProto& function : model.functions())
    {
      functions[{ Domain(function.domain()), function.name() }] = &function;
      for (const auto& set : function.opset_import())
      {
        const auto found = versions.find(Domain(set.domain()));
        if (Domain(set.domain()).empty() && found != versions.end() &&
            found->second != set.version())
        {
          throw std::invalid_argument("the function '" + function.name() +
              "' uses version " + std::to_string(set.version()) + " of ONNX's "
              "operators, and the model version " +
              std::to_string(found->second) + "; export both with one version");
        }
      }
    }
  }

  //! Write nodes to a graph, those of functions in place of their calls.
  void Add(pb::GraphProto& graph, const pb::NodeProto& node, const int depth)
  {
    const auto found = functions.find({ Domain(node.domain()),
        node.op_type() });
    if (found == functions.end())
    {
      if (++count > MaxInlinedNodes)
        throw std::invalid_argument("the functions of the model make more than "
            + std::to_string(MaxInlinedNodes) + " nodes");
      *graph.add_node() = node;
      return;
    }
    const pb::FunctionProto& function = *found->second;
    if (depth > MaxFunctionDepth)
    {
      throw std::invalid_argument("functions are nested more than " +
          std::to_string(MaxFunctionDepth) + " deep; '" + function.name() +
          "' may use itself");
    }
    if (node.input_size() > function.input_size() ||
        node.output_size() > function.output_size())
    {
      throw std::invalid_argument(Describe(node) + " has " +
          std::to_string(node.input_size()) + " inputs and " +
          std::to_string(node.output_size()) + " outputs, but its function " +
          std::to_string(function.input_size()) + " and " +
          std::to_string(function.output_size()));
    }
    std::map<std::string, std::string> names{ { "", "" } };
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    for (int i = 0; i < node.output_size(); ++i)
    {
      if (!node.output(i).empty())
        names[function.output(i)] = node.output(i);
    }
    std::map<std::string, pb::AttributeProto> attributes = Defaults(function,
        0);
    for (const pb::AttributeProto& attribute : node.attribute())
      attributes[attribute.name()] = attribute;
    const std::string prefix = (node.output_size() > 0 ? node.output(0) :
        node.name()) + "/";
    for (const pb::NodeProto& inner : function.node())
    {
      pb::NodeProto copy = inner;
      Bind(copy, names, prefix, attributes, 0);
      copy.set_name(copy.name().empty() ? "" : prefix + copy.name());
      Add(graph, copy, depth + 1);
    }
  }

 private:
  static std::string Domain(const std::string& domain)
  { return domain == "ai.onnx" ? "" : domain; }

  //! Use names and attributes of the place where a function is called.
  static void Bind(pb::NodeProto& node,
                   std::map<std::string, std::string>& names,
                   const std::string& prefix,
                   const std::map<std::string, pb::AttributeProto>& attributes,
                   const int depth)
  {
    if (depth > MaxFunctionDepth)
      throw std::invalid_argument("graphs are nested too deep");
    // Values of graphs around are known; whatever is not is one of the own.
    const auto rename = [&](std::string& name)
    { name = names.emplace(name, prefix + name).first->second; };
    for (std::string& name : *node.mutable_input())
      rename(name);
    for (std::string& name : *node.mutable_output())
      rename(name);
    for (int i = node.attribute_size() - 1; i >= 0; --i)
    {
      pb::AttributeProto& attribute = *node.mutable_attribute(i);
      if (!attribute.ref_attr_name().empty())
      {
        const auto given = attributes.find(attribute.ref_attr_name());
        if (given == attributes.end())
        {
          node.mutable_attribute()->DeleteSubrange(i, 1);
          continue;
        }
        const std::string name = attribute.name();
        attribute = given->second;
        attribute.set_name(name);
      }
      if (!attribute.has_g())
        continue;
      pb::GraphProto& graph = *attribute.mutable_g();
      for (pb::NodeProto& inner : *graph.mutable_node())
        Bind(inner, names, prefix, attributes, depth + 1);
      for (pb::TensorProto& tensor : *graph.mutable_initializer())
        rename(*tensor.mutable_name());
      for (pb::ValueInfoProto& value : *graph.mutable_input())
        rename(*value.mutable_name());
      for (pb::ValueInfoProto& value : *graph.mutable_output())
        rename(*value.mutable_name());
    }
  }

  std::map<std::pair<std::string, std::string>, const pb::FunctionProto*>
      functions;
  std::map<std::string, std::int64_t> versions;
  int count = 0;
};

} // namespace

void InlineFunctions(pb::ModelProto& model)
{
  if (model.functions_size() == 0)
    return;
  Inlining inlining(model);
  pb::GraphProto graph = model.graph();
  graph.clear_node();
  for (const pb::NodeProto& node : model.graph().node())
    inlining.Add(graph, node, 0);
  model.mutable_graph()->Swap(&graph);
  model.clear_functions();
}

} // namespace graph
} // namespace dasgd
