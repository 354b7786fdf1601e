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

//! Write a model together with the dimensions of all its values.
void Write(const std::string& name,
           Maker& maker,
           const std::vector<Dims>& dims)
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
