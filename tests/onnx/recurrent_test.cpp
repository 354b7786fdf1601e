/**
 * @file recurrent_test.cpp
 *
 * Recurrent networks are computed as ONNX Runtime computes them, and have the
 * right gradients by finite differences.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

using models::Attributes;
using models::Dims;
using models::Maker;
using models::Names;

namespace {

//! What a network has beside the usual.
struct Settings
{
  std::string direction = "forward";
  bool biases = true, states = false;
  //! Lengths of sequences: 0 for all, else the points have it.
  std::int64_t length = 0;
  Attributes attributes;
};

//! Points are sequences of 3 steps of 2 numbers; there are 3 hidden ones.
std::string Network(const std::string& operation, const Settings& settings)
{
  const std::int64_t steps = 3, inputs = 2, hidden = 3;
  const std::int64_t gates = operation == "LSTM" ? 4 : operation == "GRU" ? 3 :
      1;
  const std::int64_t directions = settings.direction == "bidirectional" ? 2 :
      1;
  Maker m({ steps, inputs });
  const std::string points = m.Add("Transpose", { m.Add("Mul", { "x",
      m.Weight({ steps, inputs }) }) }, { { "perm", Dims{ 1, 0, 2 } } });
  Names names{ points, m.Weight({ directions, gates * hidden, inputs }),
      m.Weight({ directions, gates * hidden, hidden }), settings.biases ?
      m.Weight({ directions, 2 * gates * hidden }) : "", "", "", "" };
  const std::string batch = m.Add("Shape", { "x" }, { { "end", 1 } });
  if (settings.length > 0)
  {
    names[4] = m.Add("Expand", { m.Add("Cast", { m.Ints({ settings.length }) },
        { { "to", 6 } }), batch });
  }
  if (settings.states)
  {
    const std::string size = m.Add("Concat", { m.Ints({ directions }), batch,
        m.Ints({ hidden }) }, { { "axis", 0 } });
    names[5] = m.Add("Expand", { m.Weight({ directions, 1, hidden }), size });
    if (operation == "LSTM")
      names[6] = m.Add("Expand", { m.Weight({ 1, 1, hidden }), size });
  }
  if (operation != "LSTM")
    names.pop_back();
  Attributes attributes = settings.attributes;
  attributes.push_back({ "hidden_size", hidden });
  attributes.push_back({ "direction", settings.direction });
  Names outputs{ "all", "last", "cell" };
  outputs.resize(operation == "LSTM" ? 3 : 2);
  m.build.AddAs(outputs, operation, names, attributes);
  // All outputs for each point: of every step, the last, and the cell.
  Names flat;
  for (const std::string& each : outputs)
  {
    flat.push_back(m.Add("Flatten", { m.Add("Transpose", { each },
        { { "perm", each == "all" ? Dims{ 2, 0, 1, 3 } : Dims{ 1, 0, 2 } } })
        }));
  }
  return m.Finish(m.Add("Concat", flat, { { "axis", 1 } }));
}

void CheckNetwork(const std::string& operation, const Settings& settings)
{
  const size_t directions = settings.direction == "bidirectional" ? 2 : 1;
  const size_t outputs = directions * 3 * (operation == "LSTM" ? 5 : 4);
  const std::string bytes = Network(operation, settings);
  differences::CheckAgainstRuntime(bytes, 6, outputs);
  differences::CheckSingle(bytes, 6, outputs);
}

} // namespace

TEST_CASE("LSTM is written out, with its gradient", "[onnx]")
{
  for (const char* direction : { "forward", "reverse", "bidirectional" })
  {
    DYNAMIC_SECTION(direction)
    {
      CheckNetwork("LSTM", { direction, true, false, 0, { } });
      CheckNetwork("LSTM", { direction, false, true, 0, { } });
      CheckNetwork("LSTM", { direction, true, true, 2, { } });
    }
  }
}

TEST_CASE("GRU is written out, with its gradient", "[onnx]")
{
  for (const int before : { 0, 1 })
  {
    const Attributes attributes{ { "linear_before_reset", before } };
    CheckNetwork("GRU", { "forward", true, true, 0, attributes });
    CheckNetwork("GRU", { "reverse", true, false, 2, attributes });
    CheckNetwork("GRU", { "bidirectional", false, true, 0, attributes });
  }
}

TEST_CASE("RNN is written out, with its gradient", "[onnx]")
{
  CheckNetwork("RNN", { "forward", true, true, 0, { } });
  CheckNetwork("RNN", { "bidirectional", true, false, 2, { } });
}
