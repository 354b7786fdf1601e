/**
 * @file elementwise_test.cpp
 *
 * Gradients of operators that compute each number by itself, by finite
 * differences in double precision.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

using models::Maker;

TEST_CASE("operators of one input have the right gradient", "[onnx]")
{
  for (const char* operation : { "Identity", "Neg", "Exp", "Relu", "Sigmoid",
      "Tanh", "Abs", "LeakyRelu" })
  {
    DYNAMIC_SECTION(operation)
    {
      Maker maker({ 4 });
      differences::CheckDouble(maker.Finish(maker.Add(operation, {
          maker.Add("Add", { "x", maker.Weight({ 4 }) }) })), 4, 4);
    }
  }
  for (const char* operation : { "Log", "Sqrt", "Reciprocal" })
  {
    DYNAMIC_SECTION(operation)
    {
      Maker maker({ 4 });
      differences::CheckDouble(maker.Finish(maker.Add(operation, {
          maker.Add("Mul", { "x", maker.Weight({ 4 }, 0.5, 2) }) })), 4, 4, 0.5,
          2);
    }
  }
}

TEST_CASE("operators of single precision have the right gradient", "[onnx]")
{
  for (const char* operation : { "Softplus", "Erf", "Elu" })
  {
    DYNAMIC_SECTION(operation)
    {
      Maker maker({ 4 });
      // Truncation and rounding are about equal.
      differences::Check<arma::fmat>(maker.Finish(maker.Add(operation, {
          maker.Add("Add", { "x", maker.Weight({ 4 }) }) })), 4, 4, 1e-2, 1e-3);
    }
  }
}

TEST_CASE("trigonometric operators have the right gradient", "[onnx]")
{
  for (const char* operation : { "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
      "Sinh", "Cosh", "Asinh", "Acosh", "Atanh" })
  {
    DYNAMIC_SECTION(operation)
    {
      Maker maker({ 4 });
      const bool above = std::string(operation) == "Acosh";
      // Points, which are from -1 to 1, are made suitable for all.
      const std::string value = maker.Add("Add", { maker.Add("Mul", { "x",
          maker.Weight({ 4 }, 0.5, 0.8) }), maker.build.Scalar(above ? 2 :
          0) });
      differences::CheckSingle(maker.Finish(maker.Add(operation, { value })),
          4, 4);
    }
  }
}

TEST_CASE("powers by constants have the right gradient", "[onnx]")
{
  for (const double exponent : { 2.0, 0.5, 3.0, -1.0, 1.0 })
  {
    Maker maker({ 4 });
    differences::CheckDouble(maker.Finish(maker.Add("Pow", { maker.Add("Mul",
        { "x", maker.Weight({ 4 }, 0.5, 1.5) }),
        maker.build.Scalar(exponent) })), 4, 4, 0.5, 1.5);
  }
  Maker maker({ 4 });
  differences::CheckDouble(maker.Finish(maker.Add("Pow", { maker.Add("Mul",
      { "x", maker.Weight({ 4 }) }), maker.Ints({ 2 }) })), 4, 4);
}

TEST_CASE("settings of operators of one input are followed", "[onnx]")
{
  Maker leaky({ 4 });
  differences::CheckDouble(leaky.Finish(leaky.Add("LeakyRelu", {
      leaky.Add("Add", { "x", leaky.Weight({ 4 }) }) }, { { "alpha", 0.3 } })),
      4, 4);
  // Bounds are attributes in old versions, and inputs in newer ones.
  Maker maker({ 4 }, 9);
  differences::Check<arma::fmat>(maker.Finish(maker.Add("Clip", {
      maker.Add("Add", { "x", maker.Weight({ 4 }) }) }, { { "min", -0.4 },
      { "max", 0.6 } })), 4, 4, 1e-2, 1e-3);
  Maker newer({ 4 });
  differences::CheckDouble(newer.Finish(newer.Add("Clip", { newer.Add("Add",
      { "x", newer.Weight({ 4 }) }), "", newer.build.Scalar(0.6) })), 4, 4);
}

TEST_CASE("operators of two inputs have the right gradient", "[onnx]")
{
  // Positive numbers suit all of them.
  for (const char* operation : { "Add", "Sub", "Mul", "Div", "Pow" })
  {
    for (const models::Dims& dims : { models::Dims{ 2, 3 }, models::Dims{ 3 },
        models::Dims{ 1 }, models::Dims{ 2, 1 }, models::Dims{ 1, 1, 3 },
        models::Dims{ 1, 2, 1 } })
    {
      DYNAMIC_SECTION(operation << " with " << dasgd::graph::Text(dims))
      {
        Maker maker({ 2, 3 });
        const std::string a = maker.Add("Mul", { "x", maker.Weight({ 2, 3 },
            0.5, 1.5) });
        const std::string b = maker.Weight(dims, 0.5, 1.5);
        differences::CheckDouble(maker.Finish(maker.Add("Concat", {
            maker.Add(operation, { a, b }), maker.Add(operation, { b, a }) },
            { { "axis", 1 } })), 6, 12, 0.5, 1.5);
      }
    }
  }
}

TEST_CASE("a value that is used twice gets both gradients", "[onnx]")
{
  Maker maker({ 3 });
  const std::string a = maker.Add("Add", { "x", maker.Weight({ 3 }) });
  differences::CheckDouble(maker.Finish(maker.Add("Mul", { a,
      maker.Add("Add", { a, maker.Add("Tanh", { a }) }) })), 3, 3);
}
