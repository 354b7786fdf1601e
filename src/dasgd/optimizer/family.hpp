/**
 * @file family.hpp
 *
 * The optimizers of ensmallen that are SGD with a policy, decentralized: same
 * names, constructors, attributes and defaults.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_FAMILY_HPP
#define DASGD_OPTIMIZER_FAMILY_HPP

#include "dasgd.hpp"

namespace dasgd {
namespace family {

/**
 * An optimizer as users name it: Optimize() stands in the very class that is
 * handed to Train(), where mlpack looks for it.
 *
 * @tparam BaseType One of those below, with constructor and attributes.
 */
template<typename BaseType>
class Member : public BaseType
{
 public:
  using BaseType::BaseType;

  //! See DASGD::Optimize().
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
};

// A parameter of the update policy, to get and to modify.
#define DASGD_ATTRIBUTE(NAME) \
  double NAME() const { return this->UpdatePolicy().NAME(); } \
  double& NAME() { return this->UpdatePolicy().NAME(); }

//! Defaults in which optimizers of the same shape differ.
template<typename UpdateRule>
struct Defaults
{
  static constexpr double stepSize = 0.001;
  static constexpr double epsilon = 1e-8;
};
template<>
struct Defaults<ens::AdaBeliefUpdate>
{
  static constexpr double stepSize = 0.001;
  static constexpr double epsilon = 1e-12;
};
template<>
struct Defaults<ens::AdaGradUpdate>
{
  static constexpr double stepSize = 0.01;
  static constexpr double epsilon = 1e-8;
};
template<>
struct Defaults<ens::AdaSqrtUpdate> : Defaults<ens::AdaGradUpdate> { };
template<>
struct Defaults<ens::SMORMS3Update>
{
  static constexpr double stepSize = 0.001;
  static constexpr double epsilon = 1e-16;
};

//! Policies with two decay rates, as Adam has them.
template<typename UpdateRule>
class Adam : public DASGD<UpdateRule>
{
 public:
  Adam(const double stepSize = Defaults<UpdateRule>::stepSize,
       const size_t batchSize = 32,
       const double beta1 = 0.9,
       const double beta2 = 0.999,
       const double epsilon = Defaults<UpdateRule>::epsilon,
       const size_t maxIterations = 100000,
       const double tolerance = 1e-5,
       const bool shuffle = true,
       const bool resetPolicy = true,
       const bool exactObjective = false) :
      DASGD<UpdateRule>(stepSize, batchSize, maxIterations, tolerance, shuffle,
          UpdateRule(epsilon, beta1, beta2), ens::NoDecay(), resetPolicy,
          exactObjective)
  { }

  DASGD_ATTRIBUTE(Beta1)
  DASGD_ATTRIBUTE(Beta2)
  DASGD_ATTRIBUTE(Epsilon)
};

//! Policies with nothing but an epsilon, as AdaGrad has it.
template<typename UpdateRule>
class AdaGrad : public DASGD<UpdateRule>
{
 public:
  AdaGrad(const double stepSize = Defaults<UpdateRule>::stepSize,
          const size_t batchSize = 32,
          const double epsilon = Defaults<UpdateRule>::epsilon,
          const size_t maxIterations = 100000,
          const double tolerance = 1e-5,
          const bool shuffle = true,
          const bool resetPolicy = true,
          const bool exactObjective = false) :
      DASGD<UpdateRule>(stepSize, batchSize, maxIterations, tolerance, shuffle,
          UpdateRule(epsilon), ens::NoDecay(), resetPolicy, exactObjective)
  { }

  DASGD_ATTRIBUTE(Epsilon)
};

template<typename UpdateRule, typename DecayPolicyType>
class AdaBound : public DASGD<UpdateRule, DecayPolicyType>
{
 public:
  AdaBound(const double stepSize = 0.001,
           const size_t batchSize = 32,
           const double finalLr = 0.1,
           const double gamma = 1e-3,
           const double beta1 = 0.9,
           const double beta2 = 0.999,
           const double epsilon = 1e-8,
           const size_t maxIterations = 100000,
           const double tolerance = 1e-5,
           const bool shuffle = true,
           const bool resetPolicy = true,
           const bool exactObjective = false) :
      DASGD<UpdateRule, DecayPolicyType>(stepSize, batchSize, maxIterations,
          tolerance, shuffle, UpdateRule(finalLr, gamma, epsilon, beta1, beta2),
          DecayPolicyType(), resetPolicy, exactObjective)
  { }

