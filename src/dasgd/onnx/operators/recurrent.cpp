/**
 * @file recurrent.cpp
 *
 * Recurrent networks, written out step by step.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>

namespace dasgd {
namespace graph {

namespace {

//! Every step is some ten nodes, and twice that for its gradient.
constexpr std::int64_t MaxSteps = 2048;

//! Sizes and inputs that LSTM, GRU and RNN have in common.
struct Recurrence
{
  std::int64_t steps, batch, inputs, hidden, directions;
  //! Of the weights, for each hidden number.
  std::int64_t gates;

  //! What the function of one step needs, for one direction.
  std::string recurrent, recurrentBias;
};

//! The names of functions that a node gives, for one direction.
std::vector<std::string> Activations(const Context& c, const size_t direction,
                                     const std::vector<std::string>& usual)
{
  const pb::AttributeProto* given = FindAttribute(c.Node(), "activations");
  if (!given || given->strings_size() == 0)
    return usual;
  std::vector<std::string> names;
  for (size_t i = 0; i < usual.size(); ++i)
  {
    const size_t place = direction * usual.size() + i;
    if (place >= size_t(given->strings_size()))
      c.Refuse("it has too few activations");
    names.push_back(given->strings(int(place)));
  }
  return names;
}

void CheckActivations(const Context& c, const size_t direction,
                      const std::vector<std::string>& usual)
{
  const std::vector<std::string> names = Activations(c, direction, usual);
  for (size_t i = 0; i < usual.size(); ++i)
  {
    if (names[i] != usual[i])
      c.Refuse("its activation is " + names[i] + ", but only " + usual[i] +
          " is supported");
  }
}

Recurrence RecurrenceOf(const Context& c, const std::int64_t gates)
{
  const Dims& x = c.InDims(0);
  const Dims& w = c.InDims(1);
  const Dims& r = c.InDims(2);
  const std::string direction = String(c.Node(), "direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    c.Refuse("its direction is '" + direction + "'");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (Int(c.Node(), "layout", 0) != 0 || Int(c.Node(), "input_forget", 0) != 0
      || FindAttribute(c.Node(), "clip") || c.Has(7))
  {
    c.Refuse("there is no gradient with clip, layout, input_forget or "
        "peepholes");
  }
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 ||
      w != Dims{ directions, w[1], x[2] } || r != Dims{ directions, w[1],
      w[1] / gates } || w[1] != gates * r[2] || (c.Has(3) && c.InDims(3) !=
      Dims{ directions, 2 * w[1] }))
  {
    c.Refuse("weights of " + Text(w) + " and " + Text(r) + " do not fit "
        "sequences of " + Text(x));
  }
  if (x[0] < 1 || x[0] > MaxSteps)
  {
    c.Refuse("its sequences have " + std::to_string(x[0]) + " steps, but must "
        "have 1 to " + std::to_string(MaxSteps) + ", since each becomes nodes "
        "of its own; train with shorter sequences");
  }
  return { x[0], x[1], x[2], r[2], directions, gates, "", "" };
}

//! Pieces of equal size along a dimension.
Names Pieces(Context& c, const std::string& value, const std::int64_t count,
             const std::int64_t size, const int axis)
{
  if (count == 1)
    return { value };
  Names pieces;
  for (std::int64_t i = 0; i < count; ++i)
    pieces.push_back(c.build.Fresh("piece"));
  c.build.AddAs(pieces, "Split", { value, c.build.Ints(Dims(size_t(count),
      size)) }, { { "axis", axis } });
  return pieces;
}

Names TwoPieces(Context& c, const std::string& value, const std::int64_t first,
                const std::int64_t second)
{
  const Names pieces{ c.build.Fresh("piece"), c.build.Fresh("piece") };
  c.build.AddAs(pieces, "Split", { value, c.build.Ints({ first, second }) },
      { { "axis", 1 } });
  return pieces;
}

//! That of one direction of a weight or state.
std::string OfDirection(Context& c, const int input, const Recurrence& r,
                        const std::int64_t direction)
{
  const Dims& dims = c.InDims(input);
  return c.build.Reshape(Pieces(c, c.In(input), r.directions, 1,
      0)[size_t(direction)], Dims(dims.begin() + 1, dims.end()));
}

std::string Product(Context& c, const std::string& rows,
                    const std::string& weights, const std::string& more)
{
  Names inputs{ rows, weights };
  if (!more.empty())
    inputs.push_back(more);
  return c.build.Add("Gemm", inputs, { { "transB", 1 } });
}

//! One step: from the product of inputs and weights, and the old states, to
//! the new ones.  The first state is the output.
using StepFunction = void (*)(Context& c,
                              const Recurrence& r,
                              const std::string& input,
                              const size_t direction,
                              Names& states);

//! Where sequences have not ended at each step; nothing if all have the whole
//! length.
Names Running(Context& c, const Recurrence& r)
{
  bool masked = c.Has(4);
  if (masked && c.IsConstant(4))
  {
    const Dims lengths = Integers(c.Constant(4));
    masked = std::any_of(lengths.begin(), lengths.end(),
        [&](const std::int64_t length) { return length < r.steps; });
  }
  Names running;
  for (std::int64_t t = 0; masked && t < r.steps; ++t)
  {
    if (c.InDims(4) != Dims{ r.batch })
      c.Refuse("lengths of " + Text(c.InDims(4)) + " are not one for each of " +
          std::to_string(r.batch) + " sequences");
    const std::string number = c.build.Fresh("step");
    const std::int32_t value = std::int32_t(t);
    c.build.AddConstant(MakeTensor(number, pb::TensorProto::INT32, { 1 },
        &value, sizeof(value)));
    running.push_back(c.build.Reshape(c.build.Add("Greater", { c.In(4),
        number }), { r.batch, 1 }));
  }
  return running;
}

//! The product of inputs and weights in one direction, for each step; sets what
//! the function of one step needs.
Names InputsOf(Context& c, Recurrence& r, const std::int64_t direction,
               const std::string& rows, const bool addBiases)
{
  std::string bias;
  r.recurrent = OfDirection(c, 2, r, direction);
  r.recurrentBias.clear();
  if (c.Has(3))
  {
    const Names biases = Pieces(c, OfDirection(c, 3, r, direction), 2,
        r.gates * r.hidden, 0);
    bias = addBiases ? c.build.Add("Add", biases) : biases[0];
    r.recurrentBias = biases[1];
  }
  return Pieces(c, Product(c, rows, OfDirection(c, 1, r, direction), bias),
      r.steps, r.batch, 0);
}

//! The states before the first step of one direction.
Names FirstStates(Context& c, const Recurrence& r, const size_t states,
                  const std::int64_t direction)
{
  Names first(states);
  for (size_t i = 0; i < states; ++i)
  {
    const int given = 5 + int(i);
    if (c.Has(given) && c.InDims(given) != Dims{ r.directions, r.batch,
        r.hidden })
      c.Refuse("a state has dimensions " + Text(c.InDims(given)));
    first[i] = c.Has(given) ? OfDirection(c, given, r, direction) :
        c.build.Zeros({ r.batch, r.hidden });
  }
  return first;
}

/**
 * All steps in all directions.
 *
 * @param states How many there are; initial ones are inputs from 5 on.
 * @param addBiases Add both biases to the inputs; or that of the states is left
 *     to the function.
 */
