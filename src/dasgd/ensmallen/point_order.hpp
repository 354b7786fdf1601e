/**
 * @file point_order.hpp
 *
 * The order in which a rank visits its points.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_POINT_ORDER_HPP
#define DASGD_ENSMALLEN_POINT_ORDER_HPP

#include "../core/random.hpp"
#include "../run/work.hpp"
#include "ensmallen.hpp"
#include "keep_random_numbers.hpp"

namespace dasgd {

/**
 * Shuffles a function.  With replicated data the order is the same on all ranks
 * that have shuffled as often; with sharded data each has its own.
 */
template<typename FunctionType>
class PointOrder
{
 public:
  /**
   * @param seed Of the common order.
   * @param ownNumbers Draw from the program's own random numbers instead, as
   *     ens::SGD does?
   */
  PointOrder(FunctionType& function,
             const Data data,
             const std::uint64_t seed,
             const size_t rank,
             const bool ownNumbers) :
      function(function),
      seed(data == Data::Sharded ? Mix(seed, rank + 1) : seed),
      ownNumbers(ownNumbers)
  { }

  //! How often the points were shuffled.
  std::uint64_t Shuffles() const { return shuffles; }

  void Shuffle()
  {
    if (ownNumbers)
    {
      ++shuffles;
      function.Shuffle();
      return;
    }
    const KeepRandomNumbers keep;
    arma::arma_rng::set_seed(arma::arma_rng::seed_type(Mix(seed, shuffles)));
    ++shuffles;
    function.Shuffle();
  }

  //! Shuffle until it was done so often.
  void ShuffleTo(const std::uint64_t times)
  {
    while (shuffles < times)
      Shuffle();
  }

 private:
  FunctionType& function;
  std::uint64_t seed;
  bool ownNumbers;
  std::uint64_t shuffles = 0;
};

} // namespace dasgd

#endif