  DASGD_ATTRIBUTE(FinalLr)
  DASGD_ATTRIBUTE(Gamma)
  DASGD_ATTRIBUTE(Beta1)
  DASGD_ATTRIBUTE(Beta2)
  DASGD_ATTRIBUTE(Epsilon)
};

class AdaDelta : public DASGD<ens::AdaDeltaUpdate>
{
 public:
  AdaDelta(const double stepSize = 1.0,
           const size_t batchSize = 32,
           const double rho = 0.95,
           const double epsilon = 1e-6,
           const size_t maxIterations = 100000,
           const double tolerance = 1e-5,
           const bool shuffle = true,
           const bool resetPolicy = true,
           const bool exactObjective = false) :
      DASGD(stepSize, batchSize, maxIterations, tolerance, shuffle,
          ens::AdaDeltaUpdate(rho, epsilon), ens::NoDecay(), resetPolicy,
          exactObjective)
  { }

  DASGD_ATTRIBUTE(Rho)
  DASGD_ATTRIBUTE(Epsilon)
};

class Padam : public DASGD<ens::PadamUpdate>
{
 public:
  Padam(const double stepSize = 0.001,
        const size_t batchSize = 32,
        const double beta1 = 0.9,
        const double beta2 = 0.999,
        const double partial = 0.25,
        const double epsilon = 1e-8,
        const size_t maxIterations = 100000,
        const double tolerance = 1e-5,
        const bool shuffle = true,
        const bool resetPolicy = true,
        const bool exactObjective = false) :
      DASGD(stepSize, batchSize, maxIterations, tolerance, shuffle,
          ens::PadamUpdate(epsilon, beta1, beta2, partial), ens::NoDecay(),
          resetPolicy, exactObjective)
  { }

  DASGD_ATTRIBUTE(Beta1)
  DASGD_ATTRIBUTE(Beta2)
  DASGD_ATTRIBUTE(Partial)
  DASGD_ATTRIBUTE(Epsilon)
};

class QHAdam : public DASGD<ens::QHAdamUpdate>
{
 public:
  QHAdam(const double stepSize = 0.001,
         const size_t batchSize = 32,
         const double v1 = 0.7,
         const double v2 = 1,
         const double beta1 = 0.9,
         const double beta2 = 0.999,
         const double epsilon = 1e-8,
         const size_t maxIterations = 100000,
         const double tolerance = 1e-5,
         const bool shuffle = true,
         const bool resetPolicy = true,
         const bool exactObjective = false) :
      DASGD(stepSize, batchSize, maxIterations, tolerance, shuffle,
          ens::QHAdamUpdate(epsilon, beta1, beta2, v1, v2), ens::NoDecay(),
          resetPolicy, exactObjective)
  { }

  DASGD_ATTRIBUTE(Beta1)
  DASGD_ATTRIBUTE(Beta2)
  DASGD_ATTRIBUTE(Epsilon)
  DASGD_ATTRIBUTE(V1)
  DASGD_ATTRIBUTE(V2)
};

class RMSProp : public DASGD<ens::RMSPropUpdate>
{
 public:
  RMSProp(const double stepSize = 0.01,
          const size_t batchSize = 32,
          const double alpha = 0.99,
          const double epsilon = 1e-8,
          const size_t maxIterations = 100000,
          const double tolerance = 1e-5,
          const bool shuffle = true,
          const bool resetPolicy = true,
          const bool exactObjective = false) :
      DASGD(stepSize, batchSize, maxIterations, tolerance, shuffle,
          ens::RMSPropUpdate(epsilon, alpha), ens::NoDecay(), resetPolicy,
          exactObjective)
  { }

  DASGD_ATTRIBUTE(Alpha)
  DASGD_ATTRIBUTE(Epsilon)
};

