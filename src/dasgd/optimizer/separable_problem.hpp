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

#include "../algorithms/outcome.hpp"
#include "../core/fact.hpp"
#include "../core/progress.hpp"
#include "../core/random.hpp"
#include "../core/vector_ops.hpp"
#include "../wire/checkpoint_file.hpp"
#include "ensmallen.hpp"
#include "guard.hpp"
#include "keep_random_numbers.hpp"
#include "policy_memory.hpp"

#include <utility>

namespace dasgd {

/**
 * The problem of one rank; lives as long as one call of Optimize().
 *
 * @tparam OptimizerType Where StepSize() is read, at each step: callbacks may
 *     change it.  Its other attributes are read once, since all ranks must go
 *     by the same.
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
  SeparableProblem(const char* name,
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
      optimizer(optimizer),
      function(function),
      iterate(iterate),
      gradient(gradient),
      updatePolicy(updatePolicy),
      decayPolicy(decayPolicy),
      callbacks(callbacks),
      work(work),
      batchSize(optimizer.BatchSize()),
      maxIterations(optimizer.MaxIterations()),
      shuffle(optimizer.Shuffle()),
      data(optimizer.Data()),
      sharing(optimizer.Sharing()),
      progress(ranks, work.EpochPoints(), sharing),
      tolerance(optimizer.Tolerance()),
      ranks(ranks),
      rank(rank),
      computing(ranks),
      seed(seed),
      seeded(seeded),
      // Data that comes sorted would give every rank a part of another kind.
      mustShuffle(shuffle && ranks > 1),
      scratch(scratch),
      rows(iterate.n_rows),
      cols(iterate.n_cols),
      version(ranks, 0)
  { ExpectEpochs(); }

  //! All ranks step together: what an epoch changed is known in the next.
  void InRounds()
  {
    inRounds = true;
    ExpectEpochs();
  }

  //! Tell callbacks that the optimization begins.  They may change the starting
  //! point, so rank 0's goes to all after this.  What they throw comes out of
  //! Begin().
  void BeginOptimization()
  {
    Guard(thrown, [&]()
    {
      callbacks.BeginOptimization(iterate);
      if (iterate.n_rows != rows || iterate.n_cols != cols)
      {
        throw std::invalid_argument("a callback made the iterate " +
            std::to_string(iterate.n_rows) + " x " +
            std::to_string(iterate.n_cols) + " in BeginOptimization(), but it "
            "was " + std::to_string(rows) + " x " + std::to_string(cols) +
            "; leave its shape alone");
      }
    });
    Reshape(iterate);
  }

  //! The run begins.  Only exceptions of the user's code come out.
  void Begin()
  {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
    if (std::exchange(resumed, false))
      RestoreOrder();
    ShuffleTo(catchUp); // After the death of a rank: all in one order again.
    if (std::exchange(begun, true))
      return;
    Note(callbacks.BeginEpoch(iterate, size_t(epoch), 0));
  }

  /**
   * Where this run begins.
   *
   * @param about What a checkpoint says besides what is known here; its counts
   *     are those from before this run.
   * @param counts The rank's counts while it runs.
   */
  void StartFrom(const Checkpoint& about, const RankReport* const& counts)
  {
    saved = about;
    savedAt = about;
    live = &counts;
    startedAt = std::chrono::steady_clock::now();
  }

  //! Save checkpoints from now on.
  void SaveTo(CheckpointWriter& writer) { saver = &writer; }

  //! The run ended before its time, with these counts; this was thrown in it,
  //! if anything was.
  void Interrupted(const RankReport& counts,
                   const std::exception_ptr& exception)
  {
    savedAt.staleness = counts.staleness;
    if (exception)
      thrown = exception;
  }

  //! How many gradients the model has applied, in all.
  std::uint64_t Gradients() const
  {
    return std::accumulate(version.begin(), version.end(), saved.gradients);
  }

  //! How many of each origin, since this run began.
  const VersionVector& Version() const { return version; }

  //! Points that this rank holds.
  size_t PointsHeld() const { return function.NumFunctions(); }

