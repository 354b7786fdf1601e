/**
 * @file policy_parameters.hpp
 *
 * The parameters of an update or decay policy, found by the names that
 * ensmallen gives them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_POLICY_PARAMETERS_HPP
#define DASGD_OPTIMIZER_POLICY_PARAMETERS_HPP

#include "ensmallen.hpp"

#include <cstddef>
#include <string>
#include <type_traits>

namespace dasgd {

/**
 * Visit the parameters of a policy, in an order that depends on its type only.
 *
 * @param name How a user reaches the policy, such as "UpdatePolicy()".
 * @param action Called with the name of each parameter and its value: a bool,
 *     a size_t or a double.
 */
template<typename PolicyType, typename ActionType>
void VisitParameters(const std::string& name,
                     const PolicyType& policy,
                     ActionType&& action)
{
  const auto visit = [&](const char* parameter, const auto& get)
  {
    if constexpr (std::is_invocable<decltype(get), const PolicyType&>::value)
    {
      using ValueType = std::decay_t<decltype(get(policy))>;
      const std::string full = name + "." + parameter + "()";
      if constexpr (std::is_same<ValueType, bool>::value)
        action(full, bool(get(policy)));
      else if constexpr (std::is_integral<ValueType>::value)
        action(full, size_t(get(policy)));
      else if constexpr (std::is_floating_point<ValueType>::value)
        action(full, double(get(policy)));
    }
    else
    {
      (void) parameter;
    }
  };

  // All that the policies of ensmallen 2.22 and 3.11 have, except what a run
  // changes, since ranks take different numbers of steps: B() of WNGrad,
  // Iteration() of Demon, PhaseSGD(), SGDRate() and SGDLambda() of SWATS,
  // Epoch(), EpochRestart(), NextRestart() and BatchRestart() of cyclical
  // decay; and its EpochBatches(), which depends on a rank's number of points.
#define DASGD_PARAMETER(NAME) \
  visit(#NAME, [](const auto& p) -> decltype(p.NAME()) { return p.NAME(); });
  DASGD_PARAMETER(Alpha)
  DASGD_PARAMETER(Beta1)
  DASGD_PARAMETER(Beta2)
  DASGD_PARAMETER(Epsilon)
  DASGD_PARAMETER(FinalLr)
  DASGD_PARAMETER(Gamma)
  DASGD_PARAMETER(InitialStepSize)
  DASGD_PARAMETER(Kappa)
  DASGD_PARAMETER(MinGain)
  DASGD_PARAMETER(MinStepSize)
  DASGD_PARAMETER(Momentum)
  DASGD_PARAMETER(MomentumIterations)
  DASGD_PARAMETER(MultFactor)
  DASGD_PARAMETER(Partial)
  DASGD_PARAMETER(Phi)
  DASGD_PARAMETER(Rho)
  DASGD_PARAMETER(ScheduleDecay)
  DASGD_PARAMETER(SnapshotEpochs)
  DASGD_PARAMETER(StepSize)
  DASGD_PARAMETER(Theta)
  DASGD_PARAMETER(V)
  DASGD_PARAMETER(V1)
  DASGD_PARAMETER(V2)
#undef DASGD_PARAMETER
}

//! The same for a policy that wraps another one.
template<typename PolicyType, typename ActionType>
void VisitParameters(const std::string& name,
                     const ens::GradientClipping<PolicyType>& policy,
                     ActionType&& action)
{
  action(name + ".MinGradient()", double(policy.MinGradient()));
  action(name + ".MaxGradient()", double(policy.MaxGradient()));
  // In ensmallen up to 3.11, UpdatePolicy() const does not compile.
  VisitParameters(name + ".UpdatePolicy()",
      const_cast<ens::GradientClipping<PolicyType>&>(policy).UpdatePolicy(),
      action);
}

} // namespace dasgd

#endif
