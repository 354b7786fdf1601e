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

#include "../algorithms/round_simulation.hpp"
#include "../algorithms/simulation.hpp"
#include "dasgd.hpp"
#include "rival.hpp"

#include <cmath>
#include <deque>

namespace dasgd {

/**
 * The workings of Simulate().
 *
 * @tparam AlgorithmType See Asynchronous and Synchronous.
 */
template<typename AlgorithmType>
class SimulatedTraining
{
 public:
  template<typename OptimizerType,
           typename UpdatePolicyType,
           typename DecayPolicyType,
           typename SeparableFunctionType,
           typename MatType,
           typename CallbackType>
  static typename MatType::elem_type Run(
      OptimizerType& optimizer,
      Settings<UpdatePolicyType, DecayPolicyType>& settings,
      std::vector<SeparableFunctionType>& functions,
      MatType& iterate,
      const SimMachine& machineIn,
      std::vector<CallbackType>& callbacksIn)
  {
    using ElemType = typename MatType::elem_type;
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

    static_assert(ensmallen::StepsAreDifferences<UpdatePolicyType>::value,
        "dasgd: this update policy (ens::FTMLUpdate) sets the iterate anew in "
        "every step instead of changing it, which would undo the steps of other "
        "ranks; use another one, such as ens::AdamUpdate.");
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
    const typename AlgorithmType::Options options = optimizer;
    Refuse(optimizer.Complaint());
    if (!optimizer.CheckpointFile().empty())
    {
      Refuse("Checkpoint() has a file, but on virtual time nothing is saved; "
          "leave it empty.");
    }
    Refuse(Complaint(machine, points, callbacksIn.size(), optimizer.Data()));
    for (size_t i = 0; i < ranks; ++i)
    {
      Refuse(Training<AlgorithmType>::Complaint(settings, options, ranks, i,
          iterate.n_elem * sizeof(ElemType), points[i]));
    }

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

    const std::uint64_t seed = optimizer.Seed() ? optimizer.Seed() : 1;
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
      problems.emplace_back(AlgorithmType::Name(),
          optimizer, function,
          iterates[i], gradients[i], scratch[i], updates[i], decays[i],
          callbacks[i], Training<AlgorithmType>::Divide(settings, options,
          points, i), ranks, i, seed, true);
      all.push_back(&problems[i]);
      if constexpr (AlgorithmType::inRounds)
        problems[i].InRounds();
      problems[i].BeginOptimization();
    }
    // As in Optimize(), rank 0's starting point is everyone's.
    for (size_t i = 0; i < ranks; ++i)
    {
      std::copy(iterates[0].begin(), iterates[0].end(), iterates[i].begin());
      pointers.push_back(iterates[i].memptr());
    }

    for (size_t i = 0; i < ranks; ++i)
    {
      if (Training<AlgorithmType>::Computes(settings, options, points, i))
        continue;
      for (ProblemType& problem : problems)
        problem.Absent(i);
    }

    const double stepSize = optimizer.StepSize();
    RunSettings run{ optimizer.Topology(), machine.window };
    run.format = machine.format;
    run.seed = seed;
    run.maxLead = optimizer.MaxLead();
    auto simulation = Make(run, options, machine, pointers, iterate.n_elem,
        all);
    if constexpr (!synchronous)
    {
      if (optimizer.RecordHistory())
        simulation.Record();
      simulation.Run(std::numeric_limits<std::uint64_t>::max());
    }
    else
      simulation.Run();

    // Where models differ by nature, make them one.
    std::vector<double> deviations(ranks, 0);
    BaseMatType result = iterates[0];
    if constexpr (AlgorithmType::averages)
    {
      for (size_t i = 1; i < ranks; ++i)
        result += iterates[i];
      result /= ElemType(ranks);
    }
    if constexpr (AlgorithmType::serves)
      result = iterates[options.ServerRank()];
    for (size_t i = 0; i < ranks && !AlgorithmType::serves; ++i)
      deviations[i] = double(arma::abs(iterates[i] - result).max());

