/**
 * @file convolution.cpp
 *
 * The gradient of a convolution, which is two convolutions; and of a transposed
 * one, which is the gradient of a convolution itself.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/windows.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

//! Largest size of an image, window or step; products of two do not overflow.
constexpr std::int64_t MaxSize = std::int64_t(1) << 30;

//! A list of one positive number for each dimension.
Dims Positive(const Context& c,
              const std::string& name,
              const Dims& values,
              const size_t rank,
              const std::int64_t least)
{
  if (values.size() != rank)
  {
    c.Refuse("'" + name + "' has " + std::to_string(values.size()) +
        " values, but must have " + std::to_string(rank));
  }
  for (const std::int64_t value : values)
  {
    if (value < least || value > MaxSize)
      c.Refuse("'" + name + "' is " + std::to_string(value));
  }
  return values;
}

//! The padding of one dimension, where an attribute asks for equal sizes.
void PadToSame(Windows& w, const size_t i, const bool upper)
{
  const std::int64_t all = std::max<std::int64_t>((w.out[i] - 1) *
      w.strides[i] + w.Extent(i) - w.in[i], 0);
  w.begin[i] = upper ? all / 2 : all - all / 2;
  w.end[i] = all - w.begin[i];
}

} // namespace

Windows WindowsOf(const Context& c, const Dims& kernel)
{
  return WindowsOf(c, kernel, c.InDims(0), c.OutDims());
}

Windows WindowsOf(const Context& c,
                  const Dims& kernel,
                  const Dims& in,
                  const Dims& out)
{
  if (in.size() < 3 || out.size() != in.size())
    c.Refuse("its input has dimensions " + Text(in) + ", but must be images");
  Windows w;
  const size_t rank = in.size() - 2;
  w.in = Positive(c, "input", Dims(in.begin() + 2, in.end()), rank, 1);
  w.out = Positive(c, "output", Dims(out.begin() + 2, out.end()), rank, 1);
  w.kernel = Positive(c, "kernel_shape", kernel, rank, 1);
  w.strides = Positive(c, "strides",
      Ints(c.Node(), "strides", Dims(rank, 1)), rank, 1);
  w.dilations = Positive(c, "dilations",
      Ints(c.Node(), "dilations", Dims(rank, 1)), rank, 1);
  const Dims pads = Positive(c, "pads",
      Ints(c.Node(), "pads", Dims(2 * rank, 0)), 2 * rank, 0);
  w.begin.assign(pads.begin(), pads.begin() + std::ptrdiff_t(rank));
  w.end.assign(pads.begin() + std::ptrdiff_t(rank), pads.end());
  const std::string automatic = String(c.Node(), "auto_pad", "NOTSET");
  for (size_t i = 0; i < rank; ++i)
  {
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      PadToSame(w, i, automatic == "SAME_UPPER");
    else if (automatic == "VALID")
      w.begin[i] = w.end[i] = 0;
    if (w.in[i] + w.begin[i] + w.end[i] < w.Extent(i))
    {
      c.Refuse("windows of " + std::to_string(w.Extent(i)) + " do not fit " +
          std::to_string(w.in[i]));
    }
  }
  return w;
}

namespace {

//! The gradient of the images: each gradient spread over its window.
std::string ImageGradient(Context& c, const Windows& w, const int group)
{
  Dims more(w.Rank());
  for (size_t i = 0; i < w.Rank(); ++i)
  {
    more[i] = w.in[i] + w.begin[i] + w.end[i] -
        ((w.out[i] - 1) * w.strides[i] + w.Extent(i));
    if (more[i] < 0 || more[i] >= w.strides[i])
      c.Refuse("its output does not follow from its input");
  }
  return c.build.Add("ConvTranspose", { c.Gradient(), c.In(1) }, {
      { "strides", w.strides }, { "dilations", w.dilations },
      { "pads", w.Pads() }, { "output_padding", more }, { "group", group } });
}

//! The first two dimensions exchanged.
Dims Swapped(const size_t rank)
{
  Dims order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = std::int64_t(i);
  std::swap(order[0], order[1]);
  return order;
}

//! The images with points as channels, and channels of a group as points.
std::string ImagesByChannel(Context& c, const std::string& images,
                            const Dims& in, const std::int64_t group)
{
  if (group == 1)
  {
    return c.build.Add("Transpose", { images },
        { { "perm", Swapped(in.size()) } });
  }
  Dims apart = in, together = in, order = Swapped(in.size() + 1);
  apart[1] = group;
  apart.insert(apart.begin() + 2, in[1] / group);
  // From point, group, channel to channel, group, point.
  order[0] = 2;
  order[1] = 1;
  order[2] = 0;
  together[0] = in[1] / group;
  together[1] = group * in[0];
  return c.build.Reshape(c.build.Add("Transpose", {
      c.build.Reshape(images, apart) }, { { "perm", order } }), together);
}

//! The gradient of the kernels: images convolved with gradients, over points.
std::string KernelGradient(Context& c, const Windows& w,
                           const std::string& images, const Dims& imageDims,
                           const std::string& gradient,
                           const std::int64_t group)
{
  const size_t rank = w.Rank();
  const Dims& dims = c.InDims(1);
  Dims end(rank), size(rank), axes(rank);
  bool larger = false;
  for (size_t i = 0; i < rank; ++i)
  {
    const std::int64_t extent = (w.out[i] - 1) * w.strides[i] + 1;
    // Just enough that there are as many places as the kernel has.
    end[i] = std::max<std::int64_t>((w.kernel[i] - 1) * w.dilations[i] +
        extent - w.in[i] - w.begin[i], 0);
    size[i] = (w.in[i] + w.begin[i] + end[i] - extent) / w.dilations[i] + 1;
    axes[i] = std::int64_t(i + 2);
    larger = larger || size[i] != w.kernel[i];
  }
  Dims pads = w.begin;
  pads.insert(pads.end(), end.begin(), end.end());
  const std::string gradients = c.build.Add("Transpose", { gradient },
      { { "perm", Swapped(dims.size()) } });
  std::string result = c.build.Add("Conv", { ImagesByChannel(c, images,
      imageDims, group), gradients }, { { "strides", w.dilations },
      { "dilations", w.strides }, { "pads", pads }, { "group", group } });
  if (larger)
  {
    result = c.build.Add("Slice", { result, c.build.Ints(Dims(rank, 0)),
        c.build.Ints(w.kernel), c.build.Ints(axes) });
  }
  return c.build.Add("Transpose", { result },
      { { "perm", Swapped(dims.size()) } });
}

void GiveBias(Context& c, const Windows& w)
{
  Dims axes{ 0 };
  for (size_t i = 0; i < w.Rank(); ++i)
    axes.push_back(std::int64_t(i + 2));
  c.Give(2, c.build.Sum(c.Gradient(), axes, false));
}

//! Groups of channels: kernels are channels of one side x those of a group of
//! the other.
std::int64_t Groups(const Context& c, const std::int64_t channels)
{
  const Dims& kernels = c.InDims(1);
  const std::int64_t group = Int(c.Node(), "group", 1);
  if (kernels.size() < 3 || kernels.size() != c.InDims(0).size() ||
      group < 1 || group > MaxSize || kernels[0] % group != 0 ||
      channels % group != 0 || kernels[1] != channels / group)
  {
    c.Refuse("kernels of " + Text(kernels) + " in " + std::to_string(group) +
        " groups do not fit images of " + Text(c.InDims(0)));
  }
  return group;
}

void Conv(Context& c)
{
  if (c.InDims(0).size() < 3)
    c.Refuse("its input has dimensions " + Text(c.InDims(0)));
  const Dims& kernels = c.InDims(1);
  const std::int64_t group = Groups(c, c.InDims(0)[1]);
  const Windows w = WindowsOf(c, Dims(kernels.begin() + 2, kernels.end()));
  if (c.Needs(0))
    c.Give(0, ImageGradient(c, w, int(group)));
  if (c.Needs(1))
  {
    c.Give(1, KernelGradient(c, w, c.In(0), c.InDims(0), c.Gradient(),
        group));
  }
  if (c.Needs(2))
    GiveBias(c, w);
}

void ConvTranspose(Context& c)
{
  if (c.InDims(0).size() < 3 || c.OutDims().size() < 3)
    c.Refuse("its input has dimensions " + Text(c.InDims(0)));
  if (String(c.Node(), "auto_pad", "NOTSET") != "NOTSET" ||
      FindAttribute(c.Node(), "output_shape"))
    c.Refuse("auto_pad and output_shape have no gradient; give pads");
  const Dims& kernels = c.InDims(1);
  const std::int64_t group = Groups(c, c.OutDims()[1]);
  // A convolution from the output to the input.
  const Windows w = WindowsOf(c, Dims(kernels.begin() + 2, kernels.end()),
      c.OutDims(), c.InDims(0));
  for (size_t i = 0; i < w.Rank(); ++i)
  {
    const std::int64_t left = w.in[i] + w.begin[i] + w.end[i] - w.Extent(i);
    if (left / w.strides[i] + 1 != w.out[i])
      c.Refuse("its output does not follow from its input");
  }
  if (c.Needs(0))
  {
    c.Give(0, c.build.Add("Conv", { c.Gradient(), c.In(1) }, {
        { "strides", w.strides }, { "dilations", w.dilations },
        { "pads", w.Pads() }, { "group", group } }));
  }
  if (c.Needs(1))
  {
    c.Give(1, KernelGradient(c, w, c.Gradient(), c.OutDims(), c.In(0),
        group));
  }
  if (c.Needs(2))
    GiveBias(c, w);
}

} // namespace

void AddConvolution(std::map<std::string, Operator>& table)
{
  table["Conv"] = { Same, Conv };
  table["ConvTranspose"] = { Same, ConvTranspose };
}

} // namespace graph
} // namespace dasgd
