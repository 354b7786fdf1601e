/**
 * @file checkpoint_lock.hpp
 *
 * One training at a time for a checkpoint file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_LOCK_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_LOCK_HPP

#include "../core/config.hpp"

#include <string>

namespace dasgd {

/**
 * Keeps other trainings from a checkpoint while this one has it: two that write
 * one file would each resume the other's.  Held by a file beside it, which the
 * system releases when the process dies, however it does.
 */
class CheckpointLock
{
 public:
  /**
   * @param path The checkpoint.
   * @param seconds How long to wait for a process that has it: one that was
   *     killed may take a moment to be gone.
   */
  explicit CheckpointLock(const std::string& path, const double seconds = 2);

  ~CheckpointLock();

  CheckpointLock(const CheckpointLock&) = delete;
  CheckpointLock& operator=(const CheckpointLock&) = delete;

 private:
  //! False if another process has it.
  bool Try();

  std::string name;
  int file = -1;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "checkpoint_lock_impl.hpp"
#endif

#endif