    const size_t epochPoints = Training<AlgorithmType>::Divide(settings,
        options, points, 0).EpochPoints();
    dasgd::Report& report = settings.report;
    report = Training<AlgorithmType>::Describe(settings, options,
        settings.Topology(), ranks, iterate.n_elem, sizeof(ElemType),
        epochPoints);
    report.seconds = simulation.Seconds();
    report.stepSize = stepSize;
    report.autoStep = (givenStep == AutoStep);
    if (report.outsideTheorem.empty() && optimizer.StepSize() != stepSize)
      report.outsideTheorem = Training<AlgorithmType>::StepChanged();
    optimizer.StepSize() = givenStep;
    for (size_t i = 0; i < ranks; ++i)
    {
      RankReport counts = simulation.Worker(i).Counts();
      if constexpr (!synchronous)
        counts.peakVectors = simulation.PeakVectors(i);
      counts.deviation = deviations[i];
      report.ranks.push_back(counts);
    }
    std::vector<const Fact*> stops;
    for (size_t i = 0; i < ranks; ++i)
      stops.push_back(simulation.Worker(i).Stop());
    const Fact* stop = Strongest(stops);
    if (stop)
    {
      report.reason = stop->reason;
      report.stopRank = stop->origin;
      report.stopStep = stop->count;
      report.stopText = stop->text;
      if constexpr (synchronous)
        report.stopText = simulation.Worker(stop->origin).Text();
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
    settings.history.clear();
    if constexpr (!synchronous)
      settings.history = simulation.History();
    if (!settings.history.empty())
      PutStaleness(HistoryStaleness(settings.history).Ranks(), report);
    std::copy(result.begin(), result.end(), iterate.begin());

    std::exception_ptr exception;
    for (size_t i = 0; i < ranks; ++i)
    {
      if (!exception)
        exception = simulation.Worker(i).Exception();
      Guard(exception, [&]() { callbacks[i].EndOptimization(result); });
    }
    if (exception)
      std::rethrow_exception(exception);
    PrintAdvice(report);
    return ElemType(report.objective);
  }

 private:
  template<typename RuleType>
  static std::true_type IsSynchronous(const Synchronous<RuleType>*);
  static std::false_type IsSynchronous(...);
  static constexpr bool synchronous = decltype(IsSynchronous(
      static_cast<AlgorithmType*>(nullptr)))::value;

  //! The simulation of all ranks.
  template<typename ElemType, typename ProblemType>
  static auto Make(const RunSettings& run,
                   const typename AlgorithmType::Options& options,
                   const SimMachine& machine,
                   const std::vector<ElemType*>& iterates,
                   const size_t elements,
                   const std::vector<ProblemType*>& problems)
  {
    using RuleType = typename AlgorithmType::Rule;
    const size_t ranks = problems.size();
    if constexpr (synchronous)
    {
      using WorkerType = RoundWorker<ElemType, ProblemType>;
      std::vector<std::unique_ptr<WorkerType>> workers;
      for (size_t i = 0; i < ranks; ++i)
      {
        workers.push_back(std::make_unique<WorkerType>(RuleType::averaged,
            RuleType::Period(options), ranks, i, elements, *problems[i]));
      }
      return RoundSimulation<ElemType, ProblemType>(std::move(workers),
          elements, machine);
    }
    else
    {
      using WorkerType = typename decltype(RuleType::Make(
          std::declval<const Routes&>(), run, options, iterates[0], elements,
          *problems[0]))::element_type;
      return Simulation<ElemType, ProblemType, WorkerType>(
          AlgorithmType::Links(run.topology, options, ranks), ranks, machine,
          [&](const Routes& routes)
          {
            const size_t rank = routes.Rank();
            return RuleType::Make(routes, run, options, iterates[rank],
                elements, *problems[rank]);
          });
    }
  }

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
      if (data == Data::Replicated && points[i] != points[0])
      {
        return "rank " + std::to_string(i) + " has " +
            std::to_string(points[i]) + " points, but rank 0 has " +
            std::to_string(points[0]) + "; give each the same points, or set "
            "Data() = dasgd::Data::Sharded.";
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
        !sound(machine.applySeconds) || !sound(machine.stallSeconds) ||
        !(machine.rankBytesPerSecond > 0))
    {
      return "computeSpread must be from 0 to 1, applySeconds and "
          "stallSeconds at least 0, and rankBytesPerSecond above 0.";
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
    const SimMachine& machine,
    std::vector<CallbackType>& callbacks)
{
  return SimulatedTraining<typename OptimizerType::Algorithm>::Run(optimizer,
      optimizer, functions, iterate, machine, callbacks);
}

//! The same without callbacks.
template<typename OptimizerType,
         typename SeparableFunctionType,
         typename MatType>
typename MatType::elem_type Simulate(
    OptimizerType& optimizer,
    std::vector<SeparableFunctionType>& functions,
    MatType& iterate,
    const SimMachine& machine)
{
  struct NoCallback { };
  std::vector<NoCallback> callbacks(functions.size());
  return Simulate(optimizer, functions, iterate, machine, callbacks);
}

} // namespace dasgd

#endif
