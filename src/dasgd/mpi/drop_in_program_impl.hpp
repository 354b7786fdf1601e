/**
 * @file drop_in_program_impl.hpp
 *
 * Implementation of what programs need that know nothing of ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_DROP_IN_PROGRAM_IMPL_HPP
#define DASGD_MPI_DROP_IN_PROGRAM_IMPL_HPP

// In case it hasn't been included yet.
#include "drop_in_program.hpp"

#include "../core/type_name.hpp"
#include "../files/whole_file.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <set>
#include <typeindex>

#include <fcntl.h>
#include <unistd.h>

namespace dasgd {
namespace drop_in {

DASGD_INLINE const mpi::Launched& Program()
{
  static const mpi::Launched launched = mpi::FindLauncher();
  return launched;
}

DASGD_INLINE bool Begin()
{
  if (Program().rank == 0 || std::getenv("DASGD_ALL_OUTPUT"))
    return true;
  // The file itself: whatever the program prints by, and the programs that it
  // starts, all end there.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0)
  {
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  return true;
}

DASGD_INLINE void SaySerial(const std::type_info& optimizer)
{
  if (Program().size < 2 || Program().rank != 0)
    return;
  static std::set<std::type_index> said;
  static std::mutex mutex;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!said.insert(std::type_index(optimizer)).second)
      return;
  }
  // In one piece, since other ranks may print, too.
  const std::string line = "dasgd: " + TypeName(optimizer) + " is not "
      "decentralized: each of " + std::to_string(Program().size) + " ranks "
      "runs all of it for itself.\n";
  std::fputs(line.c_str(), stderr);
}

DASGD_INLINE bool Save(const std::string& name,
                       const std::function<bool(const std::string&)>& write)
{
  if (Program().size < 2)
    return write(name);
  // Processes on other machines may have the same identifier, but not the same
  // rank.
  std::string rank = std::to_string(Program().rank);
  rank.insert(0, 6 - std::min<size_t>(rank.size(), 6), '0');
  try
  {
    WholeFile file(name, std::to_string(getpid()) + rank);
    if (!write(file.Path()))
      return false;
    file.Commit();
    return true;
  }
  catch (const WriteError&)
  {
    // It says better than we could what is wrong.
    return write(name);
  }
}

DASGD_INLINE size_t Seed(const size_t given)
{
  // Each call gets another seed; all ranks call it equally often.
  static std::atomic<size_t> calls{ 0 };
  const std::time_t now = std::time(nullptr);
  const double off = double(given) - double(now);
  if (Program().size < 2 || off < -60 || off > 60)
    return given;
  for (const char* variable : { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
      "PMI_JOBID", "PMI_ID_MAP", "SLURM_JOB_ID" })
  {
    if (const char* job = std::getenv(variable))
    {
      const std::string text = job + (" " + std::to_string(calls++));
      return std::hash<std::string>()(text) & 0x7fffffff;
    }
  }
  return given;
}

} // namespace drop_in
} // namespace dasgd

#endif
