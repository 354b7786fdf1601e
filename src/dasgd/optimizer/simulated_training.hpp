/**
 * @file simulated_training.hpp
 *
 * The phases of Optimize(), on virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_SIMULATED_TRAINING_HPP
#define DASGD_OPTIMIZER_SIMULATED_TRAINING_HPP

#include "../algorithms/synchronous.hpp"
#include "../simulation/board_simulation.hpp"
#include "../simulation/round_simulation.hpp"
#include "../simulation/simulation.hpp"
#include "dasgd.hpp"
#include "baseline.hpp"
#include "simulate_check.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

namespace dasgd {

/**
 * The workings of Simulate(): the phases of Optimize() for all ranks at once.
 *
 * @tparam AlgorithmType What is run; see Asynchronous and Synchronous.
 */
template<typename AlgorithmType, typename ElemType>
class SimulatedTraining
{
 public:
  /**
   * @param settings The attributes of the user's optimizer.
   * @param options Those that only this algorithm has.
   * @param sources Of all ranks.
   * @param machineIn What they run on.
   */
  SimulatedTraining(CommonSettings& settings,
                    const typename AlgorithmType::Options& options,
                    const std::vector<TrainingSource<ElemType>*>& sources,
                    const SimCluster& machineIn) :
      settings(settings),
      options(options),
      machine(machineIn),
      sources(sources),
      steps(sources[0]->Steps()),
      elements(sources[0]->Elements())
  {
    machine.format = settings.WireFormat();
  }

  //! @param result The model that all end with.
  ElemType Optimize(ElemType* result)
  {
    // 1. Handshake.
    Check();
    // 2. Start.
    ChooseStepSize();
    Start();
    // 3. to 5.: loop, facts, drain.
    overlap = ChooseOverlap<AlgorithmType>(settings, placement,
        elements * sizeof(ElemType), false, true);
    RunSettings run = ChooseRun<AlgorithmType>(settings, steps, placement,
        step.automatic, overlap.used, overlap.used);
    run.seed = Seed();
    machine.window = run.window;
    damping = run.damping;
    if constexpr (IsDasgd<AlgorithmType>)
    {
      if (run.board)
        return Finish(MakeBoard(run, BoardLinks(placement.machines)), result);
      if (run.overlap)
      {
        return Finish(MakeBoard(run, BoardLinks::Own(Ranks(), run.topology)),
            result);
      }
    }
    return Finish(Make(run), result);
  }

 private:
  template<typename TraitsType>
  static std::true_type IsSynchronous(const Synchronous<TraitsType>*);
  static std::false_type IsSynchronous(...);
  static constexpr bool synchronous = decltype(IsSynchronous(
      static_cast<AlgorithmType*>(nullptr)))::value;

  //! Run, and say how it was.
  template<typename SimulationType>
  ElemType Finish(SimulationType simulation, ElemType* result)
  {
    if constexpr (synchronous)
      simulation.Run();
    else
    {
      if constexpr (!OnBoard<SimulationType>)
      {
        if (settings.RecordHistory())
          simulation.Record();
      }
      simulation.Run(std::numeric_limits<std::uint64_t>::max());
    }
    // 6. Agree.
    const std::vector<double> deviations = MakeModelsEqual(result);
    // 7. Return.
    FillReport(simulation, deviations);
    return Return(simulation);
  }

  template<typename SimulationType>
  static constexpr bool OnBoard = std::is_same<SimulationType,
      BoardSimulation<ElemType>>::value;

  size_t Ranks() const { return sources.size(); }
  std::uint64_t Seed() const { return settings.Seed() ? settings.Seed() : 1; }

  void Check()
  {
    if (!settings.CheckpointFile().empty())
    {
      simulate::Refuse("Checkpoint() has a file, but on virtual time nothing "
          "is saved; leave it empty.");
    }
    placement.machines = machine.Machines(Ranks());
    placement.topology = ChosenTopology<AlgorithmType>(settings).On(
        placement.machines);
    placement.board = placement.SharesBoard<AlgorithmType>(settings);
    for (size_t i = 0; i < Ranks(); ++i)
    {
      points.push_back(sources[i]->PointsHeld());
      simulate::Refuse(Validate<AlgorithmType>(settings, steps, options,
          placement.topology, Ranks(), i, elements * sizeof(ElemType),
          points[i]));
    }
  }

