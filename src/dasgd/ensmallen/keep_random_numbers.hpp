/**
 * @file keep_random_numbers.hpp
 *
 * Leaves the program's random number generator in a state that does not depend
 * on the training.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_KEEP_RANDOM_NUMBERS_HPP
#define DASGD_ENSMALLEN_KEEP_RANDOM_NUMBERS_HPP

#include <armadillo>

#include <cstdint>
#include <limits>

namespace dasgd {

/**
 * While this lives, Armadillo's generator may be seeded and drawn from.  After
 * that, the generator's state depends on what it was before and on nothing
 * else.  So ranks that drew the same numbers before a training do so after it,
 * although they shuffled and computed differently often.
 *
 * Inline: which generator Armadillo has depends on how the program is compiled.
 */
class KeepRandomNumbers
{
 public:
  //! @param active False to do nothing.
  explicit KeepRandomNumbers(const bool active = true) : active(active)
  {
    if (!active)
      return;
    // The generator's state cannot be copied, but a seed can be drawn from it.
    const arma::uvec drawn = arma::randi<arma::uvec>(2,
        arma::distr_param(0, std::numeric_limits<int>::max()));
    seed = (std::uint64_t(drawn[0]) << 31) ^ std::uint64_t(drawn[1]);
  }

  ~KeepRandomNumbers()
  {
    if (active)
      arma::arma_rng::set_seed(arma::arma_rng::seed_type(seed));
  }

  KeepRandomNumbers(const KeepRandomNumbers&) = delete;
  KeepRandomNumbers& operator=(const KeepRandomNumbers&) = delete;

 private:
  bool active;
  std::uint64_t seed = 0;
};

} // namespace dasgd

#endif
