/**
 * @file baseline.hpp
 *
 * The optimizer class of the algorithms that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_BASELINE_HPP
#define DASGD_OPTIMIZER_BASELINE_HPP

#include "train.hpp"

namespace dasgd {

/**
 * An optimizer with the interface of ens::SGD, and all of DASGD's settings that
 * its algorithm knows.  As for DASGD, parameters mean over all ranks what they
 * mean in ens::SGD, Optimize() must be called by all ranks, and afterwards all
 * hold the same model.
 *
 * @tparam AlgorithmType What is run; see Asynchronous and Synchronous.  Its
 *     options are members of the optimizer.
 * @tparam UpdatePolicyType Update policy, e.g. ens::MomentumUpdate.
 * @tparam DecayPolicyType Decay policy.
 */
template<typename AlgorithmType,
         typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
class Baseline :
    public Settings<UpdatePolicyType, DecayPolicyType>,
    public AlgorithmType::Options
{
 public:
  //! What is run.
  using Algorithm = AlgorithmType;

  //! Construct the optimizer; parameters and defaults are those of DASGD.
  Baseline(const double stepSize = 0.01,
        const size_t batchSize = 32,
        const size_t maxIterations = 100000,
        const double tolerance = 1e-5,
        const bool shuffle = true,
        const UpdatePolicyType& updatePolicy = UpdatePolicyType(),
        const DecayPolicyType& decayPolicy = DecayPolicyType(),
        const bool resetPolicy = true,
        const bool exactObjective = false) :
      Settings<UpdatePolicyType, DecayPolicyType>(stepSize, batchSize,
          maxIterations, tolerance, shuffle, updatePolicy, decayPolicy,
          resetPolicy, exactObjective)
  { /* Nothing to do. */ }

  //! Minimize the function; see DASGD.
  template<typename SeparableFunctionType,
           typename MatType,
           typename GradType,
           typename... CallbackTypes>
  typename std::enable_if<arma::is_arma_type<GradType>::value ||
      arma::is_arma_sparse_type<GradType>::value,
      typename MatType::elem_type>::type
  Optimize(SeparableFunctionType& function,
           MatType& iterate,
           CallbackTypes&&... callbacks)
  {
    return Train<AlgorithmType, GradType>(*this,
        static_cast<Settings<UpdatePolicyType, DecayPolicyType>&>(*this),
        function, iterate, callbacks...);
  }

  //! Forward the MatType as GradType.
  template<typename SeparableFunctionType,
           typename MatType,
           typename... CallbackTypes>
  typename MatType::elem_type Optimize(SeparableFunctionType& function,
                                       MatType& iterate,
                                       CallbackTypes&&... callbacks)
  {
    return Optimize<SeparableFunctionType, MatType, MatType, CallbackTypes...>(
        function, iterate, std::forward<CallbackTypes>(callbacks)...);
  }
};

} // namespace dasgd

#endif
