/**
 * @file onnx_function.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "onnx_function.hpp"

#include "predictor.hpp"
#include "trainer.hpp"

#include "../core/whole_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <type_traits>

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

//! The dimensions of one point, where a model leaves at most one open.
graph::Dims PointDims(const graph::Model& model, const size_t rows)
{
  graph::Dims dims(model.InputDims().begin() + 1, model.InputDims().end());
  std::int64_t known = 1;
  size_t open = 0;
  for (const std::int64_t dim : dims)
  {
    open += dim < 0;
    known *= dim < 0 ? 1 : dim;
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
    throw std::invalid_argument("its input '" + model.Input() + "' leaves " +
        std::to_string(open) + " dimensions of a point open (-1 in " +
        graph::Text(model.InputDims()) + "), which points of " +
        std::to_string(rows) + " numbers do not decide; export it with fixed "
        "dimensions except for the batch");
  }
  if (rows > 0 && size_t(known) != rows)
  {
    throw std::invalid_argument("its input '" + model.Input() + "' takes " +
        std::to_string(known) + " numbers for each point (" +
        graph::Text(dims) + "), but the points have " + std::to_string(rows) +
        "; give points of that size");
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
                 MatType given,
                 const OnnxLoss loss,
                 const OnnxOptions& options) :
      points(std::move(given)),
      model(OfFile(modelFile, [&]()
      {
        return graph::Model(ReadFile(modelFile),
            std::is_same_v<ElemType, float> ? graph::pb::TensorProto::FLOAT :
            graph::pb::TensorProto::DOUBLE, options.frozen);
      })),
      pointDims(OfFile(modelFile, [&]()
      { return PointDims(model, points.n_rows); })),
      trainers(model, pointDims, loss, options.threads, options.seed),
      predictor(model, pointDims, options.threads),
      loss(loss)
  {
    if (options.threads == 0)
      throw std::invalid_argument("OnnxOptions: threads is 0; give 1 or more");
    OfFile(modelFile, [&]() { Prepare(options); });
  }

  //! Find out all that can be wrong with a model before it is used.
  void Prepare(const OnnxOptions& options)
  {
    graph::CheckOperators(model);
    // With a batch of two, a model for batches of one shows.
    graph::Dims dims{ 2 };
    dims.insert(dims.end(), pointDims.begin(), pointDims.end());
    const graph::Shapes shapes = graph::FindShapes(model, dims);
    inputs = graph::Elements(pointDims, model.Input());
    outputs = graph::OutputsPerPoint(model, shapes, 2);
    outputDims = shapes.Of(model.Output());
    graph::MakeTrainingGraph(model, shapes, loss, true, options.seed);
    FindNodes(shapes);
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

  void FindNodes(const graph::Shapes& shapes)
  {
    std::map<std::string, size_t> unused;
    for (const graph::Parameter& p : model.Parameters())
      unused[p.name] = p.elements;
    for (const graph::pb::NodeProto& node : model.Graph().node())
    {
      if (!model.Varies(node.output(0)))
        continue;
      OnnxNode line{ node.name().empty() ? node.output(0) : node.name(),
          node.op_type(), shapes.Of(node.output(0)), 0 };
      if (!line.dims.empty() && line.dims[0] == 2)
        line.dims[0] = 1;
      for (const std::string& name : node.input())
      {
        line.parameters += unused[name];
        unused[name] = 0;
      }
      nodes.push_back(line);
    }
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
    if (batchSize == 0 || begin > points.n_cols ||
        batchSize > points.n_cols - begin)
    {
      throw std::invalid_argument("OnnxFunction: points " +
          std::to_string(begin) + " to " + std::to_string(begin + batchSize) +
          " were asked for, but there are " + std::to_string(points.n_cols));
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
    const ElemType result = trainer.Run(iterate.memptr(),
        points.colptr(begin), labels.empty() ? nullptr : labels.data() + begin,
        labels.empty() ? responses.colptr(begin) : nullptr,
        gradient ? gradient->memptr() : nullptr);
    if (gradient)
      Learn(trainer);
    return result;
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

  MatType points;
  MatType responses;
  std::vector<std::int64_t> labels;
  graph::Model model;
  graph::Dims pointDims;
  graph::Trainers<ElemType> trainers;
  graph::Predictor<ElemType> predictor;
  OnnxLoss loss;
  size_t inputs = 0, outputs = 0;
  graph::Dims outputDims;
  std::vector<OnnxParameter> parameters;
  std::vector<OnnxNode> nodes;
  //! Mean and variance of every BatchNormalization.
  std::vector<arma::mat> statistics;
};

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    MatType points,
                                    const arma::Row<size_t>& labels,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        std::move(points), OnnxLoss::CrossEntropy, options))
{
  Implementation& own = *implementation;
  if (labels.n_elem != own.points.n_cols || labels.n_elem == 0)
  {
    throw std::invalid_argument("OnnxFunction: there are " +
        std::to_string(own.points.n_cols) + " points, but " +
        std::to_string(labels.n_elem) + " labels; give one for each point");
  }
  const size_t largest = labels.max();
  if (largest >= own.outputs)
  {
    throw std::invalid_argument("OnnxFunction: a label is " +
        std::to_string(largest) + ", but the model has " +
        std::to_string(own.outputs) + " outputs; number classes from 0");
  }
  own.labels.assign(labels.begin(), labels.end());
}

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    MatType points,
                                    MatType responses,
                                    const OnnxLoss loss,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile,
        std::move(points), loss, options))
{
  Implementation& own = *implementation;
  if (loss == OnnxLoss::CrossEntropy)
  {
    throw std::invalid_argument("OnnxFunction: the cross entropy needs labels "
        "(arma::Row<size_t>), not responses");
  }
  if (responses.n_cols != own.points.n_cols || responses.n_cols == 0 ||
      responses.n_rows != own.outputs)
  {
    throw std::invalid_argument("OnnxFunction: responses are " +
        std::to_string(responses.n_rows) + " x " +
        std::to_string(responses.n_cols) + ", but must be " +
        std::to_string(own.outputs) + " x " +
        std::to_string(own.points.n_cols) + ": the outputs of the model for "
        "each point");
  }
  own.responses = std::move(responses);
}

template<typename MatType>
OnnxFunction<MatType>::OnnxFunction(const std::string& modelFile,
                                    const OnnxOptions& options) :
    implementation(std::make_unique<Implementation>(modelFile, MatType(),
        OnnxLoss::CrossEntropy, options))
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
  return implementation->points.n_cols;
}

template<typename MatType>
void OnnxFunction<MatType>::Shuffle()
{
  Implementation& own = *implementation;
  const arma::uvec order = arma::randperm(own.points.n_cols);
  own.points = MatType(own.points.cols(order));
  if (own.labels.empty())
  {
    own.responses = MatType(own.responses.cols(order));
    return;
  }
  std::vector<std::int64_t> labels(own.labels.size());
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = own.labels[order[i]];
  own.labels.swap(labels);
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
const std::vector<OnnxNode>& OnnxFunction<MatType>::Nodes() const
{
  return implementation->nodes;
}

template<typename MatType>
size_t OnnxFunction<MatType>::InputSize() const
{
  return implementation->inputs;
}

template<typename MatType>
size_t OnnxFunction<MatType>::OutputSize() const
{
  return implementation->outputs;
}

template<typename MatType>
void OnnxFunction<MatType>::Predict(const MatType& iterate,
                                    const MatType& points,
                                    MatType& output)
{
  Implementation& own = *implementation;
  own.CheckIterate(iterate);
  if (points.n_rows != own.inputs)
  {
    throw std::invalid_argument("OnnxFunction::Predict(): points have " +
        std::to_string(points.n_rows) + " numbers, but the model takes " +
        std::to_string(own.inputs));
  }
  output.set_size(own.outputs, points.n_cols);
  own.predictor.Run(iterate.memptr(), own.statistics, points.memptr(),
      output.memptr(), points.n_cols, own.outputDims);
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
