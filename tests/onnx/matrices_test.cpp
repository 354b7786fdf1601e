/**
 * @file matrices_test.cpp
 *
 * Gradients of products, of operators that move numbers, of reductions and of
 * normalizations, by finite differences in double precision.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

using differences::CheckDouble;
using models::Dims;
using models::Maker;

TEST_CASE("Gemm has the right gradient", "[onnx]")
{
  for (const int transB : { 0, 1 })
  {
    for (const Dims& bias : { Dims{ 2 }, Dims{ 1, 2 }, Dims{ 1 } })
    {
      Maker maker({ 3 });
      const std::string hidden = maker.Add("Add", { "x",
          maker.Weight({ 3 }) });
      CheckDouble(maker.Finish(maker.Add("Gemm", { hidden,
          maker.Weight(transB ? Dims{ 2, 3 } : Dims{ 3, 2 }),
          maker.Weight(bias) }, { { "transB", transB }, { "alpha", 0.7 },
          { "beta", 1.3 } })), 3, 2);
    }
  }
  // With the points transposed, the batch comes last.
  for (const int transB : { 0, 1 })
  {
    Maker maker({ 3 });
    const std::string turned = maker.Add("Transpose", { maker.Add("Mul", { "x",
        maker.Weight({ 3 }) }) });
    CheckDouble(maker.Finish(maker.Add("Gemm", { turned,
        maker.Weight(transB ? Dims{ 2, 3 } : Dims{ 3, 2 }) },
        { { "transA", 1 }, { "transB", transB } })), 3, 2);
  }
}

TEST_CASE("MatMul has the right gradient", "[onnx]")
{
  const auto check = [](const Dims& point, const Dims& weight,
                        const size_t inputs, const size_t outputs)
  {
    Maker maker(point);
    const std::string value = maker.Add("Mul", { "x", maker.Weight(point) });
    CheckDouble(maker.Finish(maker.Add("MatMul", { value,
        maker.Weight(weight) })), inputs, outputs);
  };
  check({ 3 }, { 3, 2 }, 3, 2);
  check({ 3 }, { 3 }, 3, 1);
  check({ 2, 3 }, { 3, 2 }, 6, 4);
  check({ 2, 3 }, { 1, 3, 2 }, 6, 4);
  check({ 2, 2, 3 }, { 2, 3, 2 }, 12, 8);
  check({ 2, 3 }, { 3 }, 6, 2);
  // A vector from the left, and both factors from the points.
  Maker maker({ 3, 2 });
  CheckDouble(maker.Finish(maker.Add("MatMul", { maker.Weight({ 3 }), "x" })),
      6, 2);
  Maker both({ 2, 3 });
  const std::string a = both.Add("Add", { "x", both.Weight({ 2, 3 }) });
  CheckDouble(both.Finish(both.Add("MatMul", { a, both.Add("Transpose", { a },
      { { "perm", Dims{ 0, 2, 1 } } }) })), 6, 4);
}

TEST_CASE("operators that move numbers have the right gradient", "[onnx]")
{
  const auto check = [](const std::int64_t opset, const size_t outputs,
                        const auto& add)
  {
    Maker maker({ 2, 3 }, opset);
    const std::string value = maker.Add("Mul", { "x",
        maker.Weight({ 2, 3 }) });
    CheckDouble(maker.Finish(add(maker, value)), 6, outputs);
  };
  using Value = std::string;
  check(17, 6, [](Maker& m, const Value& v)
      { return m.Add("Flatten", { v }, { { "axis", 1 } }); });
  check(17, 6, [](Maker& m, const Value& v)
      { return m.Add("Reshape", { v, m.Ints({ 0, -1 }) }); });
  check(17, 6, [](Maker& m, const Value& v)
      { return m.Add("Squeeze", { m.Add("Unsqueeze", { v, m.Ints({ 1 }) }),
        m.Ints({ 1 }) }); });
  check(11, 6, [](Maker& m, const Value& v)
      { return m.Add("Unsqueeze", { v }, { { "axes", Dims{ 1, 4 } } }); });
  check(17, 6, [](Maker& m, const Value& v)
      { return m.Add("Transpose", { v }, { { "perm", Dims{ 0, 2, 1 } } }); });
  check(17, 12, [](Maker& m, const Value& v)
      { return m.Add("Concat", { v, m.Add("Tanh", { v }) },
        { { "axis", -1 } }); });
  // Some cut off, some added.
  check(17, 8, [](Maker& m, const Value& v)
      { return m.Add("Pad", { v, m.Ints({ 0, -1, 2, 0, 1, -1 }) }); });
  check(18, 10, [](Maker& m, const Value& v)
      { return m.Add("Pad", { v, m.Ints({ 1, 1 }), m.build.Scalar(0.5),
        m.Ints({ -1 }) }); });
  check(10, 8, [](Maker& m, const Value& v)
      { return m.Add("Pad", { v }, { { "pads", Dims{ 0, 0, 1, 0, 0, 0 } },
        { "value", 0.25 } }); });
  // A part, every other one, and backwards.
  check(17, 4, [](Maker& m, const Value& v)
      { return m.Add("Slice", { v, m.Ints({ 1 }), m.Ints({ 3 }),
        m.Ints({ 2 }) }); });
  check(17, 4, [](Maker& m, const Value& v)
      { return m.Add("Slice", { v, m.Ints({ 0 }), m.Ints({ 1000 }),
        m.Ints({ -1 }), m.Ints({ 2 }) }); });
  check(17, 6, [](Maker& m, const Value& v)
      { return m.Add("Slice", { v, m.Ints({ -1, 5 }), m.Ints({ -100, -100 }),
        m.Ints({ 1, 2 }), m.Ints({ -1, -1 }) }); });
  check(9, 2, [](Maker& m, const Value& v)
      { return m.Add("Slice", { v }, { { "starts", Dims{ -2 } },
        { "ends", Dims{ -1 } }, { "axes", Dims{ 2 } } }); });
}

TEST_CASE("a reshape by computed dimensions has the right gradient", "[onnx]")
{
  // As exporters write x.view(x.size(0), -1).
  Maker maker({ 2, 3 });
  const std::string value = maker.Add("Mul", { "x", maker.Weight({ 2, 3 }) });
  const std::string size = maker.Add("Gather", { maker.Add("Shape", { value }),
      maker.Ints({ 0 }) });
  CheckDouble(maker.Finish(maker.Add("Reshape", { value, maker.Add("Concat",
      { size, maker.Ints({ -1 }) }, { { "axis", 0 } }) })), 6, 6);
}

TEST_CASE("reductions have the right gradient", "[onnx]")
{
  for (const char* operation : { "ReduceSum", "ReduceMean" })
  {
    for (const std::int64_t opset : { 11, 13, 18 })
    {
      const bool input = opset >= (operation[6] == 'S' ? 13 : 18);
      for (const int keep : { 0, 1 })
      {
        DYNAMIC_SECTION(operation << " of version " << opset << ", " << keep)
        {
          Maker maker({ 2, 3 }, opset);
          const std::string value = maker.Add("Mul", { "x",
              maker.Weight({ 2, 3 }) });
          models::Names inputs{ value };
          models::Attributes attributes{ { "keepdims", keep } };
          if (input)
            inputs.push_back(maker.Ints({ -1 }));
          else
            attributes.push_back({ "axes", Dims{ -1 } });
          CheckDouble(maker.Finish(maker.Add(operation, inputs, attributes)), 6,
              2);
        }
      }
    }
  }
  // Over everything, and spread again: all points depend on each other.
  Maker maker({ 3 });
  const std::string value = maker.Add("Mul", { "x", maker.Weight({ 3 }) });
  CheckDouble(maker.Finish(maker.Add("Mul", { value, maker.Add("ReduceMean",
      { value }) })), 3, 3);
}

TEST_CASE("Softmax and LogSoftmax have the right gradient", "[onnx]")
{
  for (const char* operation : { "Softmax", "LogSoftmax" })
  {
    // Before version 13, all axes from the given one on are one.
    for (const std::int64_t opset : { 11, 17 })
    {
      for (const int axis : { 1, 2, -1 })
      {
        DYNAMIC_SECTION(operation << " " << opset << " " << axis)
        {
          Maker maker({ 2, 3 }, opset);
          CheckDouble(maker.Finish(maker.Add(operation, { maker.Add("Mul",
              { "x", maker.Weight({ 2, 3 }) }) }, { { "axis", axis } })), 6, 6);
        }
      }
    }
  }
}

TEST_CASE("BatchNormalization in training has the right gradient", "[onnx]")
{
  for (const Dims& dims : { Dims{ 3 }, Dims{ 3, 2, 2 } })
  {
    for (const std::int64_t opset : { 9, 15 })
    {
      Maker maker(dims, opset);
      Dims all{ 1 };
      all.insert(all.end(), dims.begin(), dims.end());
      const size_t count = dasgd::graph::Elements(dims, "");
      const std::string norm = maker.Add("BatchNormalization", {
          maker.Add("Mul", { "x", maker.Weight(all) }), maker.Weight({ 3 }),
          maker.Weight({ 3 }), maker.Weight({ 3 }), maker.Weight({ 3 }, 0.5,
          1) });
      CheckDouble(maker.Finish(norm), count, count);
    }
  }
}
