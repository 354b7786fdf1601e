/**
 * @file callbacks.hpp
 *
 * ensmallen's callbacks, kept together and called as ens::SGD calls them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_CALLBACKS_HPP
#define DASGD_OPTIMIZER_CALLBACKS_HPP

#include "ensmallen.hpp"

#include <tuple>
#include <utility>

namespace dasgd {

/**
 * Does a callback want Evaluate() and StepTaken() for the gradients of all ranks
 * instead of this rank's only?  The progress bar does: it counts the steps of
 * an epoch.  Specialize it for a callback of your own that counts, too.
 */
template<typename CallbackType>
struct SeesAllRanks : std::false_type { };

template<>
struct SeesAllRanks<ens::ProgressBar> : std::true_type { };

//! A set of callbacks with the optimizer and the function they are told of.
template<typename OptimizerType, typename FunctionType, typename... CallbackTypes>
class Callbacks
{
 public:
  Callbacks(OptimizerType& optimizer,
            FunctionType& function,
            CallbackTypes&... callbacks) :
      optimizer(optimizer), function(function), callbacks(callbacks...) { }

  template<typename MatType>
  void BeginOptimization(MatType& iterate)
  {
    std::apply([&](CallbackTypes&... all)
    {
      ens::Callback::BeginOptimization(optimizer, function, iterate, all...);
    }, callbacks);
  }

  template<typename MatType>
  void EndOptimization(MatType& iterate)
  {
    std::apply([&](CallbackTypes&... all)
    {
      ens::Callback::EndOptimization(optimizer, function, iterate, all...);
    }, callbacks);
  }

  template<typename MatType>
  bool BeginEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return ens::Callback::BeginEpoch(optimizer, function, iterate, epoch,
          objective, all...);
    }, callbacks);
  }

  template<typename MatType>
  bool EndEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return ens::Callback::EndEpoch(optimizer, function, iterate, epoch,
          objective, all...);
    }, callbacks);
  }

  template<typename MatType, typename GradType>
  bool EvaluateWithGradient(MatType& iterate,
                            const double objective,
                            GradType& gradient)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return ens::Callback::EvaluateWithGradient(optimizer, function, iterate,
          objective, gradient, all...);
    }, callbacks);
  }

  template<typename MatType>
  bool Evaluate(MatType& iterate, const double objective)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return ens::Callback::Evaluate(optimizer, function, iterate, objective,
          all...);
    }, callbacks);
  }

  template<typename MatType>
  bool StepTaken(MatType& iterate)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return ens::Callback::StepTaken(optimizer, function, iterate, all...);
    }, callbacks);
  }

  //! Another rank's gradients were applied.
  template<typename MatType>
  bool OthersStepTaken(MatType& iterate,
                       const double objective,
                       const size_t count)
  {
    return std::apply([&](CallbackTypes&... all)
    {
      return (OthersStepTaken(all, iterate, objective, count) | ... | false);
    }, callbacks);
  }

 private:
  template<typename CallbackType, typename MatType>
  bool OthersStepTaken(CallbackType& callback,
                       MatType& iterate,
                       const double objective,
                       const size_t count)
  {
    bool stop = false;
    if constexpr (SeesAllRanks<std::remove_const_t<CallbackType>>::value)
    {
      stop |= ens::Callback::Evaluate(optimizer, function, iterate, objective,
          callback);
      for (size_t i = 0; i < count; ++i)
        stop |= ens::Callback::StepTaken(optimizer, function, iterate, callback);
    }
    else
    {
      (void) callback; (void) iterate; (void) objective; (void) count;
    }
    return stop;
  }

  OptimizerType& optimizer;
  FunctionType& function;
  std::tuple<CallbackTypes&...> callbacks;
};

} // namespace dasgd

#endif
