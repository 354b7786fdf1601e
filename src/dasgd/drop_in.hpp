/**
 * @file drop_in.hpp
 *
 * Decentralized training without a change to the source: given to the compiler
 * with `-include dasgd/drop_in.hpp`, this makes ens::SGD, and with it
 * ens::StandardSGD, ens::MomentumSGD and ens::NesterovMomentumSGD, mean
 * dasgd::DASGD.  ensmallen's own class is ens::SerialSGD then.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DROP_IN_HPP
#define DASGD_DROP_IN_HPP

#ifdef ENSMALLEN_HPP
#error "dasgd/drop_in.hpp must come before ensmallen: use the compiler's option -include dasgd/drop_in.hpp"
#endif

// mlpack wants to be the first to include Armadillo.
#if __has_include(<mlpack/base.hpp>)
#include <mlpack/base.hpp>
#endif

// ensmallen, with its own SGD under another name.
#define SGD SerialSGD
#define StandardSGD SerialStandardSGD
#define MomentumSGD SerialMomentumSGD
#define NesterovMomentumSGD SerialNesterovMomentumSGD
#include <ensmallen.hpp>
#undef SGD
#undef StandardSGD
#undef MomentumSGD
#undef NesterovMomentumSGD

#include <dasgd.hpp>

namespace ens {

/**
 * What programs find under the name of ens::SGD: dasgd::DASGD, which behaves as
 * SGD does when the program was not started by mpirun.
 */
template<typename UpdatePolicyType = VanillaUpdate,
         typename DecayPolicyType = NoDecay>
class SGD : public dasgd::DASGD<UpdatePolicyType, DecayPolicyType>
{
 public:
  using BaseType = dasgd::DASGD<UpdatePolicyType, DecayPolicyType>;

  //! The parameters of ens::SGD.
  SGD(const double stepSize = 0.01,
      const size_t batchSize = 32,
      const size_t maxIterations = 100000,
      const double tolerance = 1e-5,
      const bool shuffle = true,
      const UpdatePolicyType& updatePolicy = UpdatePolicyType(),
      const DecayPolicyType& decayPolicy = DecayPolicyType(),
      const bool resetPolicy = true,
      const bool exactObjective = false) :
      BaseType(stepSize, batchSize, maxIterations, tolerance, shuffle,
          updatePolicy, decayPolicy, resetPolicy, exactObjective)
  { /* Nothing to do. */ }

  // The references below stay those of each object.
  SGD(const SGD& other) : BaseType(other) { }
  SGD& operator=(const SGD& other)
  {
    BaseType::operator=(other);
    return *this;
  }

  //! As in DASGD; defined here since mlpack looks for it in this very class.
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
    return BaseType::template Optimize<SeparableFunctionType, MatType, GradType,
        CallbackTypes...>(function, iterate,
        std::forward<CallbackTypes>(callbacks)...);
  }

  //! Forward the MatType as GradType.
  template<typename SeparableFunctionType,
           typename MatType,
           typename... CallbackTypes>
  typename MatType::elem_type Optimize(SeparableFunctionType& function,
                                       MatType& iterate,
                                       CallbackTypes&&... callbacks)
  {
    return BaseType::Optimize(function, iterate,
        std::forward<CallbackTypes>(callbacks)...);
  }

 private:
  // mlpack's matrix factorizations bring an Optimize() of their own, written as
  // a member of ens::StandardSGD, that reads these.
  double& stepSize = this->StepSize();
  size_t& maxIterations = this->MaxIterations();
};

using StandardSGD = SGD<VanillaUpdate>;
using MomentumSGD = SGD<MomentumUpdate>;
using NesterovMomentumSGD = SGD<NesterovMomentumUpdate>;

} // namespace ens

#endif
