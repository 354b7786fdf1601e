/**
 * @file functions_test.cpp
 *
 * Gradients of operators that are written out by others, and of other
 * normalizations and reductions, by finite differences.  Their outputs are
 * those of ONNX Runtime's own operators.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

using differences::CheckAgainstRuntime;
using differences::CheckDouble;
using differences::CheckSingle;
using models::Attributes;
using models::Dims;
using models::Maker;
using models::Names;

namespace {

//! One operator of a hidden value and more weights.
std::string Hidden(const std::string& operation,
                   const Dims& dims,
                   const std::vector<Dims>& weights,
                   const Attributes& attributes,
                   const std::int64_t opset)
{
  Maker maker(dims, opset);
  Names inputs{ maker.Add("Mul", { "x", maker.Weight(dims) }) };
  for (const Dims& each : weights)
    inputs.push_back(maker.Weight(each));
  return maker.Finish(maker.Add(operation, inputs, attributes));
}

} // namespace

TEST_CASE("functions of single numbers have the right gradient", "[onnx]")
{
  struct Case
  {
    const char* operation;
    std::int64_t opset;
    Attributes attributes;
  };
  for (const Case& each : { Case{ "Gelu", 20, { } },
      Case{ "Gelu", 20, { { "approximate", std::string("tanh") } } },
      Case{ "HardSigmoid", 17, { } },
      Case{ "HardSigmoid", 17, { { "alpha", 0.4 }, { "beta", 0.3 } } },
      Case{ "HardSwish", 17, { } }, Case{ "Mish", 18, { } },
      Case{ "Selu", 17, { } }, Case{ "Celu", 17, { { "alpha", 0.5 } } },
      Case{ "ThresholdedRelu", 17, { { "alpha", 0.1 } } },
      Case{ "Softsign", 17, { } },
      Case{ "Shrink", 17, { { "lambd", 0.2 }, { "bias", 0.1 } } } })
  {
    DYNAMIC_SECTION(each.operation)
    {
      // The runtime has most of them in single precision only.
      const std::string bytes = Hidden(each.operation, { 4 }, { },
          each.attributes, each.opset);
      CheckSingle(bytes, 4, 4);
      CheckAgainstRuntime(bytes, 4, 4);
    }
  }
  for (const Dims& slope : { Dims{ 2, 1 }, Dims{ 1 } })
  {
    const std::string bytes = Hidden("PRelu", { 2, 3 }, { slope }, { }, 17);
    CheckSingle(bytes, 6, 6);
    CheckAgainstRuntime(bytes, 6, 6);
  }
}

TEST_CASE("normalizations have the right gradient", "[onnx]")
{
  struct Case
  {
    const char* operation;
    std::int64_t opset;
    Dims dims;
    std::vector<Dims> weights;
    Attributes attributes;
  };
  for (const Case& each : {
      Case{ "LayerNormalization", 17, { 2, 3 }, { { 3 }, { 3 } }, { } },
      Case{ "LayerNormalization", 17, { 2, 3 }, { { 3 } },
          { { "epsilon", 0.01 } } },
      Case{ "LayerNormalization", 17, { 2, 3 }, { { 2, 3 }, { 2, 3 } },
          { { "axis", 1 } } },
      Case{ "InstanceNormalization", 17, { 2, 4 }, { { 2 }, { 2 } }, { } },
      Case{ "InstanceNormalization", 11, { 2, 2, 2 }, { { 2 }, { 2 } }, { } },
      Case{ "GroupNormalization", 18, { 4, 3 }, { { 2 }, { 2 } },
          { { "num_groups", 2 } } },
      Case{ "GroupNormalization", 21, { 4, 3 }, { { 4 }, { 4 } },
          { { "num_groups", 2 } } },
      Case{ "MeanVarianceNormalization", 17, { 2, 2, 2 }, { }, { } },
      Case{ "LpNormalization", 17, { 2, 3 }, { }, { } },
      Case{ "LpNormalization", 17, { 2, 3 }, { }, { { "axis", 1 },
          { "p", 1 } } } })
  {
    DYNAMIC_SECTION(each.operation << " " << each.opset << " "
        << dasgd::graph::Text(each.dims))
    {
      const size_t count = dasgd::graph::Elements(each.dims, "");
      const std::string bytes = Hidden(each.operation, each.dims, each.weights,
          each.attributes, each.opset);
      // Small deviations make them curved; this one the runtime has in double
      // precision.
      if (each.operation[0] == 'L' && each.operation[1] == 'a')
        CheckDouble(bytes, count, count);
      else
        CheckSingle(bytes, count, count);
      CheckAgainstRuntime(bytes, count, count);
    }
  }
}

TEST_CASE("other reductions have the right gradient", "[onnx]")
{
  for (const char* operation : { "ReduceMax", "ReduceMin", "ReduceL1",
      "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum" })
  {
    for (const int keep : { 0, 1 })
    {
      DYNAMIC_SECTION(operation << " " << keep)
      {
        Maker maker({ 2, 3 }, 18);
        const std::string value = maker.Add("Mul", { "x", maker.Weight({ 2,
            3 }, 0.5, 1.5) });
        const std::string bytes = maker.Finish(maker.Add(operation, { value,
            maker.Ints({ 2 }) }, { { "keepdims", keep } }));
        differences::Check<arma::fmat>(bytes, 6, 2, 1e-2, 1e-3, 0.5, 1.5);
      }
    }
  }
  // A length of 0 has no direction, as PyTorch has it.
  Maker maker({ 2 });
  const std::string zero = maker.Add("Sub", { "x", "x" });
  const std::string length = maker.Add("ReduceL2", { maker.Add("Mul", { zero,
      maker.Weight({ 2 }) }) }, { { "axes", Dims{ 1 } } });
  CheckDouble(maker.Finish(maker.Add("Add", { length, maker.Weight({ 1,
      1 }) })), 2, 1);
  CheckSingle(Hidden("GlobalMaxPool", { 2, 2, 3 }, { }, { }, 17), 12, 2);
}

TEST_CASE("pixels change places with channels", "[onnx]")
{
  for (const char* mode : { "DCR", "CRD" })
  {
    const std::string bytes = Hidden("DepthToSpace", { 8, 2, 3 }, { },
        { { "blocksize", 2 }, { "mode", std::string(mode) } }, 17);
    CheckSingle(bytes, 48, 48);
    CheckAgainstRuntime(bytes, 48, 48);
  }
  const std::string bytes = Hidden("SpaceToDepth", { 2, 4, 6 }, { },
      { { "blocksize", 2 } }, 17);
  CheckSingle(bytes, 48, 48);
  CheckAgainstRuntime(bytes, 48, 48);
}
