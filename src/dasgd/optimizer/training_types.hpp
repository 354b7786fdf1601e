/**
 * @file training_types.hpp
 *
 * The types that a training is made of, and what one rank of it has.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_TRAINING_TYPES_HPP
#define DASGD_OPTIMIZER_TRAINING_TYPES_HPP

#include "../run/problem.hpp"
#include "callbacks.hpp"
#include "function_source.hpp"
#include "settings.hpp"

#include <optional>

namespace dasgd {

/**
 * All types that follow from an optimizer, a function and an iterate; does not
 * compile if they do not go together.
 *
 * @tparam AlgorithmTypeIn See Asynchronous and Synchronous.
 */
template<typename AlgorithmTypeIn,
         typename OptimizerTypeIn,
         typename UpdatePolicyTypeIn,
         typename DecayPolicyTypeIn,
         typename SeparableFunctionType,
         typename IterateType,
         typename GradType,
         typename... CallbackTypes>
struct TrainingTypes
{
  using AlgorithmType = AlgorithmTypeIn;
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
  //! Is the step the paper's?
  static constexpr bool vanilla =
      std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value &&
      std::is_same<DecayPolicyType, ens::NoDecay>::value;
  static constexpr bool hasCallbacks = (sizeof...(CallbackTypes) > 0);

  using CallbacksType = Callbacks<OptimizerType, FunctionType,
      CallbackTypes...>;
  using StepType = UpdateStep<OptimizerType, MatType, UpdateType, DecayType,
      vanilla>;
  using SourceType = FunctionSource<OptimizerType, FunctionType, MatType,
      StepType, CallbacksType>;
  using ProblemType = Problem<ElemType, SourceType>;

  //! The same checks as in ens::SGD.
  static void Check()
  {
    ens::traits::CheckSeparableFunctionTypeAPI<FunctionType, MatType,
        MatType>();
    ens::RequireFloatingPointType<MatType>();
    ens::RequireSameInternalTypes<MatType, MatType>();
  }
};

//! What one rank trains with: Optimize() has one of it, Simulate() one for each
//! rank.
template<typename TypesType>
class RankTraining
{
 public:
  using MatType = typename TypesType::MatType;
  using FunctionType = typename TypesType::FunctionType;
  using StateType = RunState<typename TypesType::ElemType>;

  /**
   * @param gradient Of the iterate's shape.
   * @param scratch See UpdateStep.
   * @param seed Of the order of points; see PointOrder.
   * @param ownNumbers See PointOrder.
   * @param decays See FunctionSource.
   */
  RankTraining(typename TypesType::OptimizerType& optimizer,
               FunctionType& function,
               MatType& iterate,
               MatType& gradient,
               MatType& scratch,
               typename TypesType::UpdateType& updatePolicy,
               typename TypesType::DecayType& decayPolicy,
               typename TypesType::CallbacksType& callbacks,
               const size_t ranks,
               const size_t rank,
               const std::uint64_t seed,
               const bool ownNumbers,
               const bool decays) :
      step(optimizer, iterate, gradient, scratch, updatePolicy, decayPolicy),
      source(TypesType::AlgorithmType::Name(), optimizer, function, iterate,
          gradient, step, callbacks, PointOrder<FunctionType>(function,
          optimizer.Data(), seed, rank, ownNumbers), ranks, rank, decays)
  { }

  RankTraining(const RankTraining&) = delete;
  RankTraining& operator=(const RankTraining&) = delete;

  //! A run begins here.
  void Begin(const RunSnapshot& start,
             const size_t rank,
             const std::vector<bool>& computing,
             const RunLimits& limits)
  {
    problem.reset();
    state.emplace(start, rank, computing, limits);
    problem.emplace(*state, source);
  }

  //! The same for a rank that goes on after others have died.
  void Rejoin(const RunSnapshot& start,
              const size_t rank,
              const std::vector<bool>& computing,
              const RunLimits& limits,
              const std::exception_ptr& exception)
  {
    std::optional<Fact> verdict;
    if (state->Verdict())
      verdict = *state->Verdict();
    Begin(start, rank, computing, limits);
    if (verdict)
      state->AskToStop(*verdict);
    source.Rejoin(start.held.size(), rank, exception);
  }

  typename TypesType::StepType step;
  typename TypesType::SourceType source;
  std::optional<StateType> state;
  std::optional<typename TypesType::ProblemType> problem;
};

} // namespace dasgd

#endif
