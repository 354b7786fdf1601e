/**
 * @file check_test.cpp
 *
 * A check of a model says everything at once; functions that a file defines
 * itself; and the list of operators in the documentation.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

#include <dasgd/onnx/operators/operators.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

using Catch::Matchers::ContainsSubstring;
using models::Dims;
using models::Maker;

namespace {

dasgd::OnnxReport Report(const std::string& bytes)
{
  models::TemporaryFile file;
  file.Write(bytes);
  return dasgd::CheckOnnxModel(file.Path());
}

bool Says(const dasgd::OnnxReport& report, const std::string& text)
{
  return std::any_of(report.problems.begin(), report.problems.end(),
      [&](const std::string& each)
      { return each.find(text) != std::string::npos; });
}

} // namespace

TEST_CASE("a check tells what would be trained", "[onnx]")
{
  const dasgd::OnnxReport report = Report(models::Perceptron({ 5, 4, 3 }));
  CAPTURE(report.problems);
  CHECK(report.problems.empty());
  REQUIRE(report.parameters.size() == 4);
  CHECK(report.parameters[0].name == "w1");
  CHECK(report.parameters[0].dims == std::vector<std::int64_t>{ 4, 5 });
  CHECK(report.parameters[3].offset + report.parameters[3].elements == 39);
  REQUIRE(report.nodes.size() == 3);
  CHECK(report.nodes[2].dims == std::vector<std::int64_t>{ 1, 3 });
  CHECK(report.nodes[2].parameters == 15);
}

TEST_CASE("a check tells all problems at once", "[onnx]")
{
  Maker maker({ 2, 6 });
  std::string value = maker.Add("Mul", { "x", maker.Weight({ 2, 6 }) });
  // Two operators without gradient, and one with a setting without.
  value = maker.Add("Hardmax", { value });
  value = maker.Add("Einsum", { value }, { { "equation",
      std::string("...j->...j") } });
  value = maker.Add("LpPool", { maker.Add("Mul", { value, maker.Weight({ 2,
      6 }) }) }, { { "kernel_shape", Dims{ 2 } } });
  const dasgd::OnnxReport report = Report(maker.Finish(value));
  CAPTURE(report.problems);
  CHECK(report.problems.size() == 3);
  CHECK(Says(report, "(Hardmax)"));
  CHECK(Says(report, "(LpPool)"));
  CHECK(Says(report, "'...j->...j'"));
  CHECK(report.parameters.size() == 2);
}

TEST_CASE("a check tells why a file is no model that can be read", "[onnx]")
{
  CHECK(Says(Report("no model"), "no ONNX model"));
  const dasgd::OnnxReport missing = dasgd::CheckOnnxModel("/no/such/file");
  CHECK(Says(missing, "/no/such/file"));
  // A model for batches of one point.
  Maker maker({ 2, 3 });
  CHECK(Says(Report(maker.Finish(maker.Add("Reshape", { maker.Add("Mul", { "x",
      maker.Weight({ 2, 3 }) }), maker.Ints({ 1, -1 }) }))),
      "dynamic batch size"));
}

TEST_CASE("what to do about an operator without gradient is told", "[onnx]")
{
  const auto say = [](const char* operation, const char* domain)
  {
    models::pb::NodeProto node;
    node.set_op_type(operation);
    node.set_domain(domain);
    node.add_output("y");
    try
    {
      dasgd::graph::OperatorOf(node);
    }
    catch (const std::exception& e)
    {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(say("Loop", ""), ContainsSubstring("fixed lengths"));
  CHECK_THAT(say("QLinearConv", ""), ContainsSubstring("before it is "
      "quantized"));
  CHECK_THAT(say("Attention", ""), ContainsSubstring("opset 20"));
  CHECK_THAT(say("FusedMatMul", "com.microsoft"),
      ContainsSubstring("'com.microsoft'"));
  CHECK_THAT(say("Gemm", "ai.onnx.ml"), ContainsSubstring("none of ONNX's"));
}

TEST_CASE("functions that a model defines are written out", "[onnx]")
{
  // A layer, used twice, with an attribute and a function within.
  Maker maker({ 3 });
  const auto node = [](models::pb::FunctionProto& function,
                       const std::string& operation,
                       const models::Names& inputs,
                       const models::Names& outputs) ->
      models::pb::NodeProto&
  {
    models::pb::NodeProto& added = *function.add_node();
    added.set_op_type(operation);
    for (const std::string& each : inputs)
      added.add_input(each);
    for (const std::string& each : outputs)
      added.add_output(each);
    return added;
  };
  models::pb::FunctionProto& layer = *maker.proto.add_functions();
  layer.set_name("Layer");
  layer.set_domain("own");
  layer.add_input("x");
  layer.add_input("weights");
  layer.add_input("bias");
  layer.add_output("y");
  layer.add_attribute("slope");
  layer.add_opset_import()->set_version(17);
  node(layer, "MatMul", { "x", "weights" }, { "product" });
  node(layer, "Shift", { "product", "bias" }, { "sum" }).set_domain("own");
  auto& attribute = *node(layer, "LeakyRelu", { "sum" }, { "y" }).
      add_attribute();
  attribute.set_name("alpha");
  attribute.set_type(models::pb::AttributeProto::FLOAT);
  attribute.set_ref_attr_name("slope");
  models::pb::FunctionProto& shift = *maker.proto.add_functions();
  shift.set_name("Shift");
  shift.set_domain("own");
  shift.add_input("a");
  shift.add_input("b");
  shift.add_output("c");
  node(shift, "Add", { "a", "b" }, { "c" });
  maker.proto.add_opset_import()->set_domain("own");

  std::string value = "x";
  for (int i = 0; i < 2; ++i)
  {
    value = maker.Add("Layer", { value, maker.Weight({ 3, 3 }), maker.Weight({
        3 }) }, { { "slope", 0.3 } });
    auto& graph = *maker.proto.mutable_graph();
    graph.mutable_node(graph.node_size() - 1)->set_domain("own");
  }
  const std::string bytes = maker.Finish(value);
  CAPTURE(Report(bytes).problems);
  differences::CheckDouble(bytes, 3, 3);
  differences::CheckAgainstRuntime(bytes, 3, 3);

  // One that uses itself is no function.
  models::pb::ModelProto endless = maker.proto;
  endless.mutable_functions(1)->mutable_node(0)->set_op_type("Shift");
  endless.mutable_functions(1)->mutable_node(0)->set_domain("own");
  CHECK(Says(Report(endless.SerializeAsString()), "may use itself"));
}

TEST_CASE("the documentation lists all operators that can be trained",
    "[onnx]")
{
  std::ifstream file(DASGD_ONNX_PAGE);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::string begin = "<!-- operators -->\n";
  const size_t from = page.find(begin), to = page.find("\n<!-- end -->");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  std::string listed = page.substr(from + begin.size(),
      to - from - begin.size());
  std::replace(listed.begin(), listed.end(), '\n', ' ');
  // If this fails, put the first text there.
  CHECK(dasgd::graph::OperatorNames() + "." == listed);
}
