/**
 * @file checkpoint_keeper.hpp
 *
 * Saves checkpoints while a run goes on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_CHECKPOINT_KEEPER_HPP
#define DASGD_OPTIMIZER_CHECKPOINT_KEEPER_HPP

#include "../algorithms/outcome.hpp"
#include "../wire/checkpoint_file.hpp"
#include "guard.hpp"

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>

namespace dasgd {

/**
 * The checkpoints of a run.  It knows what all of them have in common; what is
 * of the moment comes from elsewhere.  What fails here never ends a training:
 * it is said once, and the training goes on.
 */
class CheckpointKeeper
{
 public:
  //! Puts what is of the moment into a checkpoint; false if the model is not
  //! worth to be saved.
  using Fill = std::function<bool(Checkpoint&)>;

  //! @param name Of the algorithm, for messages.
  CheckpointKeeper(const char* name, const Fill& fill) :
      name(name), fill(fill) { }

  //! What all checkpoints have in common; its time and its staleness are those
  //! from before this run.
  Checkpoint& About() { return about; }
  const Checkpoint& About() const { return about; }

  //! A run begins, from what About() says.
  void Begin(const RankReport* const* counts)
  {
    live = counts;
    startedAt = std::chrono::steady_clock::now();
  }

  //! The run has ended, with these counts.
  void End(const RankReport& counts) { about.staleness = counts.staleness; }

  //! Write to a file from now on.
  void Open(const std::string& path, const double every)
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

  //! The file is this training's.
  void Lock(const std::string& path)
  { lock = std::make_unique<CheckpointLock>(path); }

  bool IsOpen() const { return writer != nullptr; }
  //! How many were written.
  std::uint64_t Written() const { return writer ? writer->Written() : 0; }
  //! Why there is none, or nothing.
  std::string Problem() const
  { return (writer && problem.empty()) ? writer->Problem() : problem; }

  //! The checkpoint of this moment; its vectors stay where they are.
  const Checkpoint& Now(const Outcome* end = nullptr)
  {
    now = about;
    (void) fill(now);
    Complete(end);
    return now;
  }

  //! Save one, if it is time to.
  void SaveIfDue()
  {
    if (!writer || !writer->Due())
      return;
    Warn(writer->Warning());
    Save(nullptr);
  }

  /**
   * The last one says how the run ended, and is on disk when this returns.
   *
   * @param end How it ended; null if there is nothing to save.
   */
  void SaveLast(const Outcome* end)
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

 private:
  void Save(const Outcome* end)
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

  void Complete(const Outcome* end)
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

  template<typename ActionType>
  void Attempt(ActionType&& action)
  {
    std::exception_ptr failure;
    Guard(failure, action);
    if (failure)
    {
      problem = ExceptionText(failure);
      Warn(problem);
    }
  }

  //! A checkpoint could not be written: say so.
  void Warn(const std::string& text) const
  {
    if (!text.empty())
    {
      // Not through ens::Warn, which is silent in most programs.
      std::cerr << name << ": no checkpoint: " << text << "; what was saved "
          << "before stays, and the training goes on." << std::endl;
    }
  }

  const char* name;
  Fill fill;
  Checkpoint about;
  Checkpoint now;
  std::unique_ptr<CheckpointLock> lock;
  std::unique_ptr<CheckpointWriter> writer;
  std::string problem;
  const RankReport* const* live = nullptr;
  std::chrono::steady_clock::time_point startedAt;
};

} // namespace dasgd

#endif
