/**
 * @file trainer.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/trainer.hpp"

namespace dasgd {
namespace graph {

Dims BatchDims(const size_t batch, const Dims& pointDims)
{
  Dims dims{ std::int64_t(batch) };
  dims.insert(dims.end(), pointDims.begin(), pointDims.end());
  return dims;
}

std::vector<Dims> BatchDims(const size_t batch,
                            const std::vector<Dims>& pointDims)
{
  std::vector<Dims> dims;
  for (const Dims& each : pointDims)
    dims.push_back(BatchDims(batch, each));
  return dims;
}

template<typename ElemType>
void BindModelInput(Session& session,
                    const Input& input,
                    const void* memory,
                    const Dims& dims)
{
  if (IsReal(input.type))
    session.BindInput(input.name, static_cast<const ElemType*>(memory), dims);
  else
  {
    session.BindInput(input.name, static_cast<const std::int64_t*>(memory),
        dims);
  }
}

template void BindModelInput<float>(Session&, const Input&, const void*,
    const Dims&);
template void BindModelInput<double>(Session&, const Input&, const void*,
    const Dims&);

template<typename ElemType>
Trainer<ElemType>::Trainer(const Model& model,
                           const std::vector<Dims>& pointDims,
                           const Objective& objective,
                           const size_t batch,
                           const bool withGradients,
                           const size_t threads,
                           const std::uint64_t seed) :
    model(model),
    batch(batch),
    labelled(objective.loss == OnnxLoss::CrossEntropy),
    inputDims(BatchDims(batch, pointDims)),
    graph([&]()
    {
      return MakeTrainingGraph(model, FindShapes(model, inputDims), objective,
          withGradients, seed);
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
                                const std::vector<const void*>& inputs,
                                const void* targets,
                                ElemType* gradient)
{
  for (size_t i = 0; i < inputs.size(); ++i)
  {
    BindModelInput<ElemType>(session, model.Inputs()[i], inputs[i],
        inputDims[i]);
  }
  if (labelled)
  {
    session.BindInput(graph.target, static_cast<const std::int64_t*>(targets),
        graph.targetDims);
  }
  else if (!graph.target.empty())
  {
    session.BindInput(graph.target, static_cast<const ElemType*>(targets),
        graph.targetDims);
  }
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
  trainers.emplace_front(model, pointDims, objective, batch, withGradients,
      threads, seed);
  return trainers.front();
}

template class Trainer<float>;
template class Trainer<double>;
template class Trainers<float>;
template class Trainers<double>;

} // namespace graph
} // namespace dasgd
