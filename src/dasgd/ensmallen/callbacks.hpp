/**
 * @file callbacks.hpp
 *
 * ensmallen's callbacks, kept together and called as ens::SGD calls them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_CALLBACKS_HPP
#define DASGD_ENSMALLEN_CALLBACKS_HPP

#include "../staleness/manifest.hpp"
#include "callback_traits.hpp"

#include <algorithm>
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
 * A set of callbacks with the optimizer and the function they are told of.  On
 * several ranks those that see all ranks are told of steps apart from the rest,
 * epoch by epoch: a rank may be ahead of the epoch that callbacks are in.
 */
template<typename OptimizerType,
    typename FunctionType,
    typename... CallbackTypes>
class Callbacks
{
 public:
  Callbacks(OptimizerType& optimizer,
            FunctionType& function,
            const size_t ranks,
            const size_t rank,
            CallbackTypes&... callbacks) :
      optimizer(optimizer), function(function), ranks(ranks), rank(rank),
      callbacks(callbacks...)
  { }

  //! This is one of so many ranks now.
  void Ranks(const size_t nowRanks, const size_t nowRank)
  {
    ranks = nowRanks;
    rank = nowRank;
  }

  //! What callbacks keep that all ranks agree on at the end, for the handshake.
  static std::string Kept()
  {
    std::string names;
    ((names += IsBest<CallbackTypes>::value ?
        " StoreBestCoordinates" : ""), ...);
    return names.empty() ? "none" : names.substr(1);
  }

  /**
   * What callbacks keep becomes the same on all ranks: the coordinates of the
   * lowest objective that any of them has seen.
   *
   * @param comm As MpiCommunicator.
   */
  template<typename CommunicatorType>
  void Agree(const CommunicatorType& comm)
  {
    std::apply([&](auto&... all) { (AgreeOnBest(comm, all), ...); }, callbacks);
  }

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
    Tell<All>([&](auto&... all)
    {
      ens::Callback::EndOptimization(optimizer, function, iterate, all...);
      return false;
    });
  }

  template<typename MatType>
  bool BeginEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return Watch(iterate, "BeginEpoch", [&]()
    {
      return Tell<All>([&](auto&... all)
      {
        return ens::Callback::BeginEpoch(optimizer, function, iterate, epoch,
            objective, all...);
      });
    });
  }

  template<typename MatType>
  bool EndEpoch(MatType& iterate, const size_t epoch, const double objective)
  {
    return Watch(iterate, "EndEpoch", [&]()
    {
      return Tell<All>([&](auto&... all)
      {
        return ens::Callback::EndEpoch(optimizer, function, iterate, epoch,
            objective, all...);
      });
    });
  }

  template<typename MatType, typename GradType>
  bool EvaluateWithGradient(MatType& iterate,
                            const double objective,
                            GradType& gradient)
  {
    return Watch(iterate, "Evaluate() or Gradient", [&]()
    {
      return Tell<Own>([&](auto&... all)
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
      return Tell<Own>([&](auto&... all)
      {
        return ens::Callback::StepTaken(optimizer, function, iterate, all...);
      });
    });
  }

  template<typename MatType>
  bool Evaluate(MatType& iterate, const double objective)
  {
    return Tell<All>([&](auto&... all)
    {
      return ens::Callback::Evaluate(optimizer, function, iterate, objective,
          all...);
    });
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
    if (!counts || ranks == 1 || entry.epoch < epoch)
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

  //! Who is told of something: all callbacks, those that see the steps of
  //! their rank, or those that see the steps of all ranks.
  enum Who { All, Own, Counting };

  //! Are there callbacks that see the steps of all ranks?
  static constexpr bool counts =
      (SeesAllRanks<std::remove_const_t<CallbackTypes>>::value || ...);

  //! @param elsewhere On a rank other than 0?
  template<Who who, bool elsewhere, typename CallbackType>
  static constexpr bool IsTold()
  {
    using Type = std::remove_const_t<CallbackType>;
    return (who == All || (who == Counting) == SeesAllRanks<Type>::value) &&
        !(elsewhere && OnRankZero<Type>::value);
  }

  //! The callback, or nothing.
  template<bool keep, typename CallbackType>
  static auto Keep(CallbackType& callback)
  {
    if constexpr (keep)
      return std::tie(callback);
    else
      return std::tuple<>();
  }

  template<Who who, bool elsewhere, typename ActionType>
  bool TellThose(ActionType& action)
  {
    return std::apply([&](auto&... all)
    {
      return std::apply(action, std::tuple_cat(
          Keep<IsTold<who, elsewhere, CallbackTypes>()>(all)...));
    }, callbacks);
  }

  //! Call action() with all that are told; it says whether they ask to stop.
  template<Who who, typename ActionType>
  bool Tell(ActionType&& action)
  {
    if (ranks == 1 && who != Counting)
      return std::apply(action, callbacks);
    return (rank == 0) ? TellThose<who, false>(action) :
        TellThose<who, true>(action);
  }

  template<typename CallbackType>
  struct IsBest : std::false_type { };
  template<typename MatType>
  struct IsBest<ens::StoreBestCoordinates<MatType>> :
      arma::is_arma_type<MatType> { };

  //! See Agree().
  template<typename CommunicatorType, typename CallbackType>
  static void AgreeOnBest(const CommunicatorType& comm, CallbackType& callback)
  {
    if constexpr (IsBest<CallbackType>::value)
    {
      const std::vector<double> all = comm.Gather(callback.BestObjective());
      const size_t best = size_t(std::min_element(all.begin(), all.end()) -
          all.begin());
      auto& coordinates = callback.BestCoordinates();
      std::uint64_t shape[] = { coordinates.n_rows, coordinates.n_cols };
      comm.Broadcast(shape, sizeof(shape), best);
      // If one rank lacks memory for them, all throw.
      bool room = true;
      try
      {
        coordinates.set_size(size_t(shape[0]), size_t(shape[1]));
      }
      catch (const std::bad_alloc&)
      {
        room = false;
      }
      for (const std::uint64_t other : comm.Gather(std::uint64_t(room)))
        room = room && other != 0;
      if (!room)
      {
        throw std::runtime_error("StoreBestCoordinates: a rank has no memory "
            "for the best coordinates of another one");
      }
      comm.Broadcast(coordinates.memptr(), coordinates.n_elem *
          sizeof(*coordinates.memptr()), best);
      callback.BestObjective() = all[best];
    }
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

  template<typename MatType>
  bool Count(MatType& iterate,
             const std::uint64_t steps,
             const double objective)
  {
    return Tell<Counting>([&](auto&... all)
    {
      bool stop = ens::Callback::Evaluate(optimizer, function, iterate,
          objective, all...);
      for (std::uint64_t i = 0; i < steps && sizeof...(all) > 0; ++i)
        stop |= ens::Callback::StepTaken(optimizer, function, iterate, all...);
      return stop;
    });
  }

  OptimizerType& optimizer;
  FunctionType& function;
  size_t ranks;
  size_t rank;
  std::tuple<CallbackTypes&...> callbacks;
  std::map<std::uint64_t, Held> ahead;
  //! The part of the iterate that is compared next, and as it was before.
  size_t watched = 0;
  std::vector<std::uint8_t> before;
};

} // namespace dasgd

#endif
