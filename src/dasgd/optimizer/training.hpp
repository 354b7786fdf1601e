/**
 * @file training.hpp
 *
 * The life of Optimize(): handshake, start, the algorithm, the last copy, the
 * report.  The same for every algorithm, and one way out of it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_TRAINING_HPP
#define DASGD_OPTIMIZER_TRAINING_HPP

#include "../algorithms/asynchronous.hpp"
#include "../core/report.hpp"
#include "../core/theory.hpp"
#include "../wire/checkpoint_file.hpp"
#include "../wire/frame.hpp"
#include "auto_step.hpp"
#include "blas_threads.hpp"
#include "callbacks.hpp"
#include "gather_history.hpp"
#include "keep_random_numbers.hpp"
#include "policy_parameters.hpp"
#include "separable_problem.hpp"
#include "settings.hpp"
#include "take_fingerprint.hpp"

#include <chrono>
#include <optional>

namespace dasgd {

/**
 * Trains with a given algorithm.
 *
 * @tparam AlgorithmType See Asynchronous.
 */
template<typename AlgorithmType>
class Training
{
 public:
  /**
   * What the optimizers' Optimize() calls.
   *
   * @param optimizer The user's optimizer; callbacks get to see it.
   * @param settings The same object as its base.
   * @param function Function to minimize.
   * @param iterateIn Starting point (rank 0's counts); becomes the result.
   * @param callbacks Callbacks.
   * @return The objective, as ens::SGD means it, over all ranks.
   */
  template<typename OptimizerType,
           typename UpdatePolicyType,
           typename DecayPolicyType,
           typename SeparableFunctionType,
           typename MatType,
           typename GradType,
           typename... CallbackTypes>
  static typename MatType::elem_type Optimize(
      OptimizerType& optimizer,
      Settings<UpdatePolicyType, DecayPolicyType>& settings,
      SeparableFunctionType& functionIn,
      MatType& iterateIn,
      CallbackTypes&... callbacks);

  //! What a report says of the settings of a run.
  template<typename UpdatePolicyType, typename DecayPolicyType>
  static dasgd::Report Describe(
      const Settings<UpdatePolicyType, DecayPolicyType>& settings,
      const typename AlgorithmType::Options& options,
      const dasgd::Topology& topology,
      size_t ranks,
      size_t elements,
      size_t elementBytes,
      size_t epochPoints);

  //! Why the theorem does not cover a run whose step did not stay the same.
  static const char* StepChanged()
  {
    return "it covers plain steps of a fixed size, but a callback changed "
        "StepSize()";
  }

  //! Does a rank compute gradients?
  template<typename SettingsType>
  static bool Computes(const SettingsType& settings,
                       const typename AlgorithmType::Options& options,
                       const std::vector<size_t>& points,
                       size_t rank);

  /**
   * The work of one rank, of those that compute at all.
   *
   * @param origin Where it begins, if not at the start.
   */
  template<typename UpdatePolicyType, typename DecayPolicyType>
  static Work Divide(
      const Settings<UpdatePolicyType, DecayPolicyType>& settings,
      const typename AlgorithmType::Options& options,
      const std::vector<size_t>& points,
      size_t rank,
      const Checkpoint& origin = Checkpoint());

  //! What is wrong with a rank's settings, or nothing.
  template<typename SettingsType>
  static std::string Complaint(const SettingsType& settings,
                               const typename AlgorithmType::Options& options,
                               size_t ranks,
                               size_t rank,
                               size_t vectorBytes,
                               size_t points);

 private:
  //! Does the paper's theorem speak of this algorithm?
  static constexpr bool covered = std::is_same<AlgorithmType,
      DasgdAlgorithm>::value;

  //! The same, with the ranks that are there.
  template<typename OptimizerType,
           typename UpdatePolicyType,
           typename DecayPolicyType,
           typename SeparableFunctionType,
           typename MatType,
           typename GradType,
           typename... CallbackTypes>
  static typename MatType::elem_type Train(
      MpiCommunicator& comm,
      OptimizerType& optimizer,
      Settings<UpdatePolicyType, DecayPolicyType>& settings,
      SeparableFunctionType& functionIn,
      MatType& iterateIn,
      CallbackTypes&... callbacks);

