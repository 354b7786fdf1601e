/**
 * @file pooling.cpp
 *
 * Gradients of pools.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/windows.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

void MaxPoolForward(Context& c)
{
  if (Int(c.Node(), "storage_order", 0) != 0)
    c.Refuse("storage_order must be 0");
  pb::NodeProto node = c.Node();
  if (node.output_size() > 1)
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
  c.saved.push_back(c.build.Fresh("indices"));
  node.add_output(c.saved[0]);
  c.build.AddCopy(node);
}

void MaxPool(Context& c)
{
  const Windows w = WindowsOf(c, Ints(c.Node(), "kernel_shape", { }));
  const std::int64_t elements =
      std::int64_t(Elements(c.InDims(0), c.In(0)));
  // Indices count all numbers of the input.  Where windows overlap, one place
  // may be the largest of several.
  const std::string zeros = c.build.Add("Expand",
      { c.build.Scalar(0), c.build.Ints({ elements }) });
  const std::string flat = c.build.Add("ScatterElements", { zeros,
      c.build.Reshape(c.saved[0], { -1 }),
      c.build.Reshape(c.Gradient(), { -1 }) }, { { "axis", 0 },
      { "reduction", std::string(w.Overlap() ? "add" : "none") } });
  c.Give(0, c.build.Reshape(flat, c.InDims(0)));
}

//! One over the number of places that each window takes the mean of.
std::vector<double> Weights(const Windows& w, const bool countPadding)
{
  std::vector<double> weights(1, 1.0);
  for (size_t i = 0; i < w.Rank(); ++i)
  {
    std::vector<double> longer;
    for (const double weight : weights)
    {
      for (std::int64_t at = 0; at < w.out[i]; ++at)
      {
        const std::int64_t first = at * w.strides[i] - w.begin[i];
        std::int64_t places = 0;
        for (std::int64_t k = 0; k < w.kernel[i]; ++k)
        {
          const std::int64_t place = first + k * w.dilations[i];
          places += countPadding ? place < w.in[i] + w.end[i] :
              place >= 0 && place < w.in[i];
        }
        longer.push_back(weight / double(std::max<std::int64_t>(places, 1)));
      }
    }
    weights.swap(longer);
  }
  return weights;
}

//! Every number repeated over its own window.
std::string Repeat(Context& c, const Windows& w)
{
  Dims apart{ c.OutDims()[0], c.OutDims()[1] };
  Dims repeated = apart;
  for (size_t i = 0; i < w.Rank(); ++i)
  {
    apart.push_back(w.out[i]);
    apart.push_back(1);
    repeated.push_back(w.out[i]);
    repeated.push_back(w.kernel[i]);
  }
  double places = 1;
  for (const std::int64_t size : w.kernel)
    places *= double(size);
  const std::string scaled = c.build.Scale(c.Gradient(), 1 / places);
  return c.build.Reshape(c.build.Add("Expand", {
      c.build.Reshape(scaled, apart), c.build.Ints(repeated) }), c.InDims(0));
}

void AveragePool(Context& c)
{
  const Windows w = WindowsOf(c, Ints(c.Node(), "kernel_shape", { }));
  if (w.Tile())
    return c.Give(0, Repeat(c, w));
  Dims dims{ 1, 1 }, kernel{ c.InDims(0)[1], 1 };
  dims.insert(dims.end(), w.out.begin(), w.out.end());
  kernel.insert(kernel.end(), w.kernel.begin(), w.kernel.end());
  const bool padding = Int(c.Node(), "count_include_pad", 0) != 0;
  // Windows may reach beyond the padding, or not to its end.
  Dims more(w.Rank(), 0);
  Windows reached = w;
  for (size_t i = 0; i < w.Rank(); ++i)
  {
    const std::int64_t end = (w.out[i] - 1) * w.strides[i] + w.Extent(i) -
        w.begin[i] - w.in[i];
    reached.end[i] = std::max<std::int64_t>(end, 0);
    more[i] = std::max<std::int64_t>(-end, 0);
    // What no window reaches may be wider than a step.
    if (more[i] >= std::max(w.strides[i], w.dilations[i]))
      c.Refuse("its output does not follow from its input");
  }
  if (Elements(dims, c.Out()) > Elements(c.OutDims(), c.Out()) ||
      Elements(kernel, c.In(0)) > (size_t(1) << 20))
    c.Refuse("windows of " + Text(w.kernel) + " are too large");
  const std::string weighted = c.build.Mul(c.Gradient(),
      c.build.Tensor(dims, Weights(w, padding)));
  const std::string ones = c.build.Tensor(kernel,
      std::vector<double>(Elements(kernel, c.In(0)), 1.0));
  c.Give(0, c.build.Add("ConvTranspose", { weighted, ones }, {
      { "strides", w.strides }, { "dilations", w.dilations },
      { "pads", reached.Pads() }, { "output_padding", more },
      { "group", c.InDims(0)[1] } }));
}

void GlobalAveragePool(Context& c)
{
  const Dims& in = c.InDims(0);
  if (in.size() < 2 || c.OutDims().size() != in.size())
    c.Refuse("its input has dimensions " + Text(in) + ", but must be images");
  const Dims images(in.begin() + 2, in.end());
  const double places = double(Elements(images, c.In(0)));
  c.Give(0, c.build.Add("Expand", { c.build.Scale(c.Gradient(), 1 / places),
      c.build.Ints(in) }));
}

} // namespace

void AddPooling(std::map<std::string, Operator>& table)
{
  table["MaxPool"] = { MaxPoolForward, MaxPool };
  table["AveragePool"] = { Same, AveragePool };
  table["GlobalAveragePool"] = { Same, GlobalAveragePool };
}

} // namespace graph
} // namespace dasgd
