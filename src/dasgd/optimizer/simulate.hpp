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
 * The workings of Simulate(): the phases of Optimize() for all ranks at once.
 *
 * @tparam TypesType See TrainingTypes.
 */
template<typename TypesType>
class SimulatedTraining
{
 public:
  using AlgorithmType = typename TypesType::AlgorithmType;
  using OptimizerType = typename TypesType::OptimizerType;
  using SettingsType = typename TypesType::SettingsType;
  using FunctionType = typename TypesType::FunctionType;
  using MatType = typename TypesType::MatType;
  using ElemType = typename TypesType::ElemType;
  using ProblemType = typename TypesType::ProblemType;

  SimulatedTraining(OptimizerType& optimizer,
                    SettingsType& settings,
                    MatType& iterate,
                    const SimMachine& machineIn) :
      optimizer(optimizer),
      settings(settings),
      options(optimizer),
      iterate(iterate),
      machine(machineIn)
  {
    machine.window = settings.Window();
    machine.format = settings.WireFormat();
  }

  template<typename SeparableFunctionType, typename CallbackType>
  ElemType Optimize(std::vector<SeparableFunctionType>& functionsIn,
                    std::vector<CallbackType>& callbacksIn)
  {
    for (SeparableFunctionType& function : functionsIn)
      functions.push_back(&static_cast<FunctionType&>(function));
    // 1. Handshake.
    Check(callbacksIn.size());
    // 2. Start.
    ChooseStepSize();
    Start(callbacksIn);
    // 3. to 5.: loop, facts, drain.
    RunSettings run{ settings.Topology(), machine.window };
    run.format = machine.format;
    run.seed = Seed();
    run.maxLead = settings.MaxLead();
    auto simulation = Make(run);
    if constexpr (synchronous)
      simulation.Run();
    else
    {
      if (settings.RecordHistory())
        simulation.Record();
      simulation.Run(std::numeric_limits<std::uint64_t>::max());
    }
    // 6. Agree.
    const std::vector<double> deviations = MakeModelsEqual();
    // 7. Return.
    FillReport(simulation, deviations);
    return Return(simulation);
  }

 private:
  template<typename TraitsType>
  static std::true_type IsSynchronous(const Synchronous<TraitsType>*);
  static std::false_type IsSynchronous(...);
  static constexpr bool synchronous = decltype(IsSynchronous(
      static_cast<AlgorithmType*>(nullptr)))::value;

  size_t Ranks() const { return functions.size(); }
  std::uint64_t Seed() const { return settings.Seed() ? settings.Seed() : 1; }

  void Check(const size_t callbackCount)
  {
    for (FunctionType* function : functions)
      points.push_back(function->NumFunctions());
    Refuse(settings.Complaint());
    if (!settings.CheckpointFile().empty())
    {
      Refuse("Checkpoint() has a file, but on virtual time nothing is saved; "
          "leave it empty.");
    }
    Refuse(Complaint(machine, points, callbackCount, settings.Data()));
    for (size_t i = 0; i < Ranks(); ++i)
    {
      Refuse(dasgd::Complaint<AlgorithmType>(settings, options, Ranks(), i,
          iterate.n_elem * sizeof(ElemType), points[i]));
    }
  }

  //! The largest estimate of any rank; one knows as well as all if all have the
  //! same data.
  void Estimate(const SmoothnessOptions& how)
  {
    MatType start = iterate;
    for (FunctionType* function : functions)
    {
      smoothness = std::max(smoothness, EstimateSmoothness(*function, start,
          how));
      if (settings.Data() == Data::Replicated)
        break;
    }
    smoothnessFrom = "estimated at the start";
  }

  void ChooseStepSize()
  {
    givenStep = settings.StepSize();
    automatic = settings.UsesAutoStep();
    smoothness = settings.Smoothness();
    smoothnessFrom = (smoothness > 0) ? "given" : "";
    if (automatic)
    {
      if (smoothness == 0)
        Estimate(AutoStepOptions());
      settings.StepSize() = AutoStepSize(settings, Ranks(), smoothness);
    }
    stepSize = settings.StepSize();
  }

