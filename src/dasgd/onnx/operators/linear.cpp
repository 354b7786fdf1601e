/**
 * @file linear.cpp
 *
 * Gradients of products of matrices.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/operators/operators.hpp"

#include <algorithm>
#include <numeric>

namespace dasgd {
namespace graph {

namespace {

void Gemm(Context& c)
{
  const bool transA = Int(c.Node(), "transA", 0) != 0;
  const bool transB = Int(c.Node(), "transB", 0) != 0;
  const double alpha = Real(c.Node(), "alpha", 1);
  const auto product = [&](const std::string& a, const bool a1,
                           const std::string& b, const bool b1)
  {
    return c.build.Add("Gemm", { a, b }, { { "transA", int(a1) },
        { "transB", int(b1) }, { "alpha", alpha } });
  };
  const std::string& g = c.Gradient();
  if (c.Needs(0))
  {
    c.Give(0, transA ? product(c.In(1), transB, g, true) :
        product(g, false, c.In(1), !transB));
  }
  if (c.Needs(1))
  {
    c.Give(1, transB ? product(g, true, c.In(0), transA) :
        product(c.In(0), !transA, g, false));
  }
  if (c.Needs(2))
    c.GiveBroadcast(2, c.build.Scale(g, Real(c.Node(), "beta", 1)));
}

//! The last two dimensions exchanged.
std::string Transposed(Context& c, const std::string& value, const size_t rank)
{
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  return c.build.Add("Transpose", { value }, { { "perm", order } });
}

//! All dimensions but the last as one.
Dims Flat(const Dims& dims)
{
  std::int64_t rows = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    rows *= dims[i];
  return { rows, dims.back() };
}

//! Where the second factor is one matrix: a single product for all rows.
void MatMulByMatrix(Context& c)
{
  const Dims& a = c.InDims(0);
  const bool flat = a.size() == 2;
  const Dims flatOut = Flat(c.OutDims());
  const std::string g = flat ? c.Gradient() :
      c.build.Reshape(c.Gradient(), flatOut);
  if (c.Needs(0))
  {
    const std::string given = c.build.Add("Gemm", { g, c.In(1) },
        { { "transB", 1 } });
    c.Give(0, flat ? given : c.build.Reshape(given, a));
  }
  if (c.Needs(1))
  {
    const std::string rows = flat ? c.In(0) :
        c.build.Reshape(c.In(0), Flat(a));
    c.Give(1, c.build.Add("Gemm", { rows, g }, { { "transA", 1 } }));
  }
}

void MatMul(Context& c)
{
  Dims a = c.InDims(0), b = c.InDims(1), out = c.OutDims();
  const size_t ones = size_t(a.size() == 1) + size_t(b.size() == 1);
  if (a.empty() || b.empty() || out.size() !=
      std::max({ a.size(), b.size(), size_t(2) }) - ones)
  {
    c.Refuse(Text(a) + " times " + Text(b) + " does not make " + Text(out));
  }
  if (a.size() >= 2 && b.size() == 2)
    return MatMulByMatrix(c);
  // A vector is a row on the left and a column on the right.
  const bool row = a.size() == 1, column = b.size() == 1;
  std::string left = c.In(0), right = c.In(1), g = c.Gradient();
  if (column)
  {
    b.push_back(1);
    out.push_back(1);
    right = c.build.Reshape(right, b);
  }
  if (row)
  {
    a.insert(a.begin(), 1);
    out.insert(out.end() - 1, 1);
    left = c.build.Reshape(left, a);
  }
  if (row || column)
    g = c.build.Reshape(g, out);
  // Factors are broadcast over all but their last two dimensions.
  const auto give = [&](const int i, const std::string& product, Dims from,
                        const Dims& to)
  {
    from[from.size() - 2] = to[to.size() - 2];
    from[from.size() - 1] = to[to.size() - 1];
    const std::string sum = c.build.Unbroadcast(product, from, to);
    c.Give(i, to == c.InDims(i) ? sum : c.build.Reshape(sum, c.InDims(i)));
  };
  if (c.Needs(0))
  {
    give(0, c.build.Add("MatMul", { g, Transposed(c, right, b.size()) }), out,
        a);
  }
  if (c.Needs(1))
  {
    give(1, c.build.Add("MatMul", { Transposed(c, left, a.size()), g }), out,
        b);
  }
}

//! An equation of Einsum: the letters of each input, and of the output.
struct Equation
{
  std::vector<std::string> inputs;
  std::string output;
};

Equation EquationOf(const Context& c)
{
  std::string text = String(c.Node(), "equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation equation;
  equation.inputs.push_back("");
  std::map<char, int> counts;
  for (const char letter : left)
  {
    if (letter == ',')
      equation.inputs.push_back("");
    else
    {
      ++counts[letter];
      equation.inputs.back() += letter;
    }
  }
  if (arrow != std::string::npos)
    equation.output = text.substr(arrow + 2);
  else
  {
    for (const auto& each : counts)
      equation.output += each.second == 1 ? std::string(1, each.first) : "";
  }
  if (int(equation.inputs.size()) != c.Node().input_size())
    c.Refuse("its equation '" + text + "' is not for its inputs");
  const auto check = [&](std::string letters, const Dims& dims)
  {
    const size_t size = letters.size();
    std::sort(letters.begin(), letters.end());
    if (letters.find('.') != std::string::npos ||
        std::unique(letters.begin(), letters.end()) != letters.end() ||
        size != dims.size())
    {
      c.Refuse("there is no gradient for its equation '" + text + "' with " +
          Text(dims) + ": dots and letters that repeat in one input are not "
          "supported");
    }
  };
  for (size_t i = 0; i < equation.inputs.size(); ++i)
    check(equation.inputs[i], c.InDims(int(i)));
  check(equation.output, c.OutDims());
  return equation;
}

//! The gradient of an input is made of that of the output and the other inputs.
void Einsum(Context& c)
{
  const Equation equation = EquationOf(c);
  for (size_t i = 0; i < equation.inputs.size(); ++i)
  {
    if (!c.Needs(int(i)))
      continue;
    std::string text = equation.output, all = equation.output;
    Names inputs{ c.Gradient() };
    for (size_t k = 0; k < equation.inputs.size(); ++k)
    {
      if (k == i)
        continue;
      text += "," + equation.inputs[k];
      all += equation.inputs[k];
      inputs.push_back(c.In(int(k)));
    }
    // What only this input has was summed, and is repeated.
    const Dims& in = c.InDims(int(i));
    Dims kept = in;
    text += "->";
    for (size_t k = 0; k < in.size(); ++k)
    {
      if (all.find(equation.inputs[i][k]) == std::string::npos)
        kept[k] = 1;
      else
        text += equation.inputs[i][k];
    }
    const std::string sum = c.build.Add("Einsum", inputs, { { "equation",
        text } });
    c.Give(int(i), kept == in ? sum : c.build.Add("Expand", {
        c.build.Reshape(sum, kept), c.build.Ints(in) }));
  }
}

} // namespace

void AddLinear(std::map<std::string, Operator>& table)
{
  table["Gemm"] = { Same, Gemm };
  table["MatMul"] = { Same, MatMul };
  table["Einsum"] = { Same, Einsum };
}

} // namespace graph
} // namespace dasgd