void Unroll(Context& c, Recurrence r, const size_t states,
            const bool addBiases, const StepFunction step)
{
  const Dims all{ r.steps * r.batch, r.inputs };
  const std::string rows = c.build.Reshape(c.In(0), all);
  const Names running = Running(c, r);
  const std::string direction = String(c.Node(), "direction", "forward");
  Names outputs;
  std::vector<Names> last(states);
  for (std::int64_t d = 0; d < r.directions; ++d)
  {
    const Names inputs = InputsOf(c, r, d, rows, addBiases);
    Names now = FirstStates(c, r, states, d);
    Names sequence(size_t(r.steps));
    const bool reverse = direction == "reverse" || d == 1;
    for (std::int64_t i = 0; i < r.steps; ++i)
    {
      const size_t t = size_t(reverse ? r.steps - 1 - i : i);
      const Names before = now;
      step(c, r, inputs[t], size_t(d), now);
      sequence[t] = now[0];
      if (running.empty())
        continue;
      // Behind its end a sequence changes nothing, and its output is 0.
      for (size_t k = 0; k < states; ++k)
        now[k] = c.build.Add("Where", { running[t], now[k], before[k] });
      sequence[t] = c.build.Add("Where", { running[t], now[0],
          c.build.Scalar(0) });
    }
    for (size_t k = 0; k < states; ++k)
      last[k].push_back(c.build.Reshape(now[k], { 1, r.batch, r.hidden }));
    if (c.HasOut(0))
    {
      outputs.push_back(c.build.Reshape(r.steps == 1 ? sequence[0] :
          c.build.Add("Concat", sequence, { { "axis", 0 } }), { r.steps, 1,
          r.batch, r.hidden }));
    }
  }
  if (c.HasOut(0))
    c.build.AddAs({ c.Out() }, "Concat", outputs, { { "axis", 1 } });
  for (size_t k = 0; k < states; ++k)
  {
    if (c.HasOut(1 + int(k)))
      c.build.AddAs({ c.Out(1 + int(k)) }, "Concat", last[k],
          { { "axis", 0 } });
  }
}

