/**
 * @file launch.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "launch.hpp"
#include "ranks.hpp"
#include "supervise.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include <unistd.h>

namespace dasgd {
namespace cli {

size_t Cores() { return std::max(1u, std::thread::hardware_concurrency()); }

size_t MostRanks() { return std::max<size_t>(64, 16 * Cores()); }

std::string PrepareMpirun(const size_t ranks)
{
  // Unless set otherwise: root may start it, since root asked for it; and ranks
  // that share cores neither insist on slots nor keep a core busy.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  if (ranks > Cores())
  {
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
  }
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);

  const char* chosen = std::getenv("DASGD_MPIRUN");
#if defined(DASGD_MPIEXEC)
  const std::string fixed = DASGD_MPIEXEC;
#else
  const std::string fixed = "mpirun";
#endif
  const std::string mpirun = chosen ? chosen : fixed;
  if (!chosen && mpirun.find('/') != std::string::npos &&
      access(mpirun.c_str(), X_OK) != 0)
    return "mpirun"; // Built on another machine.
  return mpirun;
}

std::string MpirunProblem(const std::string& mpirun, const std::string& reason)
{
  return "'" + mpirun + "' cannot be started (" + reason + "); install "
      "openmpi-bin, or set DASGD_MPIRUN to the mpirun of the MPI that this "
      "program was built with";
}

std::string Launch(const size_t ranks,
                   const std::string& checkpoint,
                   const size_t restarts)
{
  const std::vector<std::string> words = CommandWords();
  const std::string self = ProgramPath();
  if (words.empty() || self.empty())
    return "cannot read /proc/self/cmdline, which '--ranks' needs; use mpirun";

  const std::string mpirun = PrepareMpirun(ranks);
  if (isatty(STDERR_FILENO))
  {
    // For ranks that cannot be given the terminal itself.
    setenv("DASGD_TERMINAL", "1", 1);
    setenv("COLUMNS", std::to_string(TerminalColumns()).c_str(), 1);
  }

  std::vector<std::string> command = { mpirun, "-n", std::to_string(ranks),
      self };
  command.insert(command.end(), words.begin() + 1, words.end());
  std::cout << std::flush;
  const int status = Supervise(command, ranks, checkpoint, restarts);
  if (status >= 0)
    _exit(status);
  return MpirunProblem(mpirun, std::strerror(errno));
}

} // namespace cli
} // namespace dasgd
