/**
 * @file part_files.hpp
 *
 * Which files a process has begun to write, so that a signal handler can remove
 * them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FILES_PART_FILES_HPP
#define DASGD_FILES_PART_FILES_HPP

#include "../core/config.hpp"

#include <atomic>
#include <cstddef>
#include <string>

#include <sys/types.h>

namespace dasgd {

/**
 * The names of the files that this process has begun to write, in static
 * memory, which a signal handler can read.
 */
class PartFiles
{
 public:
  /**
   * Remember a name.
   *
   * @return What to give to Forget().
   */
  static size_t Remember(const std::string& path);

  static void Forget(const size_t which);

  /**
   * Remove all files that have been begun, for a process that is about to die
   * by a signal; calls async-signal-safe functions only.
   */
  static void Remove();

 private:
  struct Slot
  {
    //! 0: free; -1: being filled.
    std::atomic<pid_t> owner{ 0 };
    char path[4096] = { };
  };

  static constexpr size_t count = 8;

  static Slot* Slots()
  {
    static Slot slots[count];
    return slots;
  }

  //! Armadillo writes to a name that begins with the one it is given.  This
  //! lists the folder by a system call: readdir() is not async-signal-safe.
  static void RemoveLonger(const char* path);
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "part_files_impl.hpp"
#endif

#endif
