/**
 * @file functions.cpp
 *
 * Operators that ONNX defines by simpler ones, written out by these.  Their
 * gradients follow.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

//! Make a value the output.
void Yield(Context& c, const std::string& value)
{
  c.build.AddAs({ c.Out() }, "Identity", { value });
}

std::string Sum(Context& c, const std::string& a, const std::string& b)
{
  return c.build.Add("Add", { a, b });
}

std::string Plus(Context& c, const std::string& value, const double number)
{
  return number == 0 ? value : Sum(c, value, c.build.Scalar(number));
}

std::string Difference(Context& c, const std::string& a, const std::string& b)
{
  return c.build.Add("Sub", { a, b });
}

//! One of two values, where a value is greater than a number.
std::string IfGreater(Context& c, const std::string& value, const double number,
                      const std::string& yes, const std::string& no)
{
  return c.build.Add("Where", { c.build.Add("Greater", { value,
      c.build.Scalar(number) }), yes, no });
}

void Gelu(Context& c)
{
  const std::string& x = c.In(0);
  const std::string half = c.build.Scale(x, 0.5);
  const std::string kind = String(c.Node(), "approximate", "none");
  if (kind != "none" && kind != "tanh")
    c.Refuse("'approximate' is '" + kind + "', not 'none' or 'tanh'");
  std::string inner;
  if (kind == "none")
    inner = c.build.Add("Erf", { c.build.Scale(x, 0.70710678118654752) });
  else
  {
    const std::string cube = c.build.Mul(c.build.Mul(x, x), x);
    inner = c.build.Add("Tanh", { c.build.Scale(Sum(c, x, c.build.Scale(cube,
        0.044715)), 0.79788456080286536) });
  }
  Yield(c, c.build.Mul(half, Plus(c, inner, 1)));
}

std::string HardSigmoidOf(Context& c, const double alpha, const double beta)
{
  return c.build.Add("Clip", { Plus(c, c.build.Scale(c.In(0), alpha), beta),
      c.build.Scalar(0), c.build.Scalar(1) });
}

void HardSigmoid(Context& c)
{
  Yield(c, HardSigmoidOf(c, Real(c.Node(), "alpha", 0.2), Real(c.Node(),
      "beta", 0.5)));
}

void HardSwish(Context& c)
{
  Yield(c, c.build.Mul(c.In(0), HardSigmoidOf(c, 1.0 / 6, 0.5)));
}

void Mish(Context& c)
{
  Yield(c, c.build.Mul(c.In(0), c.build.Add("Tanh", { c.build.Add("Softplus",
      { c.In(0) }) })));
}

void Selu(Context& c)
{
  const double alpha = Real(c.Node(), "alpha", 1.6732632423543772);
  Yield(c, c.build.Scale(c.build.Add("Elu", { c.In(0) },
      { { "alpha", alpha } }), Real(c.Node(), "gamma", 1.0507009873554805)));
}

void Celu(Context& c)
{
  const double alpha = Real(c.Node(), "alpha", 1);
  if (alpha == 0)
    c.Refuse("'alpha' is 0");
  Yield(c, c.build.Scale(c.build.Add("Elu", { c.build.Scale(c.In(0),
      1 / alpha) }), alpha));
}

void ThresholdedRelu(Context& c)
{
  Yield(c, IfGreater(c, c.In(0), Real(c.Node(), "alpha", 1), c.In(0),
      c.build.Scalar(0)));
}

void PRelu(Context& c)
{
  const std::string negative = c.build.Add("Relu", { c.build.Add("Neg",
      { c.In(0) }) });
  Yield(c, Difference(c, c.build.Add("Relu", { c.In(0) }), c.build.Mul(c.In(1),
      negative)));
}

void Softsign(Context& c)
{
  Yield(c, c.build.Add("Div", { c.In(0), Plus(c, c.build.Add("Abs",
      { c.In(0) }), 1) }));
}

void Shrink(Context& c)
{
  const double bias = Real(c.Node(), "bias", 0);
  const double edge = Real(c.Node(), "lambd", 0.5);
  const std::string negative = c.build.Add("Neg", { c.In(0) });
  Yield(c, IfGreater(c, c.In(0), edge, Plus(c, c.In(0), -bias), IfGreater(c,
      negative, edge, Plus(c, c.In(0), bias), c.build.Scalar(0))));
}

void LpNormalization(Context& c)
{
  const std::int64_t p = Int(c.Node(), "p", 2);
  if (p != 1 && p != 2)
    c.Refuse("'p' is " + std::to_string(p) + ", not 1 or 2");
  const std::int64_t axis = std::int64_t(Axis(c.Node(), Int(c.Node(), "axis",
      -1), c.InDims(0).size()));
  Yield(c, c.build.Add("Div", { c.In(0), c.build.Add(p == 1 ? "ReduceL1" :
      "ReduceL2", { c.In(0), c.build.Ints({ axis }) },
      { { "keepdims", 1 } }) }));
}

void GlobalMaxPool(Context& c)
{
  Dims axes;
  for (size_t i = 2; i < c.InDims(0).size(); ++i)
    axes.push_back(std::int64_t(i));
  if (axes.empty())
    c.Refuse("its input has dimensions " + Text(c.InDims(0)) + ", but must be "
        "images");
  Yield(c, c.build.Add("ReduceMax", { c.In(0), c.build.Ints(axes) },
      { { "keepdims", 1 } }));
}

//! Channels to blocks of pixels, or the other way round.
void Blocks(Context& c, const bool toSpace)
{
  const Dims& in = c.InDims(0);
  const std::int64_t size = Int(c.Node(), "blocksize", 0);
  if (in.size() != 4 || size < 1 || size > 4096 || (toSpace ?
      in[1] % (size * size) : in[2] % size + in[3] % size) != 0)
  {
    c.Refuse("its input has dimensions " + Text(in) + ", which blocks of " +
        std::to_string(size) + " do not divide");
  }
  Dims apart, order;
  if (!toSpace)
  {
    apart = { in[0], in[1], in[2] / size, size, in[3] / size, size };
    order = { 0, 3, 5, 1, 2, 4 };
  }
  else if (String(c.Node(), "mode", "DCR") == "DCR")
  {
    apart = { in[0], size, size, in[1] / (size * size), in[2], in[3] };
    order = { 0, 3, 4, 1, 5, 2 };
  }
  else
  {
    apart = { in[0], in[1] / (size * size), size, size, in[2], in[3] };
    order = { 0, 1, 4, 2, 5, 3 };
  }
  Yield(c, c.build.Reshape(c.build.Add("Transpose", { c.build.Reshape(c.In(0),
      apart) }, { { "perm", order } }), c.OutDims()));
}

void DepthToSpace(Context& c)
{
  Blocks(c, true);
}

void SpaceToDepth(Context& c)
{
  Blocks(c, false);
}

/**
 * The loss of the logarithms of probabilities, by the class of each position.
 *
 * @param logs Classes are the second dimension.
 */
