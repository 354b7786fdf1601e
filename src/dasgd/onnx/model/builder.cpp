/**
 * @file builder.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/model/builder.hpp"

#include <stdexcept>

namespace dasgd {
namespace graph {

std::string Builder::Fresh(const std::string& hint)
{
  std::string name;
  do
    name = "dasgd_" + hint + "_" + std::to_string(count++);
  while (!taken.insert(name).second);
  return name;
}

namespace {

void SetAttribute(pb::NodeProto& node, const Attribute& given)
{
  pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(given.name);
  if (const auto* number = std::get_if<std::int64_t>(&given.value))
  {
    attribute.set_type(pb::AttributeProto::INT);
    attribute.set_i(*number);
  }
  else if (const auto* real = std::get_if<double>(&given.value))
  {
    attribute.set_type(pb::AttributeProto::FLOAT);
    attribute.set_f(float(*real));
  }
  else if (const auto* text = std::get_if<std::string>(&given.value))
  {
    attribute.set_type(pb::AttributeProto::STRING);
    attribute.set_s(*text);
  }
  else
  {
    attribute.set_type(pb::AttributeProto::INTS);
    for (const std::int64_t each : std::get<Dims>(given.value))
      attribute.add_ints(each);
  }
}

} // namespace

std::string Builder::Add(const std::string& operation,
                         const Names& inputs,
                         const Attributes& attributes)
{
  const std::string output = Fresh(operation);
  AddAs({ output }, operation, inputs, attributes);
  return output;
}

void Builder::AddAs(const Names& outputs,
                    const std::string& operation,
                    const Names& inputs,
                    const Attributes& attributes)
{
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(operation);
  node.set_name(outputs[0]);
  for (const std::string& name : inputs)
    node.add_input(name);
  for (const std::string& name : outputs)
    node.add_output(name);
  for (const Attribute& attribute : attributes)
    SetAttribute(node, attribute);
}

std::string Builder::Scalar(const double value)
{
  std::string& name = scalars[value];
  if (name.empty())
  {
    name = Fresh("scalar");
    AddConstant(MakeReals(name, type, { }, &value));
  }
  return name;
}

std::string Builder::Ints(const Dims& values)
{
  std::string& name = ints[values];
  if (name.empty())
  {
    name = Fresh("ints");
    AddConstant(MakeTensor(name, pb::TensorProto::INT64,
        { std::int64_t(values.size()) }, values.data(),
        values.size() * sizeof(std::int64_t)));
  }
  return name;
}

std::string Builder::Tensor(const Dims& dims, const std::vector<double>& values)
{
  const std::string name = Fresh("tensor");
  if (Elements(dims, name) != values.size())
    throw std::logic_error(name + " does not have " + Text(dims) + " values");
  AddConstant(MakeReals(name, type, dims, values.data()));
  return name;
}

std::string Builder::Sum(const std::string& value,
                         const Dims& axes,
                         const bool keep)
{
  // Without axes the operator would sum over all of them.
  if (axes.empty())
    return value;
  return Add("ReduceSum", { value, Ints(axes) },
      { { "keepdims", keep ? 1 : 0 } });
}

std::string Builder::Unbroadcast(const std::string& gradient,
                                 const Dims& from,
                                 const Dims& to)
{
  if (to.size() > from.size())
    throw std::invalid_argument(Text(to) + " was not broadcast to " +
        Text(from));
  const size_t more = from.size() - to.size();
  Dims axes;
  bool ones = false;
  for (size_t i = 0; i < from.size(); ++i)
  {
    const std::int64_t size = i < more ? 1 : to[i - more];
    if (size != from[i] && size != 1)
    {
      throw std::invalid_argument(Text(to) + " was not broadcast to " +
          Text(from));
    }
    // What has no counterpart goes; what has one of size 1 stays.
    if (i < more || from[i] != size)
    {
      axes.push_back(std::int64_t(i));
      ones = ones || i >= more;
    }
  }
  const std::string sum = Sum(gradient, axes, ones);
  return ones && more > 0 ? Reshape(sum, to) : sum;
}

} // namespace graph
} // namespace dasgd
