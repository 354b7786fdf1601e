/**
 * @file indexing.cpp
 *
 * Gradients of operators that pick numbers by their places: whatever was picked
 * several times gets the sum.  Places have no gradient.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

//! All dimensions of some as one.
std::int64_t Together(const Dims& dims, const size_t from, const size_t to)
{
  return std::int64_t(Elements(Dims(dims.begin() + std::ptrdiff_t(from),
      dims.begin() + std::ptrdiff_t(to)), "a tensor"));
}

//! Rows that were taken by one number, which is known.
void GatherOne(Context& c, const Dims& rows, std::int64_t place)
{
  place += place < 0 ? rows[1] : 0;
  if (place < 0 || place >= rows[1])
    c.Refuse("there is no place " + std::to_string(place) + " of " +
        std::to_string(rows[1]));
  const std::string padded = c.build.Add("Pad", { c.build.Reshape(c.Gradient(),
      { rows[0], 1, rows[2] }), c.build.Ints({ 0, place, 0, 0,
      rows[1] - 1 - place, 0 }) });
  c.Give(0, c.build.Reshape(padded, c.InDims(0)));
}

void Gather(Context& c)
{
  if (!c.Needs(0))
    return;
  const Dims& in = c.InDims(0);
  const size_t axis = Axis(c.Node(), Int(c.Node(), "axis", 0), in.size());
  // What is before the axis, of it and behind it.
  const Dims rows{ Together(in, 0, axis), in[axis],
      Together(in, axis + 1, in.size()) };
  const std::int64_t count = std::int64_t(Elements(c.InDims(1), c.In(1)));
  if (Elements(c.OutDims(), c.Out()) != Elements({ rows[0], count, rows[2] },
      c.Out()))
  {
    c.Refuse(Text(c.OutDims()) + " is not taken from " + Text(in) + " by " +
        Text(c.InDims(1)));
  }
  if (count == 1 && c.IsConstant(1))
    return GatherOne(c, rows, Integers(c.Constant(1))[0]);
  const Dims order{ 1, 0, 2 };
  std::string g = c.Gradient();
  if (rows[0] != 1)
  {
    g = c.build.Add("Transpose", { c.build.Reshape(g, { rows[0], count,
        rows[2] }) }, { { "perm", order } });
  }
  const std::int64_t width = std::int64_t(Elements({ rows[0], rows[2] },
      c.In(0)));
  const std::string places = c.build.Add("Cast", { c.build.Reshape(c.In(1),
      { count, 1 }) }, { { "to", int(pb::TensorProto::INT64) } });
  std::string sum = c.build.Add("ScatterND", { c.build.Zeros({ rows[1],
      width }), places, c.build.Reshape(g, { count, width }) },
      { { "reduction", std::string("add") } });
  if (rows[0] != 1)
  {
    sum = c.build.Add("Transpose", { c.build.Reshape(sum, { rows[1], rows[0],
        rows[2] }) }, { { "perm", order } });
  }
  c.Give(0, c.build.Reshape(sum, in));
}

void GatherElements(Context& c)
{
  c.Give(0, c.build.Add("ScatterElements", { c.build.Zeros(c.InDims(0)),
      c.In(1), c.Gradient() }, { { "axis", Int(c.Node(), "axis", 0) },
      { "reduction", std::string("add") } }));
}

void GatherND(Context& c)
{
  if (Int(c.Node(), "batch_dims", 0) != 0)
    c.Refuse("'batch_dims' must be 0");
  c.Give(0, c.build.Add("ScatterND", { c.build.Zeros(c.InDims(0)), c.In(1),
      c.Gradient() }, { { "reduction", std::string("add") } }));
}

//! Is what is scattered added to what was there, or put into its place?
bool Adds(const Context& c)
{
  const std::string reduction = String(c.Node(), "reduction", "none");
  if (reduction != "none" && reduction != "add")
    c.Refuse("its reduction is '" + reduction + "', not 'none' or 'add'");
  return reduction == "add";
}

void ScatterElements(Context& c)
{
  const Attribute axis{ "axis", Int(c.Node(), "axis", 0) };
  const bool adds = Adds(c);
  if (c.Needs(0))
  {
    c.Give(0, adds ? c.Gradient() : c.build.Add("ScatterElements",
        { c.Gradient(), c.In(1), c.build.Zeros(c.InDims(2)) }, { axis }));
  }
  if (c.Needs(2))
  {
    c.Give(2, c.build.Add("GatherElements", { c.Gradient(), c.In(1) },
        { axis }));
  }
}

void ScatterND(Context& c)
{
  const bool adds = Adds(c);
  if (c.Needs(0))
  {
    c.Give(0, adds ? c.Gradient() : c.build.Add("ScatterND", { c.Gradient(),
        c.In(1), c.build.Zeros(c.InDims(2)) }));
  }
  if (c.Needs(2))
    c.Give(2, c.build.Add("GatherND", { c.Gradient(), c.In(1) }));
}

//! Saves the places.
void TopKForward(Context& c)
{
  pb::NodeProto node = c.Node();
  while (node.output_size() < 2)
    node.add_output("");
  if (node.output(1).empty())
    node.set_output(1, c.build.Fresh("places"));
  c.saved = { node.output(1) };
  c.build.AddCopy(node);
}

void TopK(Context& c)
{
  c.Give(0, c.build.Add("ScatterElements", { c.build.Zeros(c.InDims(0)),
      c.saved[0], c.Gradient() }, { { "axis", Int(c.Node(), "axis", -1) } }));
}

} // namespace

void AddIndexing(std::map<std::string, Operator>& table)
{
  table["Gather"] = { Same, Gather };
  table["GatherElements"] = { Same, GatherElements };
  table["GatherND"] = { Same, GatherND };
  table["ScatterElements"] = { Same, ScatterElements };
  table["ScatterND"] = { Same, ScatterND };
  table["TopK"] = { TopKForward, TopK };
}

} // namespace graph
} // namespace dasgd
