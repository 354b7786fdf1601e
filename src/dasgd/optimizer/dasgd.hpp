/**
 * @file dasgd.hpp
 *
 * Decentralized asynchronous SGD, an optimizer with the interface of ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_DASGD_HPP
#define DASGD_OPTIMIZER_DASGD_HPP

#include "train.hpp"

namespace dasgd {

/**
 * Decentralized asynchronous SGD, after "Convergence Analysis of Decentralized
 * ASGD" (Tosi and Theobald).  Minimizes a separable function
 *
 * \f[
 * f(A) = \sum_{i = 0}^{n} f_i(A)
 * \f]
 *
 * over all ranks that the program was started with: each computes gradients on
 * its part of the points and applies everybody's, without a server and without
 * waiting.  Started without mpirun, it behaves as ens::SGD does.
 *
 * All parameters mean over all ranks what they mean in ens::SGD: the points of
 * an epoch and MaxIterations() are divided between the ranks.  Optimize() must
 * be called by all ranks of Communicator(); they must agree on all settings.
 * Afterwards all hold the same model.
 *
 * @tparam UpdatePolicyType Update policy, e.g. ens::MomentumUpdate.  The origin
 *     of a gradient runs it, with a state of its own, and sends what it
 *     subtracted.
 * @tparam DecayPolicyType Decay policy; counts the steps of all ranks.
 */
template<typename UpdatePolicyType = ens::VanillaUpdate,
         typename DecayPolicyType = ens::NoDecay>
class DASGD :
    public Settings<UpdatePolicyType, DecayPolicyType>,
    public DasgdAlgorithm::Options
{
 public:
  //! What is run.
  using Algorithm = DasgdAlgorithm;

  /**
   * Construct the optimizer; parameters and defaults are those of ens::SGD.
   *
   * @param stepSize Step size for each iteration.
   * @param batchSize Number of points in each gradient.
   * @param maxIterations Number of points to visit, over all ranks (0 means no
   *     limit).
   * @param tolerance Stop when an epoch changes the objective by less.
   * @param shuffle Shuffle the points, in the same way on all ranks.
   * @param updatePolicy Update policy.
   * @param decayPolicy Decay policy.
   * @param resetPolicy Start policies and step size afresh in each Optimize().
   * @param exactObjective Compute the objective over all points at the end.
   */
  DASGD(const double stepSize = 0.01,
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

  /**
   * Minimize the function; all ranks end with the same result.  Throws on all
   * ranks if something throws on one.
   *
   * @tparam GradType Type of the gradient: that of the iterate.
   * @param function Function to minimize.
   * @param iterate Starting point (rank 0's counts); becomes the result.
   * @param callbacks Callbacks, called on every rank except for those that
   *     print; see OnRankZero.
   * @return Objective, as ens::SGD returns it, over all ranks.
   */
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
    if constexpr (ensmallen::AreDense<MatType, GradType>())
    {
      return Train<DasgdAlgorithm, GradType>(*this,
          static_cast<Settings<UpdatePolicyType, DecayPolicyType>&>(*this),
          function, iterate, callbacks...);
    }
    else
    {
      return OptimizeAlone<GradType>(function, iterate, callbacks...);
    }
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

 private:
  //! Sparse iterates and gradients are optimized by ens::SGD, on every rank for
  //! itself.
  template<typename GradType,
           typename SeparableFunctionType,
           typename MatType,
           typename... CallbackTypes>
  typename MatType::elem_type OptimizeAlone(SeparableFunctionType& function,
                                            MatType& iterate,
                                            CallbackTypes&... callbacks)
  {
    const MpiCommunicator comm(this->Communicator(),
        MpiCommunicator::ForTraining());
    comm.Machines("sparse matrices");
    if (comm.Size() > 1 && comm.Rank() == 0)
    {
      std::cerr << "DASGD: the iterate is " + TypeName<MatType>() +
          " and the gradient " + TypeName<GradType>() + ", which is not "
          "decentralized: each of " + std::to_string(comm.Size()) + " ranks "
          "trains for itself; use dense matrices of one type.\n";
    }
    ensmallen::SGD<UpdatePolicyType, DecayPolicyType> serial(this->StepSize(),
        this->BatchSize(), this->MaxIterations(), this->Tolerance(),
        this->Shuffle(), this->UpdatePolicy(), this->DecayPolicy(),
        this->ResetPolicy(), this->ExactObjective());
    const auto objective = serial.template Optimize<SeparableFunctionType,
        MatType, GradType>(function, iterate, callbacks...);
    this->StepSize() = serial.StepSize();
    return objective;
  }
};

} // namespace dasgd

#endif