  //! The largest estimate of any rank; one knows as well as all if all have the
  //! same data.
  void Estimate(const SmoothnessOptions& how)
  {
    for (TrainingSource<ElemType>* source : sources)
    {
      step.Estimated(std::max(step.smoothness,
          source->EstimateSmoothness(how)));
      if (settings.Data() == Data::Replicated)
        break;
    }
  }

  void ChooseStepSize()
  {
    step = StepChoice(settings);
    if (!step.automatic)
      return;
    if (step.smoothness == 0)
      Estimate(AutoStepOptions());
    settings.StepSize() = step.size = AutoStepSize(placement.Exchange(),
        Ranks(), step.smoothness, steps.Scale(settings.BatchSize()));
  }

  //! All from rank 0's starting point, as callbacks leave it.
  void Start()
  {
    Division division;
    division.data = settings.Data();
    division.sharing = settings.Sharing();
    division.batchSize = settings.BatchSize();
    division.held.assign(points.begin(), points.end());
    begin.assign(sources[0]->Iterate(), sources[0]->Iterate() + elements);
    for (size_t i = 0; i < Ranks(); ++i)
    {
      TrainingSource<ElemType>& source = *sources[i];
      source.Prepare(Ranks());
      // Each step counts once for the decay policy, which they share.
      source.SetOrder(Seed(), false, false);
      ranks.emplace_back(source);
      ranks[i].Begin(RunSnapshot::Start(division, Seed()), i,
          ComputingRanks<AlgorithmType>(options, Ranks()),
          Limits<AlgorithmType>(settings));
      source.BeginOptimization();
    }
    const std::vector<ElemType> first(sources[0]->Iterate(),
        sources[0]->Iterate() + elements);
    SetModels(first.data());
  }

  //! All ranks have this model.
  void SetModels(const ElemType* model)
  {
    for (TrainingSource<ElemType>* source : sources)
      std::copy(model, model + elements, source->Iterate());
  }

  //! The simulation of all ranks.
  auto Make(const RunSettings& run)
  {
    using TraitsType = typename AlgorithmType::Traits;
    if constexpr (synchronous)
    {
      using WorkerType = RoundWorker<ElemType>;
      std::vector<std::unique_ptr<WorkerType>> workers;
      for (size_t i = 0; i < Ranks(); ++i)
      {
        workers.push_back(std::make_unique<WorkerType>(TraitsType::averaged,
            TraitsType::Period(options), TraitsType::Outer(options), Ranks(), i,
            elements, *ranks[i].task));
      }
      return RoundSimulation<ElemType>(std::move(workers), elements, machine);
    }
    else
    {
      const auto make = [&](const Routes& routes)
      {
        return TraitsType::template Make<ElemType>(routes, run, options,
            elements, *ranks[routes.Rank()].task);
      };
      using WorkerType = typename decltype(make(
          std::declval<const Routes&>()))::element_type;
      return Simulation<ElemType, WorkerType>(AlgorithmType::Links(
          run.topology, options, Ranks()), Ranks(), machine, make);
    }
  }

  //! The simulation of ranks with boards.
  BoardSimulation<ElemType> MakeBoard(const RunSettings& run,
                                      const BoardLinks& links)
  {
    const BoardSize size = machine.vectorBytes ? BoardAsLongAs(elements +
        machine.vectorBytes / sizeof(ElemType), elements, Ranks()) :
        BoardSize::Of(elements, Ranks());
    return BoardSimulation<ElemType>(size, machine,
        sources[0]->Iterate(), [&](Board<ElemType>& memory, const size_t rank)
    {
      return std::make_unique<BoardWorker<ElemType>>(memory,
          *ranks[rank].task, StalenessResponse(run.damping, run.lookAhead,
          Ranks()));
    }, links, run.overlap);
  }

  //! What differs between the kinds of simulation.
  template<typename SimulationType>
  static auto& CountsOf(SimulationType& simulation, const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Counts();
    else
      return simulation.Worker(rank).Participant().Counts();
  }

  template<typename SimulationType>
  static const Fact* StopOf(SimulationType& simulation, const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Stop();
    else if constexpr (OnBoard<SimulationType>)
      return simulation.Worker(rank).Participant().Stop();
    else
      return simulation.Worker(rank).Participant().Endpoint().Stop();
  }

