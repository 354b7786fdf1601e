/**
 * @file normalization.cpp
 *
 * Gradients of what looks at several numbers at once: normalizations (that by
 * batch in its training form), Softmax, and Dropout with a random mask.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

namespace dasgd {
namespace graph {

namespace {

/**
 * What all normalizations are: numbers are put together, such that some axes
 * are normalized, and taken apart again, to be scaled and shifted.
 */
struct Normalization
{
  //! Dimensions in which numbers are normalized, and over which of these axes.
  Dims together, axes;
  //! Dimensions in which they are scaled, and the scale in these.
  Dims apart, scale;
  double epsilon = 1e-5;
};

//! Images with as many channels as the scale has numbers.
void CheckChannels(const Context& c, const std::int64_t channels)
{
  const Dims& in = c.InDims(0);
  if (in.size() < 2)
    c.Refuse("its input has dimensions " + Text(in));
  if (c.InDims(1) != Dims{ channels } || c.InDims(2) != c.InDims(1))
  {
    c.Refuse("scale and bias have dimensions " + Text(c.InDims(1)) + " and " +
        Text(c.InDims(2)) + ", but must have " + std::to_string(channels));
  }
}

Normalization NormalizationOf(const Context& c)
{
  const std::string& operation = c.Node().op_type();
  const Dims& in = c.InDims(0);
  const std::int64_t rank = std::int64_t(in.size());
  Normalization n;
  n.together = n.apart = in;
  n.epsilon = Real(c.Node(), "epsilon", 1e-5);
  if (operation == "LayerNormalization")
  {
    const size_t first = Axis(c.Node(), Int(c.Node(), "axis", -1), in.size());
    for (std::int64_t i = std::int64_t(first); i < rank; ++i)
      n.axes.push_back(i);
    n.scale = c.InDims(1);
    return n;
  }
  if (operation == "MeanVarianceNormalization")
  {
    for (const std::int64_t axis : Ints(c.Node(), "axes", { 0, 2, 3 }))
      n.axes.push_back(std::int64_t(Axis(c.Node(), axis, in.size())));
    // ONNX adds it to the deviation, which is the same but for equal numbers.
    n.epsilon = 1e-18;
    return n;
  }
  if (operation == "GroupNormalization")
  {
    const std::int64_t groups = Int(c.Node(), "num_groups", 0);
    // Before version 21 there is one scale for each group.
    const bool old = c.Opset() < 21;
    if (rank < 2 || groups < 1 || groups > in[1] || in[1] % groups != 0)
    {
      c.Refuse(std::to_string(groups) + " groups do not divide " + Text(in));
    }
    CheckChannels(c, old ? groups : in[1]);
    const size_t rows = Elements({ in[0], groups }, c.In(0));
    n.together = { in[0], groups, rows == 0 ? 0 :
        std::int64_t(Elements(in, c.In(0)) / rows) };
    n.axes = { 2 };
    if (old)
    {
      n.apart = n.together;
      n.scale = { 1, groups, 1 };
      return n;
    }
  }
  else
  {
    CheckChannels(c, rank < 2 ? 0 : in[1]);
    if (operation == "BatchNormalization")
      n.axes.push_back(0);
    for (std::int64_t i = 2; i < rank; ++i)
      n.axes.push_back(i);
  }
  n.scale.assign(size_t(rank), 1);
  n.scale[1] = in[1];
  return n;
}

std::string Mean(Context& c, const std::string& value, const Dims& axes)
{
  return axes.empty() ? value : c.build.Add("ReduceMean", { value,
      c.build.Ints(axes) }, { { "keepdims", 1 } });
}

//! A value in other dimensions, if they are others.
std::string As(Context& c, const std::string& value, const Dims& from,
               const Dims& to)
{
  return from == to ? value : c.build.Reshape(value, to);
}

//! Saves mean and variance of the batch, as vectors, for the running ones; and
//! for the gradient the normalized input and one over the deviation.
void NormalizeForward(Context& c)
{
  const Normalization n = NormalizationOf(c);
  const std::string input = As(c, c.In(0), c.InDims(0), n.together);
  const std::string average = Mean(c, input, n.axes);
  const std::string centered = c.build.Add("Sub", { input, average });
  const std::string variance = Mean(c, c.build.Mul(centered, centered),
      n.axes);
  const std::string inverse = c.build.Add("Reciprocal", { c.build.Add("Sqrt",
      { c.build.Add("Add", { variance, c.build.Scalar(n.epsilon) }) }) });
  const std::string normal = c.build.Mul(centered, inverse);
  std::string output = As(c, normal, n.together, n.apart);
  c.saved = { "", "", normal, inverse };
  if (c.Node().op_type() == "BatchNormalization")
  {
    const Dims vector{ c.InDims(0)[1] };
    c.saved[0] = c.build.Reshape(average, vector);
    c.saved[1] = c.build.Reshape(variance, vector);
  }
  if (c.Has(1))
  {
    output = c.build.Mul(output, As(c, c.In(1), c.InDims(1), n.scale));
    if (c.Has(2))
    {
      output = c.build.Add("Add", { output, As(c, c.In(2), c.InDims(2),
          n.scale) });
    }
  }
  c.build.AddAs({ c.Out() }, "Reshape", { output,
      c.build.Ints(c.OutDims()) });
}

void Normalize(Context& c)
{
  const Normalization n = NormalizationOf(c);
  const std::string g = As(c, c.Gradient(), c.OutDims(), n.apart);
  const std::string& normal = c.saved[2];
  // Products are added up over what scale and bias are repeated for.
  const auto give = [&](const int i, const std::string& gradient)
  {
    c.Give(i, As(c, c.build.Unbroadcast(gradient, n.apart, n.scale), n.scale,
        c.InDims(i)));
  };
  if (c.Needs(1))
    give(1, c.build.Mul(g, As(c, normal, n.together, n.apart)));
  if (c.Needs(2))
    give(2, g);
  if (!c.Needs(0))
    return;
  // Mean and deviation depend on the input, too.
  const std::string scaled = !c.Has(1) ? g : c.build.Mul(g, As(c, c.In(1),
      c.InDims(1), n.scale));
  const std::string inner = As(c, scaled, n.apart, n.together);
  const std::string less = c.build.Add("Sub", { c.build.Add("Sub", { inner,
      Mean(c, inner, n.axes) }), c.build.Mul(normal, Mean(c, c.build.Mul(inner,
      normal), n.axes)) });
  c.Give(0, As(c, c.build.Mul(less, c.saved[3]), n.together, c.InDims(0)));
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
  for (const char* name : { "BatchNormalization", "GroupNormalization",
      "InstanceNormalization", "LayerNormalization",
      "MeanVarianceNormalization" })
    table[name] = { NormalizeForward, Normalize };
  table["Softmax"] = { SoftmaxForward, Softmax };
  table["LogSoftmax"] = { SoftmaxForward, LogSoftmax };
  table["Dropout"] = { DropoutForward, Dropout };
}

} // namespace graph
} // namespace dasgd
