/**
 * @file elementwise.cpp
 *
 * Gradients of operators that compute each number by itself.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "operators.hpp"

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

void Pow(Context& c)
{
  const std::string& exponent = c.In(1);
  if (c.Needs(0))
  {
    const std::string less = c.build.Add("Pow", { c.In(0), c.build.Add("Sub",
        { exponent, c.build.Scalar(1) }) });
    c.GiveBroadcast(0, c.build.Mul(c.Gradient(),
        c.build.Mul(exponent, less)));
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
}

} // namespace graph
} // namespace dasgd
