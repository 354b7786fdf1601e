/**
 * @file indexing_test.cpp
 *
 * Gradients of operators that pick, repeat and cut numbers, and of conditions,
 * by finite differences in double precision where the runtime has it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

using differences::CheckDouble;
using differences::CheckLinear;
using models::Dims;
using models::Maker;

namespace {

//! Something done with a hidden value of 2 x 3 numbers for each point.
template<typename AddType>
void CheckHidden(const size_t outputs, const AddType& add,
                 const std::int64_t opset = 17)
{
  Maker maker({ 2, 3 }, opset);
  const std::string value = maker.Add("Mul", { "x", maker.Weight({ 2, 3 }) });
  CheckDouble(maker.Finish(add(maker, value)), 6, outputs);
}

//! Whole numbers as a constant.
std::string Places(Maker& maker, const Dims& dims, const Dims& values)
{
  const std::string name = maker.build.Fresh("places");
  maker.build.AddConstant(dasgd::graph::MakeTensor(name,
      models::pb::TensorProto::INT64, dims, values.data(),
      values.size() * sizeof(std::int64_t)));
  return name;
}

using Value = std::string;

} // namespace

TEST_CASE("Gather has the right gradient", "[onnx]")
{
  // One place, several with one of them twice, and counted from the end.
  CheckHidden(2, [](Maker& m, const Value& v)
      { return m.Add("Gather", { v, Places(m, { }, { -2 }) },
        { { "axis", 2 } }); });
  CheckHidden(3, [](Maker& m, const Value& v)
      { return m.Add("Gather", { v, Places(m, { 1 }, { 1 }) },
        { { "axis", 1 } }); });
  CheckHidden(8, [](Maker& m, const Value& v)
      { return m.Add("Gather", { v, Places(m, { 2, 2 }, { 2, 0, 2, -1 }) },
        { { "axis", 2 } }); });
  // Rows of a matrix, as an embedding takes them.
  Maker maker({ 2 });
  const std::string rows = maker.Add("Gather", { maker.Weight({ 5, 3 }),
      Places(maker, { 1, 4 }, { 4, 1, 1, 0 }) });
  CheckDouble(maker.Finish(maker.Add("Mul", { maker.Add("Flatten", { rows }),
      maker.Add("ReduceSum", { "x", maker.Ints({ 1 }) }) })), 2, 12);
}

TEST_CASE("other ways to pick and to place have the right gradient", "[onnx]")
{
  // The same places for each point, of which there may be any number.
  Maker maker({ 2, 3 });
  const std::string hidden = maker.Add("Mul", { "x", maker.Weight({ 2, 3 }) });
  const std::string places = maker.Add("Expand", { Places(maker, { 1, 2, 2 },
      { 1, 1, 0, 2 }), maker.Add("Concat", { maker.Add("Shape", { "x" },
      { { "end", 1 } }), maker.Ints({ 2, 2 }) }, { { "axis", 0 } }) });
  const std::string picked = maker.Add("GatherElements", { hidden, places },
      { { "axis", 2 } });
  CheckDouble(maker.Finish(maker.Add("ScatterElements", { hidden, places,
      maker.Add("Tanh", { picked }) }, { { "axis", 2 },
      { "reduction", std::string("add") } })), 6, 6);

  // Places apart from each other are overwritten.
  Maker other({ 2, 3 }, 18);
  const std::string value = other.Add("Mul", { "x", other.Weight({ 2, 3 }) });
  const std::string weights = other.Weight({ 4, 3 });
  const std::string taken = other.Add("GatherND", { weights, Places(other,
      { 2, 1 }, { 3, 1 }) });
  const std::string set = other.Add("ScatterND", { weights, Places(other,
      { 2, 1 }, { 0, 2 }), taken });
  CheckDouble(other.Finish(other.Add("MatMul", { value, other.Add("Transpose",
      { set }) })), 6, 8);
  for (const char* reduction : { "none", "add" })
  {
    Maker m({ 3 }, 18);
    const std::string set2 = m.Add("ScatterND", { m.Weight({ 4, 3 }), Places(m,
        { 2, 1 }, { 0, 2 }), m.Weight({ 2, 3 }) },
        { { "reduction", std::string(reduction) } });
    CheckDouble(m.Finish(m.Add("MatMul", { "x", m.Add("Transpose",
        { set2 }) })), 3, 4);
    Maker n({ 3 }, 18);
    const std::string set3 = n.Add("ScatterElements", { n.Weight({ 2, 3 }),
        Places(n, { 2, 1 }, { 2, 0 }), n.Weight({ 2, 1 }) }, { { "axis", 1 },
        { "reduction", std::string(reduction) } });
    CheckDouble(n.Finish(n.Add("MatMul", { "x", n.Add("Transpose",
        { set3 }) })), 3, 2);
  }
  CheckHidden(4, [](Maker& m, const Value& v)
      {
        m.build.AddAs({ "largest", "which" }, "TopK", { v, m.Ints({ 2 }) });
        return std::string("largest");
      });
}

TEST_CASE("Split, Expand and Tile have the right gradient", "[onnx]")
{
  for (const std::int64_t opset : { 11, 13, 18 })
  {
    // Of the pieces one is not used.
    CheckHidden(4, [&](Maker& m, const Value& v)
        {
          const models::Names pieces{ "a", "b", "c" };
          if (opset == 11)
          {
            m.build.AddAs(pieces, "Split", { v }, { { "axis", -1 },
                { "split", Dims{ 1, 1, 1 } } });
          }
          else if (opset == 13)
          {
            m.build.AddAs(pieces, "Split", { v, m.Ints({ 1, 1, 1 }) },
                { { "axis", 2 } });
          }
          else
          {
            m.build.AddAs(pieces, "Split", { v }, { { "axis", 2 },
                { "num_outputs", 3 } });
          }
          return m.Add("Concat", { "c", m.Add("Tanh", { "a" }) },
              { { "axis", 2 } });
        }, opset);
  }
  CheckHidden(18, [](Maker& m, const Value& v)
      { return m.Add("Expand", { m.Add("Unsqueeze", { v, m.Ints({ 2 }) }),
        m.Ints({ 1, 2, 3, 3 }) }); });
  CheckHidden(24, [](Maker& m, const Value& v)
      { return m.Add("Tile", { v, m.Ints({ 1, 2, 2 }) }); });
}

TEST_CASE("sums of what comes before, triangles and turned sequences have the "
    "right gradient", "[onnx]")
{
  for (const int exclusive : { 0, 1 })
  {
    for (const int reverse : { 0, 1 })
    {
      CheckHidden(6, [&](Maker& m, const Value& v)
          { return m.Add("CumSum", { v, Places(m, { }, { 2 }) },
            { { "exclusive", exclusive }, { "reverse", reverse } }); });
    }
  }
  for (const int upper : { 0, 1 })
  {
    CheckHidden(6, [&](Maker& m, const Value& v)
        { return m.Add("Trilu", { v, Places(m, { }, { upper }) },
          { { "upper", upper } }); });
  }
  Maker maker({ 2, 3 });
  const std::string value = maker.Add("Mul", { "x", maker.Weight({ 2, 3 }) });
  // The first point is turned, of the others less.
  const std::string lengths = maker.Add("Expand", { Places(maker, { }, { 2 }),
      maker.Add("Shape", { "x" }, { { "end", 1 } }) });
  differences::CheckLinear(maker.Finish(maker.Add("ReverseSequence", { value,
      lengths }, { { "batch_axis", 0 }, { "time_axis", 1 } })), 6, 6);
}

TEST_CASE("paddings that repeat have the right gradient", "[onnx]")
{
  for (const char* mode : { "reflect", "edge", "wrap" })
  {
    DYNAMIC_SECTION(mode)
    {
      CheckHidden(30, [&](Maker& m, const Value& v)
          { return m.Add("Pad", { v, m.Ints({ 0, 1, 2, 0, 2, 1 }) },
            { { "mode", std::string(mode) } }); }, 19);
    }
  }
}

TEST_CASE("conditions and extremes have the right gradient", "[onnx]")
{
  CheckHidden(6, [](Maker& m, const Value& v)
      { return m.Add("Where", { m.Add("Greater", { v, m.build.Scalar(0.1) }),
        m.Add("Mul", { v, v }), m.Weight({ 3 }) }); });
  // No gradient passes the condition, jumps, or whole numbers.
  CheckHidden(6, [](Maker& m, const Value& v)
      { return m.Add("Mul", { v, m.Add("Where", { m.Add("Not", { m.Add("Equal",
        { m.Add("Floor", { v }), m.build.Scalar(0) }) }),
        m.Add("Cast", { m.Add("ArgMax", { v }, { { "axis", 2 } }) },
        { { "to", 1 } }), m.Add("Sign", { v }) }) }); });
  for (const char* operation : { "Max", "Min", "Sum" })
  {
    CheckHidden(6, [&](Maker& m, const Value& v)
        { return m.Add(operation, { v, m.Weight({ 3 }), m.Weight({ 2, 1 }) });
        });
  }
  Maker mean({ 2, 3 });
  differences::CheckSingle(mean.Finish(mean.Add("Mean", { mean.Add("Mul",
      { "x", mean.Weight({ 2, 3 }) }), mean.Weight({ 3 }) })), 6, 6);
  // Halves, where both are the same.
  CheckHidden(6, [](Maker& m, const Value& v)
      { return m.Add("Max", { v, m.Add("Identity", { v }) }); });
  CheckHidden(6, [](Maker& m, const Value& v)
      { return m.Add("Mod", { v, m.Weight({ 3 }, 0.1, 0.2) },
        { { "fmod", 1 } }); });
  // Numbers of half precision are of the usual one in training.
  CheckHidden(6, [](Maker& m, const Value& v)
      { return m.Add("Cast", { v }, { { "to", 1 } }); });
}

TEST_CASE("a causal mask is a constant", "[onnx]")
{
  // As exporters write it: from the dimensions of a value.
  Maker maker({ 3, 3 });
  const std::string scores = maker.Add("Mul", { "x", maker.Weight({ 3, 3 }) });
  const std::string size = maker.Add("Shape", { scores }, { { "start", 1 } });
  const std::string ones = maker.Add("ConstantOfShape", { size });
  const std::string mask = maker.Add("Trilu", { maker.Add("Add", { ones,
      maker.build.Scalar(1) }) }, { { "upper", 0 } });
  const std::string masked = maker.Add("Where", { maker.Add("Equal", { mask,
      maker.build.Scalar(0) }), maker.build.Scalar(-1e30), scores });
  CheckDouble(maker.Finish(maker.Add("Softmax", { masked })), 9, 9);
}

TEST_CASE("Einsum has the right gradient", "[onnx]")
{
  // For the points b, each 2 x 3 numbers ij.
  for (const auto& each : std::vector<std::pair<std::string, Dims>>{
      { "bij,jk->bik", { 3, 4 } }, { "bij,kj->bki", { 4, 3 } },
      { "bij,bij->b", { 1, 2, 3 } }, { "bij,k->bk", { 4 } },
      { "b i j, i -> b j", { 2 } } })
  {
    DYNAMIC_SECTION(each.first)
    {
      Maker maker({ 2, 3 });
      const std::string v = maker.Add("Mul", { "x", maker.Weight({ 2, 3 }) });
      const bool both = each.second[0] == 1;
      const std::string y = maker.Add("Einsum", { v, both ? maker.Add("Add",
          { v, maker.Weight({ 2, 3 }) }) : maker.Weight(each.second) },
          { { "equation", each.first } });
      const size_t outputs = both ? 1 : each.first == "bij,k->bk" ? 4 :
          each.first[0] == 'b' && each.first[1] == ' ' ? 3 : 8;
      CheckDouble(maker.Finish(both ? maker.Add("Unsqueeze", { y,
          maker.Ints({ 1 }) }) : y), 6, outputs);
    }
  }
}
