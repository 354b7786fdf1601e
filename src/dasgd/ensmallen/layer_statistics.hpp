/**
 * @file layer_statistics.hpp
 *
 * What layers of mlpack's networks learn beside their parameters: the running
 * mean and variance of BatchNorm.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_LAYER_STATISTICS_HPP
#define DASGD_ENSMALLEN_LAYER_STATISTICS_HPP

#include "../mpi/mpi_communicator.hpp"
#include "../core/guard.hpp"

#include <armadillo>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <type_traits>
#include <typeinfo>
#include <vector>

#if __has_include(<mlpack/core/util/version.hpp>)
#include <mlpack/core/util/version.hpp>
#endif

// Declared here, so that it does not matter whether mlpack is included before
// dasgd or after it.  The name of the layer depends on the version.
namespace mlpack {

template<typename MatType> class Layer;
template<typename MatType> class MultiLayer;
#if defined(MLPACK_VERSION_MAJOR) && MLPACK_VERSION_MAJOR == 4 && \
    MLPACK_VERSION_MINOR == 6
#define DASGD_BATCH_NORM BatchNormType
#elif defined(MLPACK_VERSION_MAJOR) && MLPACK_VERSION_MAJOR == 4 && \
    MLPACK_VERSION_MINOR == 8
#define DASGD_BATCH_NORM BatchNorm
#endif
#ifdef DASGD_BATCH_NORM
template<typename MatType> class DASGD_BATCH_NORM;
#endif

} // namespace mlpack

namespace dasgd {
namespace statistics {

//! Is a function a network of mlpack's layers?
template<typename FunctionType, typename = void>
struct HasLayers : std::false_type { };

template<typename Type>
struct AreLayers : std::false_type { };
template<typename MatType>
struct AreLayers<std::vector<mlpack::Layer<MatType>*>> : std::true_type { };

template<typename FunctionType>
struct HasLayers<FunctionType, std::void_t<
    decltype(std::declval<const FunctionType&>().Network())>> :
    AreLayers<std::decay_t<
        decltype(std::declval<const FunctionType&>().Network())>> { };

/**
 * Visit all layers of a network, also those within others, in an order that
 * depends on the network only.
 */
template<typename MatType, typename ActionType>
void VisitLayers(const std::vector<mlpack::Layer<MatType>*>& layers,
                 ActionType&& action)
{
  for (mlpack::Layer<MatType>* layer : layers)
  {
    action(*layer);
    if (auto* several = dynamic_cast<mlpack::MultiLayer<MatType>*>(layer))
    {
      VisitLayers(const_cast<const mlpack::MultiLayer<MatType>*>(several)->
          Network(), action);
    }
  }
}

//! Is it a BatchNorm layer, to go by its name?
template<typename LayerType>
bool IsBatchNorm(const LayerType& layer)
{ return std::strstr(typeid(layer).name(), "BatchNorm") != nullptr; }

//! Call action(matrix) for each matrix of statistics; returns false if there is
//! a layer whose statistics cannot be reached.
template<typename MatType, typename ActionType>
bool VisitIn(const std::vector<mlpack::Layer<MatType>*>& layers,
             ActionType&& action)
{
  bool all = true;
  VisitLayers(layers, [&](mlpack::Layer<MatType>& layer)
  {
#ifdef DASGD_BATCH_NORM
    if (auto* norm = dynamic_cast<mlpack::DASGD_BATCH_NORM<MatType>*>(&layer))
    {
      action(norm->TrainingMean());
      action(norm->TrainingVariance());
      return;
    }
#endif
    all = all && !IsBatchNorm(layer);
  });
  return all;
}

//! Can a network be told whether it is trained or tested?
template<typename FunctionType, typename = void>
struct HasMode : std::false_type { };
template<typename FunctionType>
struct HasMode<FunctionType, std::void_t<
    decltype(std::declval<FunctionType&>().SetNetworkMode(true))>> :
    HasLayers<FunctionType> { };

//! While there is one of these, a network that is being trained is tested: it
//! draws no random numbers, and its layers learn nothing.
template<typename FunctionType>
class Tested
{
 public:
  explicit Tested(FunctionType& function) : function(function) { Set(false); }
  ~Tested() { Set(true); }
  Tested(const Tested&) = delete;
  Tested& operator=(const Tested&) = delete;

 private:
  void Set(const bool training)
  {
    if constexpr (HasMode<FunctionType>::value)
      function.SetNetworkMode(training);
    (void) training;
  }

  FunctionType& function;
};

//! Does a function show its statistics itself?
template<typename FunctionType, typename = void>
struct ShowsThem : std::false_type { };
template<typename FunctionType>
struct ShowsThem<FunctionType, std::void_t<
    decltype(std::declval<FunctionType&>().VisitStatistics(
    std::declval<const std::function<void(arma::mat&)>&>()))>> :
    std::true_type { };

/**
 * Call action(matrix) for each matrix of statistics that a function keeps: a
 * network of mlpack, or a function with a member
 * `void VisitStatistics(const std::function<void(arma::mat&)>&)`.
 *
 * @return False if there is a layer whose statistics cannot be reached.
 */
