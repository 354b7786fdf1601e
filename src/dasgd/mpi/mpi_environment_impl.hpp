/**
 * @file mpi_environment_impl.hpp
 *
 * Implementation of the beginning and the end of MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ENVIRONMENT_IMPL_HPP
#define DASGD_MPI_MPI_ENVIRONMENT_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_environment.hpp"

#include "rank_loss.hpp"
#include "watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <unistd.h>

namespace dasgd {
namespace mpi {

DASGD_INLINE void Await(MPI_Request& request, const Backoff::Mode mode)
{
  Backoff backoff(mode);
  int done = 0;
  Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  while (!done)
  {
    backoff.Wait();
    Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
}

DASGD_INLINE bool MeetAtExit(const bool failed)
{
  using Clock = std::chrono::steady_clock;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(2);
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
#if DASGD_ULFM
  // Static: MPI may write to it as long as it is under way.
  static int bits = 1;
  if (Tolerant())
    MPIX_Comm_iagree(ExitCommunicator(), &bits, &request);
  else
#endif
  if (MPI_Ibarrier(ExitCommunicator(), &request) != MPI_SUCCESS)
    return false;
  Clock::time_point death = Clock::time_point::max();
  while (!done && request != MPI_REQUEST_NULL)
  {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done)
      break;
    const Clock::time_point now = Clock::now();
    if (failed && now > limit)
      return false;
    if (death == Clock::time_point::max() && Deaths(ExitCommunicator()) > 0)
      death = now;
    if (death < now && now - death > std::chrono::seconds(60))
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

DASGD_INLINE void AtExit(const int status)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized)
    return;
  Exiting() = true;
  const bool training = (UnderWay::Count() > 0);
  const bool failed = (status != 0 || training);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string name = "dasgd: rank " + std::to_string(rank);
  if (failed && !MeetAtExit(true))
  {
    if (training)
    {
      std::fputs((name + " called exit(" + std::to_string(status) + ") while "
          "training was under way; the job ends, since the other ranks would "
          "wait for it\n").c_str(), stderr);
    }
    MPI_Abort(MPI_COMM_WORLD, status == 0 ? 1 : status);
  }
#if DASGD_ULFM
  else if (Tolerant())
  {
    if (!failed && !MeetAtExit(false))
    {
      // The others do not need this rank any more.
      std::fputs((name + " exits without the others: one of them died, and "
          "the rest has not come to its end within a minute\n").c_str(),
          stderr);
      return;
    }
    std::fflush(nullptr);
    const Watchdog watchdog(60, name + " exits: MPI_Finalize() has not "
        "returned within a minute", status);
    MPI_Finalize();
    return;
  }
#endif
  MPI_Finalize();
}

DASGD_INLINE Launched FindLauncher()
{
  // SLURM_NTASKS is set for the single process of a batch script, too;
  // SLURM_STEP_NUM_TASKS by srun only.  The innermost launcher counts.
  const char* const launchers[][2] =
  {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
    { "PMI_SIZE", "PMI_RANK" },
    { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" }
  };
  for (const auto& launcher : launchers)
  {
    const char* size = std::getenv(launcher[0]);
    const char* rank = std::getenv(launcher[1]);
    if (!size || !rank)
      continue;
    return { size_t(std::max(1, std::atoi(size))),
        size_t(std::max(0, std::atoi(rank))), launcher[0] };
  }
  return { };
}

DASGD_INLINE std::string LauncherMismatch()
{
  const Launched launched = FindLauncher();
  if (launched.size < 2 || launched.rank != 0)
    return "";
  return "dasgd: " + std::to_string(launched.size) + " processes were started "
      "(" + launched.variable + "), but MPI tells each of them that it is "
      "alone, so each trains by itself; start them by the mpirun of the MPI "
      "that the program was linked with, or by srun --mpi=pmix\n";
}

DASGD_INLINE std::string MissingPmix()
{
#if defined(OPEN_MPI)
  const char* size = std::getenv("SLURM_STEP_NUM_TASKS");
  const char* rank = std::getenv("SLURM_PROCID");
  // mpirun may have been started by srun; it tells its processes itself.
  if (size && rank && std::atoi(size) > 1 && std::atoi(rank) == 0 &&
      !std::getenv("PMIX_RANK") && !std::getenv("OMPI_COMM_WORLD_SIZE"))
  {
    return "dasgd: " + std::string(size) + " processes were started by srun "
        "without PMIx, by which Open MPI learns of the others; if MPI_Init() "
        "fails now, or each process trains by itself, start them by srun "
        "--mpi=pmix\n";
  }
#endif
  return "";
}

DASGD_INLINE bool Alone(const MPI_Comm comm)
{
  int initialized = 0;
  Check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF))
    return false;
  // What launchers set, by the names that begin so.  One too many costs the
  // time of MPI_Init(); one too few, and each process would train by itself.
  const std::string launchers[] = { "ALPS_", "FLUX_", "HYDI_", "JSM_",
      "MPIEXEC_", "MPIRUN_", "MPISPAWN_", "MPI_LOCAL", "MPT_", "MV2_",
      "OMPI_COMM_", "OMPI_UNIVERSE_", "PALS_", "PMI", "SLURM_PROCID",
      "SLURM_STEP_" };
  for (char** variable = environ; variable && *variable; ++variable)
    for (const std::string& launcher : launchers)
      if (launcher.compare(0, std::string::npos, *variable,
          std::min(launcher.size(), std::strlen(*variable))) == 0)
        return false;
  return true;
}

DASGD_INLINE void Initialize()
{
  // Of several threads that train, the first one does it.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  int finalized = 0;
  Check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized)
  {
    throw std::runtime_error("dasgd: MPI has been finalized already; call "
        "MPI_Finalize() after the last Optimize()");
  }
  int initialized = 0;
  Check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized)
    return;

#if DASGD_ULFM
  // After a death, the barrier in Open MPI 5.0's MPI_Finalize() sometimes
  // hangs; AtExit() has one of its own.
  if (std::getenv("OMPI_MCA_mpi_ft_enable"))
    setenv("OMPI_MCA_async_mpi_finalize", "1", 0);
#endif
  // What Open MPI says when it fails does not name the remedy.
  const std::string missing = MissingPmix();
  std::fputs(missing.c_str(), stderr);
  const std::string mismatch = missing.empty() ? LauncherMismatch() : "";
  int provided = 0, size = 1;
  // For an exchange beside computing; the user's code may call MPI, too.
  Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided),
      "MPI_Init_thread");
  Check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size == 1 && !mismatch.empty())
    std::fputs(mismatch.c_str(), stderr);
#if DASGD_ULFM
  if (Tolerant())
  {
    // A rank may have died since MPI_Init().
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const ErrorsReturned returned(MPI_COMM_WORLD);
    ExitCommunicator() = Survivors(MPI_COMM_WORLD);
  }
  else
#endif
  Check(MPI_Comm_dup(MPI_COMM_WORLD, &ExitCommunicator()), "MPI_Comm_dup");
  // A child of fork() runs the same handlers, but must not call MPI.
  static const pid_t owner = getpid();
#if defined(__GLIBC__)
  on_exit([](const int status, void*)
  {
    if (getpid() == owner)
      AtExit(status);
  }, nullptr);
#else
  std::atexit([]()
  {
    if (getpid() == owner)
      AtExit(0);
  });
#endif
}

DASGD_INLINE bool AnyThread()
{
  int initialized = 0, level = MPI_THREAD_SINGLE;
  Check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (!initialized)
    return false;
  Check(MPI_Query_thread(&level), "MPI_Query_thread");
  return level == MPI_THREAD_MULTIPLE;
}

DASGD_INLINE size_t Ranks(const MPI_Comm comm)
{
  if (Alone(comm))
    return 1;
  Initialize();
  int size = 1;
  Check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size_t(size);
}

} // namespace mpi
} // namespace dasgd

#endif
