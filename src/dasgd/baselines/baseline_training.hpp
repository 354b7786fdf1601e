/**
 * @file baseline_training.hpp
 *
 * The algorithms that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_BASELINE_TRAINING_HPP
#define DASGD_BASELINES_BASELINE_TRAINING_HPP

#include "../algorithms/synchronous.hpp"
#include "../training/training.hpp"
#include "adpsgd.hpp"
#include "allreduce_sgd.hpp"
#include "asynchronous_baseline.hpp"
#include "diloco.hpp"
#include "dpsgd.hpp"
#include "local_sgd.hpp"
#include "parameter_server_sgd.hpp"
#include "swift.hpp"

//! Does something for the optimizer and the algorithm of each baseline.
#define DASGD_EACH_BASELINE(DO) \
  DO(DPSGD, AsynchronousBaseline<DpsgdTraits>) \
  DO(ADPSGD, AsynchronousBaseline<AdpsgdTraits>) \
  DO(SWIFT, AsynchronousBaseline<SwiftTraits>) \
  DO(ParameterServerSGD, AsynchronousBaseline<ServerTraits>) \
  DO(AllreduceSGD, Synchronous<AllreduceTraits>) \
  DO(LocalSGD, Synchronous<LocalTraits>) \
  DO(DiLoCo, Synchronous<DilocoTraits>)

namespace dasgd {

#ifdef DASGD_COMPILED
#define DASGD_TRAININGS(OPTIMIZER, ALGORITHM) \
  extern template class Training<ALGORITHM, double>; \
  extern template class Training<ALGORITHM, float>;
DASGD_EACH_BASELINE(DASGD_TRAININGS)
#undef DASGD_TRAININGS
#endif

} // namespace dasgd

#endif
