/**
 * @file onnx_function.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/onnx_function.hpp"

#include "dasgd/onnx/model/external_data.hpp"
#include "dasgd/onnx/nodes.hpp"
#include "dasgd/onnx/predictor.hpp"
#include "dasgd/onnx/scoring.hpp"
#include "dasgd/onnx/trainer.hpp"

#include "dasgd/files/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace dasgd {

namespace {

//! The content of a file.
std::string ReadFile(const std::string& path)
{
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf()))
  {
    throw std::runtime_error("Cannot read the model file '" + path + "': " +
        (errno ? std::strerror(errno) : "it is empty"));
  }
  return bytes.str();
}

//! What goes wrong with a model is told with the name of its file.
template<typename ActionType>
auto OfFile(const std::string& path, ActionType&& action)
{
  try
  {
    return action();
  }
  catch (const std::invalid_argument& e)
  {
    throw std::invalid_argument("Model file '" + path + "': " + e.what());
  }
  catch (const std::runtime_error& e)
  {
    throw std::runtime_error("Model file '" + path + "': " + e.what());
  }
}

using Whole = arma::Mat<arma::s64>;
static_assert(sizeof(arma::s64) == sizeof(std::int64_t), "the same numbers");

//! Values as a model wants them: numbers of its own type, or whole ones.
template<typename MatType>
void Convert(OnnxArray& array, const bool whole, const std::string& what)
{
  if (whole ? std::holds_alternative<Whole>(array.values) :
      std::holds_alternative<MatType>(array.values))
    return;
  array.values = std::visit([&](const auto& from) ->
      std::variant<arma::fmat, arma::mat, Whole>
  {
    if (!whole)
    {
      MatType to(from.n_rows, from.n_cols);
      std::transform(from.begin(), from.end(), to.begin(), [](const auto value)
          { return typename MatType::elem_type(value); });
      return to;
    }
    Whole to(from.n_rows, from.n_cols);
    std::transform(from.begin(), from.end(), to.begin(), [&](const auto value)
    {
      // Up to here every whole number is exact.
      if (!(std::abs(double(value)) <= 9007199254740992.0) ||
          double(value) != std::floor(double(value)))
      {
        throw std::invalid_argument(what + " must be whole numbers, but one "
            "is " + std::to_string(double(value)) + (what.find("class") ==
            std::string::npos ? "" : "; for responses use another loss, such "
            "as mse"));
      }
      return arma::s64(value);
    });
    return to;
  }, array.values);
}

//! Where the values of a point are.
const void* Column(const OnnxArray& array, const size_t point)
{
  return std::visit([&](const auto& values) -> const void*
  { return values.memptr() + point * values.n_rows; }, array.values);
}

//! Points in another order.
void Permute(OnnxArray& array, const arma::uvec& order)
{
  std::visit([&](auto& values)
  {
    if (!values.empty())
      values = std::decay_t<decltype(values)>(values.cols(order));
  }, array.values);
}

//! Put arrays into the order of the model's inputs.
std::vector<OnnxArray> InOrder(const graph::Model& model,
                               std::vector<OnnxArray> given)
{
  std::string names;
  for (const graph::Input& input : model.Inputs())
    names += (names.empty() ? "'" : ", '") + input.name + "'";
  if (given.size() == 1 && model.Inputs().size() == 1 && given[0].name.empty())
    given[0].name = model.Inputs()[0].name;
  std::vector<OnnxArray> ordered;
  for (const graph::Input& input : model.Inputs())
  {
    const auto found = std::find_if(given.begin(), given.end(),
        [&](const OnnxArray& each) { return each.name == input.name; });
    if (found == given.end())
    {
      throw std::invalid_argument("the model has " +
          std::to_string(model.Inputs().size()) + " input(s) (" + names +
          "), but nothing is given for '" + input.name + "'; give arrays of "
          "these names");
    }
    if (!ordered.empty() && ordered[0].Points() != found->Points())
    {
      throw std::invalid_argument("there are " +
          std::to_string(found->Points()) + " points for the input '" +
          input.name + "', but " + std::to_string(ordered[0].Points()) +
          " for '" + ordered[0].name + "'");
    }
    ordered.push_back(std::move(*found));
  }
  return ordered;
}

//! The dimensions of one point for an input, where at most one is open.
graph::Dims PointDims(const graph::Input& input,
                      const graph::Dims& given,
                      const size_t rows,
                      const std::map<std::string, std::int64_t>& sizes,
                      const size_t otherwise)
{
  graph::Dims dims(input.dims.begin() + 1, input.dims.end());
  std::int64_t known = 1;
  size_t open = 0;
  for (size_t i = 0; i < dims.size(); ++i)
  {
    const auto size = sizes.find(input.symbols[i + 1]);
    if (dims[i] < 0 && given.size() == dims.size())
      dims[i] = given[i];
    else if (dims[i] < 0 && !input.symbols[i + 1].empty() &&
        size != sizes.end())
      dims[i] = size->second;
    else if (dims[i] < 0 && rows == 0 && otherwise > 0)
      dims[i] = std::int64_t(otherwise);
    open += dims[i] < 0;
    known *= dims[i] < 0 ? 1 : dims[i];
  }
  if (open == 1 && known > 0 && rows > 0 &&
      std::int64_t(rows) % known == 0)
  {
    for (std::int64_t& dim : dims)
      dim = dim < 0 ? std::int64_t(rows) / known : dim;
    return dims;
  }
  if (open > 0)
  {
    throw std::invalid_argument("its input '" + input.name + "' leaves " +
        std::to_string(open) + " dimensions of a point open (-1 in " +
        graph::Text(input.dims) + "), which points of " +
        std::to_string(rows) + " numbers do not decide; export it with fixed "
        "dimensions except for the batch, or give points with their "
        "dimensions");
  }
  if (rows > 0 && size_t(known) != rows)
  {
    throw std::invalid_argument("its input '" + input.name + "' takes " +
        std::to_string(known) + " numbers for each point (" +
        graph::Text(dims) + "), but the points have " + std::to_string(rows) +
        (given.empty() ? "" : " (" + graph::Text(given) + ")") +
        "; give points of that size");
  }
  if (rows > 0 && given.size() == dims.size() && given != dims)
  {
    throw std::invalid_argument("its input '" + input.name + "' takes points "
        "of " + graph::Text(dims) + ", but they are " + graph::Text(given) +
        "; transpose or reshape them");
  }
  return dims;
}

//! The same for all inputs; open dimensions of one name have one size.
std::vector<graph::Dims> AllPointDims(const graph::Model& model,
                                      const std::vector<OnnxArray>& arrays,
                                      const size_t otherwise)
{
  std::map<std::string, std::int64_t> sizes;
  for (size_t i = 0; i < arrays.size(); ++i)
  {
    const graph::Input& input = model.Inputs()[i];
    for (size_t j = 0; j < arrays[i].dims.size(); ++j)
    {
      if (arrays[i].dims.size() + 1 == input.dims.size() &&
          input.dims[j + 1] < 0 && !input.symbols[j + 1].empty())
        sizes[input.symbols[j + 1]] = arrays[i].dims[j];
    }
  }
  std::vector<graph::Dims> dims;
  for (size_t i = 0; i < model.Inputs().size(); ++i)
  {
    const bool given = i < arrays.size();
    dims.push_back(PointDims(model.Inputs()[i], given ? arrays[i].dims :
        graph::Dims(), given ? arrays[i].Rows() : 0, sizes, otherwise));
  }
  return dims;
}

} // namespace

//! All that the function consists of.
template<typename MatType>
class OnnxFunction<MatType>::Implementation
{
 public:
  Implementation(const std::string& modelFile,
      std::vector<OnnxArray> given,
      const OnnxLoss loss,
      const OnnxOptions& options) :
      model(OfFile(modelFile,
          [&]()
          {
            return graph::Model(ReadFile(modelFile),
                std::is_same_v<ElemType, float>
                    ? graph::pb::TensorProto::FLOAT
                    : graph::pb::TensorProto::DOUBLE,
                options.frozen, { options.output, loss == OnnxLoss::Model },
                graph::FolderOf(modelFile));
          })),
      points(OfFile(modelFile, [&]() { return Ordered(std::move(given)); })),
      pointDims(OfFile(modelFile,
          [&]() { return AllPointDims(model, points, options.open); })),
      objective(loss),
      trainers(model, pointDims, objective, options.threads, options.seed),
      predictor(model, pointDims, options.threads)
  {
    if (options.threads == 0)
      throw std::invalid_argument("OnnxOptions: threads is 0; give 1 or more");
    objective.ignored = options.ignored;
    OfFile(modelFile, [&]() { Prepare(options); });
  }

  //! Arrays in the order and of the types of the model's inputs.
  std::vector<OnnxArray> Ordered(std::vector<OnnxArray> given) const
  {
    if (given.empty())
      return given;
    std::vector<OnnxArray> ordered = InOrder(model, std::move(given));
    for (size_t i = 0; i < ordered.size(); ++i)
    {
      Convert<MatType>(ordered[i], !graph::IsReal(model.Inputs()[i].type),
          "the values of the input '" + ordered[i].name + "'");
    }
    return ordered;
  }

  //! Find out all that can be wrong with a model before it is used.
  void Prepare(const OnnxOptions& options)
  {
    graph::CheckOperators(model);
    // With a batch of two, a model for batches of one shows.
    const graph::Shapes shapes = graph::FindShapes(model,
        graph::BatchDims(2, pointDims));
    for (size_t i = 0; i < pointDims.size(); ++i)
    {
      const graph::Input& input = model.Inputs()[i];
      inputs.push_back({ input.name, pointDims[i],
          !graph::IsReal(input.type) });
    }
    outputDims = shapes.Of(model.Output());
    if (objective.loss != OnnxLoss::Model)
      outputs = graph::OutputsPerPoint(model, shapes, 2);
    graph::MakeTrainingGraph(model, shapes, objective, true, options.seed);
    nodes = graph::ListNodes(model, shapes);
    for (const graph::Parameter& p : model.Parameters())
      parameters.push_back({ p.name, p.dims, p.offset, p.elements });
    for (const graph::Statistic& statistic : model.Statistics())
    {
      for (const std::string& name : { statistic.mean, statistic.variance })
      {
        statistics.emplace_back(arma::vec(graph::Reals<double>(
            *model.Initializer(name))));
      }
    }
  }

  size_t Points() const { return points.empty() ? 0 : points[0].Points(); }

  //! Dimensions of the output for one point.
  graph::Dims OutputDims() const
  {
    return outputDims.empty() ? graph::Dims() : graph::Dims(
        outputDims.begin() + 1, outputDims.end());
  }

  //! Check targets for a number of points, and make them of the type that the
  //! loss takes.
  void CheckTargets(OnnxArray& given, const size_t count) const
  {
    if (objective.loss == OnnxLoss::Model)
      return;
    const bool whole = objective.loss == OnnxLoss::CrossEntropy;
    if (given.Points() != count || count == 0)
    {
      throw std::invalid_argument("OnnxFunction: there are " +
          std::to_string(count) + " points, but " +
          std::to_string(given.Points()) + (whole ? " labels" : " responses") +
          "; give one for each point");
    }
    Convert<MatType>(given, whole, whole ? "OnnxFunction: classes" : "");
    if (!whole)
    {
      if (given.Rows() == outputs)
        return;
      throw std::invalid_argument("OnnxFunction: responses are " +
          std::to_string(given.Rows()) + " x " + std::to_string(count) +
          ", but must be " + std::to_string(outputs) + " x " +
          std::to_string(count) + ": the outputs of the model for each point");
    }
    const size_t classes = Classes(given);
    const Whole& labels = std::get<Whole>(given.values);
    for (const arma::s64 label : labels)
    {
      if ((label < 0 || size_t(label) >= classes) &&
          label != objective.ignored)
      {
        throw std::invalid_argument("OnnxFunction: a label is " +
            std::to_string(label) + ", but the model has " +
            std::to_string(classes) + " outputs; number classes from 0");
      }
    }
  }

  //! Dimensions of the targets of one point.
  static graph::Dims TargetDims(const OnnxArray& targets)
  {
    return !targets.dims.empty() || targets.Rows() == 1 ? targets.dims :
        graph::Dims{ std::int64_t(targets.Rows()) };
  }

  //! How many classes targets are of.
  size_t Classes(const OnnxArray& targets) const
  {
    const graph::Dims dims = TargetDims(targets);
    const size_t axis = graph::ClassAxis(OutputDims(), dims);
    if (axis == 0)
    {
      throw std::invalid_argument("OnnxFunction: the targets of a point have "
          "dimensions " + graph::Text(dims) + ", but its outputs " +
          graph::Text(OutputDims()) + "; for the cross entropy, outputs have "
          "one dimension more, for classes, at the end or at the beginning; "
          "targets are numbers of classes, not vectors of 0 and 1");
    }
    return size_t(outputDims[axis]);
  }

  //! Train with these targets.
  void SetTargets(OnnxArray given)
  {
    CheckTargets(given, Points());
    targets = std::move(given);
    if (objective.loss != OnnxLoss::CrossEntropy)
      return;
    objective.classAxis = graph::ClassAxis(OutputDims(), TargetDims(targets));
    const Whole& labels = std::get<Whole>(targets.values);
    objective.ignores = std::find(labels.begin(), labels.end(),
        arma::s64(objective.ignored)) != labels.end();
    trainers.SetObjective(objective);
  }

  void CheckIterate(const MatType& iterate) const
  {
    if (iterate.n_elem != model.Size())
    {
      throw std::invalid_argument("OnnxFunction: the iterate has " +
          std::to_string(iterate.n_elem) + " elements, but the model has " +
          std::to_string(model.Size()) + " weights; start from "
          "GetInitialPoint()");
    }
  }

  void CheckBatch(const size_t begin, const size_t batchSize) const
  {
    if (batchSize == 0 || begin > Points() || batchSize > Points() - begin)
    {
      throw std::invalid_argument("OnnxFunction: points " +
          std::to_string(begin) + " to " + std::to_string(begin + batchSize) +
          " were asked for, but there are " + std::to_string(Points()));
    }
    if (objective.loss != OnnxLoss::Model && targets.Points() == 0)
    {
      throw std::invalid_argument("OnnxFunction: there are points without "
          "targets; give labels or responses");
    }
  }

  ElemType Run(const MatType& iterate,
               const size_t begin,
               const size_t batchSize,
               MatType* gradient)
  {
    CheckIterate(iterate);
    CheckBatch(begin, batchSize);
    graph::Trainer<ElemType>& trainer = trainers.For(batchSize,
        gradient != nullptr);
    const ElemType result = trainer.Run(iterate.memptr(), Columns(points,
        begin), objective.loss == OnnxLoss::Model ? nullptr :
        Column(targets, begin), gradient ? gradient->memptr() : nullptr);
    if (gradient)
      Learn(trainer);
    return result;
  }

  static std::vector<const void*> Columns(const std::vector<OnnxArray>& arrays,
                                          const size_t begin)
  {
    std::vector<const void*> columns;
    for (const OnnxArray& array : arrays)
      columns.push_back(Column(array, begin));
    return columns;
  }

  //! Call action(first, count, outputs) for pieces of points, in order, with
  //! what inference computes.
  template<typename ActionType>
  void InPieces(const MatType& iterate,
                const std::vector<OnnxArray>& given,
                ActionType&& action)
  {
    CheckIterate(iterate);
    predictor.Load(iterate.memptr(), statistics);
    graph::Dims dims = outputDims;
    const bool single = objective.loss == OnnxLoss::Model &&
        graph::Elements(dims, model.Output()) == 1;
    // Enough that overheads do not matter, and little memory.
    const size_t most = std::max<size_t>(1, std::min<size_t>(256,
        (size_t(1) << 22) / std::max<size_t>(outputs, 1)));
    const size_t count = given[0].Points();
    for (size_t first = 0; first < count; first += most)
    {
      const size_t batch = std::min(most, count - first);
      if (!single)
        dims[0] = std::int64_t(batch);
      MatType output(single ? 1 : std::max<size_t>(outputs, 1), single ? 1 :
          batch);
      predictor.Run(Columns(given, first), batch, output.memptr(), dims);
      action(first, batch, output);
    }
  }

  //! Points that are not those of the training.
  std::vector<OnnxArray> Others(std::vector<OnnxArray> given) const
  {
    std::vector<OnnxArray> others = Ordered(std::move(given));
    for (size_t i = 0; i < others.size(); ++i)
    {
      const size_t rows = graph::Elements(pointDims[i], inputs[i].name);
      const graph::Dims& dims = others[i].dims;
      if (others[i].Rows() != rows)
      {
        throw std::invalid_argument("OnnxFunction: points have " +
            std::to_string(others[i].Rows()) + " numbers, but the input '" +
            inputs[i].name + "' takes " + std::to_string(rows));
      }
      if (dims.size() == pointDims[i].size() && dims != pointDims[i])
      {
        throw std::invalid_argument("OnnxFunction: points are " +
            graph::Text(dims) + ", but the input '" + inputs[i].name +
            "' takes " + graph::Text(pointDims[i]) +
            "; transpose or reshape them");
      }
    }
    return others;
  }

  //! Is the output what an operator gives?
  bool EndsIn(const char* operation) const
  {
    for (const graph::pb::NodeProto& node : model.Graph().node())
    {
      if (node.output(0) == model.Output())
        return node.op_type() == operation;
    }
    return false;
  }

  //! Update the running statistics by the batch.
  void Learn(const graph::Trainer<ElemType>& trainer)
  {
    for (size_t i = 0; i < trainer.Means().size(); ++i)
    {
      const double stay = model.Statistics()[i].momentum;
      const auto update = [&](arma::mat& running,
                              const std::vector<ElemType>& batch)
      {
        for (size_t j = 0; j < batch.size(); ++j)
          running[j] = stay * running[j] + (1 - stay) * double(batch[j]);
      };
      update(statistics[2 * i], trainer.Means()[i]);
      update(statistics[2 * i + 1], trainer.Variances()[i]);
    }
  }

  graph::Model model;
  //! In the order of the model's inputs; empty without points.
  std::vector<OnnxArray> points;
  OnnxArray targets;
  std::vector<graph::Dims> pointDims;
  graph::Objective objective;
  graph::Trainers<ElemType> trainers;
  graph::Predictor<ElemType> predictor;
  size_t outputs = 0;
  //! For a batch of two.
  graph::Dims outputDims;
  std::vector<OnnxInput> inputs;
  std::vector<OnnxParameter> parameters;
  std::vector<OnnxNode> nodes;
  //! Mean and variance of every BatchNormalization.
  std::vector<arma::mat> statistics;
};

namespace {

//! One array for a model with one input.
template<typename MatType>
std::vector<OnnxArray> OneInput(MatType&& points)
{
  std::vector<OnnxArray> arrays(1);
  arrays[0].values = std::move(points);
  return arrays;
}

} // namespace

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    MatType points,
                                    const arma::Row<size_t>& labels,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        OneInput(std::move(points)), OnnxLoss::CrossEntropy, options))
{
  OnnxArray targets;
  Whole classes(1, labels.n_elem);
  std::copy(labels.begin(), labels.end(), classes.begin());
  targets.values = std::move(classes);
  implementation->SetTargets(std::move(targets));
}

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    MatType points,
                                    MatType responses,
                                    const OnnxLoss loss,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        OneInput(std::move(points)), loss, options))
{
  if (loss == OnnxLoss::CrossEntropy)
  {
    throw std::invalid_argument("OnnxFunction: the cross entropy needs labels "
        "(arma::Row<size_t>), not responses");
  }
  OnnxArray targets;
  targets.values = std::move(responses);
  implementation->SetTargets(std::move(targets));
}

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    std::vector<OnnxArray> inputs,
                                    OnnxArray targets,
                                    const OnnxLoss loss,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        std::move(inputs), loss, options))
{
  // Without any, the model can be used, but not be trained.
  if (targets.Points() > 0)
    implementation->SetTargets(std::move(targets));
}

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        std::vector<OnnxArray>(), OnnxLoss::CrossEntropy, options))
{ }

template<typename MatType>
OnnxFunction<MatType>::~OnnxFunction() = default;
template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(OnnxFunction&&) noexcept = default;
template<typename MatType>
OnnxFunction<MatType>& OnnxFunction<MatType>::operator=(OnnxFunction&&)
    noexcept = default;

template<typename MatType>
size_t OnnxFunction<MatType>::NumFunctions() const
{
  return implementation->Points();
}

template<typename MatType>
void OnnxFunction<MatType>::Shuffle()
{
  Implementation& own = *implementation;
  const arma::uvec order = arma::randperm(own.Points());
  for (OnnxArray& array : own.points)
    Permute(array, order);
  Permute(own.targets, order);
}

template<typename MatType>
typename MatType::elem_type OnnxFunction<MatType>::Evaluate(
    const MatType& iterate,
    const size_t begin,
    const size_t batchSize)
{
  return implementation->Run(iterate, begin, batchSize, nullptr);
}

template<typename MatType>
typename MatType::elem_type OnnxFunction<MatType>::EvaluateWithGradient(
    const MatType& iterate,
    const size_t begin,
    MatType& gradient,
    const size_t batchSize)
{
  gradient.set_size(iterate.n_rows, iterate.n_cols);
  return implementation->Run(iterate, begin, batchSize, &gradient);
}

template<typename MatType>
MatType OnnxFunction<MatType>::GetInitialPoint() const
{
  const graph::Model& model = implementation->model;
  MatType iterate(model.Size(), 1);
  for (const graph::Parameter& p : model.Parameters())
  {
    const std::vector<ElemType> values = graph::Reals<ElemType>(
        *model.Initializer(p.name));
    std::copy(values.begin(), values.end(), iterate.memptr() + p.offset);
  }
  return iterate;
}

template<typename MatType>
void OnnxFunction<MatType>::VisitStatistics(
    const std::function<void(arma::mat&)>& action)
{
  for (arma::mat& statistic : implementation->statistics)
    action(statistic);
}

template<typename MatType>
const std::vector<OnnxParameter>& OnnxFunction<MatType>::Parameters() const
{
  return implementation->parameters;
}

template<typename MatType>
const std::vector<std::string>& OnnxFunction<MatType>::Unmatched() const
{
  return implementation->model.Unmatched();
}

template<typename MatType>
const std::vector<OnnxNode>& OnnxFunction<MatType>::Nodes() const
{
  return implementation->nodes;
}

template<typename MatType>
const std::vector<OnnxInput>& OnnxFunction<MatType>::Inputs() const
{
  return implementation->inputs;
}

template<typename MatType>
size_t OnnxFunction<MatType>::InputSize() const
{
  size_t size = 0;
  for (const OnnxInput& input : implementation->inputs)
    size += graph::Elements(input.dims, input.name);
  return size;
}

template<typename MatType>
size_t OnnxFunction<MatType>::OutputSize() const
{
  return implementation->outputs;
}

template<typename MatType>
std::vector<std::int64_t> OnnxFunction<MatType>::OutputDims() const
{
  return implementation->OutputDims();
}

template<typename MatType>
void OnnxFunction<MatType>::Predict(const MatType& iterate,
                                    const MatType& points,
                                    MatType& output)
{
  Predict(iterate, OneInput(MatType(points)), output);
}

template<typename MatType>
void OnnxFunction<MatType>::Predict(const MatType& iterate,
                                    const std::vector<OnnxArray>& inputs,
                                    MatType& output)
{
  Implementation& own = *implementation;
  if (own.outputs == 0)
  {
    throw std::invalid_argument("OnnxFunction::Predict(): the output '" +
        own.model.Output() + "' is the loss; choose another one for "
        "predictions (OnnxOptions::output)");
  }
  const std::vector<OnnxArray> given = own.Others(inputs);
  output.set_size(own.outputs, given[0].Points());
  own.InPieces(iterate, given, [&](const size_t first,
                                   const size_t count,
                                   const MatType& piece)
  { output.cols(first, first + count - 1) = piece; });
}

template<typename MatType>
OnnxScore OnnxFunction<MatType>::Score(const MatType& iterate,
                                       const std::vector<OnnxArray>& inputs,
                                       const OnnxArray& targets)
{
  Implementation& own = *implementation;
  const std::vector<OnnxArray> given = own.Others(inputs);
  OnnxArray truth = targets;
  own.CheckTargets(truth, given[0].Points());
  graph::Scoring<MatType> scoring(own.objective, own.EndsIn("Softmax") ||
      own.EndsIn("Sigmoid"));
  if (own.objective.loss == OnnxLoss::CrossEntropy)
    scoring.SetClasses(own.OutputDims(), own.TargetDims(truth));
  own.InPieces(iterate, given, [&](const size_t first,
                                   const size_t count,
                                   const MatType& piece)
  {
    scoring.Add(piece, count, own.objective.loss == OnnxLoss::Model ? nullptr :
        Column(truth, first));
  });
  return scoring.Result();
}

template<typename MatType>
void OnnxFunction<MatType>::Save(const std::string& file,
                                 const MatType& iterate) const
{
  const Implementation& own = *implementation;
  own.CheckIterate(iterate);
  std::map<std::string, std::vector<double>> values;
  for (const graph::Parameter& p : own.model.Parameters())
  {
    const ElemType* first = iterate.memptr() + p.offset;
    values[p.name].assign(first, first + p.elements);
  }
  for (size_t i = 0; i < own.model.Statistics().size(); ++i)
  {
    const graph::Statistic& statistic = own.model.Statistics()[i];
    const arma::mat& mean = own.statistics[2 * i];
    const arma::mat& variance = own.statistics[2 * i + 1];
    values[statistic.mean].assign(mean.begin(), mean.end());
    values[statistic.variance].assign(variance.begin(), variance.end());
  }
  const std::string bytes = own.model.Write(values);
  SaveFile(file, [&](std::ostream& stream)
  { stream.write(bytes.data(), std::streamsize(bytes.size())); });
}

template class OnnxFunction<arma::fmat>;
template class OnnxFunction<arma::mat>;

} // namespace dasgd
