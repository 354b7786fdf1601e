/**
 * @file function_source.hpp
 *
 * A separable function as the source of gradients: evaluation, steps and
 * callbacks, all as in ens::SGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ENSMALLEN_FUNCTION_SOURCE_HPP
#define DASGD_ENSMALLEN_FUNCTION_SOURCE_HPP

#include "../core/stop_signals.hpp"
#include "../mpi/mpi_call.hpp"
#include "../core/guard.hpp"
#include "layer_statistics.hpp"
#include "matrix_source.hpp"
#include "point_order.hpp"
#include "policy_parameters.hpp"
#include "smoothness.hpp"
#include "take_fingerprint.hpp"
#include "training_types.hpp"

#include <limits>
#include <optional>
#include <utility>

namespace dasgd {

/**
 * The source of one rank; lives as long as one call of Optimize().
 *
 * @tparam TypesType See TrainingTypes.
 */
template<typename TypesType>
class FunctionSource : public MatrixSource<typename TypesType::ElemType>
{
 public:
  using OptimizerType = typename TypesType::OptimizerType;
  using SettingsType = typename TypesType::SettingsType;
  using FunctionType = typename TypesType::FunctionType;
  using MatType = typename TypesType::MatType;
  using ElemType = typename TypesType::ElemType;
  using UpdateType = typename TypesType::UpdateType;
  using DecayType = typename TypesType::DecayType;
  using StepType = typename TypesType::StepType;

  /**
   * @param name Of the algorithm, for messages.
   * @param optimizer The user's optimizer; callbacks get to see it.
   * @param settings The same object as its base.
   * @param function Function to minimize.
   * @param iterate The model, in place: a network reads its parameters from
   *     this very memory.
   * @param callbacks The user's callbacks.
   */
  template<typename... CallbackTypes>
  FunctionSource(const char* name,
                 OptimizerType& optimizer,
                 SettingsType& settings,
                 FunctionType& function,
                 MatType& iterate,
                 const size_t ranks,
                 const size_t rank,
                 CallbackTypes&... callbacks) :
      MatrixSource<ElemType>(iterate),
      settings(settings),
      name(name),
      optimizer(optimizer),
      function(function),
      callbacks(optimizer, function, ranks, rank, callbacks...),
      ranks(ranks),
      rank(rank)
  { }

  // Before the run.

  size_t PointsHeld() const override { return function.NumFunctions(); }
  StepDescription Steps() const override;
  void Require(Handshake& handshake) const override;
  void AddTags(Checkpoint& about) const override;

  void Prepare(const size_t ofRanks) override
  {
    gradient.zeros(iterate.n_rows, iterate.n_cols);
    if (!TypesType::vanilla && ofRanks > 1)
      scratch.set_size(iterate.n_rows, iterate.n_cols);
    MakePolicies();
  }

  std::uint64_t DrawSeed() override
  {
    return std::uint64_t(arma::randi<arma::uvec>(1, arma::distr_param(0,
        std::numeric_limits<int>::max()))[0]);
  }

  Fingerprint TakeFingerprint(const size_t batchSize) override
  {
    // The gradient's memory is not in use yet.
    const Fingerprint print = dasgd::TakeFingerprint(function, iterate,
        gradient, batchSize);
    gradient.zeros();
    return print;
  }

  double EstimateSmoothness(const SmoothnessOptions& options) override
  { return dasgd::EstimateSmoothness(function, iterate, options); }

  void SetOrder(const std::uint64_t seed,
                const bool ownNumbers,
                const bool countAll) override
  {
    order.emplace(function, optimizer.Data(), seed, rank, ownNumbers);
    decays = countAll && !TypesType::fixed;
  }

  void BeginOptimization() override;
  bool HasCallbacks() const override { return TypesType::hasCallbacks; }

  // During the run.

  void Save(Checkpoint& to) override { step->Save(to); }
  void Restore(const Checkpoint& from) override { step->Restore(from); }
  void SaveTo(CheckpointKeeper& to) override { keeper = &to; }

  void Rejoin(const size_t newRanks,
              const size_t newRank,
              const std::exception_ptr& exception) override
  {
    ranks = newRanks;
    rank = newRank;
    callbacks.Ranks(ranks, rank);
    if (exception)
      thrown = exception;
  }

  bool Begin(const std::uint64_t epoch) override
  {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
    return !std::exchange(begun, true) &&
        callbacks.BeginEpoch(iterate, size_t(epoch), 0);
  }

  bool Evaluate(const Batch& batch, ElemType& objective) override
  {
    if (mpi::Call* const call = mpi::Call::Innermost())
    {
      call->Check();
      call->Answer(false);
    }
    objective = function.EvaluateWithGradient(iterate, batch.begin, gradient,
        batch.size);
    this->CheckGradient("the function");
    const bool stop = callbacks.EvaluateWithGradient(iterate, objective,
        gradient);
    this->CheckGradient("a callback");
    return stop;
  }

  bool TakeStep(const size_t points,
                const StepScale& scale,
                ElemType* out,
                ElemType* sum,
                const ElemType*& update) override
  {
    if (ranks > 1)
      return step->ApplyAndShow(double(points), scale, out, sum, update);
    return step->ApplyChecked(double(points), scale.factor);
  }

