/**
 * @file ffn.hpp
 *
 * mlpack's networks for arma::mat, compiled once: layers and network in
 * compute_*.cpp, optimised; files and tables in other ones.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_FFN_HPP
#define DASGD_BINDINGS_FFN_FFN_HPP

// serialize.cpp registers the layers that network.hpp can build.
#ifndef MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#endif
#include <mlpack/core.hpp>
#include <mlpack/methods/ann/ann.hpp>

#include "layers.hpp"

#include <training/captured.hpp>

#include <memory>

namespace dasgd {
namespace ffn {

//! As other programs with mlpack load it.
using Network = mlpack::FFN<>;

//! Add layers to a network that has none; see network.hpp.
void BuildNetwork(Network& network,
                  const std::vector<LayerSpec>& layers,
                  const Shape& input);

//! A network with random weights by Glorot's rule, which suits the sizes of the
//! layers; the type of the network says nothing of it.
std::unique_ptr<Network> MakeNetwork(const std::vector<LayerSpec>& layers,
                                     const Shape& input);

//! Compute the sizes of all layers; see network.hpp.
void ComputeLayerSizes(const Network& network);

//! The layers of a network as a table; see network.hpp.
std::string NetworkTable(const Network& network);

//! What mlpack calls the first layer of a network.
std::string FirstLayer(const Network& network);

//! Call network.Train().
void Train(Network& network,
           arma::mat points,
           const arma::Row<size_t>& labels,
           cli::Captured optimizer);

//! Call network.Predict().
void Predict(Network& network, const arma::mat& points, arma::mat& output);

} // namespace ffn
} // namespace dasgd

// Older versions of mlpack have other names for the layers; there they are
// compiled wherever they are used.
#if MLPACK_VERSION_MAJOR > 4 || \
    (MLPACK_VERSION_MAJOR == 4 && MLPACK_VERSION_MINOR >= 8)
#define DASGD_FFN_DENSE_CLASSES(PREFIX) \
    PREFIX template class mlpack::Linear<arma::mat>; \
    PREFIX template class mlpack::BaseLayer<mlpack::RectifierFunction, \
        arma::mat>; \
    PREFIX template class mlpack::LeakyReLU<arma::mat>; \
    PREFIX template class mlpack::ELU<arma::mat>; \
    PREFIX template class mlpack::BaseLayer<mlpack::GELUFunction, arma::mat>; \
    PREFIX template class mlpack::BaseLayer<mlpack::LogisticFunction, \
        arma::mat>; \
    PREFIX template class mlpack::BaseLayer<mlpack::TanhFunction, arma::mat>; \
    PREFIX template class mlpack::BaseLayer<mlpack::SoftplusFunction, \
        arma::mat>; \
    PREFIX template class mlpack::Dropout<arma::mat>; \
    PREFIX template class mlpack::LogSoftMax<arma::mat>; \
    PREFIX template class mlpack::MultiLayer<arma::mat>; \
    PREFIX template class mlpack::FFN<mlpack::NegativeLogLikelihood, \
        mlpack::RandomInitialization, arma::mat>;
#define DASGD_FFN_CONVOLUTION_CLASSES(PREFIX) \
    PREFIX template class mlpack::Convolution<arma::mat>; \
    PREFIX template class mlpack::Padding<arma::mat>; \
    PREFIX template class mlpack::MaxPooling<arma::mat>; \
    PREFIX template class mlpack::MeanPooling<arma::mat>; \
    PREFIX template class mlpack::BatchNorm<arma::mat>;
DASGD_FFN_DENSE_CLASSES(extern)
DASGD_FFN_CONVOLUTION_CLASSES(extern)
#endif

#endif
