/**
 * @file training_impl.hpp
 *
 * Implementation of the phases of Optimize().
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_TRAINING_IMPL_HPP
#define DASGD_TRAINING_TRAINING_IMPL_HPP

// In case it hasn't been included yet.
#include "training.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <sstream>
#include <tuple>
#include <utility>

namespace dasgd {

template<typename AlgorithmType, typename ElemType>
Training<AlgorithmType, ElemType>::Training(MpiCommunicator& comm,
                              CommonSettings& settings,
                              const typename AlgorithmType::Options& options,
                              TrainingSource<ElemType>& source) :
    comm(comm),
    settings(settings),
    options(options),
    source(source),
    steps(source.Steps()),
    elements(source.Elements()),
    firstRank(comm.Rank()),
    firstRanks(comm.Size()),
    begunAt(std::chrono::steady_clock::now()),
    rank(source),
    keeper(AlgorithmType::Name(),
        [this](Checkpoint& checkpoint) { return Fill(checkpoint); })
{ }

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::Prepare()
{
  FindMachines(settings);
  Guard(thrown, [&]() { held = source.PointsHeld(); });
  Guard(unready, [&]()
  {
    topology = PlaceTopology(comm, machines, Name(),
        ChosenTopology<AlgorithmType>(settings));
    dasgd::History last; // It may be large.
    last.swap(settings.history);
    fixed.emplace(settings);
    last.swap(settings.history);
    source.Prepare(comm.Size());
    // To say what was wrong if the run diverges; large models do without.
    if (steps.Vanilla() && settings.smoothness == 0 && comm.Rank() == 0 &&
        !settings.UsesAutoStep() && elements <= (size_t(1) << 22))
      KeepBegin();
    agreed.points.assign(1, held);
    if (!IsDasgd<AlgorithmType> || comm.Rank() != 0 ||
        settings.checkpointFile.empty())
      return;
    fingerprint = source.TakeFingerprint(settings.batchSize);
    keeper.Lock(settings.checkpointFile);
    stored = FindCheckpoint(settings, Describe());
  });
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::FindMachines(
    const CommonSettings& wanted)
{
  machines = comm.Machines("dense matrices");
  if (comm.Call())
  {
    comm.Call()->Begin(comm, AlgorithmType::inRounds, std::count(
        machines.begin(), machines.end(), machines[0]) ==
        std::ptrdiff_t(machines.size()));
  }
  board = IsDasgd<AlgorithmType> && comm.Size() > 1;
  if (!board)
    return;
  // Ranks need not agree on all that this depends on.
  for (const std::uint64_t other : comm.Gather(std::uint64_t(
      SharesBoard(wanted, machines))))
    board = board && other != 0;
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::KeepBegin()
{ begin.assign(source.Iterate(), source.Iterate() + elements); }

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::ShakeHands()
{
  try
  {
    agreed = dasgd::ShakeHands<AlgorithmType>(comm, settings, options,
        topology, source, held, ExceptionText(thrown),
        ExceptionText(unready));
  }
  catch (const mpi::MixedThreads& e)
  {
    comm.Call()->Refuse(e.what());
    throw;
  }
  catch (const mpi::RankLost&)
  {
    throw;
  }
  catch (const std::runtime_error&)
  {
    // Where something was thrown, the same comes out.
    if (thrown)
      std::rethrow_exception(thrown);
    throw;
  }
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::ChooseStart()
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

template<typename AlgorithmType, typename ElemType>
Checkpoint Training<AlgorithmType, ElemType>::Describe() const
{
  Checkpoint about;
  about.algorithm = AlgorithmType::Name();
  about.rows = source.Rows();
  about.cols = source.Cols();
  about.elementBytes = sizeof(ElemType);
  about.data = settings.data;
  about.sharing = settings.sharing;
  about.batchSize = settings.batchSize;
  about.held.assign(agreed.points.begin(), agreed.points.end());
  about.givenStep = about.stepSize = settings.stepSize;
  about.fingerprint = fingerprint;
  source.AddTags(about);
  return about;
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::Start()
{
  threads.emplace(RanksHere());
  if (resumes)
  {
    std::memcpy(source.Iterate(), resumedFrom.vectors[0],
        size_t(resumedFrom.VectorBytes()));
  }
  else
    BeginAtRoot(comm, source.Iterate(), elements);
  if (comm.Size() > 1 && settings.data == Data::Replicated)
    CompareData(comm, source.TakeFingerprint(settings.batchSize), Name());
  ChooseStepSize();

  source.SetOrder(keeper.About().seed, comm.Size() == 1 && settings.seed == 0,
      IsDasgd<AlgorithmType>);
  rank.Begin(keeper.About(), comm.Rank(), Computing(), Limits());
  if (resumes)
  {
    source.Restore(resumedFrom);
    stored = std::vector<std::uint8_t>(); // Its vectors have been copied.
    SayResumed();
  }

  const RankReport nothing;
  settings.live.counts = &nothing;
  source.BeginOptimization();
  settings.live.counts = nullptr;
  for (const std::uint64_t other : comm.Gather(
      std::uint64_t(source.HasCallbacks())))
    anyCallbacks = anyCallbacks || other != 0;
  if (anyCallbacks)
    BeginAtRoot(comm, source.Iterate(), elements);
  if (!begin.empty())
    KeepBegin();
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::ChooseStepSize()
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
    {
      settings.stepSize = AutoStepSize(Exchange(), comm.Size(), smoothness,
          steps.Scale(settings.batchSize));
    }
  }
  if (settings.UsesAutoStep())
  {
    if (smoothness == 0)
      smoothnessFrom = "estimated at the start";
    smoothness = ChooseStep(comm, Name() + "::Optimize(), AutoStep", settings,
        Exchange(), source);
  }
  stepSize = settings.stepSize;
  about.smoothness = smoothness;
}

template<typename AlgorithmType, typename ElemType>
RunLimits Training<AlgorithmType, ElemType>::Limits() const
{
  RunLimits limits;
  limits.maxIterations = fixed->maxIterations;
  limits.tolerance = fixed->tolerance;
  limits.shuffle = fixed->shuffle;
  limits.inRounds = AlgorithmType::inRounds;
  return limits;
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::SayResumed() const
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

template<typename AlgorithmType, typename ElemType>
bool Training<AlgorithmType, ElemType>::Fill(Checkpoint& checkpoint)
{
  checkpoint.Run() = rank.state->Snapshot();
  source.Save(checkpoint);
  // Models that are not finite are not worth to be resumed from.
  return AllFinite(source.Iterate(), elements);
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::Recover()
{
  Survivor mine;
  mine.firstRank = firstRank;
  mine.gradients = rank.state->Gradients();
  mine.version = rank.state->Version();
  mine.held = source.PointsHeld();
  mine.shuffles = source.Shuffles();
  mine.torn = outcome.torn;
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
  FindMachines(*fixed);
  topology = PlaceTopology(comm, machines, Name(),
      ChosenTopology<AlgorithmType>(*fixed));

  // From here on nothing can fail.
  recovers = false;
  gradientsDropped += recovery.Dropped(from);
  lostRanks = recovery.Lost(firstRanks);
  Checkpoint& about = keeper.About();
  about.Run() = recovery.Begin(from);
  about.seconds = from.seconds;
  about.staleness = from.staleness;
  std::memcpy(source.Iterate(), from.vectors[0], size_t(from.VectorBytes()));
  rank.Rejoin(about, comm.Rank(), Computing(), Limits(), outcome.exception);
  SayRecovered();
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::SayRecovered() const
{
  if (comm.Rank() != 0)
    return;
  const std::vector<size_t> lost(lostRanks.begin(), lostRanks.end());
  std::ostringstream line;
  line << Name() << ": " << mpi::DiedText(lost, firstRanks) << "; the others "
      << "continue from " << keeper.About().gradients << " gradients.\n";
  std::cerr << line.str() << std::flush;
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::Run()
{
  keeper.Begin(&settings.live.counts);
  if (IsDasgd<AlgorithmType> && !keeper.IsOpen() && comm.Rank() == 0 &&
      !fixed->checkpointFile.empty())
  {
    keeper.Open(fixed->checkpointFile, fixed->checkpointEvery);
    source.SaveTo(keeper);
    if (steps.forgets)
    {
      std::cerr << Name() << ": checkpoints do not hold the state of the "
          << "update policy " << steps.updatePolicy
          << "; it starts afresh after a resume." << std::endl;
    }
  }

  history.reset();
  if (fixed->recordHistory)
    history = std::make_unique<RankHistory>(comm.Size());
  overlap = OverlapChoice();
  bool allOverlap = false;
  const size_t boards = board ? RanksByMachine(machines).size() : 0;
  if (IsDasgd<AlgorithmType> && comm.Size() > 1 && boards != 1)
  {
    // What a machine exchanges concerns all its ranks, so it is not to wait for
    // the gradients of one.
    overlap = OverlapChoice(fixed->overlap, board ||
        topology.Hops(comm.Size()) > 1, RanksHere() > Cores(),
        mpi::AnyThread(), fixed->recordHistory);
    // Machines may differ in this.
    allOverlap = true;
    for (const std::uint64_t other : comm.Gather(std::uint64_t(overlap.used)))
      allOverlap = allOverlap && other != 0;
  }
  RunSettings run{ topology, ChooseWindow(fixed->window, allOverlap) };
  run.overlap = overlap.used;
  run.history = history.get();
  run.format = fixed->format;
  run.live = &settings.live.counts;
  run.crowded = RanksHere() > Cores();
  run.machines = &machines;
  run.sharedMemory = fixed->sharedMemory;
  run.board = board;
  run.seed = keeper.About().seed;
  run.staleness = keeper.About().staleness;
  run.maxLead = fixed->maxLead;
  std::tie(run.damping, run.lookAhead) = ChooseResponse<AlgorithmType>(*fixed,
      steps, fixed->UsesAutoStep(), comm.Size());
  damping = std::max(damping, run.damping);
  // A thread takes little from computing.
  run.share = overlap.used ? 1 : fixed->exchangeShare;
  outcome = Outcome();
  outcome.counts.staleness = run.staleness;
  try
  {
    AlgorithmType::Run(comm, run, options, elements, *rank.task, outcome);
  }
  catch (...)
  {
    keeper.End(outcome.counts);
    throw;
  }
  keeper.End(outcome.counts);
  batches += outcome.counts.computed;
}

} // namespace dasgd

#endif