class WNGrad : public DASGD<ens::WNGradUpdate>
{
 public:
  WNGrad(const double stepSize = 0.562,
         const size_t batchSize = 32,
         const size_t maxIterations = 100000,
         const double tolerance = 1e-5,
         const bool shuffle = true,
         const bool resetPolicy = true,
         const bool exactObjective = false) :
      DASGD(stepSize, batchSize, maxIterations, tolerance, shuffle,
          ens::WNGradUpdate(), ens::NoDecay(), resetPolicy, exactObjective)
  { }
};

#undef DASGD_ATTRIBUTE

} // namespace family

// As in ensmallen: see there for what they do and what their parameters mean.
// All attributes of DASGD are there, too, such as Topology() and Report().

using MomentumSGD = DASGD<ens::MomentumUpdate>;
using NesterovMomentumSGD = DASGD<ens::NesterovMomentumUpdate>;
using QHSGD = DASGD<ens::QHUpdate>;

template<typename UpdateRule = ens::AdamUpdate>
using AdamType = family::Member<family::Adam<UpdateRule>>;
using Adam = AdamType<ens::AdamUpdate>;
using AdaMax = AdamType<ens::AdaMaxUpdate>;
using AMSGrad = AdamType<ens::AMSGradUpdate>;
using Nadam = AdamType<ens::NadamUpdate>;
using NadaMax = AdamType<ens::NadaMaxUpdate>;
using OptimisticAdam = AdamType<ens::OptimisticAdamUpdate>;
using AdaBelief = AdamType<ens::AdaBeliefUpdate>;
using SWATS = AdamType<ens::SWATSUpdate>;
using Yogi = AdamType<ens::YogiUpdate>;

template<typename UpdatePolicyType = ens::AdaBoundUpdate,
         typename DecayPolicyType = ens::NoDecay>
using AdaBoundType =
    family::Member<family::AdaBound<UpdatePolicyType, DecayPolicyType>>;
using AdaBound = AdaBoundType<ens::AdaBoundUpdate>;
using AMSBound = AdaBoundType<ens::AMSBoundUpdate>;

using AdaDelta = family::Member<family::AdaDelta>;
using AdaGrad = family::Member<family::AdaGrad<ens::AdaGradUpdate>>;
using AdaSqrt = family::Member<family::AdaGrad<ens::AdaSqrtUpdate>>;
using Padam = family::Member<family::Padam>;
using QHAdam = family::Member<family::QHAdam>;
using RMSProp = family::Member<family::RMSProp>;
using SMORMS3 = family::Member<family::AdaGrad<ens::SMORMS3Update>>;
using WNGrad = family::Member<family::WNGrad>;

//! Warm restarts: the decay policy must know how many steps an epoch has.
template<typename UpdatePolicyType = ens::MomentumUpdate>
class SGDR : public DASGD<UpdatePolicyType, ens::CyclicalDecay>
{
 public:
  using BaseType = DASGD<UpdatePolicyType, ens::CyclicalDecay>;

  SGDR(const size_t epochRestart = 50,
       const double multFactor = 2.0,
       const size_t batchSize = 1000,
       const double stepSize = 0.01,
       const size_t maxIterations = 100000,
       const double tolerance = 1e-5,
       const bool shuffle = true,
       const UpdatePolicyType& updatePolicy = UpdatePolicyType(),
       const bool resetPolicy = true,
       const bool exactObjective = false) :
      BaseType(stepSize, batchSize, maxIterations, tolerance, shuffle,
          updatePolicy, ens::CyclicalDecay(epochRestart, multFactor, stepSize),
          resetPolicy, exactObjective)
  { }

  //! An epoch has so many points on all ranks together.  As in ens::SGDR the
  //! decay policy is told anew each time, since the user may have changed the
  //! attributes.
  void SetEpoch(const double points)
  {
    this->DecayPolicy().StepSize() = this->StepSize();
    this->DecayPolicy().EpochBatches() = points / double(this->BatchSize());
  }

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
    double points = double(function.NumFunctions());
    if (this->Data() == Data::Sharded)
      points *= double(mpi::Ranks(this->Communicator()));
    SetEpoch(points);
    return BaseType::template Optimize<SeparableFunctionType, MatType, GradType,
        CallbackTypes...>(function, iterate,
        std::forward<CallbackTypes>(callbacks)...);
  }

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
