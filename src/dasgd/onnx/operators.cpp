/**
 * @file operators.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "operators.hpp"

#include <stdexcept>

namespace dasgd {
namespace graph {

const std::string& Context::In(const int i) const
{
  if (!Has(i))
    Refuse("it has no input " + std::to_string(i));
  return node.input(i);
}

Dims Context::Setting(const std::string& attribute,
                      const int input,
                      const Dims& otherwise) const
{
  if (!Has(input))
    return Ints(node, attribute, otherwise);
  const auto found = pass.shapes.constants.find(In(input));
  if (found == pass.shapes.constants.end())
    Refuse("'" + In(input) + "' depends on the points, but must be constant");
  return Integers(found->second);
}

double Context::Number(const std::string& attribute,
                       const int input,
                       const double otherwise) const
{
  if (!Has(input))
    return Real(node, attribute, otherwise);
  const auto found = pass.shapes.constants.find(In(input));
  if (found == pass.shapes.constants.end())
    Refuse("'" + In(input) + "' depends on the points, but must be constant");
  const std::vector<double> values = Reals<double>(found->second);
  if (values.size() != 1)
    Refuse("'" + In(input) + "' is not one number");
  return values[0];
}

const std::string& Context::Gradient() const
{
  return pass.gradients.at(Out()).front();
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

const Operator& OperatorOf(const pb::NodeProto& node)
{
  const auto found = Operators().find(node.op_type());
  if (found == Operators().end() ||
      !(node.domain().empty() || node.domain() == "ai.onnx"))
  {
    throw std::invalid_argument(Describe(node) + " cannot be trained: there is "
        "no gradient for this operator.  There are gradients for " +
        OperatorNames());
  }
  return found->second;
}

} // namespace graph
} // namespace dasgd
