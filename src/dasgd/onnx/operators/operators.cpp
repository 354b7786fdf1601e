/**
 * @file operators.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <stdexcept>

namespace dasgd {
namespace graph {

const std::string& Context::In(const int i) const
{
  if (!Has(i))
    Refuse("it has no input " + std::to_string(i));
  return node.input(i);
}

const pb::TensorProto& Context::Constant(const int i) const
{
  const auto found = pass.shapes.constants.find(In(i));
  if (found == pass.shapes.constants.end())
  {
    Refuse("'" + In(i) + "' depends on the points or on parameters, but must "
        "be constant");
  }
  return found->second;
}

Dims Context::Setting(const std::string& attribute,
                      const int input,
                      const Dims& otherwise) const
{
  return Has(input) ? Integers(Constant(input)) :
      Ints(node, attribute, otherwise);
}

double Context::Number(const std::string& attribute,
                       const int input,
                       const double otherwise) const
{
  if (!Has(input))
    return Real(node, attribute, otherwise);
  const std::vector<double> values = Reals<double>(Constant(input));
  if (values.size() != 1)
    Refuse("'" + In(input) + "' is not one number");
  return values[0];
}

std::string Context::Gradient(const int i) const
{
  const auto found = pass.gradients.find(Out(i));
  return found == pass.gradients.end() ? build.Zeros(OutDims(i)) :
      found->second.front();
}

void Context::Give(const int i, const std::string& gradient)
{
  pass.gradients[In(i)].push_back(gradient);
}

void Context::GiveBroadcast(const int i, const std::string& gradient)
{
  Give(i, build.Unbroadcast(gradient, OutDims(), InDims(i)));
}

void Context::Refuse(const std::string& reason) const
{
  throw std::invalid_argument(Describe(node) + ": " + reason);
}

void Same(Context& c)
{
  c.build.AddCopy(c.Node());
}

void Nothing(Context&) { }

const std::map<std::string, Operator>& Operators()
{
  static const std::map<std::string, Operator> operators = []()
  {
    std::map<std::string, Operator> table;
    AddElementwise(table);
    AddLinear(table);
    AddConvolution(table);
    AddPooling(table);
    AddNormalization(table);
    AddReshaping(table);
    AddReductions(table);
    AddIndexing(table);
    AddResizing(table);
    AddFunctions(table);
    AddRecurrent(table);
    return table;
  }();
  return operators;
}

std::string OperatorNames()
{
  std::string names;
  for (const auto& each : Operators())
    names += (names.empty() ? "" : ", ") + each.first;
  return names;
}

const Operator* FindOperator(const pb::NodeProto& node)
{
  const auto found = Operators().find(node.op_type());
  return found != Operators().end() &&
      (node.domain().empty() || node.domain() == "ai.onnx") ? &found->second :
      nullptr;
}

namespace {

//! What somebody can do about an operator that there is no gradient for.
std::string Advice(const pb::NodeProto& node)
{
  const std::string& name = node.op_type();
  const auto begins = [&](const char* text)
  { return name.rfind(text, 0) == 0; };
  if (!node.domain().empty() && node.domain() != "ai.onnx")
  {
    return "; it is none of ONNX's own: export the model without operators of '"
        + node.domain() + "', and before it is optimized for a runtime";
  }
  if (name == "Loop" || name == "If" || name == "Scan")
  {
    return "; export the model with fixed lengths and without branches, such "
        "that the exporter writes its steps out";
  }
  if (begins("Quantize") || begins("Dequantize") || begins("QLinear") ||
      begins("DynamicQuantize") || name.find("Integer") != std::string::npos)
    return "; export the model before it is quantized";
  if (name == "Upsample")
    return "; export the model with opset 13 or newer, which have Resize";
  if (name == "Attention" || name == "RMSNormalization" ||
      name == "RotaryEmbedding" || name == "Swish")
  {
    return "; export the model with opset 20, where it is written by simpler "
        "operators";
  }
  return "; use another layer, or freeze what is before it";
}

} // namespace

const Operator& OperatorOf(const pb::NodeProto& node)
{
  const Operator* found = FindOperator(node);
  if (!found)
  {
    throw std::invalid_argument(Describe(node) + " cannot be trained: there is "
        "no gradient for this operator" + Advice(node));
  }
  return *found;
}

} // namespace graph
} // namespace dasgd