  //! All from rank 0's starting point, as callbacks leave it.
  template<typename CallbackType>
  void Start(std::vector<CallbackType>& callbacksIn)
  {
    Division division;
    division.data = settings.Data();
    division.sharing = settings.Sharing();
    division.batchSize = settings.BatchSize();
    division.held.assign(points.begin(), points.end());
    RunLimits limits;
    limits.maxIterations = settings.MaxIterations();
    limits.tolerance = settings.Tolerance();
    limits.shuffle = settings.Shuffle();
    limits.inRounds = AlgorithmType::inRounds;

    iterates.assign(Ranks(), iterate);
    gradients.assign(Ranks(), MatType(iterate.n_rows, iterate.n_cols,
        arma::fill::zeros));
    scratch.resize(Ranks());
    for (size_t i = 0; i < Ranks(); ++i)
    {
      updates.emplace_back(forRanks.Choose(settings.UpdatePolicy(), Ranks(),
          IsDasgd<AlgorithmType>), iterate.n_rows, iterate.n_cols);
      decays.emplace_back(settings.DecayPolicy());
      callbacks.emplace_back(optimizer, *functions[i], Ranks(), i,
          callbacksIn[i]);
      ranks.emplace_back(optimizer, *functions[i], iterates[i], gradients[i],
          scratch[i], updates[i], decays[i], callbacks[i], Ranks(), i, Seed(),
          false, false); // They share one step size, so each step counts once.
      ranks[i].Begin(RunSnapshot::Start(division, Seed()), i,
          ComputingRanks<AlgorithmType>(options, Ranks()), limits);
      ranks[i].source.BeginOptimization();
    }
    for (MatType& other : iterates)
      std::copy(iterates[0].begin(), iterates[0].end(), other.begin());
  }

  //! The simulation of all ranks.
  auto Make(const RunSettings& run)
  {
    using TraitsType = typename AlgorithmType::Traits;
    if constexpr (synchronous)
    {
      using WorkerType = RoundWorker<ElemType, ProblemType>;
      std::vector<std::unique_ptr<WorkerType>> workers;
      for (size_t i = 0; i < Ranks(); ++i)
      {
        workers.push_back(std::make_unique<WorkerType>(TraitsType::averaged,
            TraitsType::Period(options), Ranks(), i, iterate.n_elem,
            *ranks[i].problem));
      }
      return RoundSimulation<ElemType, ProblemType>(std::move(workers),
          iterate.n_elem, machine);
    }
    else
    {
      const auto make = [&](const Routes& routes)
      {
        return TraitsType::template Make<ElemType>(routes, run, options,
            iterate.n_elem, *ranks[routes.Rank()].problem);
      };
      using WorkerType = typename decltype(make(
          std::declval<const Routes&>()))::element_type;
      return Simulation<ElemType, WorkerType>(AlgorithmType::Links(
          run.topology, options, Ranks()), Ranks(), machine, make);
    }
  }

  //! What differs between the two kinds of simulation.
  template<typename SimulationType>
  static auto& CountsOf(SimulationType& simulation, const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Counts();
    else
      return simulation.Worker(rank).Node().Endpoint().Counts();
  }

  template<typename SimulationType>
  static const Fact* StopOf(SimulationType& simulation, const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Stop();
    else
      return simulation.Worker(rank).Node().Endpoint().Stop();
  }

  template<typename SimulationType>
  static std::exception_ptr ExceptionOf(SimulationType& simulation,
                                        const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Exception();
    else
      return simulation.Worker(rank).Node().Exception();
  }

  //! Where the algorithm leaves models different, make them equal; returns how
  //! far each was off.
  std::vector<double> MakeModelsEqual()
  {
    std::vector<double> deviations(Ranks(), 0);
    result = iterates[0];
    if constexpr (AlgorithmType::averages)
    {
      for (size_t i = 1; i < Ranks(); ++i)
        result += iterates[i];
      result /= ElemType(Ranks());
    }
    if constexpr (AlgorithmType::serves)
      result = iterates[options.ServerRank()];
    for (size_t i = 0; i < Ranks() && !AlgorithmType::serves; ++i)
      deviations[i] = double(arma::abs(iterates[i] - result).max());
    return deviations;
  }

