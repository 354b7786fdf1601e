/**
 * @file callbacks.hpp
 *
 * ensmallen's callbacks, kept together and called as ens::SGD calls them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_CALLBACKS_HPP
#define DASGD_OPTIMIZER_CALLBACKS_HPP

#include "../core/manifest.hpp"
#include "ensmallen.hpp"

#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dasgd {

/**
 * Does a callback want Evaluate() and StepTaken() for the gradients of all
 * ranks instead of this rank's only?  The progress bar does: it counts the
 * steps of an epoch.  Specialize it for a callback of your own that counts,
 * too.
 */
template<typename CallbackType>
struct SeesAllRanks : std::false_type { };

template<>
struct SeesAllRanks<ens::ProgressBar> : std::true_type { };

/**
 * Is a callback known to leave the iterate alone while a run goes on?  Those of
 * ensmallen are.  At several ranks dasgd looks whether others do: a change on
 * one rank would not reach the rest.  Specialize it for a callback of your own
 * to save that look.
 */
template<typename CallbackType>
struct LeavesIterate : std::false_type { };

template<> struct LeavesIterate<ens::ProgressBar> : std::true_type { };
template<> struct LeavesIterate<ens::PrintLoss> : std::true_type { };
template<> struct LeavesIterate<ens::Report> : std::true_type { };
template<> struct LeavesIterate<ens::TimerStop> : std::true_type { };
template<> struct LeavesIterate<ens::GradClipByNorm> : std::true_type { };
template<> struct LeavesIterate<ens::GradClipByValue> : std::true_type { };
template<typename MatType>
struct LeavesIterate<ens::EarlyStopAtMinLossType<MatType>> :
    std::true_type { };
template<typename MatType>
struct LeavesIterate<ens::StoreBestCoordinates<MatType>> : std::true_type { };

/**
 * A set of callbacks with the optimizer and the function they are told of.  On
 * several ranks those that see all ranks are told of steps apart from the rest,
 * epoch by epoch: a rank may be ahead of the epoch that callbacks are in.
 */
template<typename OptimizerType, typename FunctionType, typename... CallbackTypes>
class Callbacks
{
 public:
  Callbacks(OptimizerType& optimizer,
            FunctionType& function,
            const size_t ranks,
            CallbackTypes&... callbacks) :
      optimizer(optimizer), function(function), ranks(ranks),
      callbacks(callbacks...),
      own(std::tuple_cat(Keep<false>(callbacks)...)),
      counting(std::tuple_cat(Keep<true>(callbacks)...))
  { }

  //! There are so many ranks now.
  void Ranks(const size_t now) { ranks = now; }

  template<typename MatType>
  void BeginOptimization(MatType& iterate)
  {
    std::apply([&](auto&... all)
    {
      ens::Callback::BeginOptimization(optimizer, function, iterate, all...);
    }, callbacks);
  }

  template<typename MatType>
  void EndOptimization(MatType& iterate)
  {
    std::apply([&](auto&... all)
    {
      ens::Callback::EndOptimization(optimizer, function, iterate, all...);
    }, callbacks);
  }

