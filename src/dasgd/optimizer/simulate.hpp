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

#include "../algorithms/simulation.hpp"
#include "dasgd.hpp"

#include <cmath>
#include <deque>

namespace dasgd {

//! The workings of Simulate().
class SimulatedTraining
{
 public:
  template<typename UpdatePolicyType,
           typename DecayPolicyType,
           typename SeparableFunctionType,
           typename MatType,
           typename CallbackType>
  static typename MatType::elem_type Run(
      DASGD<UpdatePolicyType, DecayPolicyType>& optimizer,
      std::vector<SeparableFunctionType>& functions,
      MatType& iterate,
      const SimMachine& machineIn,
      std::vector<CallbackType>& callbacksIn)
  {
    using ElemType = typename MatType::elem_type;
    using OptimizerType = DASGD<UpdatePolicyType, DecayPolicyType>;
    using BaseMatType = typename ens::MatTypeTraits<MatType>::BaseMatType;
    using FunctionType = ens::Function<SeparableFunctionType, BaseMatType,
        BaseMatType>;
    using UpdateType = typename UpdatePolicyType::template Policy<BaseMatType,
        BaseMatType>;
    using DecayType = typename DecayPolicyType::template Policy<BaseMatType,
        BaseMatType>;
    using CallbacksType = Callbacks<OptimizerType, FunctionType, CallbackType>;
    constexpr bool vanilla =
        std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value &&
        std::is_same<DecayPolicyType, ens::NoDecay>::value;
    using ProblemType = SeparableProblem<OptimizerType, FunctionType,
        BaseMatType, UpdateType, DecayType, vanilla, CallbacksType>;

    // The same checks as in Optimize().
    static_assert(std::is_same<BaseMatType, arma::Mat<ElemType>>::value,
        "dasgd: the iterate must be a dense arma::mat or arma::fmat (or a "
        "vector of either).");
    ens::traits::CheckSeparableFunctionTypeAPI<FunctionType, BaseMatType,
        BaseMatType>();

    const size_t ranks = functions.size();
    SimMachine machine = machineIn;
    machine.window = optimizer.Window();
    machine.format = optimizer.WireFormat();
    std::vector<size_t> points;
    for (SeparableFunctionType& function : functions)
      points.push_back(function.NumFunctions());
    Refuse(optimizer.Complaint());
    Refuse(Complaint(machine, points, callbacksIn.size(), optimizer.Data()));
    optimizer.Topology().Check(ranks);

    // As in Optimize().
    const double givenStep = optimizer.StepSize();
    double smoothness = optimizer.Smoothness();
    std::string smoothnessFrom = (smoothness > 0) ? "given" : "";
    const auto estimate = [&](const SmoothnessOptions& options)
    {
      MatType start = iterate;
      for (SeparableFunctionType& function : functions)
      {
        smoothness = std::max(smoothness, EstimateSmoothness(function, start,
            options));
        if (optimizer.Data() == Data::Replicated)
          break;
      }
      smoothnessFrom = "estimated at the start";
    };
    if (givenStep == AutoStep)
    {
      if (smoothness == 0)
        estimate(AutoStepOptions());
      optimizer.StepSize() = AutoStepSize(optimizer, ranks, smoothness);
    }

    std::vector<BaseMatType> iterates(ranks, iterate), gradients(ranks,
        BaseMatType(iterate.n_rows, iterate.n_cols, arma::fill::zeros)),
        scratch(ranks);
    std::deque<UpdateType> updates;
    std::deque<DecayType> decays;
    std::deque<CallbacksType> callbacks;
    std::deque<ProblemType> problems;
    std::vector<ElemType*> pointers;
    std::vector<ProblemType*> all;
    for (size_t i = 0; i < ranks; ++i)
    {
      FunctionType& function = static_cast<FunctionType&>(functions[i]);
      updates.emplace_back(optimizer.UpdatePolicy(), iterate.n_rows,
          iterate.n_cols);
      decays.emplace_back(optimizer.DecayPolicy());
      callbacks.emplace_back(optimizer, function, ranks, callbacksIn[i]);
      problems.emplace_back(optimizer, function, iterates[i], gradients[i], scratch[i],
          updates[i], decays[i], callbacks[i], Work(points, i,
          optimizer.Data(), optimizer.Sharing(), optimizer.BatchSize(),
          optimizer.MaxIterations()), ranks, i,
          std::uint64_t(optimizer.Seed() ? optimizer.Seed() : 1), true);
      pointers.push_back(iterates[i].memptr());
      all.push_back(&problems[i]);
    }

    const double stepSize = optimizer.StepSize();
    Simulation<ElemType, ProblemType> simulation(optimizer.Topology(),
        pointers, iterate.n_elem, all, machine);
    if (optimizer.RecordHistory())
      simulation.Record();
    simulation.Run(std::numeric_limits<std::uint64_t>::max());

    const size_t epochPoints = (optimizer.Data() == Data::Sharded) ?
        std::accumulate(points.begin(), points.end(), size_t(0)) : points[0];
    dasgd::Report& report = optimizer.report;
    report = Training<DasgdAlgorithm>::Describe(optimizer, ranks,
        iterate.n_elem, sizeof(ElemType), epochPoints);
    report.seconds = simulation.Seconds();
    report.stepSize = stepSize;
    report.autoStep = (givenStep == AutoStep);
    if (report.outsideTheorem.empty() && optimizer.StepSize() != stepSize)
      report.outsideTheorem = Training<DasgdAlgorithm>::StepChanged();
    optimizer.StepSize() = givenStep;
    for (size_t i = 0; i < ranks; ++i)
    {
      RankReport counts = simulation.Worker(i).Counts();
      counts.peakVectors = simulation.PeakVectors(i);
      counts.deviation = double(arma::abs(iterates[i] -
          iterates[0]).max());
      report.ranks.push_back(counts);
    }
    const Fact* stop = simulation.Worker(0).Stop();
    if (stop)
    {
      report.reason = stop->reason;
      report.stopRank = stop->origin;
      report.stopStep = stop->count;
      report.stopText = stop->text;
    }
    if (report.reason == StopReason::NonFinite && vanilla && smoothness == 0)
    {
      try
      {
        estimate(AdviceOptions());
      }
      catch (const std::exception&)
      {
        // Then there is no advice.
      }
    }
    report.smoothness = smoothness;
    report.smoothnessFrom = smoothnessFrom;
    report.objective = double(problems[0].Objective(stop != nullptr,
        stop ? *stop : Fact()));
    optimizer.history = simulation.History();
    if (!optimizer.history.empty())
      PutStaleness(HistoryStaleness(optimizer.history).Ranks(), report);
    std::copy(iterates[0].begin(), iterates[0].end(), iterate.begin());

    std::exception_ptr exception;
    for (size_t i = 0; i < ranks; ++i)
    {
      if (!exception)
        exception = simulation.Worker(i).Exception();
      Guard(exception, [&]() { callbacks[i].EndOptimization(iterates[i]); });
    }
    if (exception)
      std::rethrow_exception(exception);
    PrintAdvice(report);
    return ElemType(report.objective);
  }

