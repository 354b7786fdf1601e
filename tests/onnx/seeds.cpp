/**
 * @file seeds.cpp
 *
 * Writes valid models, one for each group of operators, to the folder that is
 * given: for fuzz_onnx.cpp to start from, for program_test.py, and for the
 * study of CIFAR-10.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "models.hpp"

#include <fstream>
#include <string>

namespace {

using models::Dims;
using models::Maker;

std::string folder;

//! A value that is not the first of a node, or of another type.
struct Other
{
  std::string name;
  Dims dims;
  std::int32_t type = models::pb::TensorProto::FLOAT;
};

//! Write a model together with the dimensions of all its values.
void Write(const std::string& name,
           Maker& maker,
           const std::vector<Dims>& dims,
           const std::vector<Other>& others = { })
{
  maker.FinishHere();
  models::pb::GraphProto& graph = *maker.proto.mutable_graph();
  for (size_t i = 0; i < dims.size(); ++i)
  {
    auto& value = *graph.add_value_info();
    value.set_name(graph.node(int(i)).output(0));
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(models::pb::TensorProto::FLOAT);
    for (const std::int64_t dim : dims[i])
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
    if (int(i) == graph.node_size() - 1)
      *graph.mutable_output(0)->mutable_type() = value.type();
  }
  // What comes last counts.
  for (const Other& other : others)
  {
    auto& value = *graph.add_value_info();
    value.set_name(other.name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(other.type);
    for (const std::int64_t dim : other.dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  std::ofstream(folder + "/" + name + ".onnx", std::ios::binary) <<
      maker.proto.SerializeAsString();
}

} // namespace

int main(int argc, char** argv)
{
  if (argc != 2)
    return 2;
  folder = argv[1];
  {
    Maker m({ 3 });
    m.Add("Softmax", { m.Add("Gemm", { m.Add("Relu", { m.Add("MatMul", { "x",
        m.Weight({ 3, 2 }) }) }), m.Weight({ 2, 2 }), m.Weight({ 2 }) }) });
    Write("dense", m, { { 2, 2 }, { 2, 2 }, { 2, 2 }, { 2, 2 } });
  }
  {
    Maker m({ 1, 4, 4 });
    m.Add("Flatten", { m.Add("AveragePool", { m.Add("MaxPool", { m.Add("Conv",
        { "x", m.Weight({ 2, 1, 2, 2 }), m.Weight({ 2 }) },
        { { "pads", Dims{ 0, 0, 1, 1 } } }) },
        { { "kernel_shape", Dims{ 2, 2 } } }) }, { { "kernel_shape",
        Dims{ 2, 2 } }, { "strides", Dims{ 2, 2 } },
        { "pads", Dims{ 1, 1, 0, 0 } } }) });
    Write("images", m, { { 2, 2, 4, 4 }, { 2, 2, 3, 3 }, { 2, 2, 2, 2 },
        { 2, 8 } });
  }
  {
    Maker m({ 3 });
    m.Add("Sigmoid", { m.Add("Dropout", { m.Add("BatchNormalization", {
        m.Add("Mul", { "x", m.Weight({ 3 }) }), m.Weight({ 3 }),
        m.Weight({ 3 }), m.Weight({ 3 }), m.Weight({ 3 }) }),
        m.build.Scalar(0.5) }) });
    Write("normal", m, { { 2, 3 }, { 2, 3 }, { 2, 3 }, { 2, 3 } });
  }
  {
    Maker m({ 2, 3 });
    const std::string a = m.Add("Pad", { m.Add("Mul", { "x",
        m.Weight({ 2, 3 }) }), m.Ints({ 0, 0, 1, 0, 0, 0 }) });
    const std::string b = m.Add("Slice", { a, m.Ints({ 3 }), m.Ints({ -9 }),
        m.Ints({ 2 }), m.Ints({ -2 }) });
    m.Add("ReduceMean", { m.Add("Transpose", { m.Add("Concat", { b, b },
        { { "axis", 1 } }) }, { { "perm", Dims{ 0, 2, 1 } } }) },
        { { "axes", Dims{ 1 } } });
    Write("moves", m, { { 2, 2, 3 }, { 2, 2, 4 }, { 2, 2, 2 }, { 2, 4, 2 },
        { 2, 2, 4 }, { 2, 1, 4 } });
  }
  {
    // The next byte after each, of texts of any length.
    Maker m({ -1 });
    auto& input = *m.proto.mutable_graph()->mutable_input(0)->mutable_type()->
        mutable_tensor_type();
    input.set_elem_type(models::pb::TensorProto::INT64);
    input.mutable_shape()->mutable_dim(1)->set_dim_param("length");
    m.Add("MatMul", { m.Add("Gather", { m.Weight({ 256, 2 }), "x" }),
        m.Weight({ 2, 256 }) });
    Write("bytes", m, { { 2, 2, 2 }, { 2, 2, 256 } });
  }
  {
    Maker m({ 2, 4 });
    const std::string a = m.Add("LayerNormalization", { m.Add("Mul", { "x",
        m.Weight({ 2, 4 }) }), m.Weight({ 4 }), m.Weight({ 4 }) });
    m.Add("LpNormalization", { m.Add("HardSwish", { m.Add("PRelu", {
        m.Add("Gelu", { a }), m.Weight({ 4 }) }) }) });
    Write("functions", m, { { 2, 2, 4 }, { 2, 2, 4 }, { 2, 2, 4 },
        { 2, 2, 4 }, { 2, 2, 4 }, { 2, 2, 4 } });
  }
  for (const std::string operation : { "LSTM", "GRU", "RNN" })
  {
    // Sequences of three steps, with lengths.
    const std::int64_t gates = operation == "LSTM" ? 4 : operation == "GRU" ?
        3 : 1;
    Maker m({ 3, 2 });
    const std::string x = m.Add("Transpose", { "x" },
        { { "perm", Dims{ 1, 0, 2 } } });
    m.build.AddConstant(dasgd::graph::MakeTensor("lengths",
        models::pb::TensorProto::INT32, { 2 }, "\3\0\0\0\2\0\0\0", 8));
    m.build.AddAs({ "all", "last" }, operation, { x, m.Weight({ 2, 2 * gates,
        2 }), m.Weight({ 2, 2 * gates, 2 }), m.Weight({ 2, 4 * gates }),
        "lengths" }, { { "hidden_size", 2 },
        { "direction", std::string("bidirectional") } });
    m.Add("Transpose", { "last" }, { { "perm", Dims{ 1, 0, 2 } } });
    Write(operation, m, { { 3, 2, 2 }, { 3, 2, 2, 2 }, { 2, 2, 2 } },
        { { "last", { 2, 2, 2 } } });
  }
  {
    Maker m({ 4 });
    const std::string a = m.Add("Gather", { m.Weight({ 5, 2 }),
        m.Ints({ 1, 4 }) });
    m.build.AddAs({ "left", "right" }, "Split", { a, m.Ints({ 1, 1 }) },
        { { "axis", 1 } });
    const std::string b = m.Add("Einsum", { "x", m.Add("Tile", { m.Add("Expand",
        { "left", m.Ints({ 2, 4 }) }), m.Ints({ 1, 1 }) }) },
        { { "equation", std::string("bi,ki->bk") } });
    const std::string c = m.Add("Greater", { b, m.build.Scalar(0) });
    m.Add("ReduceL2", { m.Add("Where", { c, m.Add("Max", { b,
        m.Weight({ 2 }) }), m.Add("CumSum", { b, m.Ints({ 1 }) }) }) },
        { { "axes", Dims{ 1 } } });
    Write("picks", m, { { 2, 2 }, { 2, 1 }, { 2, 4 }, { 2, 4 }, { 2, 2 },
        { 2, 2 }, { 2, 2 }, { 2, 2 }, { 2, 2 }, { 2, 1 } },
        { { "right", { 2, 1 } }, { c, { 2, 2 },
        models::pb::TensorProto::BOOL } });
  }
  {
    Maker m({ 2, 2, 2 }, 19);
    const std::string a = m.Add("ConvTranspose", { "x", m.Weight({ 2, 2, 2,
        2 }), m.Weight({ 2 }) }, { { "strides", Dims{ 2, 2 } } });
    const std::string b = m.Add("Pad", { a, m.Ints({ 0, 0, 1, 0, 0, 0, 0,
        1 }) }, { { "mode", std::string("reflect") } });
    const std::string scales = m.build.Tensor({ 4 }, { 1, 1, 2, 1.5 });
    const std::string c = m.Add("Resize", { b, "", scales },
        { { "mode", std::string("linear") } });
    m.Add("GroupNormalization", { c, m.Weight({ 1 }), m.Weight({ 1 }) },
        { { "num_groups", 1 } });
    Write("upwards", m, { { 2, 2, 4, 4 }, { 2, 2, 5, 5 }, { 2, 2, 10, 7 },
        { 2, 2, 10, 7 } });
  }
  {
    // A function of its own.
    Maker m({ 3 });
    models::pb::FunctionProto& own = *m.proto.add_functions();
    own.set_name("Double");
    own.set_domain("own");
    own.add_input("a");
    own.add_output("b");
    models::pb::NodeProto& node = *own.add_node();
    node.set_op_type("Add");
    node.add_input("a");
    node.add_input("a");
    node.add_output("b");
    m.proto.add_opset_import()->set_domain("own");
    m.Add("Double", { m.Add("Mul", { "x", m.Weight({ 3 }) }) });
    m.proto.mutable_graph()->mutable_node(1)->set_domain("own");
    Write("own", m, { { 2, 3 }, { 2, 3 } });
  }
  {
    // Images as in CIFAR-10.
    Maker m({ 3, 32, 32 });
    m.Add("Gemm", { m.Add("Flatten", { m.Add("Relu", { m.Add("Conv", { "x",
        m.Weight({ 4, 3, 5, 5 }), m.Weight({ 4 }) },
        { { "strides", Dims{ 4, 4 } } }) }) }), m.Weight({ 196, 10 }),
        m.Weight({ 10 }) });
    Write("cifar", m, { { 2, 4, 7, 7 }, { 2, 4, 7, 7 }, { 2, 196 },
        { 2, 10 } });
  }
  return 0;
}
