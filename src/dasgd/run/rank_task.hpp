/**
 * @file rank_task.hpp
 *
 * A task as the algorithms see it: the state of the run together with what
 * computes gradients.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_RANK_TASK_HPP
#define DASGD_RUN_RANK_TASK_HPP

#include "../core/stop_signals.hpp"
#include "../core/vector_ops.hpp"
#include "gradient_source.hpp"
#include "run_state.hpp"

namespace dasgd {

/**
 * The task of one rank.  It decides what is counted, judged and asked for,
 * and when; all that belongs to the user is done by the source.
 */
template<typename ElemType>
class RankTask
{
 public:
  RankTask(RunState<ElemType>& state, GradientSource<ElemType>& source) :
      state(state), source(source) { }

  RunState<ElemType>& State() { return state; }
  const RunState<ElemType>& State() const { return state; }

  //! The run begins.  Only exceptions of the user's code come out.
  void Begin()
  {
    source.ShuffleTo(state.Order());
    Note(source.Begin(state.Epoch()));
  }

  //! Is there a batch left for this rank?
  bool HasWork() const { return state.HasWork(); }
  //! Points left for all ranks together, as far as this one knows.
  std::uint64_t PointsLeft() const { return state.PointsLeft(); }
  //! Points of the last batch.
  size_t BatchPoints() const { return state.LastBatch().size; }

  ElemType* Iterate() { return source.Iterate(); }
  ElemType* Gradient() { return source.Gradient(); }

  //! Compute the gradient of the next batch and describe it; false if it is not
  //! finite and must not be used.
  bool Compute(ManifestEntry& entry)
  {
    if (!Evaluate(entry))
      return false;
    if (AllFinite(source.Gradient(), source.Elements()))
      return true;
    Fail(std::numeric_limits<ElemType>::quiet_NaN(), "gradient");
    return false;
  }

  //! As Compute(), for TakeStep(), which looks at the elements by itself; false
  //! if the objective is not finite.
  bool Evaluate(ManifestEntry& entry)
  {
    if (state.KeepsOrder())
      source.ShuffleTo(state.NextOrder());
    const Batch& batch = state.NextBatch();
    ElemType objective = 0;
    const bool stop = source.Evaluate(batch, objective);
    if (!AllFinite(&objective, 1))
    {
      Fail(objective, "objective");
      return false;
    }
    Note(stop);
    state.Describe(objective, entry);
    return true;
  }

  //! Apply the update of the last gradient; see GradientSource.
  bool TakeStep(const StepScale& scale,
                ElemType* out,
                ElemType* sum,
                const ElemType*& update)
  {
    const bool finite = source.TakeStep(BatchPoints(), scale, out, sum, update);
    if (!finite)
      FailStep();
    return finite;
  }

  //! Get the update of the last gradient ready for a model that ranks share;
  //! see GradientSource.
  bool FormUpdate(const StepScale& scale,
                  const ElemType*& update,
                  ElemType& factor)
  {
    const bool finite = source.FormUpdate(BatchPoints(), scale, update,
        factor);
    if (!finite)
      FailStep();
    return finite;
  }

  //! Less of that update is to be subtracted; see GradientSource.
  void Shorten(const double by, ElemType& factor)
  { source.Shorten(by, factor); }

  //! Apply the update of the gradient as it stands, of whichever rank.
  bool Step(const double points, const double scale = 1)
  {
    const bool finite = source.Step(points, scale);
    if (!finite)
      Fail(std::numeric_limits<ElemType>::quiet_NaN(), "update");
    return finite;
  }

  //! An entry has been counted: tell callbacks.
  void Applied(const ManifestEntry& entry, const double objective)
  { Note(source.Applied(entry, objective, state.Epoch())); }

  //! This rank has taken a step.
  void Stepped()
  {
    ++steps;
    Note(source.StepTaken());
  }

  //! A step or a frame has been applied: judge epochs that have become
  //! complete.
  void CloseEpochs()
  {
    while (state.CloseEpoch())
    {
      const ElemType objective = state.LastObjective();
      Note(source.EndEpoch(state.Epoch() - 1, objective, state.Points(),
          state.EpochPoints()));
      if (!AllFinite(&objective, 1))
      {
        Fail(objective, "objective");
        break;
      }
      if (state.WithinTolerance())
      {
        source.Converged(state.Tolerance());
        state.Judge(StopReason::Tolerance, double(objective), "");
        break;
      }
      Note(source.BeginEpoch(state.Epoch(), objective));
      if (state.Ranks() == 1)
        source.ShuffleOnce();
    }
    if (!state.Judged())
      source.BetweenSteps();
    LookForSignal();
  }

  //! This rank waits for others.
  void Idle() { source.Idle(); }

  //! Has a signal come that asks this rank to stop?  Then so does its verdict.
  bool LookForSignal()
  {
    const int number = state.Judged() ? 0 : source.Signal();
    if (number != 0)
      state.Judge(StopReason::Signal, double(number), SignalText(number));
    return number != 0;
  }

  //! This rank's own request to stop, or null.
  const Fact* Verdict() const { return state.Verdict(); }

 private:
  //! A callback has answered: true asks to stop.
  void Note(const bool stop)
  {
    if (stop)
      state.AskToStop();
  }

  //! The update of the last gradient is not finite.
  void FailStep()
  {
    Fail(std::numeric_limits<ElemType>::quiet_NaN(), AllFinite(
        source.Gradient(), source.Elements()) ? "update" : "gradient");
  }

  void Fail(const ElemType value, const char* what)
  {
    source.Diverged(steps + 1, what, value);
    state.Judge(StopReason::NonFinite, double(value), std::string(what) +
        " not finite; try a smaller step size, or look for points that are not "
        "finite");
  }

  RunState<ElemType>& state;
  GradientSource<ElemType>& source;
  std::uint64_t steps = 0;
};

} // namespace dasgd

#endif
