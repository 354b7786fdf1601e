/**
 * @file callback_traits.hpp
 *
 * What is to be known of a callback when there are several ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_CALLBACK_TRAITS_HPP
#define DASGD_ENSMALLEN_CALLBACK_TRAITS_HPP

#include "ensmallen.hpp"

#include <type_traits>

namespace dasgd {

/**
 * Does a callback want Evaluate() and StepTaken() for the gradients of all
 * ranks instead of this rank's only?  The progress bar does: it counts the
 * steps of an epoch.  Specialize it for a callback of your own that counts,
 * too.
 */
template<typename CallbackType>
struct SeesAllRanks : std::false_type { };

template<>
struct SeesAllRanks<ens::ProgressBar> : std::true_type { };

/**
 * Is a callback told of a run by rank 0 only?  Those of ensmallen that print
 * are, so that each line is printed once; and the one that looks at validation
 * data, which one rank does for all.  BeginOptimization() is called on every
 * rank, so that another one can take over if rank 0 dies.
 */
template<typename CallbackType>
struct OnRankZero : std::false_type { };

template<> struct OnRankZero<ens::ProgressBar> : std::true_type { };
template<> struct OnRankZero<ens::PrintLoss> : std::true_type { };
template<> struct OnRankZero<ens::Report> : std::true_type { };
template<typename MatType>
struct OnRankZero<ens::EarlyStopAtMinLossType<MatType>> : std::true_type { };

/**
 * Is a callback known to leave the iterate alone while a run goes on?  Those of
 * ensmallen are.  At several ranks dasgd looks whether others do: a change on
 * one rank would not reach the rest.  Specialize it for a callback of your own
 * to save that look.
 */
template<typename CallbackType>
struct LeavesIterate : std::false_type { };

template<> struct LeavesIterate<ens::ProgressBar> : std::true_type { };
template<> struct LeavesIterate<ens::PrintLoss> : std::true_type { };
template<> struct LeavesIterate<ens::Report> : std::true_type { };
template<> struct LeavesIterate<ens::TimerStop> : std::true_type { };
template<> struct LeavesIterate<ens::GradClipByNorm> : std::true_type { };
template<> struct LeavesIterate<ens::GradClipByValue> : std::true_type { };
template<typename MatType>
struct LeavesIterate<ens::EarlyStopAtMinLossType<MatType>> :
    std::true_type { };
template<typename MatType>
struct LeavesIterate<ens::StoreBestCoordinates<MatType>> : std::true_type { };

} // namespace dasgd

#endif
