/**
 * @file drop_in.hpp
 *
 * Decentralized training without a change to the source.  Given to the compiler
 * with `-include dasgd/drop_in.hpp`, this makes ens::SGD, ens::Adam and all
 * others of dasgd/optimizer/family.hpp mean the decentralized ones.
 * ensmallen's own are ens::SerialSGD, ens::SerialAdam and so on then.
 *
 * Under mpirun, such a program prints once, saves whole files, and says so if
 * an optimizer is not decentralized; see dasgd/mpi/drop_in_program.hpp.
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
#else
#include <armadillo>
#endif

#include "mpi/drop_in_program.hpp"

namespace dasgd {

class CommonSettings;

namespace drop_in {

inline const bool begun = Begin();

//! An optimizer that runs another one for some steps at a time, such as
//! ens::Lookahead, is not decentralized; then neither is that other one, which
//! would divide a handful of steps between the ranks each time.
template<typename OptimizerType>
auto KeepSerial(OptimizerType& optimizer, int)
    -> decltype(optimizer.BaseOptimizer().Communicator(), void())
{
  if (Program().size > 1)
    optimizer.BaseOptimizer().Communicator() = MPI_COMM_SELF;
}

template<typename OptimizerType>
void KeepSerial(OptimizerType&, long) { }

} // namespace drop_in
} // namespace dasgd

// All optimizers of ensmallen ask this class to tell callbacks that they begin.
#define Callback SerialCallback
#include <ensmallen_bits/callbacks/callbacks.hpp>
#undef Callback

namespace ens {

//! ensmallen's class, and a word about optimizers that are not decentralized.
class Callback : public SerialCallback
{
 public:
  template<typename OptimizerType,
           typename FunctionType,
           typename MatType,
           typename... CallbackTypes>
  static void BeginOptimization(OptimizerType& optimizer,
                                FunctionType& function,
                                MatType& coordinates,
                                CallbackTypes&... callbacks)
  {
    if (!std::is_base_of<dasgd::CommonSettings, OptimizerType>::value)
    {
      dasgd::drop_in::SaySerial(typeid(OptimizerType));
      dasgd::drop_in::KeepSerial(optimizer, 0);
    }
    SerialCallback::BeginOptimization(optimizer, function, coordinates,
        callbacks...);
  }
};

} // namespace ens

// ensmallen, with its own optimizers under other names.
#define SGD SerialSGD
#define StandardSGD SerialStandardSGD
#define MomentumSGD SerialMomentumSGD
#define NesterovMomentumSGD SerialNesterovMomentumSGD
#define QHSGD SerialQHSGD
#define AdamType SerialAdamType
#define Adam SerialAdam
#define AdaMax SerialAdaMax
#define AMSGrad SerialAMSGrad
#define Nadam SerialNadam
#define NadaMax SerialNadaMax
#define OptimisticAdam SerialOptimisticAdam
#define AdaBelief SerialAdaBelief
#define SWATS SerialSWATS
#define Yogi SerialYogi
#define AdaBoundType SerialAdaBoundType
#define AdaBound SerialAdaBound
#define AMSBound SerialAMSBound
#define AdaDelta SerialAdaDelta
#define AdaGrad SerialAdaGrad
#define AdaSqrt SerialAdaSqrt
#define Padam SerialPadam
#define QHAdam SerialQHAdam
#define RMSProp SerialRMSProp
#define SMORMS3 SerialSMORMS3
#define WNGrad SerialWNGrad
#define SGDR SerialSGDR
#include <ensmallen.hpp>
#undef SGD
#undef StandardSGD
#undef MomentumSGD
#undef NesterovMomentumSGD
#undef QHSGD
#undef AdamType
#undef Adam
#undef AdaMax
#undef AMSGrad
#undef Nadam
#undef NadaMax
#undef OptimisticAdam
#undef AdaBelief
#undef SWATS
#undef Yogi
#undef AdaBoundType
#undef AdaBound
#undef AMSBound
#undef AdaDelta
#undef AdaGrad
#undef AdaSqrt
#undef Padam
#undef QHAdam
#undef RMSProp
#undef SMORMS3
#undef WNGrad
#undef SGDR

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
using QHSGD = SGD<QHUpdate>;

using dasgd::AdamType;
using dasgd::Adam;
using dasgd::AdaMax;
using dasgd::AMSGrad;
using dasgd::Nadam;
using dasgd::NadaMax;
using dasgd::OptimisticAdam;
using dasgd::AdaBelief;
using dasgd::SWATS;
using dasgd::Yogi;
using dasgd::AdaBoundType;
using dasgd::AdaBound;
using dasgd::AMSBound;
using dasgd::AdaDelta;
using dasgd::AdaGrad;
using dasgd::AdaSqrt;
using dasgd::Padam;
using dasgd::QHAdam;
using dasgd::RMSProp;
using dasgd::SMORMS3;
using dasgd::WNGrad;
using dasgd::SGDR;

} // namespace ens

#if __has_include(<mlpack/core.hpp>)

// mlpack, with two of its functions under other names.
#define RandomSeed SerialRandomSeed
#define Save SaveDirectly
#include <mlpack/core.hpp>
#undef RandomSeed
#undef Save

namespace mlpack {

//! mlpack's function, with a seed that is the same on all ranks.
inline void RandomSeed(const size_t seed)
{ SerialRandomSeed(dasgd::drop_in::Seed(seed)); }

#if !__has_include(<mlpack/core/data/save_deprecated.hpp>)
namespace data {
#endif

//! mlpack's functions for one file.
template<typename... ArgumentTypes>
bool Save(const std::string& filename, ArgumentTypes&&... arguments)
{
  return dasgd::drop_in::Save(filename, [&](const std::string& path)
  { return SaveDirectly(path, arguments...); });
}

//! mlpack's functions for several.
template<typename... ArgumentTypes>
bool Save(const std::vector<std::string>& files, ArgumentTypes&&... arguments)
{ return SaveDirectly(files, arguments...); }

#if !__has_include(<mlpack/core/data/save_deprecated.hpp>)
} // namespace data
#endif
} // namespace mlpack

#endif

#endif
