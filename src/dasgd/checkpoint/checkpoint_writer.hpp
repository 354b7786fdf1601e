/**
 * @file checkpoint_writer.hpp
 *
 * Checkpoints that are written while a training goes on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_WRITER_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_WRITER_HPP

#include "../core/config.hpp"
#include "checkpoint.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dasgd {

/**
 * Writes checkpoints while the training goes on, which waits only while its
 * vectors are copied.  A thread of its own does the rest; it calls no MPI and
 * reads nothing but the copy.
 */
class CheckpointWriter
{
 public:
  /**
   * @param path Where to.
   * @param every Seconds from one to the next.
   */
  CheckpointWriter(const std::string& path, const double every);

  ~CheckpointWriter();

  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  const std::string& Path() const { return path; }

  //! Is it time for the next, and is the last one done?
  bool Due()
  {
    if (Clock::now() < next)
      return false;
    const std::lock_guard<std::mutex> lock(mutex);
    return !pending;
  }

  /**
   * Save a checkpoint as it is now.  Failures are kept for Warning().
   *
   * @param wait Until it is on disk?
   */
  void Write(const Checkpoint& state, const bool wait = false);

  //! A checkpoint cannot be saved; the next one is tried when it is due.
  void Fail(const std::string& reason);

  //! Wait until what was begun is on disk, or has failed.
  void Await();

  //! Why the last one could not be written, unless it was returned before;
  //! empty if there is no new problem.
  std::string Warning();

  //! Why the last one could not be written; empty if it was.
  std::string Problem();

  //! How many are on disk.
  std::uint64_t Written();

 private:
  using Clock = std::chrono::steady_clock;

  void Start();

  void Work();

  std::string path;
  Clock::duration every;
  Clock::time_point next;
  //! What is written; the thread's while `pending`.
  std::vector<std::uint8_t> bytes;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  bool pending = false;
  bool ending = false;
  std::string problem;
  std::string told;
  std::uint64_t written = 0;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "checkpoint_writer_impl.hpp"
#endif

#endif
