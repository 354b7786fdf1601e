/**
 * @file builder.hpp
 *
 * Adds nodes to a graph, one line of code for each.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_BUILDER_HPP
#define DASGD_ONNX_MODEL_BUILDER_HPP

#include "proto.hpp"

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace dasgd {
namespace graph {

//! An attribute of a node, as { "axis", 1 } or { "pads", dims }.
struct Attribute
{
  Attribute(std::string name, const int value) :
      name(std::move(name)), value(std::int64_t(value)) { }
  Attribute(std::string name, const std::int64_t value) :
      name(std::move(name)), value(value) { }
  Attribute(std::string name, const double value) :
      name(std::move(name)), value(value) { }
  Attribute(std::string name, Dims value) :
      name(std::move(name)), value(std::move(value)) { }
  Attribute(std::string name, std::string value) :
      name(std::move(name)), value(std::move(value)) { }

  std::string name;
  std::variant<std::int64_t, double, Dims, std::string> value;
};

using Names = std::vector<std::string>;
using Attributes = std::vector<Attribute>;

//! A graph under construction.  Values have names, as in the file.
class Builder
{
 public:
  /**
   * @param type The type of floating-point numbers.
   * @param taken Names that the graph uses already, or will use.
   */
  Builder(pb::GraphProto& graph,
          const std::int32_t type,
          std::set<std::string> taken) :
      graph(graph), type(type), taken(std::move(taken)) { }

  std::int32_t Type() const { return type; }

  //! A name that nothing has.
  std::string Fresh(const std::string& hint);

  //! Add a node with one output, which is returned.
  std::string Add(const std::string& operation,
                  const Names& inputs,
                  const Attributes& attributes = { });

  //! Add a node whose outputs have given names.
  void AddAs(const Names& outputs,
             const std::string& operation,
             const Names& inputs,
             const Attributes& attributes = { });

  //! Add a node that is given.
  void AddCopy(const pb::NodeProto& node) { *graph.add_node() = node; }

  //! A constant that is the same wherever it occurs.
  std::string Scalar(const double value);
  std::string Ints(const Dims& values);

  //! Make new ones from now on: the graph has been taken away.
  void ForgetConstants()
  {
    scalars.clear();
    ints.clear();
  }

  //! A constant tensor of floating-point numbers.
  std::string Tensor(const Dims& dims, const std::vector<double>& values);

  //! A constant tensor as it is, under its own name.
  void AddConstant(const pb::TensorProto& tensor)
  { *graph.add_initializer() = tensor; }

  //
  // What rules say often.
  //

  std::string Reshape(const std::string& value, const Dims& dims)
  { return Add("Reshape", { value, Ints(dims) }); }

  //! Sum over axes, which stay with size 1 if so asked.
  std::string Sum(const std::string& value,
                  const Dims& axes,
                  const bool keep);

  //! Zeros, that take no space in the file.
  std::string Zeros(const Dims& dims)
  { return Add("Expand", { Scalar(0), Ints(dims) }); }

  //! The same numbers, of the type of floating-point numbers.
  std::string ToReal(const std::string& value)
  { return Add("Cast", { value }, { { "to", type } }); }

  std::string Mul(const std::string& a, const std::string& b)
  { return Add("Mul", { a, b }); }

  //! Times a number, unless that is 1.
  std::string Scale(const std::string& value, const double factor)
  { return factor == 1 ? value : Mul(value, Scalar(factor)); }

  /**
   * Sum a gradient of a value that was repeated over the dimensions along which
   * it was.
   *
   * @param from Dimensions of the gradient.
   * @param to Dimensions of the value.
   */
  std::string Unbroadcast(const std::string& gradient,
                          const Dims& from,
                          const Dims& to);

 private:
  pb::GraphProto& graph;
  std::int32_t type;
  std::set<std::string> taken;
  std::map<double, std::string> scalars;
  std::map<Dims, std::string> ints;
  size_t count = 0;
};

} // namespace graph
} // namespace dasgd

#endif