  /**
   * Go on after the death of a rank, as one of those that are left, with the
   * model of one of them in the iterate.
   *
   * @param now Where all of them begin.
   * @param part This rank's work.
   * @param times How often all are to have shuffled.
   */
  void Rejoin(const Checkpoint& now,
              const Work& part,
              const size_t newRanks,
              const size_t newRank,
              const std::uint64_t times)
  {
    work = part;
    ranks = newRanks;
    rank = newRank;
    callbacks.Ranks(ranks);
    progress = Progress(ranks, work.EpochPoints(), sharing);
    computing = ranks;
    computes = true;
    ExpectEpochs();
    version.assign(ranks, 0);
    ownEpoch = ownPoints = 0;
    ownObjective = 0;
    Restore(now, now.progress);
    resumed = false; // The order is known.
    catchUp = times;
    mustShuffle = shuffle;
  }

  /**
   * Go on from a checkpoint, whose iterate stands in its place already.
   *
   * @param state The progress that the work was divided with: that of the
   *     checkpoint, or what follows from it for these ranks.
   */
  void Restore(const Checkpoint& from, const Progress::State& state)
  {
    progress.Restore(state);
    work.Walk(state.points[rank]);
    epoch = progress.CurrentEpoch();
    tolerance.Last() = ElemType(from.judged);
    lastObjective = ElemType(from.lastObjective);
    hasLast = from.hasLast;
    ownEpoch = state.latest[rank];
    const auto own = state.open.find(ownEpoch);
    if (own != state.open.end())
    {
      ownPoints = own->second.points[rank];
      ownObjective = ElemType(own->second.objectives[rank]);
    }
    if (from.finished && from.reason == StopReason::Tolerance)
      Judge(StopReason::Tolerance, from.stopValue, "");
    resumed = true;
    shuffledBefore = from.shuffled;
  }

  //! The policy remembers what it did; another one starts afresh.
  void RestorePolicy(const Checkpoint& from)
  {
    (void) from;
    if constexpr (Remembers())
    {
      if (from.policy != PolicyName())
        return;
      size_t vector = 0, number = 0;
      memory::Visit(updatePolicy, [&](auto& member)
      {
        if constexpr (arma::is_arma_type<std::decay_t<decltype(member)>>::value)
        {
          if (++vector < from.vectors.size())
          {
            member.set_size(iterate.n_rows, iterate.n_cols);
            std::memcpy(member.memptr(), from.vectors[vector],
                size_t(from.VectorBytes()));
          }
        }
        else if (number < from.policyNumbers.size())
          member = size_t(from.policyNumbers[number++]);
      });
    }
  }

  //! Save a checkpoint, if they are saved; the last one says how it ended, and
  //! is on disk when this returns.
  void Save(const Outcome* end = nullptr)
  {
    // What has no future is not worth keeping in place of what has.
    if (!saver || !AllFinite(iterate.memptr(), iterate.n_elem))
      return;
    try
    {
      saver->Write(Now(end), end != nullptr);
    }
    catch (const std::exception& e)
    {
      saver->Fail(e.what()); // A lack of memory must not end the training.
    }
  }

  //! What a checkpoint says at this moment; its vectors stay where they are.
  const Checkpoint& Now(const Outcome* end = nullptr)
  {
    savedAt.progress = progress.Save();
    savedAt.judged = double(tolerance.Last());
    savedAt.lastObjective = double(lastObjective);
    savedAt.hasLast = hasLast;
    savedAt.stepSize = optimizer.StepSize();
    savedAt.version = version;
    savedAt.gradients = Gradients();
    savedAt.points = saved.points + progress.Points() - saved.progress.Known();
    savedAt.seconds = saved.seconds + std::chrono::duration<double>(
        std::chrono::steady_clock::now() - startedAt).count();
    if (*live)
      savedAt.staleness = (*live)->staleness;
    if (end)
    {
      savedAt.finished = true;
      savedAt.reason = end->stopped ? end->stop.reason : StopReason::Budget;
      savedAt.stopValue = end->stop.value;
    }
    const auto bytes = [](const auto* elements)
    { return reinterpret_cast<const std::uint8_t*>(elements); };
    savedAt.vectors.assign(1, bytes(iterate.memptr()));
    savedAt.policyNumbers.clear();
    if constexpr (Remembers())
    {
      memory::Visit(updatePolicy, [&](auto& member)
      {
        if constexpr (arma::is_arma_type<std::decay_t<decltype(member)>>::value)
          savedAt.vectors.push_back(bytes(member.memptr()));
        else
          savedAt.policyNumbers.push_back(member);
      });
      savedAt.policy = PolicyName();
    }
    savedAt.policyVectors = savedAt.vectors.size() - 1;
    return savedAt;
  }

