/**
 * @file training_graph.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/training_graph.hpp"

#include "dasgd/onnx/unfold.hpp"

#include <algorithm>
#include <stdexcept>

namespace dasgd {
namespace graph {

namespace {

//! What makes a graph of a model step by step.
class Differentiation
{
 public:
  Differentiation(const Model& model,
                  const Shapes& shapes,
                  const bool withGradients,
                  const std::uint64_t seed,
                  std::vector<std::string>* problems) :
      model(model),
      unfolded(Unfold(model, shapes, problems)),
      shapes(unfolded.shapes),
      withGradients(withGradients),
      problems(problems),
      build(*result.proto.mutable_graph(), model.Type(), Taken()),
      pass{ build, this->shapes, [this](const std::string& name)
          { return unfolded.active.count(name) > 0; }, { }, seed },
      saved(unfolded.steps.size()),
      computed(unfolded.steps.size(), false)
  { }

  TrainingGraph Make(const Objective& objective)
  {
    Frame();
    Forward();
    Loss(objective);
    if (withGradients)
    {
      Backward();
      Outputs();
    }
    return std::move(result);
  }

 private:
  std::set<std::string> Taken() const
  {
    std::set<std::string> taken;
    for (const auto& value : shapes.dims)
      taken.insert(value.first);
    for (const pb::ValueInfoProto& value : model.Graph().input())
      taken.insert(value.name());
    for (const pb::TensorProto& tensor : model.Graph().initializer())
      taken.insert(tensor.name());
    for (const Step& step : unfolded.steps)
      taken.insert(step.node.output().begin(), step.node.output().end());
    return taken;
  }

  //! Do something about a node; where problems are collected, go on after one.
  template<typename ActionType>
  bool Try(ActionType&& action)
  {
    try
    {
      action();
      return true;
    }
    catch (const std::invalid_argument& e)
    {
      if (!problems)
        throw;
      if (std::find(problems->begin(), problems->end(), e.what()) ==
          problems->end())
        problems->push_back(e.what());
      return false;
    }
  }

  pb::GraphProto& Graph() { return *result.proto.mutable_graph(); }

  void AddInput(const std::string& name,
                const std::int32_t type,
                const Dims& dims)
  { Declare(*Graph().add_input(), name, type, &dims); }

  void AddOutput(const std::string& name)
  { Declare(*Graph().add_output(), name, model.Type(), nullptr); }

  static void Declare(pb::ValueInfoProto& value,
                      const std::string& name,
                      const std::int32_t type,
                      const Dims* dims)
  {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (size_t i = 0; dims && i < dims->size(); ++i)
      tensor.mutable_shape()->add_dim()->set_dim_value((*dims)[i]);
  }

  //! Inputs and constants.
  void Frame()
  {
    result.proto.set_ir_version(8);
    auto& own = *result.proto.add_opset_import();
    own.set_version(std::max(OwnOpset, model.Opset()));
    Graph().set_name("training");
    for (const Input& input : model.Inputs())
      AddInput(input.name, input.type, shapes.Of(input.name));
    for (const Parameter& parameter : model.Parameters())
      AddInput(parameter.name, model.Type(), parameter.dims);
    for (const auto& constant : shapes.constants)
    {
      pb::TensorProto tensor = constant.second;
      tensor.set_name(constant.first);
      build.AddConstant(tensor);
    }
  }

  void Forward()
  {
    for (size_t i = 0; i < unfolded.steps.size(); ++i)
    {
      const Step& step = unfolded.steps[i];
      Context context(step, pass, saved[i]);
      computed[i] = Try([&]()
      {
        if (!FindOperator(step.node) && !Active(step.node))
          Same(context);
        else
          OperatorOf(step.node).forward(context);
      });
    }
  }

  //! Does one of a node's outputs have a gradient?
  bool Active(const pb::NodeProto& node) const
  {
    return std::any_of(node.output().begin(), node.output().end(),
        [this](const std::string& name) { return pass.needs(name); });
  }

  //! The value that a loss is computed of: what an operator that the loss would
  //! undo was given.
  std::string Before(const std::string& operation) const
  {
    for (const pb::NodeProto& node : model.Graph().node())
    {
      if (node.output(0) != model.Output())
        continue;
      const Dims& dims = shapes.Of(model.Output());
      const std::int64_t axis = Int(node, "axis", -1);
      const bool last = operation != "Softmax" || axis == -1 ||
          axis + 1 == std::int64_t(dims.size());
      if (node.op_type() == operation && last && node.input_size() == 1 &&
          model.Active(node.input(0)))
        return node.input(0);
    }
    return model.Output();
  }

  void Loss(const Objective& objective)
  {
    const OnnxLoss loss = objective.loss;
    const std::int64_t batch = shapes.Of(model.Inputs()[0].name)[0];
    result.loss = build.Fresh("loss");
    AddOutput(result.loss);
    if (loss == OnnxLoss::Model)
    {
      OwnLoss(batch);
      return;
    }
    result.target = build.Fresh("target");
    const std::string from = Before(loss == OnnxLoss::CrossEntropy ? "Softmax" :
        loss == OnnxLoss::BinaryCrossEntropy ? "Sigmoid" : "");
    const std::int64_t outputs = std::int64_t(OutputsPerPoint(model, shapes,
        size_t(batch)));
    if (loss == OnnxLoss::CrossEntropy)
    {
      CrossEntropy(from, batch, objective);
      return;
    }
    result.targetDims = { batch, outputs };
    const bool flat = shapes.Of(from) == result.targetDims;
    const std::string output = flat ? from : build.Reshape(from,
        result.targetDims);
    AddInput(result.target, model.Type(), result.targetDims);
    const std::string gradient = (loss == OnnxLoss::BinaryCrossEntropy) ?
        BinaryCrossEntropy(output, outputs) :
        Error(output, outputs, loss == OnnxLoss::MeanSquaredError);
    if (withGradients)
    {
      pass.gradients[from] = { flat ? gradient : build.Reshape(gradient,
          shapes.Of(from)) };
    }
  }

  //! The output is the loss: the mean of a batch, or one number for each point.
  void OwnLoss(const std::int64_t batch)
  {
    const Dims& dims = shapes.Of(model.Output());
    const std::int64_t elements = std::int64_t(Elements(dims, model.Output()));
    if (elements != 1 && elements != batch)
    {
      throw std::invalid_argument("the output '" + model.Output() + "' has "
          "dimensions " + Text(dims) + " for a batch of " +
          std::to_string(batch) + " points; to be a loss, it has to be one "
          "number, or one for each point");
    }
    const double factor = elements == 1 ? double(batch) : 1;
    const std::string all = build.Reshape(model.Output(), { elements });
    build.AddAs({ result.loss }, "Mul", { build.Sum(all, { 0 }, false),
        build.Scalar(factor) });
    if (withGradients)
    {
      pass.gradients[model.Output()] = { build.Tensor(dims,
          std::vector<double>(size_t(elements), factor)) };
    }
  }

  //! Softmax and the logarithm, over any dimension.
  void CrossEntropy(const std::string& from,
                    const std::int64_t batch,
                    const Objective& objective)
  {
    const Dims& dims = shapes.Of(from);
    const size_t axis = objective.classAxis ? objective.classAxis :
        DefaultClassAxis(dims.size());
    const std::int64_t classes = axis < dims.size() ? dims[axis] : 1;
    const std::int64_t elements = std::int64_t(Elements(dims, from));
    if (elements == 0 || std::int64_t(Elements(shapes.Of(model.Output()),
        model.Output())) != elements)
      throw std::invalid_argument("'" + from + "' has no classes");
    const std::int64_t rows = elements / classes;
    result.targetDims = { rows };
    AddInput(result.target, pb::TensorProto::INT64, result.targetDims);

    // One row for each position, with classes at the end.
    const bool last = axis + 1 >= dims.size();
    Dims turn, back(dims.size()), turned;
    for (size_t i = 0; i < dims.size(); ++i)
    {
      if (i != axis)
        turn.push_back(std::int64_t(i));
    }
    turn.push_back(std::int64_t(axis));
    for (size_t i = 0; !last && i < dims.size(); ++i)
    {
      back[size_t(turn[i])] = std::int64_t(i);
      turned.push_back(dims[size_t(turn[i])]);
    }
    const Dims flat{ rows, classes };
    std::string logits = last ? from : build.Add("Transpose", { from },
        { { "perm", turn } });
    if (dims != flat)
      logits = build.Reshape(logits, flat);
    std::string gradient = RowsEntropy(logits, batch, rows, classes, objective);
    if (!withGradients)
      return;
    if (dims != flat)
      gradient = build.Reshape(gradient, last ? dims : turned);
    if (!last)
      gradient = build.Add("Transpose", { gradient }, { { "perm", back } });
    pass.gradients[from] = { gradient };
  }

  //! The cross entropy of rows; returns its gradient.
  std::string RowsEntropy(const std::string& logits,
                          const std::int64_t batch,
                          const std::int64_t rows,
                          const std::int64_t classes,
                          const Objective& objective)
  {
    // What each row counts: points count the same.
    std::string target = result.target, weight;
    double scale = double(batch) / double(rows);
    if (objective.ignores)
    {
      const std::string ignored = build.Ints({ objective.ignored });
      const std::string left = build.Add("Equal", { target, ignored });
      target = build.Add("Where", { left, build.Ints({ 0 }), target });
      const std::string counts = build.Reshape(build.Add("Cast", {
          build.Add("Not", { left }) }, { { "to", model.Type() } }),
          { rows, 1 });
      // A batch of which nothing counts has no gradient.
      weight = build.Add("Div", { counts, build.Add("Max", { build.Sum(counts,
          { 0, 1 }, false), build.Scalar(1) }) });
      scale = double(batch);
    }
    // The runtime has this operator for float only.
    const std::vector<float> values{ 0, 1 };
    const std::string both = build.Fresh("values");
    build.AddConstant(MakeTensor(both, pb::TensorProto::FLOAT, { 2 },
        values.data(), 2 * sizeof(float)));
    std::string truth = build.Add("OneHot", { target, build.Ints({ classes }),
        both }, { { "axis", 1 } });
    if (model.Type() != pb::TensorProto::FLOAT)
      truth = build.Add("Cast", { truth }, { { "to", model.Type() } });
    const std::string logs = build.Add("LogSoftmax", { logits },
        { { "axis", 1 } });
    const auto weighted = [&](const std::string& value)
    {
      return build.Scale(weight.empty() ? value : build.Mul(value, weight),
          scale);
    };
    build.AddAs({ result.loss }, "Neg", { build.Sum(weighted(build.Mul(truth,
        logs)), { 0, 1 }, false) });
    return withGradients ? weighted(build.Add("Sub", { build.Add("Exp",
        { logs }), truth })) : "";
  }

  //! Squares of errors, or their sizes; returns the gradient.
  std::string Error(const std::string& output,
                    const std::int64_t outputs,
                    const bool square)
  {
    const std::string error = build.Add("Sub", { output, result.target });
    const std::string each = square ? build.Mul(error, error) :
        build.Add("Abs", { error });
    build.AddAs({ result.loss }, "Mul", { build.Sum(each, { 0, 1 }, false),
        build.Scalar(1.0 / double(outputs)) });
    if (!withGradients)
      return "";
    return square ? build.Scale(error, 2.0 / double(outputs)) :
        build.Scale(build.Add("Sign", { error }), 1.0 / double(outputs));
  }

  std::string BinaryCrossEntropy(const std::string& logits,
                                 const std::int64_t outputs)
  {
    // log(1 + exp(x)), such that nothing overflows.
    const std::string small = build.Add("Log", { build.Add("Add",
        { build.Scalar(1), build.Add("Exp", { build.Add("Neg",
        { build.Add("Abs", { logits }) }) }) }) });
    const std::string plus = build.Add("Add", { build.Add("Relu", { logits }),
        small });
    build.AddAs({ result.loss }, "Mul", { build.Sum(build.Add("Sub", { plus,
        build.Mul(logits, result.target) }), { 0, 1 }, false),
        build.Scalar(1.0 / double(outputs)) });
    return withGradients ? build.Scale(build.Add("Sub", { build.Add("Sigmoid",
        { logits }), result.target }), 1.0 / double(outputs)) : "";
  }

  //! What has come together for a value, added up.
  bool Combine(const std::string& name)
  {
    const auto found = pass.gradients.find(name);
    if (found == pass.gradients.end())
      return false;
    if (found->second.size() > 1)
      found->second = { build.Add("Sum", found->second) };
    return true;
  }

  void Backward()
  {
    for (size_t i = unfolded.steps.size(); i-- > 0; )
    {
      const Step& step = unfolded.steps[i];
      bool given = false;
      for (const std::string& name : step.node.output())
        given = (pass.needs(name) && Combine(name)) || given;
      if (!given)
        continue;
      Context context(step, pass, saved[i]);
      if (computed[i] && Try([&]()
          { OperatorOf(step.node).backward(context); }))
        continue;
      // Any gradient will do to find what is wrong before this node.
      for (int k = 0; k < step.node.input_size(); ++k)
      {
        if (context.Needs(k))
          context.Give(k, build.Zeros(context.InDims(k)));
      }
    }
  }

  //! One output for each parameter and statistic, all of different names.
  void Outputs()
  {
    for (const Parameter& parameter : model.Parameters())
    {
      const std::string name = build.Fresh("gradient");
      if (Combine(parameter.name))
      {
        const std::string from = pass.gradients[parameter.name][0];
        if (!Rename(from, name))
          build.AddAs({ name }, "Identity", { from });
      }
      else
      {
        build.AddAs({ name }, "Expand", { build.Scalar(0),
            build.Ints(parameter.dims) });
      }
      AddOutput(name);
      result.gradients.push_back(name);
    }
    for (const Statistic& statistic : model.Statistics())
    {
      for (size_t i = 0; i < saved.size(); ++i)
      {
        if (unfolded.steps[i].node.output(0) != statistic.node ||
            saved[i].size() < 2)
          continue;
        result.means.push_back(saved[i][0]);
        result.variances.push_back(saved[i][1]);
        AddOutput(result.means.back());
        AddOutput(result.variances.back());
      }
    }
    if (result.means.size() != model.Statistics().size() && !problems)
    {
      throw std::invalid_argument("the model has a BatchNormalization that "
          "depends neither on points nor on parameters");
    }
  }

  /**
   * Give the last computed value its final name, so that it is written to its
   * place without a copy.  Only if nothing else uses it.
   */
  bool Rename(const std::string& from, const std::string& to)
  {
    pb::NodeProto* producer = nullptr;
    for (pb::NodeProto& node : *Graph().mutable_node())
    {
      for (const std::string& name : node.input())
      {
        if (name == from)
          return false;
      }
      if (node.output_size() == 1 && node.output(0) == from)
        producer = &node;
    }
    const auto& used = result.gradients;
    // A model's own name may be looked up later.
    if (!producer || from.compare(0, 6, "dasgd_") != 0 ||
        std::find(used.begin(), used.end(), from) != used.end())
      return false;
    producer->set_output(0, to);
    for (auto& each : pass.gradients)
      std::replace(each.second.begin(), each.second.end(), from, to);
    return true;
  }

  const Model& model;
  Unfolded unfolded;
  const Shapes& shapes;
  bool withGradients;
  std::vector<std::string>* problems;
  TrainingGraph result;
  Builder build;
  Pass pass;
  std::vector<Names> saved;
  //! Which steps have gone well.
  std::vector<bool> computed;
};

} // namespace

