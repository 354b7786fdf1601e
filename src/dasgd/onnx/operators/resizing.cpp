/**
 * @file resizing.cpp
 *
 * Gradients of operators that are one matrix for each dimension: images of
 * another size, and paddings that repeat numbers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>
#include <cstdlib>

namespace dasgd {
namespace graph {

namespace {

//! Longer dimensions would need too large a matrix.
constexpr std::int64_t MaxLength = 1024;

/**
 * A gradient times a matrix, along one dimension, which gets another size.
 *
 * @param forward The matrix by which rows are multiplied: in x out.
 * @param backward The same transposed.
 */
std::string Along(Context& c,
                  const std::string& gradient,
                  Dims& dims,
                  const size_t axis,
                  const std::int64_t in,
                  const std::string& forward,
                  const std::string& backward)
{
  const auto place = dims.begin() + std::ptrdiff_t(axis);
  const Dims apart{ std::int64_t(Elements(Dims(dims.begin(), place),
      gradient)), dims[axis], std::int64_t(Elements(Dims(place + 1,
      dims.end()), gradient)) };
  dims[axis] = in;
  if (axis + 1 == dims.size())
    return c.build.Add("MatMul", { gradient, backward });
  return c.build.Reshape(c.build.Add("MatMul", { forward,
      c.build.Reshape(gradient, apart) }), dims);
}

//! For each dimension the number by which the node says to multiply it; empty
//! if it gives sizes.
std::vector<double> Scales(const Context& c, const size_t rank)
{
  if (c.Has(3) && Elements(c.InDims(3), c.In(3)) > 0)
    return { };
  const std::vector<double> given = Reals<double>(c.Constant(2));
  Dims axes(rank);
  for (size_t i = 0; i < rank; ++i)
    axes[i] = std::int64_t(i);
  axes = Ints(c.Node(), "axes", axes);
  if (given.size() != axes.size())
    c.Refuse("it has " + std::to_string(given.size()) + " scales for " +
        std::to_string(axes.size()) + " dimensions");
  std::vector<double> scales(rank, 1.0);
  for (size_t i = 0; i < axes.size(); ++i)
    scales[Axis(c.Node(), axes[i], rank)] = given[i];
  return scales;
}

void ResizeForward(Context& c)
{
  if (c.Opset() < 11)
    c.Refuse("export the model with opset 13 or newer");
  Same(c);
}

//! The matrix by which lines of pixels are multiplied: what becomes of each one
//! is what becomes of images with only that.
std::string ResizeMatrix(Context& c, const std::int64_t in,
                         const std::int64_t out, const double* scale)
{
  std::vector<double> ones(size_t(in * in), 0.0);
  for (std::int64_t k = 0; k < in; ++k)
    ones[size_t(k * in + k)] = 1;
  pb::NodeProto node = c.Node();
  RemoveAttribute(node, "axes");
  node.clear_input();
  node.clear_output();
  node.add_input(c.build.Tensor({ 1, 1, in, in }, ones));
  node.add_input("");
  if (!scale)
  {
    node.add_input("");
    node.add_input(c.build.Ints({ 1, 1, in, out }));
  }
  else
  {
    // Scales are of single precision, whatever images are.
    const std::string name = c.build.Fresh("scales");
    const float values[] = { 1, 1, 1, float(*scale) };
    c.build.AddConstant(MakeTensor(name, pb::TensorProto::FLOAT, { 4 },
        values, sizeof(values)));
    node.add_input(name);
  }
  node.set_name(c.build.Fresh("Resize"));
  node.add_output(node.name());
  c.build.AddCopy(node);
  return c.build.Reshape(node.name(), { in, out });
}

void Resize(Context& c)
{
  const Dims& in = c.InDims(0);
  const std::string transformation = String(c.Node(),
      "coordinate_transformation_mode", "half_pixel");
  if (transformation == "tf_crop_and_resize" ||
      Int(c.Node(), "antialias", 0) != 0 || String(c.Node(),
      "keep_aspect_ratio_policy", "stretch") != "stretch")
  {
    c.Refuse("there is no gradient for cropping, antialiasing and kept "
        "aspect ratios");
  }
  const std::vector<double> scales = Scales(c, in.size());
  Dims dims = c.OutDims();
  if (dims.size() != in.size())
    c.Refuse(Text(in) + " is not resized to " + Text(dims));
  std::string g = c.Gradient();
  for (size_t i = 0; i < in.size(); ++i)
  {
    if (in[i] == dims[i] && (scales.empty() || scales[i] == 1))
      continue;
    if (in[i] < 1 || in[i] > MaxLength || dims[i] < 1 || dims[i] > 4 *
        MaxLength)
    {
      c.Refuse(Text(in) + " to " + Text(c.OutDims()) + " is too large: a "
          "dimension may have " + std::to_string(MaxLength));
    }
    const std::string forward = ResizeMatrix(c, in[i], dims[i],
        scales.empty() ? nullptr : &scales[i]);
    const Dims order{ 1, 0 };
    g = Along(c, g, dims, i, in[i], forward, c.build.Add("Transpose",
        { forward }, { { "perm", order } }));
  }
  c.Give(0, g);
}

//! Where a number comes from that a padding repeats, from 0 to before size.
std::int64_t Source(const std::string& mode, const std::int64_t place,
                    const std::int64_t size)
{
  if (mode == "edge")
    return std::clamp<std::int64_t>(place, 0, size - 1);
  const std::int64_t period = mode == "wrap" ? size :
      std::max<std::int64_t>(2 * (size - 1), 1);
  const std::int64_t within = (place % period + period) % period;
  return within < size ? within : period - within;
}

} // namespace

void RepeatingPad(Context& c, const std::string& mode, const Dims& pads)
{
  const Dims& in = c.InDims(0);
  const size_t rank = in.size();
  Dims dims = c.OutDims();
  if (dims.size() != rank)
    c.Refuse(Text(in) + " is not padded to " + Text(dims));
  std::string g = c.Gradient();
  for (size_t i = 0; i < rank; ++i)
  {
    const std::int64_t size = in[i], padded = dims[i];
    if (pads[i] == 0 && pads[rank + i] == 0)
      continue;
    if (pads[i] < 0 || pads[rank + i] < 0 || size < 1 || size > MaxLength ||
        padded > 2 * MaxLength || padded != pads[i] + size + pads[rank + i])
    {
      c.Refuse("pads of " + std::to_string(pads[i]) + " and " +
          std::to_string(pads[rank + i]) + " do not fit " + Text(in) + ", of "
          "which a dimension may have " + std::to_string(MaxLength));
    }
    std::vector<double> forward(size_t(size * padded), 0.0);
    std::vector<double> backward = forward;
    for (std::int64_t k = 0; k < padded; ++k)
    {
      const std::int64_t from = Source(mode, k - pads[i], size);
      forward[size_t(from * padded + k)] = 1;
      backward[size_t(k * size + from)] = 1;
    }
    g = Along(c, g, dims, i, size, c.build.Tensor({ size, padded }, forward),
        c.build.Tensor({ padded, size }, backward));
  }
  c.Give(0, g);
}

void AddResizing(std::map<std::string, Operator>& table)
{
  table["Resize"] = { ResizeForward, Resize };
}

} // namespace graph
} // namespace dasgd
