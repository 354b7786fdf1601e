/**
 * @file reductions.cpp
 *
 * Gradients of sums and means.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "operators.hpp"

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

//! Every number of the output is repeated over what was summed.
void Spread(Context& c, const bool mean)
{
  Dims kept = c.InDims(0);
  double count = 1;
  for (const std::int64_t axis : ReducedAxes(c))
  {
    count *= double(kept[size_t(axis)]);
    kept[size_t(axis)] = 1;
  }
  const std::string scaled = c.build.Scale(c.Gradient(),
      mean && count > 0 ? 1 / count : 1);
  c.Give(0, c.build.Add("Expand", { c.build.Reshape(scaled, kept),
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

} // namespace

void AddReductions(std::map<std::string, Operator>& table)
{
  table["ReduceSum"] = { ReduceForward, ReduceSum };
  table["ReduceMean"] = { ReduceForward, ReduceMean };
}

} // namespace graph
} // namespace dasgd