 private:
  static void Refuse(const std::string& complaint)
  {
    if (!complaint.empty())
      throw std::invalid_argument("dasgd::Simulate(): " + complaint);
  }

  //! What is wrong with the machine, or with what runs on it.
  static std::string Complaint(const SimMachine& machine,
                               const std::vector<size_t>& points,
                               const size_t callbacks,
                               const Data data)
  {
    const size_t ranks = points.size();
    if (ranks == 0)
      return "there are no functions; give one for each rank.";
    if (machine.computeSeconds.size() != ranks)
    {
      return "computeSeconds has " +
          std::to_string(machine.computeSeconds.size()) + " entries, but there "
          "are " + std::to_string(ranks) + " functions; give one of each for "
          "each rank.";
    }
    if (callbacks != ranks)
    {
      return "there are " + std::to_string(callbacks) + " callbacks and " +
          std::to_string(ranks) + " functions; give one of each for each rank.";
    }
    const auto sound = [](const double value)
    { return std::isfinite(value) && value >= 0; };
    for (size_t i = 0; i < ranks; ++i)
    {
      if (points[i] == 0)
        return "rank " + std::to_string(i) + " has no points.";
      if (data == Data::Replicated && (points[i] != points[0] ||
          points[i] < ranks))
      {
        return "rank " + std::to_string(i) + " has " +
            std::to_string(points[i]) + " points, but rank 0 has " +
            std::to_string(points[0]) + " and there are " +
            std::to_string(ranks) + " ranks; give each the same points, at "
            "least one for each rank, or set Data() = dasgd::Data::Sharded.";
      }
      if (!sound(machine.computeSeconds[i]))
      {
        return "computeSeconds of rank " + std::to_string(i) + " is " +
            std::to_string(machine.computeSeconds[i]) + ", but must be a "
            "finite number of at least 0.";
      }
      for (size_t k = 0; k < ranks; ++k)
      {
        const SimLink link = (i == k) ? SimLink() : machine.link(i, k);
        if (!sound(link.latency) || !sound(link.jitter) ||
            !(link.bytesPerSecond > 0))
        {
          return "the link from rank " + std::to_string(i) + " to rank " +
              std::to_string(k) + " must have a latency and a jitter of at "
              "least 0 and a bandwidth above 0.";
        }
      }
    }
    if (!(machine.computeSpread >= 0 && machine.computeSpread <= 1) ||
        !sound(machine.applySeconds) || !sound(machine.stallSeconds))
    {
      return "computeSpread must be from 0 to 1, and applySeconds and "
          "stallSeconds at least 0.";
    }
    return "";
  }
};

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
 * @param iterate Starting point; becomes rank 0's result.
 * @param machine How fast ranks and links are; its window is the optimizer's.
 * @param callbacks The callback of each rank.
 * @return The objective, as Optimize() returns it.
 */
template<typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename MatType,
         typename CallbackType>
typename MatType::elem_type Simulate(
    DASGD<UpdatePolicyType, DecayPolicyType>& optimizer,
    std::vector<SeparableFunctionType>& functions,
    MatType& iterate,
    const SimMachine& machine,
    std::vector<CallbackType>& callbacks)
{
  return SimulatedTraining::Run(optimizer, functions, iterate, machine,
      callbacks);
}

//! The same without callbacks.
template<typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename MatType>
typename MatType::elem_type Simulate(
    DASGD<UpdatePolicyType, DecayPolicyType>& optimizer,
    std::vector<SeparableFunctionType>& functions,
    MatType& iterate,
    const SimMachine& machine)
{
  struct NoCallback { };
  std::vector<NoCallback> callbacks(functions.size());
  return SimulatedTraining::Run(optimizer, functions, iterate, machine,
      callbacks);
}

} // namespace dasgd

#endif
