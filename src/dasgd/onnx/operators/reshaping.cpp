/**
 * @file reshaping.cpp
 *
 * Gradients of operators that only move numbers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

//! For all operators that keep the order of numbers: dimensions are known.
void ReshapeForward(Context& c)
{
  c.build.AddAs({ c.Out() }, "Reshape", { c.In(0),
      c.build.Ints(c.OutDims()) });
}

void Reshape(Context& c)
{
  c.Give(0, c.build.Reshape(c.Gradient(), c.InDims(0)));
}

void Transpose(Context& c)
{
  const size_t rank = c.InDims(0).size();
  Dims backward(rank);
  for (size_t i = 0; i < rank; ++i)
    backward[i] = std::int64_t(rank - 1 - i);
  const Dims order = Ints(c.Node(), "perm", backward);
  if (order.size() != rank)
    c.Refuse("'perm' has another length than the dimensions " +
        Text(c.InDims(0)));
  for (size_t i = 0; i < rank; ++i)
    backward[Axis(c.Node(), order[i], rank)] = std::int64_t(i);
  c.Give(0, c.build.Add("Transpose", { c.Gradient() },
      { { "perm", backward } }));
}

void Concat(Context& c)
{
  const size_t axis = Axis(c.Node(), Int(c.Node(), "axis", 1),
      c.OutDims().size());
  Dims sizes;
  Names pieces;
  for (int i = 0; i < c.Node().input_size(); ++i)
  {
    if (c.InDims(i).size() != c.OutDims().size())
      c.Refuse("inputs have different numbers of dimensions");
    sizes.push_back(c.InDims(i)[axis]);
    pieces.push_back(c.build.Fresh("piece"));
  }
  c.build.AddAs(pieces, "Split", { c.Gradient(), c.build.Ints(sizes) },
      { { "axis", std::int64_t(axis) } });
  for (int i = 0; i < c.Node().input_size(); ++i)
  {
    if (c.Needs(i))
      c.Give(i, pieces[size_t(i)]);
  }
}

//! Padding of all dimensions: beginnings, then ends.
Dims Padding(const Context& c)
{
  const size_t rank = c.InDims(0).size();
  const Dims given = c.Setting("pads", 1, { });
  Dims axes(rank);
  for (size_t i = 0; i < rank; ++i)
    axes[i] = std::int64_t(i);
  axes = c.Setting("axes", 3, axes);
  if (given.size() != 2 * axes.size())
    c.Refuse("it has " + std::to_string(given.size()) + " pads for " +
        std::to_string(axes.size()) + " dimensions");
  Dims pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i)
  {
    const size_t axis = Axis(c.Node(), axes[i], rank);
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
  }
  for (const std::int64_t pad : pads)
  {
    if (pad < -(std::int64_t(1) << 30) || pad > (std::int64_t(1) << 30))
      c.Refuse("a pad is " + std::to_string(pad));
  }
  return pads;
}

void PadForward(Context& c)
{
  // Of whole numbers there is no gradient.
  if (!c.IsReal(0))
    return Same(c);
  const std::string mode = String(c.Node(), "mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap")
    c.Refuse("its mode is '" + mode + "'");
  Names inputs{ c.In(0), c.build.Ints(Padding(c)) };
  if (mode == "constant")
    inputs.push_back(c.build.Scalar(c.Number("value", 2, 0)));
  c.build.AddAs({ c.Out() }, "Pad", inputs, { { "mode", mode } });
}

void Pad(Context& c)
{
  Dims pads = Padding(c);
  const std::string mode = String(c.Node(), "mode", "constant");
  if (mode != "constant")
    return RepeatingPad(c, mode, pads);
  // The same the other way round: what was added is cut off.
  for (std::int64_t& pad : pads)
    pad = -pad;
  c.Give(0, c.build.Add("Pad", { c.Gradient(), c.build.Ints(pads) }));
}

//! Which numbers a Slice takes, for every dimension.
struct Range
{
  std::int64_t start = 0, step = 1, count = 0;
};

std::vector<Range> Ranges(const Context& c)
{
  const Dims& in = c.InDims(0);
  const Dims& out = c.OutDims();
  if (in.size() != out.size())
    c.Refuse(Text(out) + " is no part of " + Text(in));
  const Dims starts = c.Setting("starts", 1, { });
  Dims axes(starts.size());
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = std::int64_t(i);
  axes = c.Setting("axes", 3, axes);
  const Dims steps = c.Setting("steps", 4, Dims(starts.size(), 1));
  if (axes.size() != starts.size() || steps.size() != starts.size())
    c.Refuse("starts, axes and steps differ in length");
  std::vector<Range> ranges(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    ranges[i].count = out[i];
  for (size_t i = 0; i < starts.size(); ++i)
  {
    const size_t axis = Axis(c.Node(), axes[i], in.size());
    Range& range = ranges[axis];
    // Starts beyond the end mean the end, where one goes backwards, too.
    const std::int64_t last = steps[i] < 0 ? in[axis] - 1 : in[axis];
    range.step = steps[i];
    range.start = std::clamp<std::int64_t>(starts[i] < 0 ?
        std::max<std::int64_t>(starts[i], -in[axis]) + in[axis] : starts[i], 0,
        std::max<std::int64_t>(last, 0));
  }
  for (size_t i = 0; i < in.size(); ++i)
  {
    const Range& range = ranges[i];
    // Compared by division: a file may hold any numbers.
    const std::int64_t room = range.step > 0 ? in[i] - 1 - range.start :
        range.start;
    if (range.step == 0 || range.count < 0 || range.count > in[i] ||
        (range.count > 1 && (range.step > in[i] || range.step < -in[i] ||
        room / std::abs(range.step) < range.count - 1)))
      c.Refuse(Text(out) + " is no part of " + Text(in));
  }
  return ranges;
}

void SliceForward(Context& c)
{
  const Dims starts = c.Setting("starts", 1, { });
  Names inputs{ c.In(0), c.build.Ints(starts),
      c.build.Ints(c.Setting("ends", 2, { })) };
  Dims axes(starts.size());
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = std::int64_t(i);
  inputs.push_back(c.build.Ints(c.Setting("axes", 3, axes)));
  inputs.push_back(c.build.Ints(c.Setting("steps", 4,
      Dims(starts.size(), 1))));
  c.build.AddAs({ c.Out() }, "Slice", inputs);
}

//! Where each number that a Slice took was among all.
Dims Places(const Context& c, const std::vector<Range>& ranges)
{
  Dims places{ 0 };
  const Dims& in = c.InDims(0);
  for (size_t i = 0; i < in.size(); ++i)
  {
    Dims more;
    for (const std::int64_t place : places)
    {
      for (std::int64_t j = 0; j < ranges[i].count; ++j)
        more.push_back(place * in[i] + ranges[i].start + j * ranges[i].step);
    }
    places.swap(more);
  }
  return places;
}

void Slice(Context& c)
{
  const std::vector<Range> ranges = Ranges(c);
  const Dims& in = c.InDims(0);
  Dims pads;
  bool dense = true;
  for (const Range& range : ranges)
  {
    pads.push_back(range.start);
    dense = dense && (range.step == 1 || range.count <= 1);
  }
  for (size_t i = 0; i < in.size(); ++i)
    pads.push_back(in[i] - ranges[i].start - ranges[i].count);
  const std::int64_t elements = std::int64_t(Elements(in, c.In(0)));
  if (dense)
  {
    c.Give(0, c.build.Add("Pad", { c.Gradient(), c.build.Ints(pads) }));
    return;
  }
  const std::string zeros = c.build.Add("Expand",
      { c.build.Scalar(0), c.build.Ints({ elements }) });
  const std::string flat = c.build.Add("ScatterElements", { zeros,
      c.build.Ints(Places(c, ranges)), c.build.Reshape(c.Gradient(),
      { -1 }) }, { { "axis", 0 } });
  c.Give(0, c.build.Reshape(flat, in));
}

//! Along which axis a Split cuts.
size_t SplitAxis(const Context& c)
{
  return Axis(c.Node(), Int(c.Node(), "axis", 0), c.InDims(0).size());
}

//! Sizes were an attribute, or follow from the number of outputs.
void SplitForward(Context& c)
{
  const size_t axis = SplitAxis(c);
  Dims sizes;
  Names pieces;
  for (int i = 0; i < c.Node().output_size(); ++i)
  {
    if (!c.HasOut(i))
      c.Refuse("its output " + std::to_string(i) + " has no name");
    if (c.OutDims(i).size() != c.InDims(0).size())
      c.Refuse(Text(c.OutDims(i)) + " is no part of " + Text(c.InDims(0)));
    sizes.push_back(c.OutDims(i)[axis]);
    pieces.push_back(c.Out(i));
  }
  c.build.AddAs(pieces, "Split", { c.In(0), c.build.Ints(sizes) },
      { { "axis", std::int64_t(axis) } });
}

void Split(Context& c)
{
  Names gradients;
  for (int i = 0; i < c.Node().output_size(); ++i)
    gradients.push_back(c.Gradient(i));
  c.Give(0, c.build.Add("Concat", gradients, { { "axis",
      std::int64_t(SplitAxis(c)) } }));
}

void ExpandForward(Context& c)
{
  c.build.AddAs({ c.Out() }, "Expand", { c.In(0), c.build.Ints(c.OutDims()) });
}

void Expand(Context& c)
{
  c.GiveBroadcast(0, c.Gradient());
}

void Tile(Context& c)
{
  const Dims& in = c.InDims(0);
  const Dims repeats = c.Setting("repeats", 1, { });
  Dims apart, axes;
  if (repeats.size() != in.size())
    c.Refuse("it has " + std::to_string(repeats.size()) + " repeats for " +
        Text(in));
  for (size_t i = 0; i < in.size(); ++i)
  {
    axes.push_back(std::int64_t(2 * i));
    apart.push_back(repeats[i]);
    apart.push_back(in[i]);
  }
  if (Elements(apart, c.Out()) != Elements(c.OutDims(), c.Out()))
    c.Refuse(Text(in) + " does not repeat to " + Text(c.OutDims()));
  c.Give(0, c.build.Sum(c.build.Reshape(c.Gradient(), apart), axes, false));
}

void Trilu(Context& c)
{
  Names inputs{ c.Gradient() };
  if (c.Has(1))
    inputs.push_back(c.In(1));
  c.Give(0, c.build.Add("Trilu", inputs, { { "upper", Int(c.Node(), "upper",
      1) } }));
}

//! What is added to all that follow gets the sum of what follows.
void CumSum(Context& c)
{
  c.Give(0, c.build.Add("CumSum", { c.Gradient(), c.In(1) }, { { "exclusive",
      Int(c.Node(), "exclusive", 0) }, { "reverse", 1 - Int(c.Node(),
      "reverse", 0) } }));
}

void ReverseSequence(Context& c)
{
  c.Give(0, c.build.Add("ReverseSequence", { c.Gradient(), c.In(1) },
      { { "batch_axis", Int(c.Node(), "batch_axis", 1) }, { "time_axis",
      Int(c.Node(), "time_axis", 0) } }));
}

} // namespace

void AddReshaping(std::map<std::string, Operator>& table)
{
  for (const char* name : { "Flatten", "Reshape", "Squeeze", "Unsqueeze" })
    table[name] = { ReshapeForward, Reshape };
  table["Transpose"] = { Same, Transpose };
  table["Concat"] = { Same, Concat };
  table["Pad"] = { PadForward, Pad };
  table["Slice"] = { SliceForward, Slice };
  table["Split"] = { SplitForward, Split };
  table["Expand"] = { ExpandForward, Expand };
  table["Tile"] = { Same, Tile };
  table["Trilu"] = { Same, Trilu };
  table["CumSum"] = { Same, CumSum };
  table["ReverseSequence"] = { Same, ReverseSequence };
}

} // namespace graph
} // namespace dasgd
