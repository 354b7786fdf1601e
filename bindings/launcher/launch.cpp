/**
 * @file launch.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "launch.hpp"
#include "supervise.hpp"

#include <ranks/ranks.hpp>
#include <terminal/terminal.hpp>

#include <mpi.h>

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

std::string PrepareMpirun(const bool oversubscribe)
{
  // Unless set otherwise: root may start it, since root asked for it; and ranks
  // that share cores neither insist on slots nor keep a core busy.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  if (oversubscribe)
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

namespace {

//! The options by which mpirun learns how many ranks to start, and where.
std::vector<std::string> RankOptions(const Allocation& allocation)
{
  std::vector<std::string> words = { "-n", std::to_string(allocation.ranks) };
  if (allocation.hosts.empty())
    return words;
  std::string hosts;
  for (const Host& host : allocation.hosts)
  {
    hosts += (hosts.empty() ? "" : ",") + host.name + ":" +
        std::to_string(host.slots);
  }
#if defined(OPEN_MPI)
  words.insert(words.end(), { "--host", hosts });
  // Other machines do not inherit the environment.
  for (const char* name : { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
      "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "LD_LIBRARY_PATH" })
  {
    if (std::getenv(name))
      words.insert(words.end(), { "-x", name });
  }
#else
  words.insert(words.end(), { "-hosts", hosts });
#endif
  return words;
}

} // namespace

std::string Launch(const RankSettings& settings,
                   const std::string& checkpoint,
                   const size_t restarts)
{
  const std::vector<std::string> words = CommandWords();
  const std::string self = ProgramPath();
  if (words.empty() || self.empty())
    return "cannot read /proc/self/cmdline, which '--ranks' needs; use mpirun";

  // Slots of machines are what a list of them says.
  const std::string mpirun = PrepareMpirun(settings.hostFile.empty() &&
      (settings.elastic || settings.ranks > Cores()));
  if (isatty(STDERR_FILENO))
  {
    // For ranks that cannot be given the terminal itself.
    setenv("DASGD_TERMINAL", "1", 1);
    setenv("COLUMNS", std::to_string(TerminalColumns()).c_str(), 1);
  }

  const auto command = [&](const Allocation& allocation)
  {
    std::vector<std::string> all = { mpirun };
    const std::vector<std::string> options = RankOptions(allocation);
    all.insert(all.end(), options.begin(), options.end());
    all.push_back(self);
    all.insert(all.end(), words.begin() + 1, words.end());
    return all;
  };
  std::cout << std::flush;
  const int status = Supervisor(command, RankSource(settings), checkpoint,
      restarts).Run();
  if (status >= 0)
    _exit(status);
  return MpirunProblem(mpirun, std::strerror(errno));
}

} // namespace cli
} // namespace dasgd
