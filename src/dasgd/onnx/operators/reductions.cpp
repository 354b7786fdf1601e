/**
 * @file reductions.cpp
 *
 * Gradients of sums, means and other numbers that stand for many.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <set>

namespace dasgd {
namespace graph {

namespace {

//! The axes that are summed over, in order.  Without any it is all of them,
//! unless the node says otherwise.
Dims ReducedAxes(const Context& c)
{
  const size_t rank = c.InDims(0).size();
  std::set<std::int64_t> axes;
  for (const std::int64_t axis : c.Setting("axes", 1, { }))
    axes.insert(std::int64_t(Axis(c.Node(), axis, rank)));
  if (axes.empty() && Int(c.Node(), "noop_with_empty_axes", 0) == 0)
  {
    for (size_t i = 0; i < rank; ++i)
      axes.insert(std::int64_t(i));
  }
  return Dims(axes.begin(), axes.end());
}

//! Axes were an attribute in older versions.
void ReduceForward(Context& c)
{
  const Dims axes = ReducedAxes(c);
  if (axes.empty())
    return c.build.AddAs({ c.Out() }, "Identity", { c.In(0) });
  c.build.AddAs({ c.Out() }, c.Node().op_type(), { c.In(0),
      c.build.Ints(axes) }, { { "keepdims", Int(c.Node(), "keepdims", 1) } });
}

//! Dimensions of the input, with 1 where it was reduced.
Dims KeptDims(const Context& c)
{
  Dims kept = c.InDims(0);
  for (const std::int64_t axis : ReducedAxes(c))
    kept[size_t(axis)] = 1;
  return kept;
}

//! A value of the output's dimensions, such that it is broadcast to the input.
std::string KeepDimensions(Context& c, const std::string& value)
{
  const Dims kept = KeptDims(c);
  return kept == c.OutDims() ? value : c.build.Reshape(value, kept);
}

//! Every number of the output is repeated over what was summed.
void Spread(Context& c, const bool mean)
{
  double count = 1;
  for (const std::int64_t axis : ReducedAxes(c))
    count *= double(c.InDims(0)[size_t(axis)]);
  const std::string scaled = c.build.Scale(c.Gradient(),
      mean && count > 0 ? 1 / count : 1);
  c.Give(0, c.build.Add("Expand", { KeepDimensions(c, scaled),
      c.build.Ints(c.InDims(0)) }));
}

void ReduceSum(Context& c)
{
  Spread(c, false);
}

void ReduceMean(Context& c)
{
  Spread(c, true);
}

//! All that are as large as the largest share the gradient.
void ReducedExtreme(Context& c)
{
  const std::string hits = c.build.ToReal(c.build.Add("Equal", { c.In(0),
      KeepDimensions(c, c.Out()) }));
  const std::string count = c.build.Sum(hits, ReducedAxes(c), true);
  c.Give(0,
      c.build.Mul(hits,
          c.build.Add("Div", { KeepDimensions(c, c.Gradient()), count })));
}

void ReduceL1(Context& c)
{
  c.Give(0, c.build.Mul(KeepDimensions(c, c.Gradient()), c.build.Add("Sign",
      { c.In(0) })));
}

void ReduceL2(Context& c)
{
  // Of no length there is no direction.
  const std::string zero = c.build.Scalar(0),
                    length = KeepDimensions(c, c.Out());
  const std::string unit = c.build.Add("Where",
      { c.build.Add("Equal", { length, zero }), zero,
          c.build.Add("Div", { KeepDimensions(c, c.Gradient()), length }) });
  c.Give(0, c.build.Mul(unit, c.In(0)));
}

void ReduceSumSquare(Context& c)
{
  c.Give(0,
      c.build.Mul(c.build.Scale(KeepDimensions(c, c.Gradient()), 2), c.In(0)));
}

void ReduceLogSum(Context& c)
{
  c.Give(0, c.build.Add("Expand", { c.build.Add("Div", { KeepDimensions(c,
      c.Gradient()), c.build.Add("Exp", { KeepDimensions(c, c.Out()) }) }),
      c.build.Ints(c.InDims(0)) }));
}

void ReduceLogSumExp(Context& c)
{
  c.Give(0, c.build.Mul(KeepDimensions(c, c.Gradient()), c.build.Add("Exp",
      { c.build.Add("Sub", { c.In(0), KeepDimensions(c, c.Out()) }) })));
}

} // namespace

void AddReductions(std::map<std::string, Operator>& table)
{
  table["ReduceSum"] = { ReduceForward, ReduceSum };
  table["ReduceMean"] = { ReduceForward, ReduceMean };
  table["ReduceMax"] = { ReduceForward, ReducedExtreme };
  table["ReduceMin"] = { ReduceForward, ReducedExtreme };
  table["ReduceL1"] = { ReduceForward, ReduceL1 };
  table["ReduceL2"] = { ReduceForward, ReduceL2 };
  table["ReduceSumSquare"] = { ReduceForward, ReduceSumSquare };
  table["ReduceLogSum"] = { ReduceForward, ReduceLogSum };
  table["ReduceLogSumExp"] = { ReduceForward, ReduceLogSumExp };
}

} // namespace graph
} // namespace dasgd
