/**
 * @file function_source_impl.hpp
 *
 * Implementation of what a source does before and after the run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_FUNCTION_SOURCE_IMPL_HPP
#define DASGD_ENSMALLEN_FUNCTION_SOURCE_IMPL_HPP

// In case it hasn't been included yet.
#include "function_source.hpp"

namespace dasgd {

template<typename TypesType>
StepDescription FunctionSource<TypesType>::Steps() const
{
  StepDescription steps;
  steps.updatePolicy = TypeName<typename TypesType::UpdatePolicyType>();
  steps.decayPolicy = TypeName<typename TypesType::DecayPolicyType>();
  steps.plain = TypesType::plain;
  steps.fixed = TypesType::fixed;
  steps.looksAhead = look_ahead::Exists<typename TypesType::UpdatePolicyType,
      MatType>();
  steps.forgets = StepType::Forgets();
  steps.divided = ensmallen::dividesStep;
  steps.keepsLastObjective = ensmallen::keepsLastObjective;
  return steps;
}

template<typename TypesType>
ParameterTexts FunctionSource<TypesType>::PolicyTexts() const
{
  const StepDescription steps = Steps();
  ParameterTexts all = { { "the update policy", steps.updatePolicy },
      { "the decay policy", steps.decayPolicy } };
  for (const ParameterTexts& more :
      { Parameters("UpdatePolicy()", settings.UpdatePolicy()),
        Parameters("DecayPolicy()", settings.DecayPolicy()) })
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

template<typename TypesType>
void FunctionSource<TypesType>::Require(Handshake& handshake) const
{
  for (const auto& [parameter, value] : PolicyTexts())
    handshake.Require(parameter, value);
  handshake.Require("callbacks that hold the same on all ranks afterwards",
      TypesType::CallbacksType::Kept());
}

template<typename TypesType>
void FunctionSource<TypesType>::AddTags(Checkpoint& about) const
{
  about.tags = settings.CheckpointTags();
  const ParameterTexts policies = PolicyTexts();
  about.tags.insert(about.tags.end(), policies.begin(), policies.end());
}

template<typename TypesType>
void FunctionSource<TypesType>::BeginOptimization()
{
  Guard(thrown, [&]()
  {
    callbacks.BeginOptimization(iterate);
    this->CheckIterate();
  });
}

template<typename TypesType>
typename TypesType::ElemType FunctionSource<TypesType>::ExactPart(
    const Data data, const size_t batchSize)
{
  const size_t held = function.NumFunctions();
  const bool divided = (data == Data::Replicated);
  const size_t begin = divided ? Share(held, rank) : 0;
  const size_t end = divided ? Share(held, rank + 1) : held;
  ElemType sum = 0;
  for (size_t i = begin; i < end; i += batchSize)
  {
    const size_t size = std::min(batchSize, end - i);
    const ElemType objective = function.Evaluate(iterate, i, size);
    sum += objective;
    // The run is over, so it does not matter what callbacks answer.
    (void) callbacks.Evaluate(iterate, objective);
  }
  return sum;
}

} // namespace dasgd

#endif
