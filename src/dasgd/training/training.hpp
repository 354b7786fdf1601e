/**
 * @file training.hpp
 *
 * The life of Optimize(), phase by phase; the same for every algorithm.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_TRAINING_HPP
#define DASGD_TRAINING_TRAINING_HPP

#include "../core/stop_signals.hpp"
#include "../run/recovery.hpp"
#include "agreement.hpp"
#include "../core/blas_threads.hpp"
#include "find_checkpoint.hpp"
#include "gather_history.hpp"
#include "rank_training.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace dasgd {

/**
 * One call of Optimize().
 *
 * @tparam AlgorithmType What is run; see Asynchronous and Synchronous.
 */
template<typename AlgorithmType, typename ElemType>
class Training
{
 public:
  /**
   * @param comm The ranks.
   * @param settings The attributes of the user's optimizer.
   * @param options Those that only this algorithm has.
   * @param source The user's function, policies and callbacks; its iterate is
   *     the starting point (rank 0's counts) and becomes the result.
   */
  Training(MpiCommunicator& comm,
           CommonSettings& settings,
           const typename AlgorithmType::Options& options,
           TrainingSource<ElemType>& source);

  //! The objective, as ens::SGD means it, over all ranks.
  ElemType Optimize()
  {
    std::optional<StopSignals> signals;
    if (!settings.StopSignals().empty())
      signals.emplace(settings.StopSignals());
    // 1. Handshake.
    Prepare();
    ShakeHands();
    // 2. Start.
    ChooseStart();
    Start();
    // From here to the report; over again if a rank dies and others can
    // continue.
    while (!comm.Survive([&]()
    {
      if (deaths.due)
        Recover();
      // 3. to 5.: loop, facts, drain.
      Run();
      // 6. Agree.
      Agree();
      // 7. Return.
      GatherReport();
    }))
    {
      if (!IsDasgd<AlgorithmType>)
        comm.Lose("during training");
      comm.Shrink();
      deaths.due = true;
    }
    return Return();
  }

 private:
  //! What may fail on one rank alone, before all agree to begin.
  void Prepare();
  //! Compare with all others.
  void ShakeHands();
  //! At the start, or where a checkpoint is.
  void ChooseStart();
  //! All from the same point.
  void Start();
  //! Those that are left continue from the state of one of them.
  void Recover();
  //! The algorithm: returns on all ranks, whatever happened.
  void Run();
  //! One model, one reason to stop, one objective.
  void Agree();
  //! The report, the same everywhere; and what may have been thrown late.
  void GatherReport();
  //! The result, or an exception; the same on all ranks.
  ElemType Return();

  // Parts of these.

  //! Who runs where, and whether all ranks are to share a board.
  void FindMachines(const CommonSettings& wanted);
  //! Remember where the run begins.
  void KeepBegin();
  //! What this training's checkpoints say of it.
  Checkpoint Describe() const;
  //! What is of the moment in a checkpoint; false if it is not to be saved.
  bool Fill(Checkpoint& checkpoint);
  void ChooseStepSize();
  void SayResumed() const;
  void SayRecovered() const;
  //! Rank 0 saves the last checkpoint.
  void SaveLast(bool failed);
  //! The objective, and the order of points, are the same on all ranks.
  void AgreeOnObjective(bool failed);
  //! What rank 0 alone knows of checkpoints.
  void ShareCheckpointNews(Report& report);
  //! Counts of all ranks.
  void GatherCounts(Report& report);
  //! Does the run end with an error, or with numbers that are not finite?
  bool Failed() const
  {
    return outcome.stopped && (outcome.stop.reason == StopReason::Error ||
        outcome.stop.reason == StopReason::NonFinite);
  }

  //! Has a signal ended it?
  bool Interrupted() const
  { return outcome.stopped && outcome.stop.reason == StopReason::Signal; }

  std::vector<bool> Computing() const
  { return ComputingRanks<AlgorithmType>(options, comm.Size()); }
  static std::string Name() { return AlgorithmType::Name(); }

  //! What a rank found out by itself before the handshake.
  struct Preparation
  {
    //! The points that it holds.
    size_t held = 0;
    //! What went wrong, if anything did: in the user's code, and besides.
    std::exception_ptr thrown;
    std::exception_ptr unready;
  };

  //! The checkpoint that the training resumes from, if there is one.
  struct Resumption
  {
    bool due = false;
    //! As bytes, and read.
    std::vector<std::uint8_t> bytes;
    Checkpoint from;
  };

  //! Ranks that died, and what that has cost.
  struct Deaths
  {
    //! Are survivors to continue without them?
    bool due = false;
    std::vector<std::uint64_t> lost;
    std::uint64_t gradientsDropped = 0;
  };

  MpiCommunicator& comm;
  CommonSettings& settings;
  const typename AlgorithmType::Options options;
  TrainingSource<ElemType>& source;
  const StepDescription steps;
  const size_t elements;
  //! Callbacks get to see the optimizer and may change it; all ranks go by what
  //! they agreed on, except for StepSize().
  std::optional<SettingsCopy> fixed;

  const size_t firstRank;
  const size_t firstRanks;
  const std::chrono::steady_clock::time_point begunAt;
  Placement placement;
  std::optional<BlasThreads> threads;

  Preparation prepared;
  Agreed agreed;
  //! Where the run began, on rank 0, to say what was wrong if it diverges.
  std::vector<ElemType> begin;
  Resumption resumed;
  Fingerprint fingerprint;
  StepChoice step;
  //! See ChooseResponse(); before ranks died, if they did.
  double damping = 0;
  OverlapChoice overlap;

  RankTraining<ElemType> rank;
  CheckpointKeeper keeper;
  Deaths deaths;
  //! What this rank did, if it is to be recorded.
  std::unique_ptr<RankHistory> history;

  Outcome outcome;
  ElemType objective = 0;
  bool stepChanged = false;
  bool endTold = false;
  //! What was wrong with the threads of a rank; see mpi::Call.
  std::string mixedThreads;
  //! Does a rank have callbacks?  Not all need to.
  bool anyCallbacks = false;
  //! What this rank has computed, also before others died.
  std::uint64_t batches = 0;
};

#ifdef DASGD_COMPILED
extern template class Training<DasgdAlgorithm, double>;
extern template class Training<DasgdAlgorithm, float>;
#endif

} // namespace dasgd

#include "training_end_impl.hpp"
#include "training_impl.hpp"

#endif