  template<typename SimulationType>
  void FillReport(SimulationType& simulation,
                  const std::vector<double>& deviations)
  {
    Report& report = settings.report;
    report = dasgd::Describe<AlgorithmType>(settings, options,
        settings.Topology(), Ranks(), iterate.n_elem, sizeof(ElemType),
        ranks[0].state->EpochPoints());
    report.seconds = simulation.Seconds();
    report.stepSize = stepSize;
    report.autoStep = automatic;
    if (report.outsideTheorem.empty() && settings.StepSize() != stepSize)
      report.outsideTheorem = StepChanged();
    settings.StepSize() = givenStep;
    std::vector<const Fact*> stops;
    for (size_t i = 0; i < Ranks(); ++i)
    {
      RankReport counts = CountsOf(simulation, i);
      if constexpr (!synchronous)
        counts.peakVectors = simulation.PeakVectors(i);
      counts.deviation = deviations[i];
      report.ranks.push_back(counts);
      stops.push_back(StopOf(simulation, i));
    }
    const Fact* stop = Strongest(stops);
    if (stop)
    {
      PutStop(*stop, report);
      if constexpr (synchronous)
        report.stopText = simulation.Worker(stop->origin).Text();
    }
    if (report.reason == StopReason::NonFinite && TypesType::vanilla &&
        smoothness == 0)
    {
      try
      {
        Estimate(AdviceOptions());
      }
      catch (const std::exception&)
      {
        // Then there is no advice.
      }
    }
    report.smoothness = smoothness;
    report.smoothnessFrom = smoothnessFrom;
    report.objective = double(ranks[0].state->Objective(stop != nullptr,
        stop ? *stop : Fact(), ensmallen::keepsLastObjective));
    settings.history.clear();
    if constexpr (!synchronous)
      settings.history = simulation.History();
    if (!settings.history.empty())
      PutStaleness(HistoryStaleness(settings.history).Ranks(), report);
  }

  template<typename SimulationType>
  ElemType Return(SimulationType& simulation)
  {
    std::copy(result.begin(), result.end(), iterate.begin());
    std::exception_ptr exception;
    for (size_t i = 0; i < Ranks(); ++i)
    {
      if (!exception)
        exception = ExceptionOf(simulation, i);
      Guard(exception, [&]() { callbacks[i].EndOptimization(result); });
    }
    if (exception)
      std::rethrow_exception(exception);
    PrintAdvice(settings.report);
    return ElemType(settings.report.objective);
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

  OptimizerType& optimizer;
  SettingsType& settings;
  typename AlgorithmType::Options options;
  MatType& iterate;
  SimMachine machine;
  std::vector<FunctionType*> functions;
  std::vector<size_t> points;

  double givenStep = 0;
  double stepSize = 0;
  bool automatic = false;
  double smoothness = 0;
  std::string smoothnessFrom;

  std::vector<MatType> iterates;
  std::vector<MatType> gradients;
  std::vector<MatType> scratch;
  PolicyForRanks<typename TypesType::UpdatePolicyType> forRanks;
  std::deque<typename TypesType::UpdateType> updates;
  std::deque<typename TypesType::DecayType> decays;
  std::deque<typename TypesType::CallbacksType> callbacks;
  std::deque<RankTraining<TypesType>> ranks;
  MatType result;
};

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
    const SimMachine& machine,
    std::vector<CallbackType>& callbacks)
{
  using TypesType = TrainingTypes<typename OptimizerType::Algorithm,
      OptimizerType, UpdatePolicyType, DecayPolicyType, SeparableFunctionType,
      IterateType, IterateType, CallbackType>;
  TypesType::Check();
  SimulatedTraining<TypesType> training(optimizer, settings,
      static_cast<typename TypesType::MatType&>(iterate), machine);
  return training.Optimize(functions, callbacks);
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
    const SimMachine& machine,
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
    const SimMachine& machine)
{
  struct NoCallback { };
  std::vector<NoCallback> callbacks(functions.size());
  return Simulate(optimizer, functions, iterate, machine, callbacks);
}

} // namespace dasgd

#endif
