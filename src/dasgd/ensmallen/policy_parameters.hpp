/**
 * @file policy_parameters.hpp
 *
 * The parameters of an update or decay policy, found by the names that
 * ensmallen gives them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_POLICY_PARAMETERS_HPP
#define DASGD_ENSMALLEN_POLICY_PARAMETERS_HPP

#include "ensmallen.hpp"
#include "../training/handshake.hpp"

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dasgd {

//! Names of parameters, with their values.
using ParameterTexts = std::vector<std::pair<std::string, std::string>>;

/**
 * The parameters of a policy, in an order that depends on its type only.
 *
 * @param name How a user reaches the policy, such as "UpdatePolicy()".
 */
template<typename PolicyType>
ParameterTexts Parameters(const std::string& name, const PolicyType& policy)
{
  ParameterTexts all;
  const auto visit = [&](const char* parameter, const auto& get)
  {
    if constexpr (std::is_invocable<decltype(get), const PolicyType&>::value)
    {
      using ValueType = std::decay_t<decltype(get(policy))>;
      const std::string full = name + "." + parameter + "()";
      if constexpr (std::is_same<ValueType, bool>::value)
        all.emplace_back(full, ExactText(bool(get(policy))));
      else if constexpr (std::is_integral<ValueType>::value)
        all.emplace_back(full, ExactText(size_t(get(policy))));
      else if constexpr (std::is_floating_point<ValueType>::value)
        all.emplace_back(full, ExactText(double(get(policy))));
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
  return all;
}

//! The same for a policy that wraps another one.
template<typename PolicyType>
ParameterTexts Parameters(const std::string& name,
                          const ens::GradientClipping<PolicyType>& policy)
{
  ParameterTexts all;
  all.emplace_back(name + ".MinGradient()", ExactText(policy.MinGradient()));
  all.emplace_back(name + ".MaxGradient()", ExactText(policy.MaxGradient()));
  // In ensmallen up to 3.11, UpdatePolicy() const does not compile.
  const ParameterTexts wrapped = Parameters(name + ".UpdatePolicy()",
      const_cast<ens::GradientClipping<PolicyType>&>(policy).UpdatePolicy());
  all.insert(all.end(), wrapped.begin(), wrapped.end());
  return all;
}

} // namespace dasgd

#endif