  bool FormUpdate(const size_t points,
                  const StepScale& scale,
                  const ElemType*& update,
                  ElemType& factor) override
  { return step->Form(double(points), scale, update, factor); }

  bool Step(const double points, const double scale) override
  {
    if (ranks > 1)
      return step->ApplyFinite(points, scale);
    step->Apply(points, scale);
    return true;
  }

  bool Applied(const ManifestEntry& entry,
               const double objective,
               const std::uint64_t epoch) override
  {
    // A decay policy counts the steps of all ranks, as far as they are steps
    // of this rank's model.
    for (std::uint64_t i = 0; i < entry.count && decays; ++i)
    {
      if (entry.origin != rank)
        step->Decay();
    }
    if (mpi::Call* const call = mpi::Call::Innermost())
      call->Move();
    return callbacks.CountSteps(iterate, epoch, entry, objective);
  }

  void Idle() override
  {
    if (mpi::Call* const call = mpi::Call::Innermost())
      call->Answer(true);
  }

  bool StepTaken() override
  {
    const bool stop = callbacks.StepTaken(iterate);
    step->Decay();
    return stop;
  }

  bool EndEpoch(const std::uint64_t epoch,
                const ElemType objective,
                const std::uint64_t points,
                const size_t epochPoints) override
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

  bool BeginEpoch(const std::uint64_t epoch, const ElemType objective) override
  {
    const bool stop = callbacks.BeginEpoch(iterate, size_t(epoch), objective);
    return callbacks.CountHeld(iterate, epoch) || stop;
  }

  void Converged(const double tolerance) override
  {
    if (rank == 0)
    {
      ens::Info << name << ": minimized within tolerance " << tolerance
          << "; terminating optimization." << std::endl;
    }
  }

  void Diverged(const std::uint64_t at,
                const char* what,
                const ElemType value) override
  {
    ens::Warn << name << ": rank " << rank << ", step " << size_t(at) << ": "
        << what << " converged to " << value << "; terminating with failure.  "
        << "Try a smaller step size?" << std::endl;
  }

  void BetweenSteps() override
  {
    if (keeper)
      keeper->SaveIfDue();
  }

  int Signal() override
  { return settings.StopSignals().empty() ? 0 : StopSignals::Come(); }

  std::uint64_t Shuffles() const override { return order->Shuffles(); }
  void ShuffleTo(const std::uint64_t times) override
  { order->ShuffleTo(times); }
  //! After an epoch at one rank; callbacks may have changed the setting.
  void ShuffleOnce() override
  {
    if (optimizer.Shuffle())
      order->Shuffle();
  }

  // After the run.

  ElemType ExactPart(Data data, size_t batchSize) override;

  void AgreeOnKept(const MpiCommunicator& comm,
                   const std::uint64_t batches,
                   std::exception_ptr& exception) override
  {
    callbacks.Agree(comm);
    if (!exception)
    {
      Guard(exception, [&]()
      {
        RenewStatistics(function, iterate, gradient, settings.BatchSize(), rank,
            batches);
      });
    }
    AgreeOnStatistics(comm, function, batches, exception);
  }

  void EndOptimization() override { callbacks.EndOptimization(iterate); }

  void Inform(const std::string& text) override
  { ens::Info << name << ": " << text << std::endl; }

 protected:
  //! Policies as the optimizer keeps them.
  virtual void MakePolicies()
  {
    settings.template Instantiate<UpdateType, DecayType>(this->Rows(),
        this->Cols());
    UsePolicies(*settings.made, settings.state.update.template As<UpdateType>(),
        settings.state.decay.template As<DecayType>());
  }

  /**
   * Take steps with these, which must outlive the source.
   *
   * @param made What `update` was made of.
   */
  void UsePolicies(const typename TypesType::UpdatePolicyType& made,
                   UpdateType& update,
                   DecayType& decay)
  {
    step.emplace(optimizer, iterate, gradient, scratch,
        ensmallen::copiesParameters ? made : settings.UpdatePolicy(), update,
        decay);
  }

  //! The optimizer's attributes.
  SettingsType& settings;

 private:
  using MatrixSource<ElemType>::iterate;
  using MatrixSource<ElemType>::gradient;
  using MatrixSource<ElemType>::scratch;

  //! The policies and their parameters.
  ParameterTexts PolicyTexts() const;

  size_t Share(const size_t points, const size_t index) const
  { return points / ranks * index + std::min(index, points % ranks); }

  const char* name;
  OptimizerType& optimizer;
  FunctionType& function;
  std::optional<StepType> step;
  std::optional<PointOrder<FunctionType>> order;
  typename TypesType::CallbacksType callbacks;
  size_t ranks;
  size_t rank;
  bool decays = false;
  CheckpointKeeper* keeper = nullptr;
  //! Have callbacks been told of the first epoch?
  bool begun = false;
  //! What was thrown before the run began, or before another rank died.
  std::exception_ptr thrown;
};

} // namespace dasgd

#include "function_source_impl.hpp"

#endif