void LstmStep(Context& c, const Recurrence& r, const std::string& input,
              const size_t, Names& states)
{
  const std::string sum = Product(c, states[0], r.recurrent, input);
  const Names parts = TwoPieces(c, sum, 3 * r.hidden, r.hidden);
  // Input, output, forget; then the candidate.
  const Names gates = Pieces(c, c.build.Add("Sigmoid", { parts[0] }), 3,
      r.hidden, 1);
  states[1] = c.build.Add("Add", { c.build.Mul(gates[2], states[1]),
      c.build.Mul(gates[0], c.build.Add("Tanh", { parts[1] })) });
  states[0] = c.build.Mul(gates[1], c.build.Add("Tanh", { states[1] }));
}

void Lstm(Context& c)
{
  const Recurrence r = RecurrenceOf(c, 4);
  for (std::int64_t d = 0; d < r.directions; ++d)
    CheckActivations(c, size_t(d), { "Sigmoid", "Tanh", "Tanh" });
  Unroll(c, r, 2, true, LstmStep);
}

//! Update and reset; then what is new.
void GruStep(Context& c, const Recurrence& r, const std::string& input,
             const size_t, Names& states)
{
  const std::string& h = states[0];
  const Names in = TwoPieces(c, input, 2 * r.hidden, r.hidden);
  Names gates;
  std::string fresh;
  const auto open = [&](const std::string& sum)
  {
    gates = Pieces(c, c.build.Add("Sigmoid", { c.build.Add("Add", { in[0],
        sum }) }), 2, r.hidden, 1);
  };
  if (Int(c.Node(), "linear_before_reset", 0) != 0)
  {
    const Names old = TwoPieces(c, Product(c, h, r.recurrent,
        r.recurrentBias), 2 * r.hidden, r.hidden);
    open(old[0]);
    fresh = c.build.Mul(gates[1], old[1]);
  }
  else
  {
    const Names weights{ c.build.Fresh("piece"), c.build.Fresh("piece") };
    c.build.AddAs(weights, "Split", { r.recurrent, c.build.Ints(
        { 2 * r.hidden, r.hidden }) }, { { "axis", 0 } });
    open(Product(c, h, weights[0], ""));
    fresh = Product(c, c.build.Mul(gates[1], h), weights[1], "");
  }
  fresh = c.build.Add("Tanh", { c.build.Add("Add", { in[1], fresh }) });
  states[0] = c.build.Add("Add", { fresh, c.build.Mul(gates[0],
      c.build.Add("Sub", { h, fresh })) });
}

void Gru(Context& c)
{
  const Recurrence r = RecurrenceOf(c, 3);
  for (std::int64_t d = 0; d < r.directions; ++d)
    CheckActivations(c, size_t(d), { "Sigmoid", "Tanh" });
  Unroll(c, r, 1, Int(c.Node(), "linear_before_reset", 0) == 0, GruStep);
}

void RnnStep(Context& c, const Recurrence& r, const std::string& input,
             const size_t direction, Names& states)
{
  const std::string name = Activations(c, direction, { "Tanh" })[0];
  if (name != "Tanh" && name != "Relu" && name != "Sigmoid")
    c.Refuse("its activation is " + name + ", not Tanh, Relu or Sigmoid");
  states[0] = c.build.Add(name, { Product(c, states[0], r.recurrent, input) });
}

void Rnn(Context& c)
{
  Unroll(c, RecurrenceOf(c, 1), 1, true, RnnStep);
}

} // namespace

void AddRecurrent(std::map<std::string, Operator>& table)
{
  table["LSTM"] = Function(Lstm);
  table["GRU"] = Function(Gru);
  table["RNN"] = Function(Rnn);
}

} // namespace graph
} // namespace dasgd
