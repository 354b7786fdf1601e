/**
 * @file dasgd_baselines.cpp
 *
 * Compiles the trainings of the algorithms that DASGD is compared with; needs
 * MPI, but not ensmallen.  See dasgd/core/config.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_COMPILED
#define DASGD_COMPILED
#endif

#include "dasgd/baselines/baseline_training.hpp"

namespace dasgd {

#define DASGD_TRAININGS(OPTIMIZER, ALGORITHM) \
  template class Training<ALGORITHM, double>; \
  template class Training<ALGORITHM, float>;
DASGD_EACH_BASELINE(DASGD_TRAININGS)
#undef DASGD_TRAININGS

} // namespace dasgd
