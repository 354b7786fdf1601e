/**
 * @file run_state.hpp
 *
 * The state of a run on one rank: division of work, progress, version vector,
 * verdict.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_RUN_STATE_HPP
#define DASGD_RUN_RUN_STATE_HPP

#include "run_snapshot.hpp"

namespace dasgd {

//! What a run is told besides where it begins; the same on all ranks.
struct RunLimits
{
  //! Points to visit over all ranks (0: no limit).
  std::uint64_t maxIterations = 0;
  //! Stop when an epoch changes the objective by less.
  double tolerance = 0;
  //! Are points shuffled?
  bool shuffle = false;
  //! Do all ranks step together, so that what an epoch changed is known in the
  //! next?
  bool inRounds = false;
};

/**
 * What one rank knows of a run.  It is constructed from a snapshot, whether
 * that is the start, a checkpoint or the state of a survivor, and Snapshot() is
 * the way back.  It knows neither MPI nor ensmallen: the optimizer, the
 * simulator and the tests use the same.
 *
 * @tparam ElemType Objectives are summed in it, as ens::SGD does.
 */
template<typename ElemType>
class RunState
{
 public:
  /**
   * @param start Where the run begins.
   * @param rank This rank.
   * @param computes Which ranks compute gradients.
   */
  RunState(const RunSnapshot& start,
           size_t rank,
           std::vector<bool> computes,
           const RunLimits& limits);

  //
  // The work.
  //

  //! Is there a batch left for this rank?
  bool HasWork() const { return computes && work.Left(progress.Points()); }

  //! Points left for all ranks together, as far as this one knows.
  std::uint64_t PointsLeft() const
  { return work.PointsLeft(progress.Points()); }

  //! The next batch; call only if HasWork().
  const Batch& NextBatch() { return batch = work.Next(progress.Points()); }
  //! The batch that NextBatch() returned last.
  const Batch& LastBatch() const { return batch; }

  //! The gradient of the last batch is there: what others are told of it.
  void Describe(ElemType objective, ManifestEntry& entry);

  /**
   * How often the points had been shuffled when the last gradient was computed.
   * Several ranks shuffle before their first gradient and after each pass over
   * the points, when the next gradient comes; a single one after each epoch,
   * and first of all if it continues the work of others.
   */
  std::uint64_t Order() const
  {
    if (!limits.shuffle || work.Walked() == 0)
      return start.shuffled;
    return NextOrder() - (ranks > 1 && work.PassEnded());
  }

  //! How often they must have been when the next one is.
  std::uint64_t NextOrder() const
  {
    if (!limits.shuffle)
      return start.shuffled;
    return start.shuffled + ((ranks > 1) ? work.Passes() + 1 :
        progress.CurrentEpoch() - 1 - work.EpochsBefore() +
        (work.Before() > 0));
  }

  //! Is the order a part of the state?  At one rank it follows from the
  //! program's own random numbers, unless it continues the work of others.
  bool KeepsOrder() const { return ranks > 1 || work.Before() > 0; }

  size_t Rank() const { return rank; }
  size_t Ranks() const { return ranks; }
  //! Points in one epoch, over all ranks that compute.
  size_t EpochPoints() const { return work.EpochPoints(); }
  //! Where this run began.
  const RunSnapshot& Begin() const { return start; }

  //
  // Progress.
  //

  //! Gradients of each origin that the model has applied since the run began.
  const VersionVector& Version() const { return version; }

  //! Gradients in all, those before this run included.
  std::uint64_t Gradients() const
  { return std::accumulate(version.begin(), version.end(), start.gradients); }

  //! Points known to be visited, as they are counted since the work was
  //! divided.
  std::uint64_t Points() const { return progress.Points(); }

  /**
   * An entry has been applied.
   *
   * @return The objective of its gradients, as far as it can be told.
   */
  double Apply(const ManifestEntry& entry)
  {
    version[entry.origin] += entry.count;
    return progress.Note(entry);
  }

  //! Close the next epoch that is complete, if there is one.
  bool CloseEpoch();

  //! The epoch under way, from 1.
  std::uint64_t Epoch() const { return epoch; }
  //! The objective of the last epoch that was closed.
  ElemType LastObjective() const { return lastObjective; }

  //! Has the last epoch that was closed changed the objective too little?
  //! Asked once for each.
  bool WithinTolerance() { return tolerance.Reached(lastObjective); }
  double Tolerance() const { return limits.tolerance; }

  /**
   * What Optimize() returns without ExactObjective(), once all is applied: the
   * value that came with the stop, or the sum over the epoch under way.
   *
   * @param keepsLast Does the installed ens::SGD return the objective of the
   *     last epoch if it ended there?
   */
  ElemType Objective(bool stopped, const Fact& stop, bool keepsLast) const;

  //
  // The verdict.
  //

  //! A callback asks to stop.
  void AskToStop()
  {
    if (!wantsStop)
      verdict.reason = StopReason::Callback;
    wantsStop = true;
  }

  //! The same as an earlier state of this rank, which died with another rank.
  void AskToStop(const Fact& earlier)
  {
    wantsStop = true;
    judged = (earlier.reason != StopReason::Callback);
    verdict = earlier;
  }

  //! A verdict of our own, which comes before a callback's request.
  void Judge(const StopReason reason,
             const double value,
             const std::string& text)
  {
    wantsStop = true;
    judged = true;
    verdict.reason = reason;
    verdict.value = value;
    verdict.text = text;
  }

  //! This rank's own request to stop, or null.
  const Fact* Verdict() const { return wantsStop ? &verdict : nullptr; }
  //! Is the verdict this rank's own, not only what a callback asked for?
  bool Judged() const { return judged; }

  //! The run as it is between two updates.
  RunSnapshot Snapshot() const;

 private:
  //! With fewer points than ranks some would compute what others compute.
  static size_t Refine(const RunSnapshot& start, std::vector<bool>& computes);

  //! The work of one rank, of those that compute at all.
  static Work Divide(const RunSnapshot& start,
                     size_t rank,
                     const std::vector<bool>& computes,
                     const RunLimits& limits);

  //! Tell the tolerance rule how much is under way between ranks: of each of
  //! those that compute, as much as one may be ahead.
  void ExpectEpochs();

  RunSnapshot start;
  RunLimits limits;
  size_t rank;
  size_t ranks;
  //! Ranks that compute gradients, and whether this one does.
  size_t computing;
  bool computes;

  Work work;
  Progress progress;
  ToleranceRule<ElemType> tolerance;
  VersionVector version;

  Batch batch;
  //! This rank's own part of the epoch that it is in.
  std::uint64_t ownEpoch = 0;
  std::uint64_t ownPoints = 0;
  ElemType ownObjective = 0;

  std::uint64_t epoch = 1;
  ElemType lastObjective = 0;
  bool hasLast = false;
  bool wantsStop = false;
  bool judged = false;
  Fact verdict;
};

} // namespace dasgd

#include "run_state_impl.hpp"

#ifdef DASGD_COMPILED
namespace dasgd {
extern template class RunState<double>;
extern template class RunState<float>;
} // namespace dasgd
#endif

#endif