template<typename FunctionType, typename ActionType>
bool Visit(FunctionType& function, ActionType&& action)
{
  if constexpr (ShowsThem<FunctionType>::value)
    function.VisitStatistics(action);
  else if constexpr (HasLayers<FunctionType>::value)
  {
    return VisitIn(const_cast<const FunctionType&>(function).Network(), action);
  }
  (void) function;
  return true;
}

//! Does a function keep any?
template<typename FunctionType>
bool Exist(FunctionType& function)
{
  bool exist = false;
  return !Visit(function, [&](const auto&) { exist = true; }) || exist;
}

//! The batches of all ranks, and the sums of their statistics over these; from
//! the batches and the statistics of each rank, as bytes.
inline std::vector<double> Sums(const std::vector<std::string>& ranks)
{
  const size_t size = ranks[0].size() / sizeof(double);
  for (size_t i = 1; i < ranks.size(); ++i)
  {
    if (ranks[i].size() == ranks[0].size())
      continue;
    throw std::invalid_argument("dasgd: the network keeps " +
        std::to_string(size - 1) + " statistics of BatchNorm layers on rank 0, "
        "but " + std::to_string(ranks[i].size() / sizeof(double) - 1) +
        " on rank " + std::to_string(i) +
        "; give the network the same layers on all ranks");
  }
  // All ranks form the same sums in the same order.
  std::vector<double> sums(size, 0);
  std::vector<double> other(size);
  for (const std::string& bytes : ranks)
  {
    std::memcpy(other.data(), bytes.data(), bytes.size());
    for (size_t i = 1; i < sums.size() && other[0] > 0; ++i)
      sums[i] += other[0] * other[i];
    sums[0] += other[0];
  }
  return sums;
}

} // namespace statistics

/**
 * Let the statistics that a function shows follow the model that all ranks
 * ended with; those of mlpack's layers are means over the whole training.
 * Until then each rank has learnt them from its own batches, with models that
 * changed; a rank that was done early has learnt nothing of the last of them.
 *
 * @param gradient Scratch.
 * @param rank Each takes other points.
 * @param batches How many this rank has seen; it takes no more.
 */
template<typename FunctionType, typename MatType>
void RenewStatistics(FunctionType& function,
                     const MatType& iterate,
                     MatType& gradient,
                     const size_t batchSize,
                     const size_t rank,
                     const std::uint64_t batches)
{
  // A running mean with the usual momentum of 0.9 keeps 0.5 % of what it was.
  constexpr std::uint64_t enough = 50;
  if constexpr (statistics::ShowsThem<FunctionType>::value)
  {
    if (!statistics::Exist(function) || !iterate.is_finite())
      return;
    const size_t points = function.NumFunctions();
    const size_t size = std::min(batchSize, points);
    const size_t count = size_t(std::min(enough, batches));
    for (size_t i = 0; i < count && size > 0; ++i)
    {
      function.EvaluateWithGradient(iterate, (rank * enough + i) * size %
          (points - size + 1), gradient, size);
    }
  }
  // Unused where it shows none.
  (void) iterate;
  (void) gradient;
  (void) batchSize;
  (void) rank;
  (void) batches;
}

/**
 * The statistics that layers keep become the same on all ranks: the mean over
 * the batches of all of them.
 *
 * @param batches How many this rank has seen.
 * @param thrown What the function throws when it is asked; then statistics stay
 *     as they are, on all ranks.
 */
template<typename FunctionType>
void AgreeOnStatistics(const MpiCommunicator& comm,
                       FunctionType& function,
                       const std::uint64_t batches,
                       std::exception_ptr& thrown)
{
  if constexpr (statistics::ShowsThem<FunctionType>::value ||
      statistics::HasLayers<FunctionType>::value)
  {
    std::vector<double> mine(1, double(batches));
    bool all = true;
    Guard(thrown, [&]()
    {
      all = statistics::Visit(function, [&](const auto& matrix)
      {
        for (const auto value : matrix)
          mine.push_back(double(value));
      });
    });
    // A rank that failed takes part, or the others would wait for it.
    if (thrown)
      mine.clear();
    if (!all && comm.Rank() == 0)
    {
      std::cerr << "dasgd: this version of mlpack is not known well enough to "
          "make the running statistics of BatchNorm layers the same on all "
          "ranks; use the model of rank 0." << std::endl;
    }
    const std::vector<std::string> ranks = comm.Gather(std::string(
        reinterpret_cast<const char*>(mine.data()),
        mine.size() * sizeof(double)));
    for (const std::string& bytes : ranks)
    {
      if (bytes.empty())
        return;
    }
    const std::vector<double> sums = statistics::Sums(ranks);
    size_t next = 1;
    statistics::Visit(function, [&](auto& matrix)
    {
      for (auto& value : matrix)
      {
        if (sums[0] > 0)
        {
          value = static_cast<std::decay_t<decltype(value)>>(
              sums[next] / sums[0]);
        }
        ++next;
      }
    });
  }
  (void) comm;
  (void) function;
  (void) batches;
  (void) thrown;
}

} // namespace dasgd

#undef DASGD_BATCH_NORM

#endif
