/**
 * @file train.hpp
 *
 * What the optimizers' Optimize() calls: a training of the user's function,
 * policies and callbacks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_TRAIN_HPP
#define DASGD_OPTIMIZER_TRAIN_HPP

#include "../ensmallen/function_source.hpp"
#include "../ensmallen/keep_random_numbers.hpp"
#include "../training/training.hpp"

namespace dasgd {

/**
 * Minimize a function over all ranks.
 *
 * @param optimizer The user's optimizer; callbacks get to see it.
 * @param settings The same object as its base.
 * @param function Function to minimize.
 * @param iterate Starting point (rank 0's counts); becomes the result.
 */
template<typename AlgorithmType,
         typename GradType,
         typename OptimizerType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename MatType,
         typename... CallbackTypes>
typename MatType::elem_type Train(
    OptimizerType& optimizer,
    Settings<UpdatePolicyType, DecayPolicyType>& settings,
    SeparableFunctionType& function,
    MatType& iterate,
    CallbackTypes&... callbacks)
{
  using TypesType = TrainingTypes<OptimizerType, UpdatePolicyType,
      DecayPolicyType, SeparableFunctionType, MatType, GradType,
      CallbackTypes...>;
  TypesType::Check();
  MpiCommunicator comm(settings.Communicator(), MpiCommunicator::ForTraining());
  const mpi::UnderWay underWay;
  return comm.RunTogether([&]()
  {
    // Alone ens::SGD's shuffles are part of the program's random numbers.
    const KeepRandomNumbers keep(comm.Size() > 1 ||
        (settings.Seed() != 0 && settings.Shuffle()));
    FunctionSource<TypesType> source(AlgorithmType::Name(), optimizer, settings,
        static_cast<typename TypesType::FunctionType&>(function),
        static_cast<typename TypesType::MatType&>(iterate), comm.Size(),
        comm.Rank(), callbacks...);
    return Training<AlgorithmType, typename TypesType::ElemType>(comm, settings,
        optimizer, source).Optimize();
  });
}

} // namespace dasgd

#endif
