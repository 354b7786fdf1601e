/**
 * @file separable_problem.hpp
 *
 * A separable function as the algorithms see it: gradients of the next batch,
 * updates, callbacks and stop rules, all as in ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SEPARABLE_PROBLEM_HPP
#define DASGD_OPTIMIZER_SEPARABLE_PROBLEM_HPP

#include "../core/fact.hpp"
#include "../core/progress.hpp"
#include "../core/random.hpp"
#include "../core/vector_ops.hpp"
#include "ensmallen.hpp"

namespace dasgd {

/**
 * The problem of one rank; lives as long as one call of Optimize().
 *
 * @tparam OptimizerType Where hyperparameters are read, at each step: callbacks
 *     may change them.
 * @tparam UpdateType Instantiated update policy.
 * @tparam DecayType Instantiated decay policy.
 * @tparam vanilla Is the update policy the paper's, without decay?
 * @tparam CallbacksType See Callbacks.
 */
template<typename OptimizerType,
         typename FunctionType,
         typename MatType,
         typename UpdateType,
         typename DecayType,
         bool vanilla,
         typename CallbacksType>
class SeparableProblem
{
 public:
  using ElemType = typename MatType::elem_type;

  //! @param name Of the algorithm, for messages.
  //! @param computes Does this rank compute gradients at all?
  SeparableProblem(const char* name,
                   const bool computes,
                   OptimizerType& optimizer,
                   FunctionType& function,
                   MatType& iterate,
                   MatType& gradient,
                   MatType& scratch,
                   UpdateType& updatePolicy,
                   DecayType& decayPolicy,
                   CallbacksType& callbacks,
                   const Work& work,
                   const size_t ranks,
                   const size_t rank,
                   const std::uint64_t seed,
                   const bool seeded) :
      name(name),
      computes(computes),
      optimizer(optimizer),
      function(function),
      iterate(iterate),
      gradient(gradient),
      updatePolicy(updatePolicy),
      decayPolicy(decayPolicy),
      callbacks(callbacks),
      work(work),
      progress(ranks, work.EpochPoints(), optimizer.Sharing()),
      tolerance(optimizer.Tolerance()),
      ranks(ranks),
      rank(rank),
      seed(seed),
      seeded(seeded),
      // Data that comes sorted would give every rank a part of another kind.
      mustShuffle(optimizer.Shuffle() && ranks > 1),
      scratch(scratch)
  { }

  //! Tell callbacks that the run begins.  Only their exceptions come out.
  void Begin()
  {
    callbacks.BeginOptimization(iterate);
    Note(callbacks.BeginEpoch(iterate, size_t(epoch), 0));
  }

  //! Is there a batch left for this rank?
  bool HasWork() const { return computes && work.Left(progress.Points()); }

  //! Points left for all ranks together, as far as this one knows.
  std::uint64_t PointsLeft() const
  { return work.PointsLeft(progress.Points()); }

  //! A rank computes nothing.
  void Absent(const size_t other) { progress.Absent(other); }

  //! Compute the gradient of the next batch; false if it is not finite.
  bool Compute(ManifestEntry& entry)
  {
    if (mustShuffle)
      Shuffle();
    batch = work.Next(progress.Points());
    mustShuffle = optimizer.Shuffle() && ranks > 1 && work.PassEnded();

    const ElemType objective = function.EvaluateWithGradient(iterate,
        batch.begin, gradient, batch.size);
    const bool stop = callbacks.EvaluateWithGradient(iterate, objective,
        gradient);
    if (!AllFinite(&objective, 1) ||
        !AllFinite(gradient.memptr(), gradient.n_elem))
    {
      Fail(AllFinite(&objective, 1) ? std::numeric_limits<ElemType>::quiet_NaN()
          : objective, AllFinite(&objective, 1) ? "gradient" : "objective");
      return false;
    }
    Note(stop);

    if (batch.epoch != ownEpoch)
    {
      ownEpoch = batch.epoch;
      ownPoints = 0;
      ownObjective = 0;
    }
    ownPoints += batch.size;
    ownObjective += objective;
    entry.points = work.Walked();
    entry.epoch = ownEpoch;
    entry.epochPoints = ownPoints;
    entry.epochObjective = double(ownObjective);
    return true;
  }

