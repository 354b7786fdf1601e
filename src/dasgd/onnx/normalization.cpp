/**
 * @file normalization.cpp
 *
 * Gradients of what looks at several numbers at once: BatchNormalization in its
 * training form, Softmax, and Dropout with a random mask.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "operators.hpp"

namespace dasgd {
namespace graph {

namespace {

//! All dimensions but that of channels.
Dims BatchAxes(const Context& c)
{
  const size_t rank = c.InDims(0).size();
  if (rank < 2)
    c.Refuse("its input has dimensions " + Text(c.InDims(0)));
  Dims axes{ 0 };
  for (size_t i = 2; i < rank; ++i)
    axes.push_back(std::int64_t(i));
  return axes;
}

//! A vector of channels as a tensor that is broadcast over the others.
Dims ChannelDims(const Context& c)
{
  Dims dims(c.InDims(0).size(), 1);
  dims[1] = c.InDims(0)[1];
  return dims;
}

//! Saves mean and variance of the batch, as vectors, for the running ones; and
//! for the gradient the normalized input and one over the deviation.
void BatchNormForward(Context& c)
{
  const Dims axes = BatchAxes(c), channels = ChannelDims(c);
  const double epsilon = Real(c.Node(), "epsilon", 1e-5);
  const auto mean = [&](const std::string& value)
  {
    return c.build.Add("ReduceMean", { value, c.build.Ints(axes) },
        { { "keepdims", 1 } });
  };
  const std::string average = mean(c.In(0));
  const std::string centered = c.build.Add("Sub", { c.In(0), average });
  const std::string variance = mean(c.build.Mul(centered, centered));
  const std::string inverse = c.build.Add("Reciprocal", { c.build.Add("Sqrt",
      { c.build.Add("Add", { variance, c.build.Scalar(epsilon) }) }) });
  const std::string normal = c.build.Mul(centered, inverse);
  c.build.AddAs({ c.Out() }, "Add", { c.build.Mul(normal,
      c.build.Reshape(c.In(1), channels)), c.build.Reshape(c.In(2),
      channels) });
  const Dims vector{ channels[1] };
  c.saved = { c.build.Reshape(average, vector),
      c.build.Reshape(variance, vector), normal, inverse };
}

void BatchNorm(Context& c)
{
  const Dims axes = BatchAxes(c), channels = ChannelDims(c);
  const std::string& g = c.Gradient();
  const std::string& normal = c.saved[2];
  const std::string bias = c.build.Sum(g, axes, true);
  const std::string scale = c.build.Sum(c.build.Mul(g, normal), axes, true);
  const Dims vector{ channels[1] };
  if (c.Needs(1))
    c.Give(1, c.build.Reshape(scale, vector));
  if (c.Needs(2))
    c.Give(2, c.build.Reshape(bias, vector));
  if (!c.Needs(0))
    return;
  // Mean and deviation depend on the input, too.
  const double count = double(Elements(c.InDims(0), c.In(0))) /
      double(channels[1]);
  const std::string less = c.build.Add("Sub", { c.build.Add("Sub", { g,
      c.build.Scale(bias, 1 / count) }), c.build.Mul(normal,
      c.build.Scale(scale, 1 / count)) });
  c.Give(0, c.build.Mul(less, c.build.Mul(c.saved[3],
      c.build.Reshape(c.In(1), channels))));
}

//! Adds the operator over one axis; where older versions mean all axes from one
//! on, over these as one.  Saves its output and the axis.
void SoftmaxForward(Context& c)
{
  const Dims& dims = c.InDims(0);
  if (dims.empty())
    c.Refuse("its input is a scalar");
  const bool old = c.Opset() < 13;
  const std::int64_t axis = std::int64_t(Axis(c.Node(), Int(c.Node(), "axis",
      old ? 1 : -1), dims.size()));
  const std::string& name = c.Node().op_type();
  if (!old || axis + 1 == std::int64_t(dims.size()))
  {
    c.build.AddAs({ c.Out() }, name, { c.In(0) }, { { "axis", axis } });
    c.saved = { c.Out(), std::to_string(axis) };
    return;
  }
  const std::string flat = c.build.Add(name, { c.build.Add("Flatten",
      { c.In(0) }, { { "axis", axis } }) }, { { "axis", 1 } });
  c.build.AddAs({ c.Out() }, "Reshape", { flat, c.build.Ints(dims) });
  c.saved = { flat, "" };
}

//! Gradient and axis in the form that SoftmaxForward() has computed in.
std::string SavedForm(Context& c, Dims& axes)
{
  if (!c.saved[1].empty())
  {
    axes = { std::stoll(c.saved[1]) };
    return c.Gradient();
  }
  axes = { 1 };
  return c.build.Add("Flatten", { c.Gradient() }, { { "axis",
      std::int64_t(Axis(c.Node(), Int(c.Node(), "axis", 1),
      c.InDims(0).size())) } });
}

void GiveSaved(Context& c, const std::string& gradient)
{
  c.Give(0, c.saved[1].empty() ? c.build.Reshape(gradient, c.InDims(0)) :
      gradient);
}

void Softmax(Context& c)
{
  Dims axes;
  const std::string g = SavedForm(c, axes);
  const std::string& y = c.saved[0];
  const std::string sum = c.build.Sum(c.build.Mul(g, y), axes, true);
  GiveSaved(c, c.build.Mul(y, c.build.Add("Sub", { g, sum })));
}

void LogSoftmax(Context& c)
{
  Dims axes;
  const std::string g = SavedForm(c, axes);
  GiveSaved(c, c.build.Add("Sub", { g, c.build.Mul(c.build.Add("Exp",
      { c.saved[0] }), c.build.Sum(g, axes, true)) }));
}

void DropoutForward(Context& c)
{
  const double ratio = c.Number("ratio", 1, 0.5);
  if (!(ratio >= 0 && ratio < 1))
    c.Refuse("its ratio is " + std::to_string(ratio) + ", not from 0 to 1");
  if (ratio == 0)
    return c.build.AddAs({ c.Out() }, "Identity", { c.In(0) });
  const std::uint8_t yes = 1;
  const std::string training = c.build.Fresh("training");
  c.build.AddConstant(MakeTensor(training, pb::TensorProto::BOOL, { }, &yes,
      1));
  c.saved = { c.build.Fresh("mask"), c.build.Scalar(1 / (1 - ratio)) };
  c.build.AddAs({ c.Out(), c.saved[0] }, "Dropout", { c.In(0),
      c.build.Scalar(ratio), training },
      { { "seed", std::int64_t(c.RandomSeed()) } });
}

void Dropout(Context& c)
{
  if (c.saved.empty())
    return c.Give(0, c.Gradient());
  c.Give(0, c.build.Add("Where", { c.saved[0], c.build.Mul(c.Gradient(),
      c.saved[1]), c.build.Scalar(0) }));
}

} // namespace

void AddNormalization(std::map<std::string, Operator>& table)
{
  table["BatchNormalization"] = { BatchNormForward, BatchNorm };
  table["Softmax"] = { SoftmaxForward, Softmax };
  table["LogSoftmax"] = { SoftmaxForward, LogSoftmax };
  table["Dropout"] = { DropoutForward, Dropout };
}

} // namespace graph
} // namespace dasgd