void ClassLoss(Context& c, const std::string& logs)
{
  const Dims& dims = c.InDims(0);
  const Dims& labelDims = c.InDims(1);
  Dims apart = dims;
  if (dims.size() >= 2)
    apart.erase(apart.begin() + 1);
  if (dims.size() < 2 || apart != labelDims)
  {
    c.Refuse("classes of dimensions " + Text(labelDims) + " do not fit " +
        Text(dims));
  }
  apart.insert(apart.begin() + 1, 1);
  std::string labels = c.build.Add("Cast", { c.In(1) }, { { "to",
      int(pb::TensorProto::INT64) } });
  // What each position counts; nothing where all count the same.
  std::string counts;
  if (FindAttribute(c.Node(), "ignore_index"))
  {
    const std::string ignored = c.build.Add("Equal", { labels,
        c.build.Ints({ Int(c.Node(), "ignore_index", 0) }) });
    labels = c.build.Add("Where", { ignored, c.build.Ints({ 0 }), labels });
    counts = c.build.ToReal(c.build.Add("Not", { ignored }));
  }
  if (c.Has(2))
  {
    const std::string weights = c.build.Add("Gather", { c.In(2), labels });
    counts = counts.empty() ? weights : c.build.Mul(counts, weights);
  }
  const std::string picked = c.build.Add("GatherElements", { logs,
      c.build.Reshape(labels, apart) }, { { "axis", 1 } });
  std::string losses = c.build.Add("Neg", { c.build.Reshape(picked,
      labelDims) });
  if (!counts.empty())
    losses = c.build.Mul(losses, counts);
  const std::string reduction = String(c.Node(), "reduction", "mean");
  if (reduction == "none")
    return Yield(c, losses);
  Dims axes;
  for (size_t i = 0; i < labelDims.size(); ++i)
    axes.push_back(std::int64_t(i));
  const auto sum = [&](const std::string& value)
  { return c.build.Sum(value, axes, false); };
  if (reduction == "sum")
    return Yield(c, sum(losses));
  if (reduction != "mean")
    c.Refuse("its reduction is '" + reduction + "'");
  Yield(c, counts.empty() ? c.build.Scale(sum(losses), 1 / std::max(1.0,
      double(Elements(labelDims, c.In(1))))) : c.build.Add("Div",
      { sum(losses), sum(counts) }));
}

void NegativeLogLikelihoodLoss(Context& c)
{
  ClassLoss(c, c.In(0));
}

void SoftmaxCrossEntropyLoss(Context& c)
{
  const std::string logs = c.build.Add("LogSoftmax", { c.In(0) },
      { { "axis", 1 } });
  if (c.HasOut(1))
    c.build.AddAs({ c.Out(1) }, "Identity", { logs });
  ClassLoss(c, logs);
}

} // namespace

void AddFunctions(std::map<std::string, Operator>& table)
{
  table["Gelu"] = Function(Gelu);
  table["HardSigmoid"] = Function(HardSigmoid);
  table["HardSwish"] = Function(HardSwish);
  table["Mish"] = Function(Mish);
  table["Selu"] = Function(Selu);
  table["Celu"] = Function(Celu);
  table["ThresholdedRelu"] = Function(ThresholdedRelu);
  table["PRelu"] = Function(PRelu);
  table["Softsign"] = Function(Softsign);
  table["Shrink"] = Function(Shrink);
  table["LpNormalization"] = Function(LpNormalization);
  table["GlobalMaxPool"] = Function(GlobalMaxPool);
  table["NegativeLogLikelihoodLoss"] = Function(NegativeLogLikelihoodLoss);
  table["SoftmaxCrossEntropyLoss"] = Function(SoftmaxCrossEntropyLoss);
  table["DepthToSpace"] = Function(DepthToSpace);
  table["SpaceToDepth"] = Function(SpaceToDepth);
}

} // namespace graph
} // namespace dasgd