  //! Apply the update of the last gradient; see Courier.
  bool TakeStep(ElemType* out, const ElemType*& update)
  {
    const double step = ensmallen::Step(optimizer.StepSize(), batch.size);
    if (ranks == 1)
    {
      // Nobody to send it to: the very code that ens::SGD runs.
      updatePolicy.Update(iterate, step, gradient);
      return true;
    }
    if constexpr (vanilla)
    {
      // Without a buffer to form it in, the update takes the gradient's place.
      update = out ? out : gradient.memptr();
      FormAndApply(iterate.memptr(), gradient.memptr(),
          const_cast<ElemType*>(update), ElemType(step), iterate.n_elem);
      return true;
    }
    else
    {
      // Whatever the policy does, its update is what it has subtracted.
      if (!out)
      {
        scratch.set_size(iterate.n_rows, iterate.n_cols);
        out = scratch.memptr();
      }
      update = out;
      std::memcpy(out, iterate.memptr(), iterate.n_elem * sizeof(ElemType));
      updatePolicy.Update(iterate, step, gradient);
      if (!AllFinite(iterate.memptr(), iterate.n_elem))
      {
        std::memcpy(iterate.memptr(), out, iterate.n_elem * sizeof(ElemType));
        Fail(std::numeric_limits<ElemType>::quiet_NaN(), "update");
        return false;
      }
      Subtract(out, iterate.memptr(), iterate.n_elem);
      return true;
    }
  }

  //! Where the last gradient stands.
  ElemType* Gradient() { return gradient.memptr(); }

  //! Points of the last batch.
  size_t BatchPoints() const { return batch.size; }

  /**
   * Apply the update of the gradient as it stands, whoever computed it.
   *
   * @param points How many points it belongs to; of a mean, how many on
   *     average.
   * @param scale A factor for the step size.
   */
  bool Step(const double points, const double scale = 1)
  {
    updatePolicy.Update(iterate, scale * ensmallen::Step(optimizer.StepSize(),
        points), gradient);
    if (vanilla || ranks == 1 || AllFinite(iterate.memptr(), iterate.n_elem))
      return true;
    Fail(std::numeric_limits<ElemType>::quiet_NaN(), "update");
    return false;
  }

  //! An entry has been applied, by this rank's step or from a frame.
  void Applied(const ManifestEntry& entry)
  {
    const double objective = progress.Note(entry);
    Note(callbacks.CountSteps(iterate, epoch, entry, objective));
  }

  //! This rank has taken a step.
  void Stepped()
  {
    ++steps;
    Note(callbacks.StepTaken(iterate));
    decayPolicy.Update(iterate, optimizer.StepSize(), gradient);
  }

  //! Close epochs that have become complete, and judge them.
  void Settle()
  {
    double sum = 0;
    while (!judged && progress.CloseEpoch(sum))
    {
      lastObjective = ElemType(sum);
      hasLast = true;
      Note(callbacks.EndEpoch(iterate, size_t(epoch++),
          lastObjective / ElemType(work.EpochPoints())));
      if (rank == 0)
      {
        ens::Info << name << ": iteration " << size_t(progress.Points())
            << ", objective " << lastObjective << "." << std::endl;
      }
      if (!AllFinite(&lastObjective, 1))
      {
        Fail(lastObjective, "objective");
        return;
      }
      if (tolerance.Reached(lastObjective))
      {
        if (rank == 0)
        {
          ens::Info << name << ": minimized within tolerance "
              << optimizer.Tolerance() << "; terminating optimization."
              << std::endl;
        }
        Judge(StopReason::Tolerance, double(lastObjective), "");
        return;
      }
      Note(callbacks.BeginEpoch(iterate, size_t(epoch), lastObjective));
      Note(callbacks.CountHeld(iterate, epoch));
      if (ranks == 1 && optimizer.Shuffle())
        Shuffle();
    }
  }

  //! This rank's own wish to stop, or null.
  const Fact* Verdict() const { return wantsStop ? &verdict : nullptr; }

