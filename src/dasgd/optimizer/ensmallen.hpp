/**
 * @file ensmallen.hpp
 *
 * Includes ensmallen and names what differs between its versions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_ENSMALLEN_HPP
#define DASGD_OPTIMIZER_ENSMALLEN_HPP

#include <ensmallen.hpp>

namespace dasgd {
namespace ensmallen {

#if ENS_VERSION_MAJOR > 3 || \
    (ENS_VERSION_MAJOR == 3 && ENS_VERSION_MINOR >= 10)

//! Does the last epoch's objective outlive the end of the epoch if that is
//! also the end of the run?
constexpr bool keepsLastObjective = true;
#if defined(ENS_OLD_SEPARABLE_STEP_BEHAVIOR)
constexpr bool dividesStep = false;
#else
//! Is the step size divided by the batch size?
constexpr bool dividesStep = true;
#endif

#else

constexpr bool keepsLastObjective = false;
constexpr bool dividesStep = false;

#endif

/**
 * Does an update policy change the iterate by a difference that others can
 * apply to theirs?  One that sets the iterate to a value of its own would undo
 * what other ranks have done to it.
 */
template<typename UpdatePolicyType>
struct StepsAreDifferences : std::true_type { };
template<>
struct StepsAreDifferences<ens::FTMLUpdate> : std::false_type { };

//! The step that the installed ens::SGD takes with a batch.
inline double Step(const double stepSize, const double batchSize)
{
  return dividesStep ? stepSize / batchSize : stepSize;
}

} // namespace ensmallen
} // namespace dasgd

#endif