  //! When a training is over, the user's topology is what it was before
  //! FitTopology().
  struct RestoredTopology
  {
    const MpiCommunicator& comm;
    dasgd::Topology& topology;
    dasgd::Topology before;

    ~RestoredTopology()
    {
      if (comm.Size() != comm.ParentSize())
        topology = before;
    }
  };

  //! After deaths a topology may not fit those that are left; another one takes
  //! its place.
  static void FitTopology(const MpiCommunicator& comm,
                          dasgd::Topology& topology);

  //! What all ranks know of each other after the handshake.
  struct Agreed
  {
    std::vector<size_t> points;
    std::uint64_t seed = 0;
  };

  /**
   * What there is to go on from, in rank 0's file; nothing if there is none.
   * Throws if it does not fit.
   */
  template<typename SettingsType>
  static std::vector<std::uint8_t> FindCheckpoint(const SettingsType& settings,
                                                  const Checkpoint& about,
                                                  size_t rows,
                                                  size_t cols,
                                                  size_t elementBytes,
                                                  size_t points,
                                                  const Fingerprint& mine);

  //! What must be the same in all lives of a training: the user's tags, and the
  //! policies with their parameters.
  template<typename UpdatePolicyType, typename DecayPolicyType>
  static void AddTags(const Settings<UpdatePolicyType, DecayPolicyType>& of,
                      Checkpoint& about);

  /**
   * What a checkpoint of a training says when it begins, or goes on.
   *
   * @param from What it goes on from, or null.
   */
  template<typename SettingsType>
  static Checkpoint Origin(const SettingsType& settings,
                           const Agreed& agreed,
                           size_t rows,
                           size_t cols,
                           size_t elementBytes,
                           const Checkpoint* from);

  //! Is there a model in every rank that a training can go on from?
  static constexpr bool resumable = covered;

  //! Rank 0's bytes become everyone's; throws on all ranks if one cannot have
  //! them.
  static void ShareCheckpoint(const MpiCommunicator& comm,
                              std::vector<std::uint8_t>& bytes);

  //! Do all ranks hold the same data?  Throws on all of them if not.
  static void CompareData(const MpiCommunicator& comm,
                          const Fingerprint& mine);

  //! Why the run ended becomes the same on all ranks.
  static void AgreeOnStop(const MpiCommunicator& comm, Outcome& outcome);

  //! A number in a message.
  static std::string Text(const double number)
  {
    char text[32];
    std::snprintf(text, sizeof(text), "%.10g", number);
    return text;
  }

  //! What deaths have cost.
  struct Losses
  {
    std::vector<std::uint64_t> ranks;
    std::uint64_t gradients = 0;
  };

  /**
   * Those that are left when a rank has died go on from the model of the one
   * that has applied most.  What that one has not is as if it had never been:
   * all have a gradient of the dead rank, or none has.
   *
   * @param firstRank This rank's number at the start, of so many.
   * @return How often the order of points is to have been shuffled.
   */
  template<typename SettingsType, typename ProblemType, typename MatType>
  static std::uint64_t Settle(const MpiCommunicator& comm,
                              const SettingsType& settings,
                              ProblemType& problem,
                              size_t firstRank,
                              size_t firstRanks,
                              MatType& iterate,
                              Agreed& agreed,
                              Checkpoint& origin,
                              Losses& losses);

  //! Compare with all other ranks; throws on all of them if something is off.
  template<typename UpdatePolicyType,
           typename DecayPolicyType,
           typename ElemType>
  static Agreed ShakeHands(
      const MpiCommunicator& comm,
      const Settings<UpdatePolicyType, DecayPolicyType>& settings,
      const typename AlgorithmType::Options& options,
      size_t rows,
      size_t cols,
      size_t points,
      const std::string& failure,
      ElemType);

  //! Rank 0's iterate becomes everyone's; returns how far this one was off.
  template<typename ElemType>
  static double CopyFromRoot(const MpiCommunicator& comm,
                             ElemType* iterate,
                             size_t elements);
};

} // namespace dasgd

#include "training_impl.hpp"

#endif
