/**
 * @file trainer.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "trainer.hpp"

namespace dasgd {
namespace graph {

namespace {

//! Dimensions of a batch.
Dims BatchDims(const size_t batch, const Dims& pointDims)
{
  Dims dims{ std::int64_t(batch) };
  dims.insert(dims.end(), pointDims.begin(), pointDims.end());
  return dims;
}

} // namespace

template<typename ElemType>
Trainer<ElemType>::Trainer(const Model& model,
                           const Dims& pointDims,
                           const OnnxLoss loss,
                           const size_t batch,
                           const bool withGradients,
                           const size_t threads,
                           const std::uint64_t seed) :
    model(model),
    batch(batch),
    inputDims(BatchDims(batch, pointDims)),
    graph([&]()
    {
      const Shapes shapes = FindShapes(model, inputDims);
      responseDims = { std::int64_t(batch), std::int64_t(OutputsPerPoint(model,
          shapes, batch)) };
      return MakeTrainingGraph(model, shapes, loss, withGradients, seed);
    }()),
    session(graph.proto, model.Type(), threads)
{
  // The graph lives on in the session.
  graph.proto.Clear();
  for (size_t i = 0; i < graph.means.size(); ++i)
  {
    means.emplace_back(model.Statistics()[i].elements);
    variances.emplace_back(model.Statistics()[i].elements);
  }
}

template<typename ElemType>
ElemType Trainer<ElemType>::Run(const ElemType* iterate,
                                const ElemType* points,
                                const std::int64_t* labels,
                                const ElemType* responses,
                                ElemType* gradient)
{
  session.BindInput(model.Input(), points, inputDims);
  if (labels)
    session.BindInput(graph.target, labels, { std::int64_t(batch) });
  else
    session.BindInput(graph.target, responses, responseDims);
  session.BindOutput(graph.loss, &loss, { });
  const std::vector<Parameter>& parameters = model.Parameters();
  for (size_t i = 0; i < parameters.size(); ++i)
  {
    const Parameter& p = parameters[i];
    session.BindInput(p.name, iterate + p.offset, p.dims);
    if (WithGradients())
      session.BindOutput(graph.gradients[i], gradient + p.offset, p.dims);
  }
  for (size_t i = 0; i < means.size(); ++i)
  {
    const Dims dims{ std::int64_t(means[i].size()) };
    session.BindOutput(graph.means[i], means[i].data(), dims);
    session.BindOutput(graph.variances[i], variances[i].data(), dims);
  }
  session.Run();
  return loss;
}

template<typename ElemType>
Trainer<ElemType>& Trainers<ElemType>::For(const size_t batch,
                                           const bool withGradients)
{
  for (auto each = trainers.begin(); each != trainers.end(); ++each)
  {
    if (each->Batch() == batch && each->WithGradients() == withGradients)
    {
      trainers.splice(trainers.begin(), trainers, each);
      return trainers.front();
    }
  }
  if (trainers.size() >= Most)
    trainers.pop_back();
  trainers.emplace_front(model, pointDims, loss, batch, withGradients, threads,
      seed);
  return trainers.front();
}

template class Trainer<float>;
template class Trainer<double>;
template class Trainers<float>;
template class Trainers<double>;

} // namespace graph
} // namespace dasgd
