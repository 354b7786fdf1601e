/**
 * @file mixing.hpp
 *
 * Weights for averaging models with neighbours.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TOPOLOGY_MIXING_HPP
#define DASGD_TOPOLOGY_MIXING_HPP

#include "../core/config.hpp"
#include "routes.hpp"

#include <cstddef>
#include <vector>

namespace dasgd {

/**
 * The row of one rank in a matrix W of weights.  Every link counts in both
 * directions, and each pair of neighbours has the weight
 * 1 / (1 + the larger of their numbers of neighbours), which each can work out
 * from the topology alone (Metropolis and Hastings).  So W is symmetric, none
 * of its entries is negative, and all its rows and columns sum to one:
 * averaging with it keeps the mean of the models.
 */
class Mixing
{
 public:
  Mixing(const Topology& topology, const size_t ranks, const size_t rank);

  //! All that this rank is linked with, in either direction, ascending.
  const std::vector<size_t>& Neighbours() const { return neighbours; }
  //! The weight of each of them.
  const std::vector<double>& Weights() const { return weights; }
  //! The weight of the rank itself.
  double Own() const { return own; }

 private:
  static std::vector<size_t> NeighboursOf(const Topology& topology,
                                          const size_t ranks,
                                          const size_t rank);

  std::vector<size_t> neighbours;
  std::vector<double> weights;
  double own = 1;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mixing_impl.hpp"
#endif

#endif
