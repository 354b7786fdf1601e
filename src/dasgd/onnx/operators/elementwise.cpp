/**
 * @file elementwise.cpp
 *
 * Gradients of operators that compute each number by itself.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>
#include <cmath>

namespace dasgd {
namespace graph {

namespace {

void Identity(Context& c)
{
  c.Give(0, c.Gradient());
}

void Add(Context& c)
{
  for (int i = 0; i < 2; ++i)
  {
    if (c.Needs(i))
      c.GiveBroadcast(i, c.Gradient());
  }
}

void Sub(Context& c)
{
  if (c.Needs(0))
    c.GiveBroadcast(0, c.Gradient());
  if (c.Needs(1))
    c.GiveBroadcast(1, c.build.Add("Neg", { c.Gradient() }));
}

void Mul(Context& c)
{
  for (int i = 0; i < 2; ++i)
  {
    if (c.Needs(i))
      c.GiveBroadcast(i, c.build.Mul(c.Gradient(), c.In(1 - i)));
  }
}

void Div(Context& c)
{
  const std::string first = c.build.Add("Div", { c.Gradient(), c.In(1) });
  if (c.Needs(0))
    c.GiveBroadcast(0, first);
  if (c.Needs(1))
  {
    c.GiveBroadcast(1, c.build.Add("Neg", { c.build.Mul(first, c.Out()) }));
  }
}

void Neg(Context& c)
{
  c.Give(0, c.build.Add("Neg", { c.Gradient() }));
}

void Exp(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.Out()));
}

void Log(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), c.In(0) }));
}

void Sqrt(Context& c)
{
  c.Give(0, c.build.Scale(c.build.Add("Div", { c.Gradient(), c.Out() }), 0.5));
}

//! A constant exponent, which may be a whole number; not a number otherwise.
double ConstantExponent(const Context& c)
{
  if (!c.IsConstant(1) || Elements(c.InDims(1), c.In(1)) != 1)
    return std::nan("");
  const pb::TensorProto& tensor = c.Constant(1);
  return IsReal(tensor.data_type()) ? Reals<double>(tensor)[0] :
      double(Integers(tensor)[0]);
}

void Pow(Context& c)
{
  const std::string& exponent = c.In(1);
  const double constant = ConstantExponent(c);
  if (c.Needs(0))
  {
    // Of squares and roots, which are most, no power need be computed.
    const std::string less = constant == 2 ? c.In(0) :
        !std::isnan(constant) ? c.build.Add("Pow", { c.In(0),
        c.build.Scalar(constant - 1) }) : c.build.Add("Pow", { c.In(0),
        c.build.Add("Sub", { exponent, c.build.Scalar(1) }) });
    const std::string slope = std::isnan(constant) ? c.build.Mul(exponent,
        less) : c.build.Scale(less, constant);
    c.GiveBroadcast(0, c.build.Mul(c.Gradient(), slope));
  }
  if (c.Needs(1))
  {
    c.GiveBroadcast(1, c.build.Mul(c.Gradient(), c.build.Mul(c.Out(),
        c.build.Add("Log", { c.In(0) }))));
  }
}

void Reciprocal(Context& c)
{
  c.Give(0, c.build.Add("Neg", { c.build.Mul(c.Gradient(),
      c.build.Mul(c.Out(), c.Out())) }));
}

void Abs(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Sign", { c.In(0) })));
}

void Relu(Context& c)
{
  // Of what is not negative the sign is 1 or 0.
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Sign", { c.Out() })));
}

void LeakyRelu(Context& c)
{
  const double slope = Real(c.Node(), "alpha", 0.01);
  c.Give(0, c.build.Add("Where", {
      c.build.Add("Greater", { c.In(0), c.build.Scalar(0) }),
      c.Gradient(), c.build.Scale(c.Gradient(), slope) }));
}

void Elu(Context& c)
{
  const double alpha = Real(c.Node(), "alpha", 1);
  c.Give(0, c.build.Add("Where", {
      c.build.Add("Greater", { c.In(0), c.build.Scalar(0) }), c.Gradient(),
      c.build.Mul(c.Gradient(), c.build.Add("Add",
      { c.Out(), c.build.Scalar(alpha) })) }));
}

void Sigmoid(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Mul(c.Out(), c.build.Add("Sub",
      { c.build.Scalar(1), c.Out() }))));
}

void Tanh(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Sub",
      { c.build.Scalar(1), c.build.Mul(c.Out(), c.Out()) })));
}

void Softplus(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Sigmoid", { c.In(0) })));
}

void Erf(Context& c)
{
  const double factor = 1.1283791670955126; // 2 / sqrt(pi)
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Scale(c.build.Add("Exp",
      { c.build.Add("Neg", { c.build.Mul(c.In(0), c.In(0)) }) }), factor)));
}

void ClipForward(Context& c)
{
  // Of whole numbers there is no gradient, and bounds are inputs.
  if (!c.IsReal(0))
    return Same(c);
  // Bounds were attributes before version 11.
  const double most = 3.4028234663852886e38;
  c.build.AddAs({ c.Out() }, "Clip", { c.In(0),
      c.build.Scalar(c.Number("min", 1, -most)),
      c.build.Scalar(c.Number("max", 2, most)) });
}

void Clip(Context& c)
{
  // What was clipped differs from what came out.
  c.Give(0, c.build.Add("Where", { c.build.Add("Equal", { c.In(0), c.Out() }),
      c.Gradient(), c.build.Scalar(0) }));
}

//! One plus or minus the square of a value.
std::string OneAnd(Context& c, const char* operation, const std::string& value)
{
  return c.build.Add(operation, { c.build.Scalar(1), c.build.Mul(value,
      value) });
}

void Sin(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Cos", { c.In(0) })));
}

void Cos(Context& c)
{
  c.Give(0, c.build.Add("Neg", { c.build.Mul(c.Gradient(), c.build.Add("Sin",
      { c.In(0) })) }));
}

void Tan(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), OneAnd(c, "Add", c.Out())));
}

void Atan(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), OneAnd(c, "Add", c.In(0)) }));
}

void Asin(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), c.build.Add("Sqrt",
      { OneAnd(c, "Sub", c.In(0)) }) }));
}

void Acos(Context& c)
{
  c.Give(0, c.build.Add("Neg", { c.build.Add("Div", { c.Gradient(),
      c.build.Add("Sqrt", { OneAnd(c, "Sub", c.In(0)) }) }) }));
}

void Sinh(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Cosh", { c.In(0) })));
}

void Cosh(Context& c)
{
  c.Give(0, c.build.Mul(c.Gradient(), c.build.Add("Sinh", { c.In(0) })));
}

void Asinh(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), c.build.Add("Sqrt",
      { OneAnd(c, "Add", c.In(0)) }) }));
}

void Acosh(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), c.build.Add("Sqrt",
      { c.build.Add("Sub", { c.build.Mul(c.In(0), c.In(0)),
      c.build.Scalar(1) }) }) }));
}

void Atanh(Context& c)
{
  c.Give(0, c.build.Add("Div", { c.Gradient(), OneAnd(c, "Sub", c.In(0)) }));
}

//! The same numbers of another type: all floating-point numbers have one type
//! in training, and what comes from others has no gradient.
void Cast(Context& c)
{
  if (c.Needs(0))
    c.Give(0, c.Gradient());
}

void CastLikeForward(Context& c)
{
  // What it is to be like may be computed elsewhere only.
  if (c.IsReal(0) && c.IsReal(1))
    return c.build.AddAs({ c.Out() }, "Identity", { c.In(0) });
  Same(c);
}

void Where(Context& c)
{
  const std::string g = c.Gradient(), zero = c.build.Scalar(0);
  if (c.Needs(1))
    c.GiveBroadcast(1, c.build.Add("Where", { c.In(0), g, zero }));
  if (c.Needs(2))
    c.GiveBroadcast(2, c.build.Add("Where", { c.In(0), zero, g }));
}

//! Inputs that are equally large share the gradient.
void Extreme(Context& c)
{
  const int count = c.Node().input_size();
  if (count == 1)
    return c.Give(0, c.Gradient());
  Names hits;
  for (int i = 0; i < count; ++i)
  {
    hits.push_back(c.build.ToReal(c.build.Add("Equal", { c.In(i),
        c.Out() })));
  }
  const std::string share = c.build.Add("Div", { c.Gradient(),
      c.build.Add("Sum", hits) });
  for (int i = 0; i < count; ++i)
  {
    if (c.Needs(i))
      c.GiveBroadcast(i, c.build.Mul(share, hits[size_t(i)]));
  }
}

void Sum(Context& c)
{
  for (int i = 0; i < c.Node().input_size(); ++i)
  {
    if (c.Needs(i))
      c.GiveBroadcast(i, c.Gradient());
  }
}

void Mean(Context& c)
{
  const std::string share = c.build.Scale(c.Gradient(), 1.0 /
      std::max(c.Node().input_size(), 1));
  for (int i = 0; i < c.Node().input_size(); ++i)
  {
    if (c.Needs(i))
      c.GiveBroadcast(i, share);
  }
}

//! What is left of a, when b was taken away as often as it goes.
void Mod(Context& c)
{
  if (c.Needs(0))
    c.GiveBroadcast(0, c.Gradient());
  if (c.Needs(1))
  {
    const std::string times = c.build.Add("Div", { c.build.Add("Sub",
        { c.Out(), c.In(0) }), c.In(1) });
    c.GiveBroadcast(1, c.build.Mul(c.Gradient(), times));
  }
}

} // namespace

void AddElementwise(std::map<std::string, Operator>& table)
{
  table["Identity"] = { Same, Identity };
  table["Add"] = { Same, Add };
  table["Sub"] = { Same, Sub };
  table["Mul"] = { Same, Mul };
  table["Div"] = { Same, Div };
  table["Neg"] = { Same, Neg };
  table["Exp"] = { Same, Exp };
  table["Log"] = { Same, Log };
  table["Sqrt"] = { Same, Sqrt };
  table["Pow"] = { Same, Pow };
  table["Reciprocal"] = { Same, Reciprocal };
  table["Abs"] = { Same, Abs };
  table["Relu"] = { Same, Relu };
  table["LeakyRelu"] = { Same, LeakyRelu };
  table["Elu"] = { Same, Elu };
  table["Sigmoid"] = { Same, Sigmoid };
  table["Tanh"] = { Same, Tanh };
  table["Softplus"] = { Same, Softplus };
  table["Erf"] = { Same, Erf };
  table["Clip"] = { ClipForward, Clip };
  table["Sin"] = { Same, Sin };
  table["Cos"] = { Same, Cos };
  table["Tan"] = { Same, Tan };
  table["Asin"] = { Same, Asin };
  table["Acos"] = { Same, Acos };
  table["Atan"] = { Same, Atan };
  table["Sinh"] = { Same, Sinh };
  table["Cosh"] = { Same, Cosh };
  table["Asinh"] = { Same, Asinh };
  table["Acosh"] = { Same, Acosh };
  table["Atanh"] = { Same, Atanh };
  table["Cast"] = { Same, Cast };
  table["CastLike"] = { CastLikeForward, Cast };
  table["Where"] = { Same, Where };
  table["Max"] = { Same, Extreme };
  table["Min"] = { Same, Extreme };
  table["Sum"] = { Same, Sum };
  table["Mean"] = { Same, Mean };
  table["Mod"] = { Same, Mod };
  // Constant between jumps, or no floating-point numbers.
  for (const char* name : { "And", "ArgMax", "ArgMin", "Ceil", "Equal",
      "Floor", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less",
      "LessOrEqual", "Not", "OneHot", "Or", "Round", "Sign", "Xor" })
    table[name] = { Same, Nothing };
}

} // namespace graph
} // namespace dasgd
