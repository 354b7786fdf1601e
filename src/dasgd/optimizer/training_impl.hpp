/**
 * @file training_impl.hpp
 *
 * Implementation of the phases of Optimize().
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_TRAINING_IMPL_HPP
#define DASGD_OPTIMIZER_TRAINING_IMPL_HPP

// In case it hasn't been included yet.
#include "training.hpp"

namespace dasgd {

template<typename TypesType>
template<typename... CallbackTypes>
Training<TypesType>::Training(MpiCommunicator& comm,
                              OptimizerType& optimizer,
                              SettingsType& settings,
                              FunctionType& function,
                              MatType& iterate,
                              CallbackTypes&... callbacks) :
    comm(comm),
    optimizer(optimizer),
    settings(settings),
    function(function),
    iterate(iterate),
    callbacks(optimizer, function, comm.Size(), comm.Rank(), callbacks...),
    options(optimizer),
    firstRank(comm.Rank()),
    firstRanks(comm.Size()),
    begunAt(std::chrono::steady_clock::now()),
    // Alone ens::SGD's shuffles are part of the program's random numbers.
    keep(comm.Size() > 1 || (settings.seed != 0 && settings.shuffle)),
    topology(settings.topology),
    keeper(AlgorithmType::Name(),
        [this](Checkpoint& checkpoint) { return Fill(checkpoint); })
{ }

template<typename TypesType>
void Training<TypesType>::Prepare()
{
  Guard(unready, [&]()
  {
    held = function.NumFunctions();
    dasgd::History last; // It may be large.
    last.swap(settings.history);
    fixed.emplace(settings);
    last.swap(settings.history);
    gradient.zeros(iterate.n_rows, iterate.n_cols);
    if (!TypesType::vanilla && comm.Size() > 1)
      scratch.set_size(iterate.n_rows, iterate.n_cols);
    settings.template Instantiate<typename TypesType::UpdateType,
        typename TypesType::DecayType>(iterate.n_rows, iterate.n_cols,
        comm.Size(), IsDasgd<AlgorithmType>);
    // To say what was wrong if the run diverges; large models do without.
    if (TypesType::vanilla && settings.smoothness == 0 && comm.Rank() == 0 &&
        !settings.UsesAutoStep() && iterate.n_elem <= (size_t(1) << 22))
      begin = iterate;
    agreed.points.assign(1, held);
    if (!IsDasgd<AlgorithmType> || comm.Rank() != 0 ||
        settings.checkpointFile.empty())
      return;
    fingerprint = TakeFingerprint(function, iterate, settings.batchSize);
    keeper.Lock(settings.checkpointFile);
    stored = FindCheckpoint(settings, Describe());
  });
}

template<typename TypesType>
void Training<TypesType>::ShakeHands()
{
  agreed = dasgd::ShakeHands<AlgorithmType>(comm, settings, options,
      iterate.n_rows, iterate.n_cols, held, ExceptionText(unready), ElemType(),
      TypesType::CallbacksType::Kept());
}

template<typename TypesType>
void Training<TypesType>::ChooseStart()
{
  if constexpr (IsDasgd<AlgorithmType>)
  {
    ShareCheckpoint(comm, Name(), stored);
    comm.Broadcast(&fingerprint, sizeof(fingerprint));
  }
  resumes = !stored.empty();
  Checkpoint& about = keeper.About();
  about = Describe();
  if (!resumes)
  {
    about.Run() = RunSnapshot::Start(about, agreed.seed);
    return;
  }
  resumedFrom = checkpoint::Decode(stored);
  about.Run() = resumedFrom.Resume(about);
  if (resumedFrom.givenStep == about.givenStep)
  {
    about.stepSize = resumedFrom.stepSize;
    about.smoothness = resumedFrom.smoothness;
  }
  about.seconds = resumedFrom.seconds;
  about.staleness = resumedFrom.staleness;
  about.resumes = resumedFrom.resumes + 1;
  if (resumedFrom.fingerprint.known)
    about.fingerprint = resumedFrom.fingerprint;
}

template<typename TypesType>
Checkpoint Training<TypesType>::Describe() const
{
  Checkpoint about;
  about.algorithm = AlgorithmType::Name();
  about.rows = iterate.n_rows;
  about.cols = iterate.n_cols;
  about.elementBytes = sizeof(ElemType);
  about.data = settings.data;
  about.sharing = settings.sharing;
  about.batchSize = settings.batchSize;
  about.held.assign(agreed.points.begin(), agreed.points.end());
  about.givenStep = about.stepSize = settings.stepSize;
  about.fingerprint = fingerprint;
  AddTags(settings, about);
  return about;
}

template<typename TypesType>
void Training<TypesType>::Start()
{
  ranksHere = (comm.Size() > 1) ? comm.RanksHere() : 1;
  threads.emplace(ranksHere);
  if (resumes)
  {
    std::memcpy(iterate.memptr(), resumedFrom.vectors[0],
        size_t(resumedFrom.VectorBytes()));
  }
  else if (comm.Size() > 1)
    comm.Broadcast(iterate.memptr(), iterate.n_elem * sizeof(ElemType));
  if (comm.Size() > 1 && settings.data == Data::Replicated)
  {
    CompareData(comm, TakeFingerprint(function, iterate, settings.batchSize),
        Name());
  }
  ChooseStepSize();

  rank.emplace(optimizer, function, iterate, gradient, scratch,
      settings.state.update.template As<typename TypesType::UpdateType>(),
      settings.state.decay.template As<typename TypesType::DecayType>(),
      callbacks, comm.Size(), comm.Rank(), keeper.About().seed,
      comm.Size() == 1 && settings.seed == 0, IsDasgd<AlgorithmType> &&
      !std::is_same<typename TypesType::DecayPolicyType,
          ens::NoDecay>::value);
  rank->Begin(keeper.About(), comm.Rank(), Computing(), Limits());
  if (resumes)
  {
    rank->step.Restore(resumedFrom);
    stored = std::vector<std::uint8_t>(); // Its vectors have been copied.
    SayResumed();
  }

  const RankReport nothing;
  settings.live.counts = &nothing;
  rank->source.BeginOptimization();
  settings.live.counts = nullptr;
  for (const std::uint64_t other : comm.Gather(
      std::uint64_t(TypesType::hasCallbacks)))
    anyCallbacks = anyCallbacks || other != 0;
  if (comm.Size() > 1 && anyCallbacks)
    comm.Broadcast(iterate.memptr(), iterate.n_elem * sizeof(ElemType));
  if (!begin.empty())
    begin = iterate;
}

template<typename TypesType>
void Training<TypesType>::ChooseStepSize()
{
  Checkpoint& about = keeper.About();
  givenStep = settings.stepSize;
  const bool automatic = settings.UsesAutoStep();
  smoothness = settings.smoothness;
  smoothnessFrom = (smoothness > 0) ? "given" : "";
  settings.stepSize = about.stepSize;
  if (automatic && about.smoothness > 0)
  {
    smoothness = about.smoothness;
    smoothnessFrom = "estimated at the start";
    if (resumedFrom.held.size() != comm.Size())
      settings.stepSize = AutoStepSize(settings, comm.Size(), smoothness);
  }
  if (settings.UsesAutoStep())
  {
    if (smoothness == 0)
      smoothnessFrom = "estimated at the start";
    smoothness = ChooseStep(comm, Name() + "::Optimize(), AutoStep", settings,
        function, iterate);
  }
  stepSize = settings.stepSize;
  about.smoothness = smoothness;
}

template<typename TypesType>
RunLimits Training<TypesType>::Limits() const
{
  RunLimits limits;
  limits.maxIterations = fixed->maxIterations;
  limits.tolerance = fixed->tolerance;
  limits.shuffle = fixed->shuffle;
  limits.inRounds = AlgorithmType::inRounds;
  return limits;
}

template<typename TypesType>
void Training<TypesType>::SayResumed() const
{
  // Said aloud: it must not surprise anybody.
  if (comm.Rank() != 0)
    return;
  const bool converged = resumedFrom.finished &&
      resumedFrom.reason == StopReason::Tolerance;
  const bool complete = converged || (fixed->maxIterations != 0 &&
      resumedFrom.points >= fixed->maxIterations);
  // In one piece, so that what callbacks print next does not get into it.
  std::ostringstream line;
  line << Name() << ": resuming from checkpoint " << settings.checkpointFile
      << " after " << resumedFrom.points << " points";
  if (complete)
  {
    line << "; training is already complete" << (converged ?
        " (within its tolerance); use " : "; raise " +
        settings.messages.maxIterations + ", or use ")
        << settings.messages.restart << " to start over";
  }
  std::cerr << line.str() + ".\n" << std::flush;
}

template<typename TypesType>
bool Training<TypesType>::Fill(Checkpoint& checkpoint)
{
  checkpoint.Run() = rank->state->Snapshot();
  rank->step.Save(checkpoint);
  // Models that are not finite are not worth to be resumed from.
  return AllFinite(iterate.memptr(), iterate.n_elem);
}

template<typename TypesType>
void Training<TypesType>::Recover()
{
  Survivor mine;
  mine.firstRank = firstRank;
  mine.gradients = rank->state->Gradients();
  mine.version = rank->state->Version();
  mine.held = rank->source.PointsHeld();
  mine.shuffles = rank->source.Shuffles();
  std::vector<Survivor> survivors;
  for (const std::string& bytes : comm.Gather(mine.Bytes()))
    survivors.push_back(Survivor::FromBytes(bytes));
  const Recovery recovery(survivors);

  std::vector<std::uint8_t> bytes;
  if (comm.Rank() == recovery.Source())
  {
    checkpoint::Encode(keeper.Now(), bytes);
    checkpoint::Seal(bytes);
  }
  comm.Share(bytes, recovery.Source());
  const Checkpoint from = checkpoint::Decode(bytes);

  // From here on nothing can fail.
  recovers = false;
  gradientsDropped += recovery.Dropped(from);
  lostRanks = recovery.Lost(firstRanks);
  Checkpoint& about = keeper.About();
  about.Run() = recovery.Begin(from);
  about.seconds = from.seconds;
  about.staleness = from.staleness;
  std::memcpy(iterate.memptr(), from.vectors[0], size_t(from.VectorBytes()));
  FitTopology(comm, Name(), settings.topology);
  topology = settings.topology;
  rank->Rejoin(about, comm.Rank(), Computing(), Limits(), outcome.exception);
  SayRecovered();
}

template<typename TypesType>
void Training<TypesType>::SayRecovered() const
{
  if (comm.Rank() != 0)
    return;
  const std::vector<size_t> lost(lostRanks.begin(), lostRanks.end());
  std::ostringstream line;
  line << Name() << ": " << mpi::DiedText(lost, firstRanks) << "; the others "
      << "continue from " << keeper.About().gradients << " gradients.\n";
  std::cerr << line.str() << std::flush;
}

template<typename TypesType>
void Training<TypesType>::Run()
{
  keeper.Begin(&settings.live.counts);
  if (IsDasgd<AlgorithmType> && !keeper.IsOpen() && comm.Rank() == 0 &&
      !fixed->checkpointFile.empty())
  {
    keeper.Open(fixed->checkpointFile, fixed->checkpointEvery);
    rank->source.SaveTo(keeper);
    if (TypesType::StepType::Forgets())
    {
      std::cerr << Name() << ": checkpoints do not hold the state of the "
          << "update policy "
          << TypeName<typename TypesType::UpdatePolicyType>()
          << "; it starts afresh after a resume." << std::endl;
    }
  }

  history.reset();
  if (fixed->recordHistory)
    history = std::make_unique<RankHistory>(comm.Size());
  RunSettings run{ topology, fixed->window };
  run.history = history.get();
  run.format = fixed->format;
  run.live = &settings.live.counts;
  run.crowded = ranksHere > Cores();
  run.sharedMemory = fixed->sharedMemory;
  run.seed = keeper.About().seed;
  run.staleness = keeper.About().staleness;
  run.maxLead = fixed->maxLead;
  outcome = Outcome();
  outcome.counts.staleness = run.staleness;
  try
  {
    AlgorithmType::Run(comm, run, options, iterate.n_elem, *rank->problem,
        outcome);
  }
  catch (...)
  {
    keeper.End(outcome.counts);
    throw;
  }
  keeper.End(outcome.counts);
  batches += outcome.counts.computed;
}

template<typename TypesType>
void Training<TypesType>::Agree()
{
  AgreeOnStop(comm, outcome);
  const std::vector<double> steps = comm.Gather(settings.stepSize);
  stepChanged = std::any_of(steps.begin(), steps.end(),
      [&](const double other) { return other != stepSize; });
  // As with ens::SGD, the next Optimize() begins with the step that decay or a
  // callback has left; ranks may have decayed it differently often.
  settings.stepSize = steps.front();
  outcome.counts.deviation = std::max(outcome.counts.deviation,
      CopyFromRoot(comm, iterate.memptr(), iterate.n_elem));
  objective = rank->state->Objective(outcome.stopped, outcome.stop,
      ensmallen::keepsLastObjective);

  const bool failed = Failed();
  SaveLast(failed);
  AgreeOnObjective(failed);
  if (comm.Size() > 1)
  {
    callbacks.Agree(comm);
    AgreeOnStatistics(comm, function, batches, outcome.exception);
  }
  Guard(outcome.exception, [&]()
  {
    if (!std::exchange(endTold, true))
      callbacks.EndOptimization(iterate);
  });
  // Callbacks may have changed the result.
  if (comm.Size() > 1 && anyCallbacks)
  {
    comm.Broadcast(rank->source.Iterate(), iterate.n_elem *
        sizeof(ElemType));
  }
}

template<typename TypesType>
void Training<TypesType>::SaveLast(const bool failed)
{
  if (!keeper.IsOpen())
    return;
  // After an exception of this rank's own, callbacks do not know what came
  // later.
  const bool ended = !failed && !outcome.exception;
  keeper.SaveLast(ended ? &outcome : nullptr);
  keeper.Attempt([&]()
  {
    const std::string path = FullPath(fixed->checkpointFile);
    if (ended)
      FinishedCheckpoints().insert(path);
    else if (keeper.Written() > 0)
      FinishedCheckpoints().erase(path);
  });
}

template<typename TypesType>
void Training<TypesType>::AgreeOnObjective(const bool failed)
{
  if (fixed->data == Data::Replicated && comm.Size() > 1)
  {
    // Ranks may have shuffled differently often; after this their data is in
    // one order again, for the objective and for the next training.
    std::uint64_t shuffles = 0;
    for (const std::uint64_t other : comm.Gather(rank->source.Shuffles()))
      shuffles = std::max(shuffles, other);
    Guard(outcome.exception, [&]() { rank->source.ShuffleTo(shuffles); });
  }
  if (fixed->exactObjective && !failed)
  {
    ElemType part = 0;
    Guard(outcome.exception, [&]()
    { part = rank->source.ExactPart(fixed->data, fixed->batchSize); });
    objective = 0;
    for (const double other : comm.Gather(double(part)))
      objective += ElemType(other);
  }
  else if (comm.Size() > 1)
  {
    // With dynamic sharing ranks may see the last epoch differently.
    comm.Broadcast(&objective, sizeof(objective));
  }
}

template<typename TypesType>
void Training<TypesType>::GatherReport()
{
  Report& report = settings.report;
  report = dasgd::Describe<AlgorithmType>(*fixed, options, topology,
      comm.Size(), iterate.n_elem, sizeof(ElemType),
      rank->state->EpochPoints());
  report.maxIterations = fixed->maxIterations;
  report.threads = BlasThreads::InUse();
  report.objective = double(objective);
  report.stepSize = stepSize;
  report.autoStep = fixed->UsesAutoStep();
  if (report.outsideTheorem.empty() && stepChanged)
    report.outsideTheorem = StepChanged();
  report.smoothness = smoothness;
  report.smoothnessFrom = smoothnessFrom;
  // Only into the report: if a rank dies in it, some have the estimate and
  // others do not, and all must decide alike when they recover.
  if (TypesType::vanilla && smoothness == 0 && outcome.stopped &&
      outcome.stop.reason == StopReason::NonFinite)
  {
    report.smoothness = SmoothnessAt(comm, function, iterate, begin);
    if (report.smoothness > 0)
      report.smoothnessFrom = "estimated at the start";
  }
  const Checkpoint& about = keeper.About();
  report.resumed = resumes;
  report.resumes = about.resumes;
  report.ranksBefore = resumedFrom.held.size();
  report.lost = lostRanks;
  report.gradientsBefore = about.gradients;
  report.pointsBefore = about.points;
  report.gradientsResumed = resumedFrom.gradients;
  report.secondsBefore = resumedFrom.seconds;
  if constexpr (IsDasgd<AlgorithmType>)
    ShareCheckpointNews(report);
  GatherCounts(report);
  if (outcome.stopped)
    PutStop(outcome.stop, report);
  settings.history.clear();
  if (history)
    GatherHistory(comm, *history, settings.history, report);
}

template<typename TypesType>
void Training<TypesType>::ShareCheckpointNews(Report& report)
{
  const std::string mine = fixed->checkpointFile + '\n' +
      std::to_string(keeper.Written()) + '\n' +
      std::to_string(gradientsDropped) + '\n' + keeper.Problem();
  std::istringstream root(comm.Gather(mine).front());
  std::getline(root, report.checkpointFile);
  root >> report.checkpoints >> report.gradientsLost;
  root.ignore();
  std::getline(root, report.checkpointProblem);
}

template<typename TypesType>
void Training<TypesType>::GatherCounts(Report& report)
{
  const double seconds = std::chrono::duration<double>(
      std::chrono::steady_clock::now() - begunAt).count();
  for (const double other : comm.Gather(seconds))
    report.seconds = std::max(report.seconds, other);
  static_assert(std::is_trivially_copyable<RankReport>::value,
      "RankReport is sent as it is.");
  const std::string counts(reinterpret_cast<const char*>(&outcome.counts),
      sizeof(outcome.counts));
  for (const std::string& other : comm.Gather(counts +
      ExceptionText(outcome.exception)))
  {
    RankReport their;
    std::memcpy(&their, other.data(), sizeof(their));
    const std::string thrown = other.substr(sizeof(their));
    if (!thrown.empty() && !(outcome.stopped &&
        outcome.stop.reason == StopReason::Error))
    {
      outcome.stopped = true;
      outcome.stop = Fact();
      outcome.stop.reason = StopReason::Error;
      outcome.stop.origin = std::uint32_t(report.ranks.size());
      outcome.stop.count = their.computed;
      outcome.stop.text = FactText(thrown);
    }
    report.ranks.push_back(their);
  }
}

template<typename TypesType>
typename TypesType::ElemType Training<TypesType>::Return()
{
  if (fixed->UsesAutoStep())
    settings.stepSize = givenStep;
  if (outcome.exception)
    std::rethrow_exception(outcome.exception);
  if (outcome.stopped && outcome.stop.reason == StopReason::Error)
  {
    throw std::runtime_error(Name() + "::Optimize(): rank " +
        std::to_string(outcome.stop.origin) + " failed at step " +
        std::to_string(outcome.stop.count) + ": " + outcome.stop.text);
  }
  if (comm.Rank() == 0 && settings.messages.advice)
    PrintAdvice(settings.report);
  if (comm.Rank() == 0 && !outcome.stopped)
  {
    ens::Info << Name() << ": maximum iterations (" << fixed->maxIterations
        << ") reached; terminating optimization." << std::endl;
  }
  return objective;
}

} // namespace dasgd

#endif
