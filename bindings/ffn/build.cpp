/**
 * @file build.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "ffn.hpp"
#include "network.hpp"

namespace dasgd {
namespace ffn {

void BuildNetwork(Network& network,
                  const std::vector<LayerSpec>& layers,
                  const Shape& input)
{ Build(network, layers, input); }

std::unique_ptr<Network> MakeNetwork(const std::vector<LayerSpec>& layers,
                                     const Shape& input)
{
  auto network = std::make_unique<Network>();
  Build(*network, layers, input);
  network->Reset(input.Elements());
  // As FFN does with its own rule.
  arma::mat weights;
  const auto& made = std::as_const(*network).Network();
  mlpack::NetworkInitialization<mlpack::GlorotInitialization>().Initialize(made,
      weights);
  size_t begin = 0;
  for (auto* layer : made)
  {
    const size_t size = layer->WeightSize();
    arma::mat part(weights.memptr() + begin, size, 1, false, true);
    layer->CustomInitialize(part, size);
    begin += size;
  }
  network->Parameters() = weights;
  return network;
}

void ComputeLayerSizes(const Network& network) { ComputeSizes(network); }

std::string FirstLayer(const Network& network)
{
  const auto& first = *network.Network().front();
  return detail::LayerTypeName(detail::Demangle(typeid(first)));
}

std::string NetworkTable(const Network& network) { return LayerTable(network); }

} // namespace ffn
} // namespace dasgd
