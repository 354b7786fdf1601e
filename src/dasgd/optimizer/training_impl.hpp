/**
 * @file training_impl.hpp
 *
 * Implementation of the life of Optimize().
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_TRAINING_IMPL_HPP
#define DASGD_OPTIMIZER_TRAINING_IMPL_HPP

// In case it hasn't been included yet.
#include "training.hpp"

namespace dasgd {

template<typename AlgorithmType>
template<typename OptimizerType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename MatType,
         typename GradType,
         typename... CallbackTypes>
typename MatType::elem_type Training<AlgorithmType>::Optimize(
    OptimizerType& optimizer,
    Settings<UpdatePolicyType, DecayPolicyType>& settings,
    SeparableFunctionType& functionIn,
    MatType& iterateIn,
    CallbackTypes&... callbacksIn)
{
  MpiCommunicator comm(settings.communicator);
  const mpi::UnderWay underWay;
  const RestoredTopology restored{ comm, settings.topology,
      settings.topology };
  return comm.Whole([&]()
  {
    return Train<OptimizerType, UpdatePolicyType, DecayPolicyType,
        SeparableFunctionType, MatType, GradType>(comm, optimizer, settings,
        functionIn, iterateIn, callbacksIn...);
  });
}

template<typename AlgorithmType>
template<typename OptimizerType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename SeparableFunctionType,
         typename MatType,
         typename GradType,
         typename... CallbackTypes>
typename MatType::elem_type Training<AlgorithmType>::Train(
    MpiCommunicator& comm,
    OptimizerType& optimizer,
    Settings<UpdatePolicyType, DecayPolicyType>& settings,
    SeparableFunctionType& functionIn,
    MatType& iterateIn,
    CallbackTypes&... callbacksIn)
{
  using ElemType = typename MatType::elem_type;
  using BaseMatType = typename ens::MatTypeTraits<MatType>::BaseMatType;
  using BaseGradType = typename ens::MatTypeTraits<GradType>::BaseMatType;
  static_assert(std::is_same<BaseMatType, arma::Mat<ElemType>>::value &&
                std::is_same<BaseGradType, BaseMatType>::value,
      "dasgd: the iterate must be a dense arma::mat or arma::fmat (or a vector "
      "of either), and the gradient of the same type; call Optimize(function, "
      "iterate) without naming another gradient type.");
  using FunctionType = ens::Function<SeparableFunctionType, BaseMatType,
      BaseGradType>;
  using UpdateType = typename UpdatePolicyType::template Policy<BaseMatType,
      BaseGradType>;
  using DecayType = typename DecayPolicyType::template Policy<BaseMatType,
      BaseGradType>;
  using CallbacksType = Callbacks<OptimizerType, FunctionType,
      CallbackTypes...>;
  constexpr bool vanilla =
      std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value &&
      std::is_same<DecayPolicyType, ens::NoDecay>::value;

  static_assert(ensmallen::StepsAreDifferences<UpdatePolicyType>::value,
      "dasgd: this update policy (ens::FTMLUpdate) sets the iterate anew in "
      "every step instead of changing it, which would undo the steps of other "
      "ranks; use another one, such as ens::AdamUpdate.");
  // The same checks as in ens::SGD.
  ens::traits::CheckSeparableFunctionTypeAPI<FunctionType, BaseMatType,
      BaseGradType>();
  ens::RequireFloatingPointType<BaseMatType>();
  ens::RequireFloatingPointType<BaseGradType>();
  ens::RequireSameInternalTypes<BaseMatType, BaseGradType>();

  FunctionType& function = static_cast<FunctionType&>(functionIn);
  // In place: a network reads its parameters from this very memory.
  BaseMatType& iterate = static_cast<BaseMatType&>(iterateIn);

  // Handshake.
  FitTopology(comm, settings.topology);
  const size_t firstRank = comm.Rank();
  const size_t firstRanks = comm.Size();
  const auto start = std::chrono::steady_clock::now();
  // Alone ens::SGD's shuffles are part of the program's random numbers.
  const KeepRandomNumbers keep(comm.Size() > 1 ||
      (settings.seed != 0 && settings.shuffle));
  size_t held = 0;
  BaseMatType gradient, scratch, begin;
  std::vector<std::uint8_t> stored;
  Fingerprint fingerprint;
  std::unique_ptr<CheckpointLock> lock;
  std::optional<SettingsCopy<UpdatePolicyType, DecayPolicyType>> copy;
  std::exception_ptr unready;
  Guard(unready, [&]()
  {
    // What may fail on one rank alone is done before all agree to begin.
    held = function.NumFunctions();
    dasgd::History last; // It may be large.
    last.swap(settings.history);
    copy.emplace(settings);
    last.swap(settings.history);
    gradient.zeros(iterate.n_rows, iterate.n_cols);
    if (!vanilla && comm.Size() > 1)
      scratch.set_size(iterate.n_rows, iterate.n_cols);
    settings.template Instantiate<UpdateType, DecayType>(iterate.n_rows,
        iterate.n_cols);
    // To say what was wrong if the run diverges; large models do without.
    if (vanilla && settings.smoothness == 0 && comm.Rank() == 0 &&
        settings.stepSize != AutoStep && iterate.n_elem <= (size_t(1) << 22))
      begin = iterate;
    if (resumable && comm.Rank() == 0 && !settings.checkpointFile.empty())
    {
      fingerprint = TakeFingerprint(function, iterate, settings.batchSize);
      lock = std::make_unique<CheckpointLock>(settings.checkpointFile);
      Checkpoint about;
      AddTags(settings, about);
      stored = FindCheckpoint(settings, about, iterate.n_rows, iterate.n_cols,
          sizeof(ElemType), held, fingerprint);
    }
  });
  const typename AlgorithmType::Options options = optimizer;
  Agreed agreed = ShakeHands(comm, settings, options, iterate.n_rows,
      iterate.n_cols, held, ExceptionText(unready), ElemType());
  // Callbacks get to see the optimizer and may change it; all ranks go by what
  // they agreed on, except for StepSize().
  const Settings<UpdatePolicyType, DecayPolicyType>& fixed = *copy;
  const size_t maxIterations = fixed.maxIterations;

  // Where it begins: at the start, or where a checkpoint is.
  if constexpr (resumable)
  {
    ShareCheckpoint(comm, stored);
    comm.Broadcast(&fingerprint, sizeof(fingerprint));
  }
  const bool resumes = !stored.empty();
  const Checkpoint from = resumes ? checkpoint::Decode(stored) : Checkpoint();
  Checkpoint origin = Origin(settings, agreed, iterate.n_rows,
      iterate.n_cols, sizeof(ElemType), resumes ? &from : nullptr);
  if (!origin.fingerprint.known)
    origin.fingerprint = fingerprint;
  AddTags(settings, origin);
  agreed.seed = origin.seed;
  Work work = Divide(settings, options, agreed.points, comm.Rank(), origin);
  const size_t ranksHere = (comm.Size() > 1) ? comm.RanksHere() : 1;
  const BlasThreads threads(ranksHere);

  // Start: all from the same point.
  if (resumes)
    std::memcpy(iterate.memptr(), from.vectors[0], size_t(from.VectorBytes()));
  else if (comm.Size() > 1)
    comm.Broadcast(iterate.memptr(), iterate.n_elem * sizeof(ElemType));
  if (comm.Size() > 1 && settings.data == Data::Replicated)
    CompareData(comm, TakeFingerprint(function, iterate, settings.batchSize));

  const double givenStep = settings.stepSize;
  double smoothness = settings.smoothness;
  std::string smoothnessFrom = (smoothness > 0) ? "given" : "";
  settings.stepSize = origin.stepSize;
  if (givenStep == AutoStep && origin.smoothness > 0)
  {
    smoothness = origin.smoothness;
    smoothnessFrom = "estimated at the start";
    if (from.held.size() != comm.Size())
      settings.stepSize = AutoStepSize(settings, comm.Size(), smoothness);
  }
  if (settings.stepSize == AutoStep)
  {
    if (smoothness == 0)
      smoothnessFrom = "estimated at the start";
    smoothness = ChooseStep(comm, std::string(AlgorithmType::Name()) +
        "::Optimize(), AutoStep", settings, function, iterate);
  }
  const double stepSize = settings.stepSize;

  CallbacksType callbacks(optimizer, function, comm.Size(), callbacksIn...);
  SeparableProblem<OptimizerType, FunctionType, BaseMatType, UpdateType,
      DecayType, vanilla, CallbacksType> problem(AlgorithmType::Name(),
      optimizer, function, iterate, gradient, scratch,
      settings.state.update.template As<UpdateType>(),
      settings.state.decay.template As<DecayType>(), callbacks, work,
      comm.Size(), comm.Rank(), agreed.seed, settings.seed != 0);

  const auto leaveOut = [&]()
  {
    for (size_t i = 0; i < comm.Size(); ++i)
      if (!Computes(fixed, options, agreed.points, i))
        problem.Absent(i);
  };
  leaveOut();
  if constexpr (AlgorithmType::inRounds)
    problem.InRounds();

  if (resumes)
  {
    problem.Restore(from, origin.progress);
    problem.RestorePolicy(from);
    stored = std::vector<std::uint8_t>(); // Its vectors have been copied.
    // Said aloud: it must not surprise anybody.
    if (comm.Rank() == 0)
    {
      const bool converged = from.finished &&
          from.reason == StopReason::Tolerance;
      // In one piece, so that what callbacks print next does not get into it.
      std::ostringstream line;
      const bool complete = converged || (maxIterations != 0 &&
          from.points >= maxIterations);
      line << AlgorithmType::Name() << ": resuming from checkpoint "
          << settings.checkpointFile << " after " << from.points << " points";
      if (complete)
      {
        line << "; training is already complete" << (converged ?
            " (within its tolerance); use " : "; raise " +
            settings.messages.maxIterations + ", or use ")
            << settings.messages.restart << " to start over";
      }
      std::cerr << line.str() + ".\n" << std::flush;
    }
  }
  const RankReport nothing;
  settings.state.live = &nothing;
  problem.BeginOptimization();
  settings.state.live = nullptr;
  if (comm.Size() > 1 && sizeof...(CallbackTypes) > 0)
    comm.Broadcast(iterate.memptr(), iterate.n_elem * sizeof(ElemType));
  if (!begin.empty())
    begin = iterate;

  std::unique_ptr<CheckpointWriter> writer;
  // Rank 0 keeps the checkpoints alone: what fails there must not end it, since
  // the other ranks would wait for it.
  std::string checkpointProblem;
  const auto attempt = [&](auto&& action)
  {
    std::exception_ptr failure;
    Guard(failure, action);
    if (failure)
    {
      checkpointProblem = ExceptionText(failure);
      problem.Warn(checkpointProblem);
    }
  };
  dasgd::Topology topology = fixed.topology;
  dasgd::Report& report = settings.report;
  Outcome outcome;
  ElemType objective = 0;
  Losses losses;
  bool told = false;

  // From here to the report; over again if a rank dies and others can go on.
  const auto live = [&]()
  {
    Checkpoint about = origin;
    about.smoothness = smoothness;
    problem.StartFrom(about, settings.state.live);
    if (resumable && !writer && comm.Rank() == 0 &&
        !fixed.checkpointFile.empty())
    {
      attempt([&]()
      {
        // Whoever had it before may have died.
        if (!lock)
          lock = std::make_unique<CheckpointLock>(fixed.checkpointFile);
        writer = std::make_unique<CheckpointWriter>(fixed.checkpointFile,
            fixed.checkpointEvery);
        problem.SaveTo(*writer);
        problem.Warn(writer->Warning());
      });
    }

    // The algorithm: returns on all ranks, whatever happened.
    RankHistory log(comm.Size());
    RunSettings runSettings{ topology, fixed.window,
        fixed.recordHistory ? &log : nullptr, fixed.format,
        &settings.state.live, ranksHere > Cores(), fixed.sharedMemory,
        agreed.seed, origin.staleness };
    runSettings.maxLead = fixed.maxLead;
    outcome = AlgorithmType::Run(comm, runSettings, options, iterate.memptr(),
        iterate.n_elem, problem);
    // A rank may die yet, before all have the same.
    problem.Interrupted(outcome.counts, outcome.exception);
    AgreeOnStop(comm, outcome);
    bool stepChanged = false;
    const std::vector<double> steps = comm.Gather(settings.stepSize);
    for (const double other : steps)
      stepChanged = stepChanged || other != stepSize;
    // As with ens::SGD, the next Optimize() begins with the step that decay or
    // a callback has left; ranks may have decayed it differently often.
    settings.stepSize = steps.front();
    // Agree.
    outcome.counts.deviation = std::max(outcome.counts.deviation,
        CopyFromRoot(comm, iterate.memptr(), iterate.n_elem));
    objective = problem.Objective(outcome.stopped, outcome.stop);
    const bool failed = outcome.stopped &&
        (outcome.stop.reason == StopReason::Error ||
         outcome.stop.reason == StopReason::NonFinite);
    if (writer)
    {
      // After an exception of this rank's own, it has not kept account of what
      // came later.
      const bool ended = !failed && !outcome.exception;
      attempt([&]()
      {
        if (ended)
          problem.Save(&outcome);
        writer->Await();
        problem.Warn(writer->Warning());
        const std::string path = FullPath(fixed.checkpointFile);
        if (ended)
          FinishedCheckpoints().insert(path);
        else if (writer->Written() > 0)
          FinishedCheckpoints().erase(path);
      });
    }
    if (fixed.data == Data::Replicated && comm.Size() > 1)
    {
      // Ranks may have shuffled differently often; after this their data is in
      // one order again, for the objective and for the next training.
      std::uint64_t shuffles = 0;
      for (const std::uint64_t other : comm.Gather(problem.Shuffles()))
        shuffles = std::max(shuffles, other);
      Guard(outcome.exception, [&]() { problem.ShuffleTo(shuffles); });
    }
    if (fixed.exactObjective && !failed)
    {
      ElemType part = 0;
      Guard(outcome.exception, [&]() { part = problem.ExactPart(); });
      objective = 0;
      for (const double other : comm.Gather(double(part)))
        objective += ElemType(other);
    }
    else if (comm.Size() > 1)
    {
      // With dynamic sharing ranks may see the last epoch differently.
      comm.Broadcast(&objective, sizeof(objective));
    }
    Guard(outcome.exception, [&]()
    {
      if (!std::exchange(told, true))
        callbacks.EndOptimization(iterate);
    });
    // Callbacks may have changed the result.
    if (comm.Size() > 1 && sizeof...(CallbackTypes) > 0)
      comm.Broadcast(problem.Iterate(), iterate.n_elem * sizeof(ElemType));

    // The report, the same everywhere; and what may have been thrown late.
    report = Describe(fixed, options, topology, comm.Size(), iterate.n_elem,
        sizeof(ElemType), work.EpochPoints());
    report.maxIterations = maxIterations;
    report.threads = BlasThreads::InUse();
    report.objective = double(objective);
    report.stepSize = stepSize;
    report.autoStep = (givenStep == AutoStep);
    if (report.outsideTheorem.empty() && stepChanged)
      report.outsideTheorem = StepChanged();
    report.smoothness = smoothness;
    report.smoothnessFrom = smoothnessFrom;
    // Only into the report: if a rank dies in it, some have the estimate and
    // others do not, and all must decide alike when they go on.
    if (vanilla && smoothness == 0 && outcome.stopped &&
        outcome.stop.reason == StopReason::NonFinite)
    {
      report.smoothness = SmoothnessAt(comm, function, iterate, begin);
      if (report.smoothness > 0)
        report.smoothnessFrom = "estimated at the start";
    }
    report.resumed = resumes;
    report.resumes = origin.resumes;
    report.ranksBefore = from.held.size();
    report.lost = losses.ranks;
    report.gradientsBefore = origin.gradients;
    report.pointsBefore = origin.points;
    report.gradientsResumed = from.gradients;
    report.secondsBefore = from.seconds;
    if constexpr (resumable)
    {
      // Rank 0's choice, and its news.
      std::string news = fixed.checkpointFile + '\n' + std::to_string(
          writer ? writer->Written() : 0) + '\n' + std::to_string(
          losses.gradients) + '\n' + (writer && checkpointProblem.empty() ?
          writer->Problem() : checkpointProblem);
      std::istringstream told0(comm.Gather(news).front());
      std::getline(told0, report.checkpointFile);
      told0 >> report.checkpoints >> report.gradientsLost;
      told0.ignore();
      std::getline(told0, report.checkpointProblem);
    }

    const double seconds = std::chrono::duration<double>(
        std::chrono::steady_clock::now() - start).count();
    for (const double other : comm.Gather(seconds))
      report.seconds = std::max(report.seconds, other);
    static_assert(std::is_trivially_copyable<RankReport>::value,
        "RankReport is sent as it is.");
    const std::string counts(reinterpret_cast<const char*>(&outcome.counts),
        sizeof(outcome.counts));
    for (const std::string& other : comm.Gather(counts +
        ExceptionText(outcome.exception)))
    {
      RankReport rank;
      std::memcpy(&rank, other.data(), sizeof(rank));
      const std::string theirs = other.substr(sizeof(rank));
      if (!theirs.empty() && !(outcome.stopped &&
          outcome.stop.reason == StopReason::Error))
      {
        outcome.stopped = true;
        outcome.stop = Fact();
        outcome.stop.reason = StopReason::Error;
        outcome.stop.origin = std::uint32_t(report.ranks.size());
        outcome.stop.count = rank.computed;
        outcome.stop.text = FactText(theirs);
      }
      report.ranks.push_back(rank);
    }
    if (outcome.stopped)
    {
      report.reason = outcome.stop.reason;
      report.stopRank = outcome.stop.origin;
      report.stopStep = outcome.stop.count;
      report.stopText = outcome.stop.text;
    }

    settings.history.clear();
    if (runSettings.history)
      GatherHistory(comm, log, settings.history, report);
  };

  if constexpr (!resumable)
  {
    if (!comm.Survive(live))
      comm.Lose("during training");
  }
  else
  {
    bool settled = true;
    while (!comm.Survive([&]()
    {
      if (!settled)
      {
        const std::uint64_t shuffles = Settle(comm, fixed, problem, firstRank,
            firstRanks, iterate, agreed, origin, losses);
        FitTopology(comm, settings.topology);
        topology = settings.topology;
        work = Divide(fixed, options, agreed.points, comm.Rank(), origin);
        problem.Rejoin(origin, work, comm.Size(), comm.Rank(), shuffles);
        leaveOut();
        settled = true;
      }
      live();
    }))
    {
      comm.Shrink();
      settled = false;
    }
  }
  if (givenStep == AutoStep)
    settings.stepSize = AutoStep;

  if (outcome.exception)
    std::rethrow_exception(outcome.exception);
  if (outcome.stopped && outcome.stop.reason == StopReason::Error)
  {
    throw std::runtime_error(std::string(AlgorithmType::Name()) +
        "::Optimize(): rank " + std::to_string(outcome.stop.origin) +
        " failed at step " + std::to_string(outcome.stop.count) + ": " +
        outcome.stop.text);
  }
  if (comm.Rank() == 0 && settings.messages.advice)
    PrintAdvice(report);
  if (comm.Rank() == 0 && !outcome.stopped)
  {
    ens::Info << AlgorithmType::Name() << ": maximum iterations ("
        << maxIterations << ") reached; terminating optimization."
        << std::endl;
  }
  return objective;
}

template<typename AlgorithmType>
template<typename UpdatePolicyType, typename DecayPolicyType>
Report Training<AlgorithmType>::Describe(
    const Settings<UpdatePolicyType, DecayPolicyType>& settings,
    const typename AlgorithmType::Options& options,
    const dasgd::Topology& topology,
    const size_t ranks,
    const size_t elements,
    const size_t elementBytes,
    const size_t epochPoints)
{
  dasgd::Report report;
  report.algorithm = AlgorithmType::Name();
  report.topology = AlgorithmType::TopologyName(topology, options);
  report.finalModel = AlgorithmType::FinalModel(options);
  report.dynamicHelps = AlgorithmType::independent;
  report.measuresStaleness = AlgorithmType::stale;
  report.measuresDeviation = !AlgorithmType::serves;
  report.wireFormat = settings.WireFormat().Name();
  report.data = settings.Data();
  report.sharing = settings.Sharing();
  report.elements = elements;
  report.elementBytes = elementBytes;
  report.epochPoints = epochPoints;
  report.maxIterations = settings.MaxIterations();
  report.stepSize = settings.StepSize();
  report.stepScale = StepScale(settings.BatchSize());
  if constexpr (!covered)
  {
    report.outsideTheorem = "it covers DASGD";
    return report;
  }
  const theory::StalenessPair expected = theory::ExpectedStaleness(
      topology, ranks);
  report.expectedAverage = expected.average;
  report.expectedMax = expected.max;
  report.expectedFromPaper = expected.fromPaper;
  const bool plain = std::is_same<UpdatePolicyType, ens::VanillaUpdate>::value;
  const bool fixed = std::is_same<DecayPolicyType, ens::NoDecay>::value;
  if (!plain || !fixed)
  {
    report.outsideTheorem = "it covers plain steps of a fixed size, this run "
        "has " + (plain ? "" : TypeName<UpdatePolicyType>()) +
        (plain || fixed ? "" : " and ") +
        (fixed ? "" : TypeName<DecayPolicyType>());
  }
  return report;
}

template<typename AlgorithmType>
template<typename SettingsType>
bool Training<AlgorithmType>::Computes(
    const SettingsType& settings,
    const typename AlgorithmType::Options& options,
    const std::vector<size_t>& points,
    const size_t rank)
{
  const size_t ranks = points.size();
  size_t place = 0;
  for (size_t i = 0; i < rank; ++i)
    place += AlgorithmType::Computes(options, ranks, i);
  // With fewer points than ranks some would compute what others compute.
  return AlgorithmType::Computes(options, ranks, rank) &&
      (settings.Data() == Data::Sharded || place < points[rank]);
}

template<typename AlgorithmType>
template<typename UpdatePolicyType, typename DecayPolicyType>
Work Training<AlgorithmType>::Divide(
    const Settings<UpdatePolicyType, DecayPolicyType>& settings,
    const typename AlgorithmType::Options& options,
    const std::vector<size_t>& points,
    const size_t rank,
    const Checkpoint& origin)
{
  const size_t ranks = points.size();
  std::vector<size_t> theirs;
  size_t place = 0;
  for (size_t i = 0; i < ranks; ++i)
  {
    if (!Computes(settings, options, points, i))
      continue;
    if (i < rank)
      ++place;
    theirs.push_back(points[i]);
  }
  // A rank that computes nothing is given a place, for it has to know how long
  // an epoch is.
  return Work(theirs, std::min(place, theirs.size() - 1), settings.Data(),
      settings.Sharing(), settings.BatchSize(),
      size_t(origin.Budget(settings.MaxIterations())), origin.progress.before);
}

template<typename AlgorithmType>
template<typename SettingsType>
std::vector<std::uint8_t> Training<AlgorithmType>::FindCheckpoint(
    const SettingsType& settings,
    const Checkpoint& about,
    const size_t rows,
    const size_t cols,
    const size_t elementBytes,
    const size_t points,
    const Fingerprint& fingerprint)
{
  const std::string& path = settings.CheckpointFile();
  std::vector<std::uint8_t> bytes;
  struct stat status;
  if (!path.empty() && stat(path.c_str(), &status) == 0 &&
      !S_ISREG(status.st_mode))
  {
    throw CheckpointError("cannot keep a checkpoint in " + path + ": it is not "
        "a regular file; name another one.");
  }
  if (!path.empty() && IsForeignFile(path))
  {
    throw CheckpointError("cannot keep a checkpoint in " + path + ": it is not "
        "a checkpoint, and is not replaced; name another file, or remove it.");
  }
  if (path.empty() || settings.Restart())
    return bytes;
  if (FinishedCheckpoints().count(FullPath(path)) > 0)
  {
    std::cerr << AlgorithmType::Name() << ": the checkpoint " << path
        << " is of an earlier training of this process, and is replaced; give "
        << "each training its own file." << std::endl;
    return bytes;
  }
  try
  {
    bytes = ReadCheckpoint(path, std::uint64_t(rows) * cols * elementBytes);
    if (bytes.empty())
      return bytes;
    const Checkpoint found = checkpoint::Decode(bytes);
    const auto shape = [](const std::uint64_t rows,
                          const std::uint64_t cols,
                          const std::uint64_t bytes)
    {
      return std::to_string(rows) + " x " + std::to_string(cols) + " numbers "
          "of " + std::to_string(bytes) + " bytes";
    };
    if (found.algorithm != AlgorithmType::Name())
      throw CheckpointError("it is of " + found.algorithm);
    if (found.rows != rows || found.cols != cols ||
        found.elementBytes != elementBytes)
    {
      throw CheckpointError("it is of a model of " + shape(found.rows,
          found.cols, found.elementBytes) + ", but this one is of " +
          shape(rows, cols, elementBytes));
    }
    if (found.data == Data::Replicated && settings.Data() == Data::Replicated &&
        found.held[0] != points)
    {
      throw CheckpointError("it is of a training on " +
          std::to_string(found.held[0]) + " points, but there are " +
          std::to_string(points));
    }
    const auto [name, now, then] = about.TagDifference(found);
    if (!name.empty())
    {
      throw CheckpointError("it is of another training: " + name + " was " +
          then + ", but is " + now);
    }
    if (found.givenStep != settings.StepSize())
    {
      const auto text = [](const double step)
      { return (step == AutoStep) ? "AutoStep" : ExactText(step); };
      throw CheckpointError("it is of another training: " +
          settings.Messages().stepSize + " was " + text(found.givenStep) +
          ", but is " + text(settings.StepSize()));
    }
    const size_t place = fingerprint.Difference(found.fingerprint);
    // It is of as many points as are in a batch.
    if (found.data == settings.Data() && found.held[0] == points &&
        found.batchSize == settings.BatchSize() && place < Fingerprint::Places)
    {
      throw CheckpointError("it is of a training on other data: the objective "
          "of some points was " + Text(found.fingerprint.objectives[place]) +
          ", but is " + Text(fingerprint.objectives[place]));
    }
    return bytes;
  }
  catch (const CheckpointError& e)
  {
    throw CheckpointError("cannot resume from checkpoint " + path + ": " +
        e.what() + "; name another file, or use " +
        settings.Messages().restart + " to start over and replace it.");
  }
}

template<typename AlgorithmType>
void Training<AlgorithmType>::CompareData(const MpiCommunicator& comm,
                                          const Fingerprint& mine)
{
  std::vector<Fingerprint> all(comm.Size());
  const std::vector<std::string> texts = comm.Gather(std::string(
      reinterpret_cast<const char*>(&mine), sizeof(mine)));
  for (size_t i = 0; i < comm.Size(); ++i)
  {
    std::memcpy(&all[i], texts[i].data(), sizeof(Fingerprint));
    const size_t place = all[0].Difference(all[i]);
    if (place == Fingerprint::Places)
      continue;
    const char* const where[] = { "first", "middle", "last" };
    throw std::invalid_argument(std::string(AlgorithmType::Name()) +
        "::Optimize(): ranks 0 and " + std::to_string(i) + " hold different "
        "data: the objective of the " + where[place] + " points is " +
        Text(all[0].objectives[place]) + " and " +
        Text(all[i].objectives[place]) + "; give every rank the same data in "
        "the same order (seed random splits alike), or set Data() = "
        "dasgd::Data::Sharded if every rank has points of its own.");
  }
}

template<typename AlgorithmType>
void Training<AlgorithmType>::AgreeOnStop(const MpiCommunicator& comm,
                                          Outcome& outcome)
{
  if (comm.Size() == 1)
    return;
  struct Known
  {
    bool stopped;
    StopReason reason;
    std::uint32_t origin;
    std::uint64_t count;
    double value;
  };
  const Known mine{ outcome.stopped, outcome.stop.reason, outcome.stop.origin,
      outcome.stop.count, outcome.stop.value };
  std::vector<Fact> facts(comm.Size());
  std::vector<const Fact*> known;
  for (const std::string& text : comm.Gather(std::string(
      reinterpret_cast<const char*>(&mine), sizeof(mine)) +
      outcome.stop.text.substr(0, Fact::MaxText)))
  {
    Known their;
    std::memcpy(&their, text.data(), sizeof(their));
    Fact& fact = facts[known.size()];
    fact.kind = Fact::Kind::Stop;
    fact.reason = their.reason;
    fact.origin = their.origin;
    fact.count = their.count;
    fact.value = their.value;
    fact.text = text.substr(sizeof(their));
    known.push_back(their.stopped ? &fact : nullptr);
  }
  const Fact* const strongest = Strongest(known);
  outcome.stopped = (strongest != nullptr);
  if (strongest)
    outcome.stop = *strongest;
}

template<typename AlgorithmType>
void Training<AlgorithmType>::ShareCheckpoint(
    const MpiCommunicator& comm,
    std::vector<std::uint8_t>& bytes)
{
  if (comm.Size() == 1)
    return;
  std::uint64_t count = bytes.size();
  comm.Broadcast(&count, sizeof(count));
  if (count == 0)
    return;
  // There may be too little memory for it on one rank only.
  std::exception_ptr unready;
  Guard(unready, [&]() { bytes.resize(size_t(count)); });
  Handshake handshake;
  handshake.Problem(ExceptionText(unready));
  handshake.Agree(comm, std::string(AlgorithmType::Name()) + "::Optimize(), "
      "resuming from a checkpoint");
  comm.Broadcast(bytes.data(), bytes.size());
}

template<typename AlgorithmType>
template<typename SettingsType, typename ProblemType, typename MatType>
std::uint64_t Training<AlgorithmType>::Settle(const MpiCommunicator& comm,
                                              const SettingsType& settings,
                                              ProblemType& problem,
                                              const size_t firstRank,
                                              const size_t firstRanks,
                                              MatType& iterate,
                                              Agreed& agreed,
                                              Checkpoint& origin,
                                              Losses& losses)
{
  const std::vector<std::uint64_t> all = comm.Gather(problem.Gradients());
  const size_t best = size_t(std::max_element(all.begin(), all.end()) -
      all.begin());
  std::vector<std::uint8_t> bytes;
  if (comm.Rank() == best)
  {
    checkpoint::Encode(problem.Now(), bytes);
    checkpoint::Seal(bytes);
  }
  comm.Share(bytes, best);
  const Checkpoint from = checkpoint::Decode(bytes);

  // What it costs: gradients that somebody has applied, and this one has not.
  const VersionVector& mine = problem.Version();
  VersionVector most = from.version;
  for (const std::string& text : comm.Gather(std::string(
      reinterpret_cast<const char*>(mine.data()), 8 * mine.size())))
  {
    // Who has been interrupted while it settled has counts of before that.
    for (size_t i = 0; i < most.size() && text.size() == 8 * most.size(); ++i)
    {
      std::uint64_t count = 0;
      std::memcpy(&count, &text[8 * i], 8);
      most[i] = std::max(most[i], count);
    }
  }
  const std::vector<std::uint64_t> left = comm.Gather(
      std::uint64_t(firstRank));
  std::vector<size_t> points;
  for (const std::uint64_t held : comm.Gather(std::uint64_t(
      problem.PointsHeld())))
    points.push_back(size_t(held));
  std::uint64_t shuffles = 0;
  for (const std::uint64_t other : comm.Gather(problem.Shuffles()))
    shuffles = std::max(shuffles, other);

  // From here on nothing can fail.
  for (size_t i = 0; i < most.size(); ++i)
    losses.gradients += most[i] - from.version[i];
  losses.ranks.clear();
  for (std::uint64_t i = 0; i < firstRanks; ++i)
    if (std::find(left.begin(), left.end(), i) == left.end())
      losses.ranks.push_back(i);
  agreed.points = points;
  const Checkpoint before = origin;
  origin = Origin(settings, agreed, iterate.n_rows, iterate.n_cols,
      sizeof(typename MatType::elem_type), &from);
  origin.seed = before.seed; // Shuffles are counted on.
  origin.shuffled = shuffles;
  origin.resumes = before.resumes;
  origin.givenStep = before.givenStep;
  std::memcpy(iterate.memptr(), from.vectors[0], size_t(from.VectorBytes()));
  if (comm.Rank() == 0)
  {
    std::string ranks;
    for (const std::uint64_t rank : losses.ranks)
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    std::cerr << AlgorithmType::Name() << ": of " << firstRanks
        << " ranks died "
        << ranks << "; those that are left go on from " << origin.gradients
        << " gradients." << std::endl;
  }
  return shuffles;
}

template<typename AlgorithmType>
void Training<AlgorithmType>::FitTopology(const MpiCommunicator& comm,
                                          dasgd::Topology& topology)
{
  if (comm.Size() == comm.ParentSize())
    return;
  try
  {
    topology.Check(comm.Size());
  }
  catch (const std::exception& e)
  {
    topology = "exponential"; // It fits any number of ranks.
    if (comm.Rank() == 0)
    {
      // What follows is advice for a job that is about to start.
      const std::string text = e.what();
      std::cerr << AlgorithmType::Name() << ": " << text.substr(0,
          text.find(';')) << ", since " << mpi::DiedText(comm.Lost(),
          comm.ParentSize()) << "; " << topology.Name()
          << " takes its place." << std::endl;
    }
  }
}

template<typename AlgorithmType>
template<typename UpdatePolicyType, typename DecayPolicyType>
void Training<AlgorithmType>::AddTags(
    const Settings<UpdatePolicyType, DecayPolicyType>& of,
    Checkpoint& about)
{
  about.tags = of.CheckpointTags();
  const auto add = [&](const std::string& name, const auto value)
  { about.tags.emplace_back(name, ExactText(value)); };
  about.tags.emplace_back("the update policy", TypeName<UpdatePolicyType>());
  about.tags.emplace_back("the decay policy", TypeName<DecayPolicyType>());
  VisitParameters("UpdatePolicy()", of.UpdatePolicy(), add);
  VisitParameters("DecayPolicy()", of.DecayPolicy(), add);
}

template<typename AlgorithmType>
template<typename SettingsType>
Checkpoint Training<AlgorithmType>::Origin(const SettingsType& settings,
                                           const Agreed& agreed,
                                           const size_t rows,
                                           const size_t cols,
                                           const size_t elementBytes,
                                           const Checkpoint* from)
{
  Checkpoint origin;
  origin.algorithm = AlgorithmType::Name();
  origin.rows = rows;
  origin.cols = cols;
  origin.elementBytes = elementBytes;
  origin.data = settings.Data();
  origin.sharing = settings.Sharing();
  origin.batchSize = settings.BatchSize();
  origin.held.assign(agreed.points.begin(), agreed.points.end());
  origin.seed = agreed.seed;
  origin.givenStep = origin.stepSize = settings.StepSize();
  if (from)
    origin.Resume(*from);
  else
    origin.Start();
  return origin;
}

template<typename AlgorithmType>
template<typename UpdatePolicyType,
         typename DecayPolicyType,
         typename ElemType>
typename Training<AlgorithmType>::Agreed Training<AlgorithmType>::ShakeHands(
    const MpiCommunicator& comm,
    const Settings<UpdatePolicyType, DecayPolicyType>& settings,
    const typename AlgorithmType::Options& options,
    const size_t rows,
    const size_t cols,
    const size_t points,
    const std::string& failure,
    ElemType)
{
  const std::uint16_t one = 1;
  Handshake handshake;
  handshake.Require("the algorithm and its version",
      AlgorithmType::Name() + std::string(" ") +
      std::to_string(FrameHeader::Version) +
      (*reinterpret_cast<const std::uint8_t*>(&one) ? " little-endian" :
      " big-endian"), "run the same build of the program on every rank");
  handshake.Require("the element type", TypeName<ElemType>());
  handshake.Require("the rows of the iterate", rows);
  handshake.Require("the columns of the iterate", cols);
  if (settings.StepSize() == AutoStep)
    handshake.Require("StepSize()", std::string("AutoStep"));
  else
    handshake.Require("StepSize()", settings.StepSize());
  handshake.Require("BatchSize()", settings.BatchSize());
  handshake.Require("MaxIterations()", settings.MaxIterations());
  handshake.Require("Tolerance()", settings.Tolerance());
  handshake.Require("Shuffle()", settings.Shuffle());
  handshake.Require("ExactObjective()", settings.ExactObjective());
  handshake.Require("Topology()", settings.Topology().Name());
  handshake.Require("Data()", std::string(ToString(settings.Data())));
  handshake.Require("Sharing()", std::string(ToString(settings.Sharing())));
  handshake.Require("Seed()", settings.Seed());
  handshake.Require("Window()", settings.Window());
  handshake.Require("MaxLead()", settings.MaxLead());
  handshake.Require("WireFormat()", settings.WireFormat().Name());
  handshake.Require("Smoothness()", settings.Smoothness());
  handshake.Require("RecordHistory()", settings.RecordHistory());
  handshake.Require("the update policy", TypeName<UpdatePolicyType>());
  handshake.Require("the decay policy", TypeName<DecayPolicyType>());
  const auto require = [&](const std::string& name, const auto value)
  { handshake.Require(name, value); };
  VisitParameters("UpdatePolicy()", settings.UpdatePolicy(), require);
  VisitParameters("DecayPolicy()", settings.DecayPolicy(), require);
  handshake.Require("ResetPolicy()", settings.ResetPolicy());
  AlgorithmType::Rule::Agree(options, handshake);
  if (settings.Data() == Data::Replicated)
  {
    handshake.Require("the number of points", std::to_string(points), "give "
        "every rank the same data, or set Data() = dasgd::Data::Sharded if "
        "every rank has points of its own");
  }
  handshake.Problem(failure);
  handshake.Problem(Complaint(settings, options, comm.Size(), comm.Rank(),
      rows * cols * sizeof(ElemType), points));
  handshake.Agree(comm, std::string(AlgorithmType::Name()) + "::Optimize()");

  Agreed agreed;
  for (const std::uint64_t held : comm.Gather(std::uint64_t(points)))
    agreed.points.push_back(size_t(held));
  agreed.seed = settings.Seed();
  if (comm.Size() > 1 && settings.Shuffle() && agreed.seed == 0)
  {
    // From rank 0's own random numbers: a program that seeds them gets the same
    // order each time.
    const arma::uvec drawn = arma::randi<arma::uvec>(1,
        arma::distr_param(0, std::numeric_limits<int>::max()));
    agreed.seed = comm.Gather(std::uint64_t(drawn[0])).front();
  }
  return agreed;
}

template<typename AlgorithmType>
template<typename SettingsType>
std::string Training<AlgorithmType>::Complaint(
    const SettingsType& settings,
    const typename AlgorithmType::Options& options,
    const size_t ranks,
    const size_t rank,
    const size_t vectorBytes,
    const size_t points)
{
  const std::string complaint = settings.Complaint();
  if (!complaint.empty())
    return complaint;
  if (!covered && settings.StepSize() == AutoStep)
  {
    return "StepSize() is AutoStep, which knows DASGD only; give a number.";
  }
  if (vectorBytes == 0)
    return "the iterate has no elements; give it the shape of the model.";
  const bool sharded = (settings.Data() == Data::Sharded);
  const bool computes = AlgorithmType::Computes(options, ranks, rank);
  if (sharded && !computes && points > 0)
  {
    return "this rank holds " + std::to_string(points) + " points, but it is "
        "ServerRank() and visits none; give them to other ranks.";
  }
  if (points == 0 && (computes || !sharded))
  {
    return "there is no data (NumFunctions() is 0); give this rank at least "
        "one point.";
  }
  try
  {
    settings.Topology().Check(ranks);
  }
  catch (const std::exception& e)
  {
    return e.what();
  }
  RunSettings run{ settings.Topology(), settings.Window() };
  run.format = settings.WireFormat();
  RankHistory log(1);
  run.history = settings.RecordHistory() ? &log : nullptr;
  run.checkpoint = !settings.CheckpointFile().empty();
  return AlgorithmType::Complaint(run, options, ranks, rank, vectorBytes);
}

template<typename AlgorithmType>
template<typename ElemType>
double Training<AlgorithmType>::CopyFromRoot(const MpiCommunicator& comm,
                                             ElemType* iterate,
                                             const size_t elements)
{
  if (comm.Size() == 1)
    return 0;
  // In pieces, so that no other vector of the model's size is needed.
  constexpr size_t piece = size_t(1) << 16;
  std::vector<ElemType> root(std::min(piece, elements));
  double deviation = 0;
  for (size_t done = 0; done < elements; done += piece)
  {
    const size_t count = std::min(piece, elements - done);
    if (comm.Rank() == 0)
      std::copy(iterate + done, iterate + done + count, root.begin());
    comm.Broadcast(root.data(), count * sizeof(ElemType));
    for (size_t i = 0; i < count; ++i)
    {
      deviation = std::max(deviation,
          std::abs(double(iterate[done + i]) - double(root[i])));
      iterate[done + i] = root[i];
    }
  }
  return deviation;
}

} // namespace dasgd

#endif
