/**
 * @file ensmallen.hpp
 *
 * Includes ensmallen and names what differs between its versions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_ENSMALLEN_HPP
#define DASGD_ENSMALLEN_ENSMALLEN_HPP

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

//! ensmallen's own SGD; dasgd/drop_in.hpp gives it another name.
#ifdef DASGD_DROP_IN_HPP
template<typename UpdatePolicyType, typename DecayPolicyType>
using SGD = ens::SerialSGD<UpdatePolicyType, DecayPolicyType>;
#else
template<typename UpdatePolicyType, typename DecayPolicyType>
using SGD = ens::SGD<UpdatePolicyType, DecayPolicyType>;
#endif

//! Do update policies go by the parameters that they were made with, whatever
//! becomes of these?
constexpr bool copiesParameters = ENS_VERSION_MAJOR >= 3;

//! Are iterate and gradient dense matrices or vectors of the same type?  Others
//! can be optimized on one rank only.
template<typename MatType, typename GradType>
constexpr bool AreDense()
{
  using DenseType = arma::Mat<typename MatType::elem_type>;
  return
      std::is_same<typename ens::MatTypeTraits<MatType>::BaseMatType,
          DenseType>::value &&
      std::is_same<typename ens::MatTypeTraits<GradType>::BaseMatType,
          DenseType>::value;
}

/**
 * Does an update policy change the iterate by a difference that others can
 * apply to theirs?  One that sets the iterate to a value of its own would undo
 * what other ranks have done to it.
 */
template<typename UpdatePolicyType>
struct StepsAreDifferences : std::true_type { };
template<>
struct StepsAreDifferences<ens::FTMLUpdate> : std::false_type { };
// These multiply the iterate by 0.9 or so in every step: n ranks at the same
// time take away n tenths of it.
template<>
struct StepsAreDifferences<ens::DemonSGDUpdate> : std::false_type { };
template<typename UpdateRule>
struct StepsAreDifferences<ens::DemonAdamUpdate<UpdateRule>> :
    std::false_type { };
template<typename UpdatePolicyType>
struct StepsAreDifferences<ens::GradientClipping<UpdatePolicyType>> :
    StepsAreDifferences<UpdatePolicyType> { };

//! The step that the installed ens::SGD takes with a batch.
inline double Step(const double stepSize, const double batchSize)
{
  return dividesStep ? stepSize / batchSize : stepSize;
}

} // namespace ensmallen
} // namespace dasgd

#endif
