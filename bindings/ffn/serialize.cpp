/**
 * @file serialize.cpp
 *
 * Networks in files.  Compiled without optimisation: it is a lot of code, which
 * runs once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "model.hpp"

#if MLPACK_VERSION_MAJOR == 4 && MLPACK_VERSION_MINOR < 8

// All layers of mlpack at once.
#include <mlpack/methods/ann/layer/serialization.hpp>

#else

// Only the layers that network.hpp can build, by the names that mlpack has for
// them: files are the same, but it compiles in half the time.
CEREAL_REGISTER_TYPE(mlpack::Layer<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::MultiLayer<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::Convolution<arma::mat,
    mlpack::Im2ColConvolution<mlpack::ValidConvolution>,
    mlpack::Im2ColConvolution<mlpack::FullConvolution>,
    mlpack::Im2ColConvolution<mlpack::ValidConvolution>>)
CEREAL_REGISTER_TYPE(mlpack::Padding<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::MaxPooling<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::MeanPooling<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::Linear<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::LeakyReLU<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::ELU<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::GELU<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::Sigmoid<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::TanH<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::SoftPlus<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::Dropout<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::BatchNorm<arma::mat>)
CEREAL_REGISTER_TYPE(mlpack::LogSoftMax<arma::mat>)

#endif

DASGD_MODEL_ARCHIVES(, dasgd::ffn::Network)
