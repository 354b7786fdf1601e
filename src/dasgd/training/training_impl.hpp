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
  Guard(prepared.thrown, [&]() { prepared.held = source.PointsHeld(); });
  Guard(prepared.unready, [&]()
  {
    placement.topology = PlaceTopology(comm, placement.machines, Name(),
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
    agreed.points.assign(1, prepared.held);
    if (!IsDasgd<AlgorithmType> || comm.Rank() != 0 ||
        settings.checkpointFile.empty())
      return;
    fingerprint = source.TakeFingerprint(settings.batchSize);
    keeper.Lock(settings.checkpointFile);
    resumed.bytes = FindCheckpoint(settings, Describe());
  });
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::FindMachines(
    const CommonSettings& wanted)
{
  placement.machines = comm.Machines("dense matrices");
  if (comm.Call())
  {
    comm.Call()->Begin(comm, AlgorithmType::inRounds,
        placement.RanksBeside(0) == comm.Size());
  }
  placement.board = IsDasgd<AlgorithmType> && comm.Size() > 1;
  if (!placement.board)
    return;
  // Ranks need not agree on all that this depends on.
  for (const std::uint64_t other : comm.Gather(std::uint64_t(
      placement.SharesBoard<AlgorithmType>(wanted))))
    placement.board = placement.board && other != 0;
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
        placement.topology, source, prepared.held,
        ExceptionText(prepared.thrown), ExceptionText(prepared.unready));
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
    if (prepared.thrown)
      std::rethrow_exception(prepared.thrown);
    throw;
  }
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::ChooseStart()
{
  if constexpr (IsDasgd<AlgorithmType>)
  {
    ShareCheckpoint(comm, Name(), resumed.bytes);
    comm.Broadcast(&fingerprint, sizeof(fingerprint));
  }
  resumed.due = !resumed.bytes.empty();
  Checkpoint& about = keeper.About();
  about = Describe();
  if (!resumed.due)
  {
    about.Run() = RunSnapshot::Start(about, agreed.seed);
    return;
  }
  resumed.from = checkpoint::Decode(resumed.bytes);
  about.Run() = resumed.from.Resume(about);
  if (resumed.from.givenStep == about.givenStep)
  {
    about.stepSize = resumed.from.stepSize;
    about.smoothness = resumed.from.smoothness;
  }
  about.seconds = resumed.from.seconds;
  about.staleness = resumed.from.staleness;
  about.resumes = resumed.from.resumes + 1;
  if (resumed.from.fingerprint.known)
    about.fingerprint = resumed.from.fingerprint;
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
  threads.emplace(placement.RanksBeside(comm.Rank()));
  if (resumed.due)
  {
    std::memcpy(source.Iterate(), resumed.from.vectors[0],
        size_t(resumed.from.VectorBytes()));
  }
  else
    BeginAtRoot(comm, source.Iterate(), elements);
  if (comm.Size() > 1 && settings.data == Data::Replicated)
    CompareData(comm, source.TakeFingerprint(settings.batchSize), Name());
  ChooseStepSize();

  source.SetOrder(keeper.About().seed, comm.Size() == 1 && settings.seed == 0,
      IsDasgd<AlgorithmType>);
  rank.Begin(keeper.About(), comm.Rank(), Computing(),
      Limits<AlgorithmType>(*fixed));
  if (resumed.due)
  {
    source.Restore(resumed.from);
    // Its vectors have been copied.
    resumed.bytes = std::vector<std::uint8_t>();
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
  step = StepChoice(settings);
  settings.stepSize = about.stepSize;
  if (step.automatic && about.smoothness > 0)
    step.Estimated(about.smoothness);
  // A step that was chosen for so many ranks is not chosen again.
  if (settings.UsesAutoStep() || (step.automatic && about.smoothness > 0 &&
      resumed.from.held.size() != comm.Size()))
  {
    if (step.smoothness == 0)
    {
      step.Estimated(EstimateTogether(comm, Name() + "::Optimize(), AutoStep",
          settings.data, source));
    }
    settings.stepSize = AutoStepSize(placement.Exchange(), comm.Size(),
        step.smoothness, steps.Scale(settings.batchSize));
  }
  step.size = settings.stepSize;
  about.smoothness = step.smoothness;
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::SayResumed() const
{
  // Said aloud: it must not surprise anybody.
  if (comm.Rank() != 0)
    return;
  const bool converged = resumed.from.finished &&
      resumed.from.reason == StopReason::Tolerance;
  const bool complete = converged || (fixed->maxIterations != 0 &&
      resumed.from.points >= fixed->maxIterations);
  // In one piece, so that what callbacks print next does not get into it.
  std::ostringstream line;
  line << Name() << ": resuming from checkpoint " << settings.checkpointFile
      << " after " << resumed.from.points << " points";
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
  // Models that are not finite are not worth resuming from.
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
  placement.topology = PlaceTopology(comm, placement.machines, Name(),
      ChosenTopology<AlgorithmType>(*fixed));

  // From here on nothing can fail.
  deaths.due = false;
  deaths.gradientsDropped += recovery.Dropped(from);
  deaths.lost = recovery.Lost(firstRanks);
  Checkpoint& about = keeper.About();
  about.Run() = recovery.Begin(from);
  about.seconds = from.seconds;
  about.staleness = from.staleness;
  std::memcpy(source.Iterate(), from.vectors[0], size_t(from.VectorBytes()));
  rank.Rejoin(about, comm.Rank(), Computing(), Limits<AlgorithmType>(*fixed),
      outcome.exception);
  SayRecovered();
}

template<typename AlgorithmType, typename ElemType>
void Training<AlgorithmType, ElemType>::SayRecovered() const
{
  if (comm.Rank() != 0)
    return;
  const std::vector<size_t> lost(deaths.lost.begin(), deaths.lost.end());
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
  const bool crowded = placement.RanksBeside(comm.Rank()) > Cores();
  overlap = ChooseOverlap<AlgorithmType>(*fixed, placement,
      elements * sizeof(ElemType), crowded, mpi::AnyThread());
  bool allOverlap = overlap.used;
  if (MayOverlap<AlgorithmType>(placement))
  {
    // Machines may differ in this.
    for (const std::uint64_t other : comm.Gather(std::uint64_t(overlap.used)))
      allOverlap = allOverlap && other != 0;
  }
  RunSettings run = ChooseRun<AlgorithmType>(*fixed, steps, placement,
      step.automatic, overlap.used, allOverlap);
  run.history = history.get();
  run.live = &settings.live.counts;
  run.crowded = crowded;
  run.seed = keeper.About().seed;
  run.staleness = keeper.About().staleness;
  damping = std::max(damping, run.damping);
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