  /**
   * What Optimize() returns without ExactObjective(), once all is applied: the
   * value that came with the stop, or the sum over the epoch under way.
   */
  ElemType Objective(const bool stopped, const Fact& stop) const
  {
    if (stopped && (stop.reason == StopReason::Tolerance ||
        stop.reason == StopReason::NonFinite))
      return ElemType(stop.value);
    if (progress.CurrentStarted())
      return ElemType(progress.CurrentObjective());
    // Nothing of a next epoch is known.  At one rank do as ens::SGD does: it
    // forgets the last epoch's objective at the end of that epoch.
    const bool forgets = (ranks == 1) && (!ensmallen::keepsLastObjective ||
        progress.Points() != optimizer.MaxIterations());
    return (hasLast && !forgets) ? lastObjective : ElemType(0);
  }

  //! How often the order of points was shuffled.
  std::uint64_t Shuffles() const { return shuffles; }

  //! Shuffle on until the order is that after so many times.
  void ShuffleTo(const std::uint64_t times)
  {
    while (shuffles < times)
      Shuffle();
  }

  //! This rank's part of the objective over all points; if they are replicated,
  //! all ranks must have them in the same order.
  ElemType ExactPart(const Data data)
  {
    const size_t held = function.NumFunctions();
    const bool divided = (data == Data::Replicated);
    const size_t begin = divided ? Share(held, rank) : 0;
    const size_t end = divided ? Share(held, rank + 1) : held;
    ElemType sum = 0;
    for (size_t i = begin; i < end; i += optimizer.BatchSize())
    {
      const size_t size = std::min(optimizer.BatchSize(), end - i);
      const ElemType objective = function.Evaluate(iterate, i, size);
      sum += objective;
      // The run is over, so it does not matter what callbacks answer.
      (void) callbacks.Evaluate(iterate, objective);
    }
    return sum;
  }

 private:
  size_t Share(const size_t points, const size_t index) const
  { return points / ranks * index + std::min(index, points % ranks); }

  //! A callback has answered: true asks to stop.
  void Note(const bool stop)
  {
    if (stop && !wantsStop)
    {
      wantsStop = true;
      verdict.reason = StopReason::Callback;
    }
  }

  //! A verdict of our own, which comes before a callback's wish.
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

  void Fail(const ElemType value, const char* what)
  {
    ens::Warn << name << ": rank " << rank << ", step " << size_t(steps + 1)
        << ": " << what << " converged to " << value << "; terminating with "
        << "failure.  Try a smaller step size?" << std::endl;
    Judge(StopReason::NonFinite, double(value),
        std::string(what) + " not finite; try a smaller step size, or look for "
        "points that are not finite");
  }

  /**
   * Shuffle the function.  All ranks must end up with the same order (with
   * their own, if sharded), and the program's random numbers must go on as if
   * they were its own: so a seed drawn from them is put back afterwards.
   */
  void Shuffle()
  {
    if (ranks == 1 && !seeded)
    {
      function.Shuffle();
      return;
    }
    const arma::uvec drawn = arma::randi<arma::uvec>(2,
        arma::distr_param(0, std::numeric_limits<int>::max()));
    const std::uint64_t own = (std::uint64_t(drawn[0]) << 31) ^
        std::uint64_t(drawn[1]);
    const std::uint64_t common = (optimizer.Data() == Data::Sharded) ?
        Mix(seed, rank + 1) : seed;
    arma::arma_rng::set_seed(arma::arma_rng::seed_type(Mix(common, shuffles)));
    ++shuffles;
    function.Shuffle();
    arma::arma_rng::set_seed(arma::arma_rng::seed_type(own));
  }

  const char* name;
  bool computes;
  OptimizerType& optimizer;
  FunctionType& function;
  MatType& iterate;
  MatType& gradient;
  UpdateType& updatePolicy;
  DecayType& decayPolicy;
  CallbacksType& callbacks;
  Work work;
  Progress progress;
  ToleranceRule<ElemType> tolerance;
  size_t ranks;
  size_t rank;
  std::uint64_t seed;
  bool seeded;
  std::uint64_t shuffles = 0;
  bool mustShuffle;

  //! For policies other than the paper's, while all links are busy.
  MatType& scratch;
  Batch batch;
  std::uint64_t ownEpoch = 0;
  std::uint64_t ownPoints = 0;
  ElemType ownObjective = 0;
  std::uint64_t steps = 0;

  //! The epoch that callbacks are told of, from 1.
  std::uint64_t epoch = 1;
  ElemType lastObjective = 0;
  bool hasLast = false;
  bool wantsStop = false;
  bool judged = false;
  Fact verdict;
};

} // namespace dasgd

#endif