  //! Is there a batch left for this rank?
  bool HasWork() const { return computes && work.Left(progress.Points()); }

  //! Points left for all ranks together, as far as this one knows.
  std::uint64_t PointsLeft() const
  { return work.PointsLeft(progress.Points()); }

  //! A rank computes nothing.
  void Absent(const size_t other)
  {
    progress.Absent(other);
    --computing;
    computes = computes && other != rank;
    ExpectEpochs();
  }

  //! Compute the gradient of the next batch; false if it is not finite.
  bool Compute(ManifestEntry& entry)
  {
    if (mustShuffle)
      Shuffle();
    batch = work.Next(progress.Points());
    mustShuffle = shuffle && ranks > 1 && work.PassEnded();

    const ElemType objective = function.EvaluateWithGradient(iterate,
        batch.begin, gradient, batch.size);
    CheckShape("the function");
    const bool stop = callbacks.EvaluateWithGradient(iterate, objective,
        gradient);
    CheckShape("a callback");
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

  //! Where the last gradient stands; there is room for one even if the user's
  //! code has given it another shape.
  ElemType* Gradient()
  {
    Reshape(gradient);
    return gradient.memptr();
  }

  //! Where the model stands, likewise.
  ElemType* Iterate()
  {
    Reshape(iterate);
    return iterate.memptr();
  }

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
    version[entry.origin] += entry.count;
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

  //! Judge epochs that have become complete; save a checkpoint if one is due.
  void Settle()
  {
    CloseEpochs();
    if (saver && !judged && saver->Due())
    {
      Warn(saver->Warning());
      Save();
    }
  }

  //! A checkpoint could not be written: say so.
  void Warn(const std::string& problem) const
  {
    if (!problem.empty())
    {
      // Not through ens::Warn, which is silent in most programs.
      std::cerr << name << ": no checkpoint: " << problem << "; what was "
          << "saved before stays, and the training goes on." << std::endl;
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
        progress.Points() != (work.Before() > 0 ? work.Budget() :
        maxIterations));
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
  ElemType ExactPart()
  {
    const size_t held = function.NumFunctions();
    const bool divided = (data == Data::Replicated);
    const size_t begin = divided ? Share(held, rank) : 0;
    const size_t end = divided ? Share(held, rank + 1) : held;
    ElemType sum = 0;
    for (size_t i = begin; i < end; i += batchSize)
    {
      const size_t size = std::min(batchSize, end - i);
      const ElemType objective = function.Evaluate(iterate, i, size);
      sum += objective;
      // The run is over, so it does not matter what callbacks answer.
      (void) callbacks.Evaluate(iterate, objective);
    }
    return sum;
  }

 private:
  //! Did somebody make the gradient another shape than the model has?
  void CheckShape(const char* who) const
  {
    if (gradient.n_rows == rows && gradient.n_cols == cols)
      return;
    throw std::invalid_argument(std::string(who) + " made a gradient of " +
        std::to_string(gradient.n_rows) + " x " +
        std::to_string(gradient.n_cols) + ", but the iterate is " +
        std::to_string(rows) + " x " + std::to_string(cols) + "; give it the "
        "shape of the iterate");
  }

  void Reshape(MatType& matrix) const
  {
    if (matrix.n_rows != rows || matrix.n_cols != cols)
      matrix.zeros(rows, cols);
  }

  //! Tell the tolerance rule how much is under way between ranks: of each of
  //! those that compute, as much as one may be ahead.
  void ExpectEpochs()
  {
    const std::uint64_t lead = 16; // Frames under way hold about as many.
    const std::uint64_t batches = (work.EpochPoints() + batchSize - 1) /
        batchSize;
    // Each rank has a batch of its own, be it a smaller one.
    tolerance.Expect(std::max<std::uint64_t>(computing, batches),
        (inRounds || computing < 2) ? 0 : computing * lead);
  }

  //! Close epochs that have become complete, and judge them.
  void CloseEpochs()
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
              << tolerance.Tolerance() << "; terminating optimization."
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

  //! Can the policy's state be saved?
  static constexpr bool Remembers()
  {
    return memory::Exists<memory::Member<UpdateType, 0>>::value;
  }

  /**
   * Shuffle as often as it was done, so that points are in the order in which
   * they were; or, if ranks have new parts of the work, in one that has not
   * been.
   */
  void RestoreOrder()
  {
    if (!shuffle)
      return;
    ShuffleTo(shuffledBefore);
    // Several ranks shuffle before their first gradient and after each pass,
    // when the next gradient comes; one does so after each epoch, and first of
    // all if it goes on with others' work.
    mustShuffle = (ranks > 1 || work.Before() > 0);
    if (work.Walked() == 0)
      return;
    const std::uint64_t times = (ranks > 1) ? work.Passes() +
        !work.PassEnded() : progress.CurrentEpoch() - 1 - work.EpochsBefore() +
        mustShuffle;
    mustShuffle = (ranks > 1 && work.PassEnded());
    for (std::uint64_t i = 0; i < times; ++i)
      Shuffle();
  }

  static std::string PolicyName() { return typeid(UpdateType).name(); }

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
   * their own, if sharded).
   */
  void Shuffle()
  {
    if (ranks == 1 && !seeded)
    {
      ++shuffles;
      function.Shuffle();
      return;
    }
    const KeepRandomNumbers keep;
    const std::uint64_t common = (data == Data::Sharded) ?
        Mix(seed, rank + 1) : seed;
    arma::arma_rng::set_seed(arma::arma_rng::seed_type(Mix(common, shuffles)));
    ++shuffles;
    function.Shuffle();
  }

  const char* name;
  //! Does this rank compute gradients at all?
  bool computes = true;
  OptimizerType& optimizer;
  FunctionType& function;
  MatType& iterate;
  MatType& gradient;
  UpdateType& updatePolicy;
  DecayType& decayPolicy;
  CallbacksType& callbacks;
  Work work;
  //! As all ranks agreed on them.
  size_t batchSize;
  size_t maxIterations;
  bool shuffle;
  Data data;
  Sharing sharing;
  Progress progress;
  ToleranceRule<ElemType> tolerance;
  size_t ranks;
  size_t rank;
  //! Ranks that compute gradients, and whether they do so together.
  size_t computing;
  bool inRounds = false;
  std::uint64_t seed;
  bool seeded;
  std::uint64_t shuffles = 0;
  bool mustShuffle;

  //! For policies other than the paper's, while all links are busy.
  MatType& scratch;
  //! The shape of the model.
  size_t rows;
  size_t cols;
  Batch batch;
  std::uint64_t ownEpoch = 0;
  std::uint64_t ownPoints = 0;
  ElemType ownObjective = 0;
  std::uint64_t steps = 0;

  //! Gradients applied, by origin.
  VersionVector version;
  //! Where checkpoints go, or null; what they say of what was before this run,
  //! and the last one.
  CheckpointWriter* saver = nullptr;
  Checkpoint saved;
  Checkpoint savedAt;
  const RankReport* const* live = nullptr;
  //! Is the order of points to be restored when the run begins, and how often
  //! had it been shuffled before the work was divided?
  bool resumed = false;
  std::uint64_t shuffledBefore = 0;
  std::chrono::steady_clock::time_point startedAt;
  //! Has the run begun, and how often must the order be shuffled if so?
  bool begun = false;
  std::uint64_t catchUp = 0;
  //! What was thrown here before a rank died.
  std::exception_ptr thrown;

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
