/**
 * @file simulate.hpp
 *
 * Optimize() on virtual time: what a run would do on a machine that is only
 * described, with real gradients.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SIMULATE_HPP
#define DASGD_OPTIMIZER_SIMULATE_HPP

#include "simulated_training.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace dasgd {

/**
 * The source of one of many ranks: with a model and an update policy of its
 * own.  Ranks share the step size, and so the decay policy, which sees the
 * steps of all.
 */
template<typename TypesType>
class SimulatedSource : public FunctionSource<TypesType>
{
 public:
  using DecayType = typename TypesType::DecayType;

  //! For the other parameters see FunctionSource.
  template<typename... ArgumentTypes>
  explicit SimulatedSource(DecayType& decay, ArgumentTypes&&... arguments) :
      FunctionSource<TypesType>(std::forward<ArgumentTypes>(arguments)...),
      decay(decay)
  { }

 protected:
  void MakePolicies() override
  {
    made.emplace(this->settings.UpdatePolicy());
    update.emplace(this->settings.UpdatePolicy(), this->Rows(), this->Cols());
    this->UsePolicies(*made, *update, decay);
  }

 private:
  std::optional<typename TypesType::UpdatePolicyType> made;
  std::optional<typename TypesType::UpdateType> update;
  DecayType& decay;
};

//! Must an optimizer be told how long an epoch is, as SGDR?
template<typename OptimizerType, typename = void>
struct NeedsEpoch : std::false_type { };
template<typename OptimizerType>
struct NeedsEpoch<OptimizerType, std::void_t<
    decltype(std::declval<OptimizerType&>().SetEpoch(1.0))>> :
    std::true_type { };

//! Simulate(), with the optimizer's settings as its base.
template<typename OptimizerType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename IterateType,
         typename CallbackType>
typename IterateType::elem_type SimulateWith(
    OptimizerType& optimizer,
    Settings<UpdatePolicyType, DecayPolicyType>& settings,
    std::vector<SeparableFunctionType>& functions,
    IterateType& iterate,
    const SimCluster& machine,
    std::vector<CallbackType>& callbacks)
{
  using AlgorithmType = typename OptimizerType::Algorithm;
  using TypesType = TrainingTypes<OptimizerType, UpdatePolicyType,
      DecayPolicyType, SeparableFunctionType, IterateType, IterateType,
      CallbackType>;
  using ElemType = typename TypesType::ElemType;
  TypesType::Check();
  std::vector<typename TypesType::FunctionType*> wrapped;
  std::vector<size_t> points;
  for (SeparableFunctionType& function : functions)
  {
    wrapped.push_back(&static_cast<typename TypesType::FunctionType&>(
        function));
    points.push_back(wrapped.back()->NumFunctions());
  }
  simulate::Refuse(simulate::Validate(machine, points, callbacks.size(),
      settings.Data()));
  std::vector<typename TypesType::MatType> iterates(functions.size(), iterate);
  if constexpr (NeedsEpoch<OptimizerType>::value)
  {
    optimizer.SetEpoch(settings.Data() == Data::Replicated ? double(points[0]) :
        double(std::accumulate(points.begin(), points.end(), size_t(0))));
  }
  typename TypesType::DecayType decay(settings.DecayPolicy());
  std::deque<SimulatedSource<TypesType>> sources;
  std::vector<TrainingSource<ElemType>*> all;
  for (size_t i = 0; i < functions.size(); ++i)
  {
    sources.emplace_back(decay, AlgorithmType::Name(), optimizer, settings,
        *wrapped[i], iterates[i], functions.size(), i, callbacks[i]);
    all.push_back(&sources.back());
  }
  SimulatedTraining<AlgorithmType, ElemType> training(settings, optimizer, all,
      machine);
  return training.Optimize(iterate.memptr());
}

/**
 * Optimize() on virtual time: one process computes the gradients of all ranks,
 * in the order in which ranks of the described machine would.  Report() and
 * History() are then those of the simulated run, in its seconds.
 *
 * Everything but time is real: the protocol, the bytes of the frames, the
 * order of the points, and the gradients.  MPI is not used, and
 * ExactObjective() is not known here.  Seed() 0 means 1.
 *
 * @param optimizer Its settings count as they do for Optimize().
 * @param functions What each rank minimizes; they may share their data, but not
 *     the order of it.
 * @param iterate Starting point; becomes the result.
 * @param machine How fast ranks and links are; its window is the optimizer's.
 * @param callbacks The callback of each rank.
 * @return The objective, as Optimize() returns it.
 */
template<typename OptimizerType,
         typename SeparableFunctionType,
         typename MatType,
         typename CallbackType>
typename MatType::elem_type Simulate(
    OptimizerType& optimizer,
    std::vector<SeparableFunctionType>& functions,
    MatType& iterate,
    const SimCluster& machine,
    std::vector<CallbackType>& callbacks)
{
  return SimulateWith(optimizer, optimizer, functions, iterate, machine,
      callbacks);
}

//! The same without callbacks.
template<typename OptimizerType,
         typename SeparableFunctionType,
         typename MatType>
typename MatType::elem_type Simulate(
    OptimizerType& optimizer,
    std::vector<SeparableFunctionType>& functions,
    MatType& iterate,
    const SimCluster& machine)
{
  struct NoCallback { };
  std::vector<NoCallback> callbacks(functions.size());
  return Simulate(optimizer, functions, iterate, machine, callbacks);
}

} // namespace dasgd

#endif
