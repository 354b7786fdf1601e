/**
 * @file predictor.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "predictor.hpp"

#include <algorithm>
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
  const auto add = [&](const std::string& name, const Dims& dims)
  {
    pb::ValueInfoProto& value = *graph.add_input();
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(model.Type());
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
  Dims dims{ -1 };
  dims.insert(dims.end(), pointDims.begin(), pointDims.end());
  add(model.Input(), dims);
  std::set<std::string> changing;
  for (const Parameter& parameter : model.Parameters())
    changing.insert(parameter.name);
  for (const Statistic& statistic : model.Statistics())
    changing.insert({ statistic.mean, statistic.variance });
  for (const pb::TensorProto& tensor : model.Graph().initializer())
  {
    if (changing.count(tensor.name()))
      add(tensor.name(), DimsOf(tensor));
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
void Predictor<ElemType>::Run(const ElemType* iterate,
                              const std::vector<arma::mat>& statistics,
                              const ElemType* points,
                              ElemType* output,
                              const size_t count,
                              Dims outputDims)
{
  // Enough that overheads do not matter, and little memory.
  const size_t batch = 256;
  if (!session)
  {
    session = std::make_unique<Session>(WithInputs(), model.Type(), threads);
  }
  for (const Parameter& p : model.Parameters())
    session->BindInput(p.name, iterate + p.offset, p.dims);
  std::vector<std::vector<ElemType>> converted;
  for (const arma::mat& statistic : statistics)
    converted.emplace_back(statistic.begin(), statistic.end());
  for (size_t i = 0; i < model.Statistics().size(); ++i)
  {
    const Statistic& statistic = model.Statistics()[i];
    const Dims dims = DimsOf(*model.Initializer(statistic.mean));
    session->BindInput(statistic.mean, converted[2 * i].data(), dims);
    session->BindInput(statistic.variance, converted[2 * i + 1].data(), dims);
  }
  const size_t size = Elements(pointDims, model.Input());
  const size_t outputs = Elements(Dims(outputDims.begin() + 1,
      outputDims.end()), model.Output());
  for (size_t first = 0; first < count; first += batch)
  {
    Dims dims{ std::int64_t(std::min(batch, count - first)) };
    outputDims[0] = dims[0];
    dims.insert(dims.end(), pointDims.begin(), pointDims.end());
    session->BindInput(model.Input(), points + first * size, dims);
    session->BindOutput(model.Output(), output + first * outputs, outputDims);
    session->Run();
  }
}

template class Predictor<float>;
template class Predictor<double>;

} // namespace graph
} // namespace dasgd
