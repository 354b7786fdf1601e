/**
 * @file unfold.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/unfold.hpp"

#include <algorithm>
#include <stdexcept>

namespace dasgd {
namespace graph {

namespace {

//! Functions are written by functions, but not by themselves.
constexpr int MaxNesting = 4;

//! What makes the list of steps.
class Unfolding
{
 public:
  Unfolding(const Model& model,
            const Shapes& shapes,
            std::vector<std::string>* problems) :
      model(model),
      problems(problems),
      build(bodies, model.Type(), Taken(model)),
      pass{ build, result.shapes, { }, { }, 0 }
  { result.shapes = shapes; }

  Unfolded Make()
  {
    for (const Parameter& parameter : model.Parameters())
      result.active.insert(parameter.name);
    for (const pb::NodeProto& node : model.Graph().node())
    {
      if (std::any_of(node.output().begin(), node.output().end(),
          [&](const std::string& name) { return model.Varies(name); }))
        Add({ node, model.Opset() }, 0);
    }
    return std::move(result);
  }

 private:
  static std::set<std::string> Taken(const Model& model)
  {
    std::set<std::string> taken;
    for (const pb::TensorProto& tensor : model.Graph().initializer())
      taken.insert(tensor.name());
    for (const pb::ValueInfoProto& value : model.Graph().input())
      taken.insert(value.name());
    for (const pb::NodeProto& node : model.Graph().node())
      taken.insert(node.output().begin(), node.output().end());
    return taken;
  }

  void Add(const Step& step, const int depth)
  {
    const bool follows = std::any_of(step.node.input().begin(),
        step.node.input().end(), [&](const std::string& name)
        { return result.active.count(name) > 0; });
    for (const std::string& name : step.node.output())
    {
      if (follows && result.shapes.IsReal(name))
        result.active.insert(name);
    }
    const Operator* found = FindOperator(step.node);
    // What needs no gradient stays as it is, unless its version is too old to
    // be computed together with newer ones.
    if (!found || !found->expand)
    {
      result.steps.push_back(step);
      return;
    }
    if (depth > MaxNesting)
      throw std::logic_error(Describe(step.node) + " is written by itself");
    try
    {
      Expand(step, *found, depth);
    }
    catch (const std::invalid_argument& e)
    {
      if (!problems)
        throw;
      problems->push_back(e.what());
    }
  }

  void Expand(const Step& step, const Operator& function, const int depth)
  {
    bodies.Clear();
    build.ForgetConstants();
    Names saved;
    Context context(step, pass, saved);
    function.expand(context);
    // Functions within may use the same graph.
    pb::GraphProto body;
    body.Swap(&bodies);
    for (pb::TensorProto& tensor : *body.mutable_initializer())
    {
      result.shapes.dims[tensor.name()] = DimsOf(tensor);
      result.shapes.types[tensor.name()] = tensor.data_type();
      result.shapes.constants[tensor.name()] = tensor;
    }
    for (const pb::NodeProto& node : body.node())
    {
      Infer(node, result.shapes);
      Add({ node, OwnOpset }, depth + 1);
    }
  }

  const Model& model;
  std::vector<std::string>* problems;
  Unfolded result;
  pb::GraphProto bodies;
  Builder build;
  Pass pass;
};

//! Dimensions of two values that are broadcast to each other.
Dims Broadcast(const pb::NodeProto& node, Dims a, Dims b)
{
  if (a.size() < b.size())
    a.swap(b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (size_t i = 0; i < a.size(); ++i)
  {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
    {
      throw std::invalid_argument(Describe(node) + ": " + Text(a) + " and " +
          Text(b) + " do not fit each other");
    }
    a[i] = a[i] == 1 ? b[i] : a[i];
  }
  return a;
}

bool OneOf(const std::string& name, std::initializer_list<const char*> names)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

Dims ConstantInts(const pb::NodeProto& node, const int i, const Shapes& shapes)
{
  return Integers(shapes.constants.at(node.input(i)));
}

//! Dimensions of a product of matrices.
Dims Product(const pb::NodeProto& node, Dims a, Dims b)
{
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2])
  {
    throw std::invalid_argument(Describe(node) + ": " + Text(a) + " times " +
        Text(b) + " is no product");
  }
  const std::int64_t rows = a[a.size() - 2], columns = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  a = Broadcast(node, a, b);
  a.push_back(rows);
  a.push_back(columns);
  return a;
}

//! Dimensions of a sum, or the like, over some of them.
Dims Reduced(const pb::NodeProto& node, Dims dims, Dims axes)
{
  std::sort(axes.rbegin(), axes.rend());
  for (const std::int64_t axis : axes)
  {
    const size_t place = Axis(node, axis, dims.size());
    if (Int(node, "keepdims", 1) != 0)
      dims[place] = 1;
    else
      dims.erase(dims.begin() + std::ptrdiff_t(place));
  }
  return dims;
}

Dims Transposed(const pb::NodeProto& node, const Dims& from)
{
  Dims dims = from;
  const Dims order = Ints(node, "perm", { });
  if (order.size() != dims.size())
    throw std::logic_error(Describe(node) + " has no order");
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = from[Axis(node, order[i], from.size())];
  return dims;
}

//! Dimensions of a product whose second matrix may be turned.
Dims GemmProduct(const pb::NodeProto& node, const Dims& a, const Dims& b)
{
  if (a.size() != 2 || b.size() != 2)
    throw std::invalid_argument(Describe(node) + ": no matrices");
  const bool turned = Int(node, "transB", 0) != 0;
  return Product(node, a, turned ? Dims{ b[1], b[0] } : b);
}

Dims Concatenated(const pb::NodeProto& node, const Shapes& shapes)
{
  Dims dims = shapes.Of(node.input(0));
  const size_t axis = Axis(node, Int(node, "axis", 0), dims.size());
  for (int i = 1; i < node.input_size(); ++i)
    dims[axis] += shapes.Of(node.input(i)).at(axis);
  return dims;
}

//! Note what an output is, unless the model knew that already.
void SetOutput(const pb::NodeProto& node, const int i, const Dims& dims,
               const std::int32_t type, Shapes& shapes)
{
  Elements(dims, node.output(i));
  shapes.dims.emplace(node.output(i), dims);
  shapes.types.emplace(node.output(i), type);
}

void InferSplit(const pb::NodeProto& node, Shapes& shapes)
{
  Dims dims = shapes.Of(node.input(0));
  const std::int32_t type = shapes.types[node.input(0)];
  const size_t axis = Axis(node, Int(node, "axis", 0), dims.size());
  const Dims sizes = ConstantInts(node, 1, shapes);
  for (int i = 0; i < node.output_size(); ++i)
  {
    dims[axis] = sizes.at(size_t(i));
    SetOutput(node, i, dims, type, shapes);
  }
}

} // namespace

void Infer(const pb::NodeProto& node, Shapes& shapes)
{
  const std::string& operation = node.op_type();
  if (operation == "Split")
    return InferSplit(node, shapes);
  Dims dims = shapes.Of(node.input(0));
  std::int32_t type = shapes.types[node.input(0)];
  if (OneOf(operation, { "Add", "Sub", "Mul", "Div", "Pow", "Max", "Min",
      "Greater", "Less", "Equal" }))
  {
    dims = Broadcast(node, dims, shapes.Of(node.input(1)));
    if (OneOf(operation, { "Greater", "Less", "Equal" }))
      type = pb::TensorProto::BOOL;
  }
  else if (operation == "Where")
  {
    dims = Broadcast(node, Broadcast(node, dims, shapes.Of(node.input(1))),
        shapes.Of(node.input(2)));
    type = shapes.types[node.input(1)];
  }
  else if (operation == "Cast")
    type = std::int32_t(Int(node, "to", type));
  else if (operation == "Reshape" || operation == "Expand")
    dims = ConstantInts(node, 1, shapes);
  else if (operation.rfind("Reduce", 0) == 0)
    dims = Reduced(node, dims, ConstantInts(node, 1, shapes));
  else if (operation == "Transpose")
    dims = Transposed(node, dims);
  else if (operation == "Gather" || operation == "GatherElements")
    dims = shapes.Of(node.input(1));
  else if (operation == "MatMul")
    dims = Product(node, dims, shapes.Of(node.input(1)));
  else if (operation == "Gemm")
    dims = GemmProduct(node, dims, shapes.Of(node.input(1)));
  else if (operation == "Concat")
    dims = Concatenated(node, shapes);
  else if (!OneOf(operation, { "Identity", "Neg", "Exp", "Log", "Sqrt",
      "Reciprocal", "Abs", "Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh",
      "Softplus", "Erf", "Clip", "HardSigmoid", "Softmax", "LogSoftmax",
      "Not" }))
    throw std::logic_error("no dimensions are known of " + Describe(node));
  SetOutput(node, 0, dims, type, shapes);
}

Unfolded Unfold(const Model& model,
                const Shapes& shapes,
                std::vector<std::string>* problems)
{
  return Unfolding(model, shapes, problems).Make();
}

} // namespace graph
} // namespace dasgd
