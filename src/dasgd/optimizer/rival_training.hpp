/**
 * @file rival_training.hpp
 *
 * The trainings of the algorithms that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_RIVAL_TRAINING_HPP
#define DASGD_OPTIMIZER_RIVAL_TRAINING_HPP

#include "../algorithms/synchronous.hpp"
#include "training.hpp"

//! Does something for each rival.
#define DASGD_RIVAL_ALGORITHMS(DO) \
  DO(DpsgdAlgorithm) \
  DO(AdpsgdAlgorithm) \
  DO(SwiftAlgorithm) \
  DO(ServerAlgorithm) \
  DO(AllreduceAlgorithm) \
  DO(LocalAlgorithm) \
  DO(DilocoAlgorithm)

namespace dasgd {

#ifdef DASGD_COMPILED
#define DASGD_TRAININGS(ALGORITHM) \
  extern template class Training<ALGORITHM, double>; \
  extern template class Training<ALGORITHM, float>;
DASGD_RIVAL_ALGORITHMS(DASGD_TRAININGS)
#undef DASGD_TRAININGS
#endif

} // namespace dasgd

#endif