  template<typename MatType>
  bool BeginEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return Watch(iterate, "BeginEpoch", [&]()
    {
      return std::apply([&](auto&... all)
      {
        return ens::Callback::BeginEpoch(optimizer, function, iterate, epoch,
            objective, all...);
      }, callbacks);
    });
  }

  template<typename MatType>
  bool EndEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return Watch(iterate, "EndEpoch", [&]()
    {
      return std::apply([&](auto&... all)
      {
        return ens::Callback::EndEpoch(optimizer, function, iterate, epoch,
            objective, all...);
      }, callbacks);
    });
  }

  template<typename MatType, typename GradType>
  bool EvaluateWithGradient(MatType& iterate,
                            const double objective,
                            GradType& gradient)
  {
    return Watch(iterate, "Evaluate() or Gradient", [&]()
    {
      return ForOwnSteps([&](auto&... all)
      {
        return ens::Callback::EvaluateWithGradient(optimizer, function,
            iterate, objective, gradient, all...);
      });
    });
  }

  template<typename MatType>
  bool StepTaken(MatType& iterate)
  {
    return Watch(iterate, "StepTaken", [&]()
    {
      return ForOwnSteps([&](auto&... all)
      {
        return ens::Callback::StepTaken(optimizer, function, iterate, all...);
      });
    });
  }

  template<typename MatType>
  bool Evaluate(MatType& iterate, const double objective)
  {
    return std::apply([&](auto&... all)
    {
      return ens::Callback::Evaluate(optimizer, function, iterate, objective,
          all...);
    }, callbacks);
  }

  /**
   * Steps of any rank were applied: tell those that see all ranks.
   *
   * @param epoch The epoch that callbacks are in.
   * @param entry What was applied.
   * @param objective Its objective.
   */
  template<typename MatType>
  bool CountSteps(MatType& iterate,
                  const std::uint64_t epoch,
                  const ManifestEntry& entry,
                  const double objective)
  {
    if (std::tuple_size<CountingType>::value == 0 || ranks == 1 ||
        entry.epoch < epoch)
      return false;
    if (entry.epoch == epoch)
      return Count(iterate, entry.count, objective);
    Held& held = ahead[entry.epoch];
    held.steps += entry.count;
    held.objective += objective;
    // As many as Progress keeps; what is further ahead is not shown.
    if (ahead.size() > 1024)
      ahead.erase(std::prev(ahead.end()));
    return false;
  }

  //! An epoch has begun: tell of its steps that were applied before.
  template<typename MatType>
  bool CountHeld(MatType& iterate, const std::uint64_t epoch)
  {
    bool stop = false;
    while (!ahead.empty() && ahead.begin()->first <= epoch)
    {
      const Held held = ahead.begin()->second;
      if (ahead.begin()->first == epoch)
        stop |= Count(iterate, held.steps, held.objective);
      ahead.erase(ahead.begin());
    }
    return stop;
  }

 private:
  struct Held
  {
    std::uint64_t steps = 0;
    double objective = 0;
  };

  //! The callback, if it is one of those that see all ranks, or one that is
  //! not.
  template<bool seesAll, typename CallbackType>
  static auto Keep(CallbackType& callback)
  {
    if constexpr (SeesAllRanks<std::remove_const_t<CallbackType>>::value ==
        seesAll)
      return std::tie(callback);
    else
      return std::tuple<>();
  }

  /**
   * Run callbacks and see whether they leave the iterate alone.  Its address
   * and shape are compared each time, its elements as many at a time as cost
   * next to nothing, one part of the model after the other.
   *
   * @param hook What is called, for messages.
   */
  template<typename MatType, typename ActionType>
  bool Watch(MatType& iterate, const char* hook, ActionType&& action)
  {
    if (ranks == 1 ||
        (LeavesIterate<std::remove_const_t<CallbackTypes>>::value && ...))
      return action();

    using ElemType = typename MatType::elem_type;
    constexpr size_t most = 4096;
    const ElemType* const memory = iterate.memptr();
    const size_t rows = iterate.n_rows, cols = iterate.n_cols;
    if (watched >= iterate.n_elem)
      watched = 0;
    const size_t begin = watched;
    const size_t bytes = sizeof(ElemType) * std::min<size_t>(most,
        iterate.n_elem - begin);
    watched += most;
    before.resize(most * sizeof(ElemType));
    std::memcpy(before.data(), memory + begin, bytes);
    const bool stop = action();
    if (iterate.memptr() != memory || iterate.n_rows != rows ||
        iterate.n_cols != cols || std::memcmp(before.data(), memory + begin,
        bytes) != 0)
    {
      throw std::logic_error("a callback changed the iterate in " +
          std::string(hook) + "(), which would not reach the other ranks: each "
          "applies the updates of all, and nothing else; change the gradient "
          "in Gradient(), write an update policy, or train at one rank");
    }
    return stop;
  }

  template<typename ActionType>
  bool ForOwnSteps(ActionType&& action)
  {
    return (ranks == 1) ? std::apply(action, callbacks) :
        std::apply(action, own);
  }

  template<typename MatType>
  bool Count(MatType& iterate,
             const std::uint64_t steps,
             const double objective)
  {
    return std::apply([&](auto&... all)
    {
      bool stop = ens::Callback::Evaluate(optimizer, function, iterate,
          objective, all...);
      for (std::uint64_t i = 0; i < steps && sizeof...(all) > 0; ++i)
        stop |= ens::Callback::StepTaken(optimizer, function, iterate, all...);
      return stop;
    }, counting);
  }

  using AllType = std::tuple<CallbackTypes&...>;
  using OwnType = decltype(std::tuple_cat(
      Keep<false>(std::declval<CallbackTypes&>())...));
  using CountingType = decltype(std::tuple_cat(
      Keep<true>(std::declval<CallbackTypes&>())...));

  OptimizerType& optimizer;
  FunctionType& function;
  size_t ranks;
  AllType callbacks;
  OwnType own;
  CountingType counting;
  std::map<std::uint64_t, Held> ahead;
  //! The part of the iterate that is compared next, and as it was before.
  size_t watched = 0;
  std::vector<std::uint8_t> before;
};

} // namespace dasgd

#endif