  template<typename SimulationType>
  static std::exception_ptr ExceptionOf(SimulationType& simulation,
                                        const size_t rank)
  {
    if constexpr (synchronous)
      return simulation.Worker(rank).Exception();
    else
      return simulation.Worker(rank).Participant().Exception();
  }

  //! Where the algorithm leaves models different, make them equal; returns how
  //! far each was off.
  std::vector<double> MakeModelsEqual(ElemType* result)
  {
    size_t from = 0;
    if constexpr (AlgorithmType::serves)
      from = options.ServerRank();
    std::copy(sources[from]->Iterate(), sources[from]->Iterate() + elements,
        result);
    if constexpr (AlgorithmType::averages)
    {
      for (size_t i = 1; i < Ranks(); ++i)
        Add(result, sources[i]->Iterate(), elements);
      for (size_t k = 0; k < elements; ++k)
        result[k] /= ElemType(Ranks());
    }
    std::vector<double> deviations(Ranks(), 0);
    for (size_t i = 0; i < Ranks(); ++i)
    {
      const ElemType* const iterate = sources[i]->Iterate();
      for (size_t k = 0; k < elements && !AlgorithmType::serves; ++k)
      {
        deviations[i] = std::max(deviations[i],
            std::abs(double(iterate[k] - result[k])));
      }
    }
    SetModels(result);
    return deviations;
  }

  template<typename SimulationType>
  void FillReport(SimulationType& simulation,
                  const std::vector<double>& deviations)
  {
    Report& report = settings.report;
    report = dasgd::Describe<AlgorithmType>(settings, steps, options, placement,
        placement.Boards(), step, elements, sizeof(ElemType),
        ranks[0].state->EpochPoints());
    report.overlap = overlap;
    report.damping = damping;
    report.seconds = simulation.Seconds();
    if (report.outsideTheorem.empty() && settings.StepSize() != step.size)
      report.outsideTheorem = StepChanged();
    settings.StepSize() = step.given;
    std::vector<const Fact*> stops;
    for (size_t i = 0; i < Ranks(); ++i)
    {
      RankReport counts = CountsOf(simulation, i);
      if constexpr (OnBoard<SimulationType>)
        counts = simulation.Counts(i);
      else if constexpr (!synchronous)
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
    NoteShorterSteps(report);
    if (report.reason == StopReason::NonFinite && steps.Vanilla() &&
        step.smoothness == 0)
    {
      EstimateAtStart();
      report.smoothness = step.smoothness;
      report.smoothnessFrom = step.smoothnessFrom;
    }
    report.objective = double(ranks[0].state->Objective(stop != nullptr,
        stop ? *stop : Fact(), steps.keepsLastObjective));
    settings.history.clear();
    if constexpr (!synchronous && !OnBoard<SimulationType>)
      settings.history = simulation.History();
    if (!settings.history.empty())
      PutStaleness(HistoryStaleness(settings.history).Ranks(), report);
  }

  //! The smoothness where the run began; if that fails, there is no advice.
  void EstimateAtStart()
  {
    const std::vector<ElemType> end(sources[0]->Iterate(),
        sources[0]->Iterate() + elements);
    SetModels(begin.data());
    std::exception_ptr ignored;
    Guard(ignored, [&]() { Estimate(AdviceOptions()); });
    SetModels(end.data());
  }

  template<typename SimulationType>
  ElemType Return(SimulationType& simulation)
  {
    std::exception_ptr exception;
    for (size_t i = 0; i < Ranks(); ++i)
    {
      if (!exception)
        exception = ExceptionOf(simulation, i);
      Guard(exception, [&]() { sources[i]->EndOptimization(); });
    }
    if (exception)
      std::rethrow_exception(exception);
    PrintAdvice(settings.report);
    return ElemType(settings.report.objective);
  }

  CommonSettings& settings;
  const typename AlgorithmType::Options options;
  SimCluster machine;
  Placement placement;
  const std::vector<TrainingSource<ElemType>*> sources;
  const StepDescription steps;
  const size_t elements;
  std::vector<size_t> points;

  StepChoice step;
  OverlapChoice overlap;
  //! See ChooseResponse().
  double damping = 0;
  //! Where the run began.
  std::vector<ElemType> begin;
  std::deque<RankTraining<ElemType>> ranks;
};

} // namespace dasgd

#endif
