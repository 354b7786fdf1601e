/**
 * @file checkpoint_keeper_impl.hpp
 *
 * Implementation of the checkpoints of a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_CHECKPOINT_KEEPER_IMPL_HPP
#define DASGD_TRAINING_CHECKPOINT_KEEPER_IMPL_HPP

// In case it hasn't been included yet.
#include "checkpoint_keeper.hpp"

#include <iostream>

namespace dasgd {

DASGD_INLINE void CheckpointKeeper::Open(const std::string& path,
                                         const double every)
{
  Attempt([&]()
  {
    // The rank that had it before may have died.
    if (!lock)
      lock = std::make_unique<CheckpointLock>(path);
    writer = std::make_unique<CheckpointWriter>(path, every);
    Warn(writer->Warning());
  });
}

DASGD_INLINE const Checkpoint& CheckpointKeeper::Now()
{
  now = about;
  (void) fill(now);
  Complete(nullptr);
  return now;
}

DASGD_INLINE void CheckpointKeeper::SaveIfDue()
{
  if (!writer || !writer->Due())
    return;
  Warn(writer->Warning());
  Save(nullptr);
}

DASGD_INLINE void CheckpointKeeper::SaveLast(const Outcome* end)
{
  if (!writer)
    return;
  Attempt([&]()
  {
    if (end)
      Save(end);
    writer->Await();
    Warn(writer->Warning());
  });
}

DASGD_INLINE void CheckpointKeeper::Save(const Outcome* end)
{
  try
  {
    now = about;
    if (!fill(now))
      return;
    Complete(end);
    writer->Write(now, end != nullptr);
  }
  catch (const std::exception& e)
  {
    writer->Fail(e.what()); // A lack of memory must not end the training.
  }
}

DASGD_INLINE void CheckpointKeeper::Complete(const Outcome* end)
{
  now.seconds = about.seconds + std::chrono::duration<double>(
      std::chrono::steady_clock::now() - startedAt).count();
  if (live && *live)
    now.staleness = (*live)->staleness;
  if (end)
  {
    now.finished = true;
    now.reason = end->stopped ? end->stop.reason : StopReason::Budget;
    now.stopValue = end->stop.value;
  }
}

DASGD_INLINE void CheckpointKeeper::Attempt(
    const std::function<void()>& action)
{
  std::exception_ptr failure;
  Guard(failure, action);
  if (failure)
  {
    problem = ExceptionText(failure);
    Warn(problem);
  }
}

DASGD_INLINE void CheckpointKeeper::Warn(const std::string& text) const
{
  if (!text.empty())
  {
    // Not through ens::Warn, which is silent in most programs.
    std::cerr << name << ": no checkpoint: " << text << "; what was saved "
        << "before stays, and the training goes on." << std::endl;
  }
}

} // namespace dasgd

#endif
