/**
 * @file models.hpp
 *
 * Small models for tests, written as ONNX files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_ONNX_MODELS_HPP
#define DASGD_TESTS_ONNX_MODELS_HPP

#include <dasgd/onnx/model/builder.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

namespace models {

using dasgd::graph::Attributes;
using dasgd::graph::Dims;
using dasgd::graph::Names;
namespace pb = dasgd::graph::pb;

//! Random numbers from a range, always the same ones.
inline std::vector<double> Numbers(const size_t count,
                                   const double from,
                                   const double to,
                                   const unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<double> numbers(count);
  for (double& number : numbers)
    number = from + (to - from) * double(random()) / 4294967296.0;
  return numbers;
}

//! A file that is removed at the end.
class TemporaryFile
{
 public:
  TemporaryFile() : path(Next()) { }
  ~TemporaryFile() { std::remove(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& Path() const { return path; }

  void Write(const std::string& bytes) const
  { std::ofstream(path, std::ios::binary) << bytes; }

 private:
  static std::string Next()
  {
    static int count = 0;
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/tmp") + "/dasgd_onnx_test_" +
        std::to_string(getpid()) + "_" + std::to_string(count++) + ".onnx";
  }

  std::string path;
};

//! A model in the making: values have names, as in a file.
class Maker
{
 public:
  //! @param dims Of a point.
  explicit Maker(const Dims& dims, const std::int64_t opset = 17) :
      build(*proto.mutable_graph(), pb::TensorProto::FLOAT, { "x", "y" })
  {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
    auto& value = *proto.mutable_graph()->add_input();
    value.set_name("x");
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(pb::TensorProto::FLOAT);
    tensor.mutable_shape()->add_dim()->set_dim_param("batch");
    for (const std::int64_t dim : dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }

  //! A weight with random values.
  std::string Weight(const Dims& dims,
                     const double from = -1,
                     const double to = 1)
  {
    const auto numbers = Numbers(dasgd::graph::Elements(dims, "w"), from, to,
        ++seed);
    const std::string name = "w" + std::to_string(seed);
    build.AddConstant(dasgd::graph::MakeReals(name, pb::TensorProto::FLOAT,
        dims, numbers.data()));
    return name;
  }

  std::string Add(const std::string& operation,
                  const Names& inputs,
                  const Attributes& attributes = { })
  { return build.Add(operation, inputs, attributes); }

  std::string Ints(const Dims& values) { return build.Ints(values); }

  //! Make a value the output, and return the bytes of the file.
  std::string Finish(const std::string& value)
  {
    build.AddAs({ "y" }, "Identity", { value });
    auto& output = *proto.mutable_graph()->add_output();
    output.set_name("y");
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        pb::TensorProto::FLOAT);
    return proto.SerializeAsString();
  }

  //! Make the value that was computed last the output.
  std::string FinishHere()
  {
    pb::GraphProto& graph = *proto.mutable_graph();
    auto& output = *graph.add_output();
    output.set_name(graph.node(graph.node_size() - 1).output(0));
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        pb::TensorProto::FLOAT);
    return proto.SerializeAsString();
  }

  pb::ModelProto proto;
  dasgd::graph::Builder build;

 private:
  unsigned seed = 0;
};

//! A multilayer perceptron: Gemm and Relu, sizes as given.
inline std::string Perceptron(const std::vector<std::int64_t>& sizes)
{
  Maker maker({ sizes[0] });
  std::string value = "x";
  for (size_t i = 1; i < sizes.size(); ++i)
  {
    const double range = std::sqrt(6.0 / double(sizes[i - 1] + sizes[i]));
    const std::string weight = maker.Weight({ sizes[i], sizes[i - 1] }, -range,
        range);
    value = maker.Add("Gemm", { value, weight, maker.Weight({ sizes[i] }, -0.1,
        0.1) }, { { "transB", 1 } });
    if (i + 1 < sizes.size())
      value = maker.Add("Relu", { value });
  }
  return maker.FinishHere();
}

} // namespace models

#endif
