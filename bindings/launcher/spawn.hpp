/**
 * @file spawn.hpp
 *
 * Starts another program.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_SPAWN_HPP
#define DASGD_BINDINGS_LAUNCHER_SPAWN_HPP

#include <string>
#include <vector>

#include <sys/types.h>

namespace dasgd {
namespace cli {

//! How a program is started.
struct SpawnSettings
{
  //! Files for its standard streams; -1 to inherit this program's.
  int in = -1;
  int out = -1;
  int error = -1;
  //! Should it have a process group of its own?  Then signals from the terminal
  //! do not reach it.
  bool group = false;
};

/**
 * Start a program.  It gets SIGTERM if this process dies.
 *
 * @param command The program, looked for in PATH, and its arguments.
 * @param child The process that was started.
 * @return Why it cannot be done, as in errno, or 0.
 */
int Spawn(const std::vector<std::string>& command,
          const SpawnSettings& settings,
          pid_t& child);

//! Let this process get a signal when the one that started it ends.
void SignalWithParent(const int signal);

} // namespace cli
} // namespace dasgd

#endif
