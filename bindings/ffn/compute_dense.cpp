/**
 * @file compute_dense.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "ffn.hpp"

#ifdef DASGD_FFN_DENSE_CLASSES
DASGD_FFN_DENSE_CLASSES()
#endif

namespace dasgd {
namespace ffn {

void Train(Network& network,
           arma::mat points,
           const arma::Row<size_t>& labels,
           cli::Captured optimizer)
{
  network.Train(std::move(points), arma::conv_to<arma::mat>::from(labels),
      optimizer);
}

void Predict(Network& network, const arma::mat& points, arma::mat& output)
{ network.Predict(points, output); }

} // namespace ffn
} // namespace dasgd