TrainingGraph MakeTrainingGraph(const Model& model,
                                const Shapes& shapes,
                                const Objective& objective,
                                const bool withGradients,
                                const std::uint64_t seed,
                                std::vector<std::string>* problems)
{
  return Differentiation(model, shapes, withGradients, seed, problems).
      Make(objective);
}

std::vector<std::string> OperatorProblems(const Model& model)
{
  std::vector<std::string> problems;
  for (const pb::NodeProto& node : model.Graph().node())
  {
    if (FindOperator(node) || std::none_of(node.output().begin(),
        node.output().end(), [&](const std::string& name)
        { return model.Active(name); }))
      continue;
    try
    {
      OperatorOf(node);
    }
    catch (const std::invalid_argument& e)
    {
      problems.push_back(e.what());
    }
  }
  return problems;
}

void CheckOperators(const Model& model)
{
  const std::vector<std::string> problems = OperatorProblems(model);
  if (problems.empty())
    return;
  throw std::invalid_argument(problems[0] + (problems.size() > 1 ? ".  " +
      std::to_string(problems.size() - 1) + " more of its nodes cannot be "
      "trained; --check (in C++ CheckOnnxModel()) names all" : "") +
      ".  There are gradients for " + OperatorNames());
}

size_t OutputsPerPoint(const Model& model,
                       const Shapes& shapes,
                       const size_t batch)
{
  const Dims& dims = shapes.Of(model.Output());
  const size_t elements = Elements(dims, model.Output());
  if (dims.empty() || batch == 0 || dims[0] != std::int64_t(batch) ||
      elements == 0)
  {
    throw std::invalid_argument("the output '" + model.Output() + "' has "
        "dimensions " + Text(dims) + " for a batch of " +
        std::to_string(batch) + " points, but its first dimension must be the "
        "batch; export the model with a dynamic batch size");
  }
  return elements / batch;
}

} // namespace graph
} // namespace dasgd
