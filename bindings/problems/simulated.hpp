/**
 * @file simulated.hpp
 *
 * Ranks on virtual time that train one model of a task: what they share, and
 * the machine they are on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_SIMULATED_HPP
#define DASGD_BINDINGS_PROBLEMS_SIMULATED_HPP

#include "task.hpp"

#include <dasgd/simulation/plan.hpp>
#include <dasgd/simulation/timed_run.hpp>

#include <algorithm>

namespace dasgd {
namespace study {

/**
 * A simulated rank's view of the function of a task, of which there is but one:
 * the points are the same for all ranks, and each has an order of its own.  It
 * is an order of batches, which are put together once.  Points that do not fill
 * a batch are left out.
 */
class SharedFunction : public Separable
{
 public:
  /**
   * @param function The function of all ranks.
   * @param model Where a network reads its parameters from.
   * @param sums Is the function's value for a batch the sum over its points?
   */
  SharedFunction(Separable& function,
                 arma::mat& model,
                 const bool sums,
                 const size_t batchSize,
                 const size_t ranks) :
      function(&function), model(&model), sums(sums),
      batchSize(std::max<size_t>(1, std::min(batchSize,
          function.NumFunctions())))
  {
    size_t batches = function.NumFunctions() / this->batchSize;
    // Ranks begin within a batch if their number does not divide it, and would
    // then visit two halves.  With few points each counts.
    if (batches >= 50 * ranks)
      batches -= batches % ranks;
    order = arma::regspace<arma::uvec>(0, batches - 1);
  }

 private:
  size_t DoNumFunctions() const override { return order.n_elem * batchSize; }

  void DoShuffle() override { order = arma::uvec(arma::shuffle(order)); }

  double DoEvaluate(const arma::mat& iterate,
                    const size_t begin,
                    const size_t size) override
  {
    Place(iterate);
    return Visit(begin, size, [&](const size_t first, const size_t count,
        const double weight)
    { return weight * function->Evaluate(*model, first, count); });
  }

  double DoEvaluateWithGradient(const arma::mat& iterate,
                                const size_t begin,
                                arma::mat& gradient,
                                const size_t size) override
  {
    Place(iterate);
    bool begun = false;
    return Visit(begin, size, [&](const size_t first, const size_t count,
        const double weight)
    {
      arma::mat& target = begun ? part : gradient;
      const double value = function->EvaluateWithGradient(*model, first, target,
          count);
      if (weight != 1)
        target *= weight;
      if (begun)
        gradient += part;
      begun = true;
      return weight * value;
    });
  }

  //! mlpack's networks do not look at the parameters that they are given.
  void Place(const arma::mat& iterate)
  { std::copy(iterate.begin(), iterate.end(), model->begin()); }

  //! The points of a range, which may be in several batches.
  template<typename ActionType>
  double Visit(size_t begin, const size_t size, ActionType&& action)
  {
    double sum = 0;
    for (const size_t end = begin + size; begin < end; )
    {
      const size_t within = begin % batchSize;
      const size_t count = std::min(batchSize - within, end - begin);
      sum += action(size_t(order[begin / batchSize]) * batchSize + within,
          count, sums ? 1.0 : double(count) / double(size));
      begin += count;
    }
    return sum;
  }

  Separable* function;
  arma::mat* model;
  bool sums;
  size_t batchSize;
  arma::uvec order;
  arma::mat part;
};

/**
 * The machine that ranks are simulated on.
 *
 * @param topology A rank that passes frames on does so while it computes, if it
 *     has a core to itself.
 */
inline SimCluster SimulatedMachine(const PlanModel& model,
                                   const PlanCluster& cluster,
                                   const size_t ranks,
                                   const std::string& topology)
{
  SimCluster plain = PlanMachine(model, cluster, ranks, false);
  if (plan::OnBoard(model, cluster, ranks, topology.empty() ?
      Topology::Complete() : Topology(topology)))
    plain.applySeconds = model.passSeconds;
  const bool relays = ranks > 1 && !topology.empty() &&
      Topology(topology).On(plain.machines).Hops(ranks) > 1;
  return (relays && !cluster.crowded) ?
      PlanMachine(model, cluster, ranks, true) : plain;
}

} // namespace study
} // namespace dasgd

#endif
