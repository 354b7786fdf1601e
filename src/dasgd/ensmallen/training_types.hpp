/**
 * @file training_types.hpp
 *
 * The types that a training is made of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_TRAINING_TYPES_HPP
#define DASGD_ENSMALLEN_TRAINING_TYPES_HPP

#include "callbacks.hpp"
#include "settings.hpp"
#include "update_step.hpp"

namespace dasgd {

/**
 * All types that follow from an optimizer, a function and an iterate; does not
 * compile if they do not go together.
 */
template<typename OptimizerTypeIn,
         typename UpdatePolicyTypeIn,
         typename DecayPolicyTypeIn,
         typename SeparableFunctionType,
         typename IterateType,
         typename GradType,
         typename... CallbackTypes>
struct TrainingTypes
{
  using OptimizerType = OptimizerTypeIn;
  using UpdatePolicyType = UpdatePolicyTypeIn;
  using DecayPolicyType = DecayPolicyTypeIn;
  using SettingsType = Settings<UpdatePolicyType, DecayPolicyType>;

  using ElemType = typename IterateType::elem_type;
  using MatType = typename ens::MatTypeTraits<IterateType>::BaseMatType;
  using BaseGradType = typename ens::MatTypeTraits<GradType>::BaseMatType;
  static_assert(std::is_same<MatType, arma::Mat<ElemType>>::value &&
                std::is_same<BaseGradType, MatType>::value,
      "dasgd: the iterate must be a dense arma::mat or arma::fmat (or a vector "
      "of either), and the gradient of the same type; call Optimize(function, "
      "iterate) without naming another gradient type.");
  static_assert(ensmallen::StepsAreDifferences<UpdatePolicyType>::value,
      "dasgd: this update policy (ens::FTMLUpdate, ens::DemonSGDUpdate or "
      "ens::DemonAdamUpdate) sets the iterate anew in every step or shrinks "
      "it, which goes wrong when several ranks do so at the same time; use "
      "another one, such as ens::AdamUpdate.");

  using FunctionType = ens::Function<SeparableFunctionType, MatType, MatType>;
  using UpdateType = typename UpdatePolicyType::template Policy<MatType,
      MatType>;
  using DecayType = typename DecayPolicyType::template Policy<MatType, MatType>;
  static constexpr bool plain =
      std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value;
  static constexpr bool fixed =
      std::is_same<DecayPolicyType, ens::NoDecay>::value;
  //! Is the step the paper's?
  static constexpr bool vanilla = plain && fixed;
  static constexpr bool hasCallbacks = (sizeof...(CallbackTypes) > 0);

  using CallbacksType = Callbacks<OptimizerType, FunctionType,
      CallbackTypes...>;
  using StepType = UpdateStep<OptimizerType, MatType, UpdatePolicyType,
      DecayPolicyType, vanilla>;

  //! The same checks as in ens::SGD.
  static void Check()
  {
    ens::traits::CheckSeparableFunctionTypeAPI<FunctionType, MatType,
        MatType>();
    ens::RequireFloatingPointType<MatType>();
    ens::RequireSameInternalTypes<MatType, MatType>();
  }
};

} // namespace dasgd

#endif
