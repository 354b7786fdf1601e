/**
 * @file predictor.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/predictor.hpp"

#include <set>

namespace dasgd {
namespace graph {

template<typename ElemType>
pb::ModelProto Predictor<ElemType>::WithInputs() const
{
  pb::ModelProto proto = model.Proto();
  pb::GraphProto& graph = *proto.mutable_graph();
  graph.clear_input();
  graph.clear_initializer();
  const auto add = [&](const std::string& name,
                       const std::int32_t type,
                       const Dims& dims)
  {
    pb::ValueInfoProto& value = *graph.add_input();
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const std::int64_t dim : dims)
    {
      auto& size = *tensor.mutable_shape()->add_dim();
      if (dim < 0)
        size.set_dim_param("dasgd_batch");
      else
        size.set_dim_value(dim);
    }
    if (dims.empty())
      tensor.mutable_shape();
  };
  for (size_t i = 0; i < pointDims.size(); ++i)
  {
    Dims dims{ -1 };
    dims.insert(dims.end(), pointDims[i].begin(), pointDims[i].end());
    add(model.Inputs()[i].name, model.Inputs()[i].type, dims);
  }
  std::set<std::string> changing;
  for (const Parameter& parameter : model.Parameters())
    changing.insert(parameter.name);
  for (const Statistic& statistic : model.Statistics())
    changing.insert({ statistic.mean, statistic.variance });
  for (const pb::TensorProto& tensor : model.Graph().initializer())
  {
    if (changing.count(tensor.name()))
      add(tensor.name(), model.Type(), DimsOf(tensor));
    else
      *graph.add_initializer() = tensor;
  }
  // Dimensions that the file tells of the output may be of another batch.
  auto& output = *graph.mutable_output(0)->mutable_type()->
      mutable_tensor_type();
  output.clear_shape();
  output.set_elem_type(model.Type());
  return proto;
}

template<typename ElemType>
void Predictor<ElemType>::Load(const ElemType* iterate,
                               const std::vector<arma::mat>& statistics)
{
  if (!session)
    session = std::make_unique<Session>(WithInputs(), model.Type(), threads);
  for (const Parameter& p : model.Parameters())
    session->BindInput(p.name, iterate + p.offset, p.dims);
  converted.clear();
  for (const arma::mat& statistic : statistics)
    converted.emplace_back(statistic.begin(), statistic.end());
  for (size_t i = 0; i < model.Statistics().size(); ++i)
  {
    const Statistic& statistic = model.Statistics()[i];
    const Dims dims = DimsOf(*model.Initializer(statistic.mean));
    session->BindInput(statistic.mean, converted[2 * i].data(), dims);
    session->BindInput(statistic.variance, converted[2 * i + 1].data(), dims);
  }
}

template<typename ElemType>
void Predictor<ElemType>::Run(const std::vector<const void*>& inputs,
                              const size_t batch,
                              ElemType* output,
                              const Dims& outputDims)
{
  for (size_t i = 0; i < inputs.size(); ++i)
  {
    BindModelInput<ElemType>(*session, model.Inputs()[i], inputs[i],
        BatchDims(batch, pointDims[i]));
  }
  session->BindOutput(model.Output(), output, outputDims);
  session->Run();
}

template class Predictor<float>;
template class Predictor<double>;

} // namespace graph
} // namespace dasgd
