/**
 * @file settings.hpp
 *
 * The attributes of an optimizer.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_SETTINGS_HPP
#define DASGD_ENSMALLEN_SETTINGS_HPP

#include "../training/common_settings.hpp"
#include "ensmallen.hpp"
#include "../training/handshake.hpp"

#include <optional>

namespace dasgd {

/**
 * What belongs to one optimizer and is not copied with it: policies that were
 * instantiated for a type and shape of iterate, which refer to the optimizer
 * that made them.
 */
struct PolicyState
{
  ens::Any update;
  ens::Any decay;
  size_t rows = 0;
  size_t cols = 0;

  PolicyState() = default;
  PolicyState(const PolicyState&) : PolicyState() { }
  PolicyState& operator=(const PolicyState&)
  {
    Clean();
    return *this;
  }
  ~PolicyState() { Clean(); }

  void Clean()
  {
    update.Clean();
    decay.Clean();
  }
};

/**
 * The attributes that all optimizers of this library have.  The optimizers
 * themselves define Optimize(), since mlpack looks for it in the very class
 * that is handed to Train().
 *
 * @tparam UpdatePolicyType Update policy, as in ens::SGD.
 * @tparam DecayPolicyType Decay policy, as in ens::SGD.
 */
template<typename UpdatePolicyType, typename DecayPolicyType>
class Settings : public CommonSettings
{
 public:
  //! The parameters of ens::SGD.
  Settings(const double stepSize,
           const size_t batchSize,
           const size_t maxIterations,
           const double tolerance,
           const bool shuffle,
           const UpdatePolicyType& updatePolicy,
           const DecayPolicyType& decayPolicy,
           const bool resetPolicy,
           const bool exactObjective) :
      CommonSettings(stepSize, batchSize, maxIterations, tolerance, shuffle,
          resetPolicy, exactObjective),
      updatePolicy(updatePolicy),
      decayPolicy(decayPolicy)
  { }

  //! Get the update policy.
  const UpdatePolicyType& UpdatePolicy() const { return updatePolicy; }
  //! Modify the update policy.
  UpdatePolicyType& UpdatePolicy() { return updatePolicy; }

  //! Get the instantiated update policy; check its type with Has().
  const ens::Any& InstUpdatePolicy() const { return state.update; }
  //! Modify the instantiated update policy; check its type with Has().
  ens::Any& InstUpdatePolicy() { return state.update; }

  //! Get the decay policy.
  const DecayPolicyType& DecayPolicy() const { return decayPolicy; }
  //! Modify the decay policy.
  DecayPolicyType& DecayPolicy() { return decayPolicy; }

  //! Get the instantiated decay policy; check its type with Has().
  const ens::Any& InstDecayPolicy() const { return state.decay; }
  //! Modify the instantiated decay policy; check its type with Has().
  ens::Any& InstDecayPolicy() { return state.decay; }

 protected:
  ~Settings() = default;
  Settings(const Settings&) = default;
  Settings& operator=(const Settings&) = default;

  //! Policies for an iterate of this type and shape, as ens::SGD keeps them.
  template<typename InstUpdateType, typename InstDecayType>
  void Instantiate(const size_t rows, const size_t cols)
  {
    // ens::SGD does not reset decay policies, whatever ResetPolicy() says.
    if (!state.decay.template Has<InstDecayType>())
    {
      state.decay.Clean();
      state.decay.template Set<InstDecayType>(new InstDecayType(decayPolicy));
    }
    // Unlike ens::SGD, follow an iterate of another shape.
    if (!resetPolicy && state.update.template Has<InstUpdateType>() &&
        state.rows == rows && state.cols == cols)
      return;
    state.update.Clean();
    state.update.template Set<InstUpdateType>(
        new InstUpdateType(updatePolicy, rows, cols));
    made.emplace(updatePolicy);
    state.rows = rows;
    state.cols = cols;
  }

 private:
  template<typename TypesType>
  friend class FunctionSource;

  UpdatePolicyType updatePolicy;
  DecayPolicyType decayPolicy;
  //! What the instantiated update policy was made of.
  std::optional<UpdatePolicyType> made;
  PolicyState state;
};

} // namespace dasgd

#endif
