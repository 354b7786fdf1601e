/**
 * @file baseline_training.hpp
 *
 * The trainings of the algorithms that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_BASELINE_TRAINING_HPP
#define DASGD_BASELINES_BASELINE_TRAINING_HPP

#include "../algorithms/synchronous.hpp"
#include "../training/training.hpp"
#include "adpsgd_worker.hpp"
#include "allreduce_traits.hpp"
#include "asynchronous_baseline.hpp"
#include "diloco_traits.hpp"
#include "dpsgd_worker.hpp"
#include "local_traits.hpp"
#include "server_worker.hpp"
#include "swift_worker.hpp"

//! Does something for each baseline.
#define DASGD_EACH_BASELINE(DO) \
  DO(AsynchronousBaseline<DpsgdTraits>) \
  DO(AsynchronousBaseline<AdpsgdTraits>) \
  DO(AsynchronousBaseline<SwiftTraits>) \
  DO(AsynchronousBaseline<ServerTraits>) \
  DO(Synchronous<AllreduceTraits>) \
  DO(Synchronous<LocalTraits>) \
  DO(Synchronous<DilocoTraits>)

namespace dasgd {

#ifdef DASGD_COMPILED
#define DASGD_TRAININGS(ALGORITHM) \
  extern template class Training<ALGORITHM, double>; \
  extern template class Training<ALGORITHM, float>;
DASGD_EACH_BASELINE(DASGD_TRAININGS)
#undef DASGD_TRAININGS
#endif

} // namespace dasgd

#endif
