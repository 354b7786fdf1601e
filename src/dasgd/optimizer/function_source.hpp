/**
 * @file function_source.hpp
 *
 * A separable function as the source of gradients: evaluation, steps and
 * callbacks, all as in ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_FUNCTION_SOURCE_HPP
#define DASGD_OPTIMIZER_FUNCTION_SOURCE_HPP

#include "checkpoint_keeper.hpp"
#include "guard.hpp"
#include "point_order.hpp"
#include "update_step.hpp"

#include <utility>

namespace dasgd {

/**
 * The source of one rank (see Problem); lives as long as one call of
 * Optimize().
 *
 * @tparam StepType See UpdateStep.
 * @tparam CallbacksType See Callbacks.
 */
template<typename OptimizerType,
         typename FunctionType,
         typename MatType,
         typename StepType,
         typename CallbacksType>
class FunctionSource
{
 public:
  using ElemType = typename MatType::elem_type;

  //! @param name Of the algorithm, for messages.
  //! @param decays Does each gradient of another rank count for the decay
  //!     policy, too?
  FunctionSource(const char* name,
                 OptimizerType& optimizer,
                 FunctionType& function,
                 MatType& iterate,
                 MatType& gradient,
                 StepType& step,
                 CallbacksType& callbacks,
                 const PointOrder<FunctionType>& order,
                 const size_t ranks,
                 const size_t rank,
                 const bool decays) :
      name(name),
      optimizer(optimizer),
      function(function),
      iterate(iterate),
      gradient(gradient),
      step(step),
      callbacks(callbacks),
      order(order),
      ranks(ranks),
      rank(rank),
      decays(decays),
      rows(iterate.n_rows),
      cols(iterate.n_cols)
  { }

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
            Shape(iterate) + " in BeginOptimization(), but it was " +
            std::to_string(rows) + " x " + std::to_string(cols) +
            "; leave its shape alone");
      }
    });
    Reshape(iterate);
  }

  //! One of these ranks from now on, after others have died; this was thrown
  //! before that, if anything was.
  void Rejoin(const size_t newRanks,
              const size_t newRank,
              const std::exception_ptr& exception)
  {
    ranks = newRanks;
    rank = newRank;
    callbacks.Ranks(ranks, rank);
    if (exception)
      thrown = exception;
  }

  //! Save checkpoints from now on.
  void SaveTo(CheckpointKeeper& to) { keeper = &to; }

  bool Begin(const std::uint64_t epoch)
  {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
    return !std::exchange(begun, true) &&
        callbacks.BeginEpoch(iterate, size_t(epoch), 0);
  }

  //! Where the model stands; there is room for one even if the user's code has
  //! given it another shape.
  ElemType* Iterate()
  {
    Reshape(iterate);
    return iterate.memptr();
  }

  //! Where the last gradient stands, likewise.
  ElemType* Gradient()
  {
    Reshape(gradient);
    return gradient.memptr();
  }

  size_t Elements() const { return rows * cols; }

  bool Evaluate(const Batch& batch, ElemType& objective)
  {
    objective = function.EvaluateWithGradient(iterate, batch.begin, gradient,
        batch.size);
    CheckShape("the function");
    const bool stop = callbacks.EvaluateWithGradient(iterate, objective,
        gradient);
    CheckShape("a callback");
    return stop;
  }

  bool TakeStep(const size_t points, ElemType* out, const ElemType*& update)
  {
    if (ranks > 1)
      return step.ApplyAndShow(double(points), out, update);
    step.Apply(double(points));
    return true;
  }

  bool Step(const double points, const double scale)
  {
    if (ranks > 1)
      return step.ApplyFinite(points, scale);
    step.Apply(points, scale);
    return true;
  }

  bool Applied(const ManifestEntry& entry,
               const double objective,
               const std::uint64_t epoch)
  {
    // A decay policy counts the steps of all ranks, as far as they are steps
    // of this rank's model.
    for (std::uint64_t i = 0; i < entry.count && decays; ++i)
    {
      if (entry.origin != rank)
        step.Decay();
    }
    return callbacks.CountSteps(iterate, epoch, entry, objective);
  }

  bool StepTaken()
  {
    const bool stop = callbacks.StepTaken(iterate);
    step.Decay();
    return stop;
  }

  bool EndEpoch(const std::uint64_t epoch,
                const ElemType objective,
                const std::uint64_t points,
                const size_t epochPoints)
  {
    const bool stop = callbacks.EndEpoch(iterate, size_t(epoch),
        objective / ElemType(epochPoints));
    if (rank == 0)
    {
      ens::Info << name << ": iteration " << size_t(points) << ", objective "
          << objective << "." << std::endl;
    }
    return stop;
  }

  bool BeginEpoch(const std::uint64_t epoch, const ElemType objective)
  {
    const bool stop = callbacks.BeginEpoch(iterate, size_t(epoch), objective);
    return callbacks.CountHeld(iterate, epoch) || stop;
  }

  void Converged(const double tolerance)
  {
    if (rank == 0)
    {
      ens::Info << name << ": minimized within tolerance " << tolerance
          << "; terminating optimization." << std::endl;
    }
  }

  void Diverged(const std::uint64_t at, const char* what, const ElemType value)
  {
    ens::Warn << name << ": rank " << rank << ", step " << size_t(at) << ": "
        << what << " converged to " << value << "; terminating with failure.  "
        << "Try a smaller step size?" << std::endl;
  }

  void BetweenSteps()
  {
    if (keeper)
      keeper->SaveIfDue();
  }

  //! How often the points were shuffled.
  std::uint64_t Shuffles() const { return order.Shuffles(); }
  void ShuffleTo(const std::uint64_t times) { order.ShuffleTo(times); }
  //! After an epoch at one rank; callbacks may have changed the setting.
  void ShuffleOnce()
  {
    if (optimizer.Shuffle())
      order.Shuffle();
  }

  //! Points that this rank holds.
  size_t PointsHeld() const { return function.NumFunctions(); }

  /**
   * This rank's part of the objective over all points; if they are replicated,
   * all ranks must have them in the same order.
   */
  ElemType ExactPart(const Data data, const size_t batchSize)
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
  static std::string Shape(const MatType& matrix)
  {
    return std::to_string(matrix.n_rows) + " x " +
        std::to_string(matrix.n_cols);
  }

  //! Did somebody make the gradient another shape than the model has?
  void CheckShape(const char* who) const
  {
    if (gradient.n_rows == rows && gradient.n_cols == cols)
      return;
    throw std::invalid_argument(std::string(who) + " made a gradient of " +
        Shape(gradient) + ", but the iterate is " + std::to_string(rows) +
        " x " + std::to_string(cols) + "; give it the shape of the iterate");
  }

  void Reshape(MatType& matrix) const
  {
    if (matrix.n_rows != rows || matrix.n_cols != cols)
      matrix.zeros(rows, cols);
  }

  size_t Share(const size_t points, const size_t index) const
  { return points / ranks * index + std::min(index, points % ranks); }

  const char* name;
  OptimizerType& optimizer;
  FunctionType& function;
  MatType& iterate;
  MatType& gradient;
  StepType& step;
  CallbacksType& callbacks;
  PointOrder<FunctionType> order;
  size_t ranks;
  size_t rank;
  bool decays;
  //! The shape of the model.
  size_t rows;
  size_t cols;
  CheckpointKeeper* keeper = nullptr;
  //! Have callbacks been told of the first epoch?
  bool begun = false;
  //! What was thrown before the run began, or before another rank died.
  std::exception_ptr thrown;
};

} // namespace dasgd

#endif
