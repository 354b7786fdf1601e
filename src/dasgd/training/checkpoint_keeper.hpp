/**
 * @file checkpoint_keeper.hpp
 *
 * Saves checkpoints while a run goes on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_CHECKPOINT_KEEPER_HPP
#define DASGD_TRAINING_CHECKPOINT_KEEPER_HPP

#include "../algorithms/outcome.hpp"
#include "../checkpoint/checkpoint_file.hpp"
#include "../core/guard.hpp"

#include <chrono>
#include <functional>
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
  //! worth saving.
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
  void Open(const std::string& path, double every);

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
  const Checkpoint& Now();

  //! Save one, if it is time to.
  void SaveIfDue();

  /**
   * The last one says how the run ended, and is on disk when this returns.
   *
   * @param end How it ended; null if there is nothing to save.
   */
  void SaveLast(const Outcome* end);

  //! Do something about checkpoints; what it throws is only warned of.
  void Attempt(const std::function<void()>& action);

 private:
  void Save(const Outcome* end);

  void Complete(const Outcome* end);

  //! A checkpoint could not be written: say so.
  void Warn(const std::string& text) const;

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

#ifndef DASGD_COMPILED
#include "checkpoint_keeper_impl.hpp"
#endif

#endif
