/**
 * @file mpi_environment.hpp
 *
 * MPI by RAII: initialised if nobody has, finalised only if we initialised it,
 * error codes as exceptions, waiting without burning a core.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_ENVIRONMENT_HPP
#define DASGD_TRANSPORT_MPI_ENVIRONMENT_HPP

// The C interface only: the C++ bindings are gone from the standard, and their
// headers make noise.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

//! Has this MPI the means to go on without a rank that died (ULFM)?
#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
#define DASGD_ULFM 1
#else
#define DASGD_ULFM 0
#endif

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace dasgd {
namespace mpi {

//! A rank has died, or another one says so; thrown only where the others can go
//! on.
class RankLost : public std::runtime_error
{
 public:
  RankLost() : std::runtime_error("dasgd: a rank has died") { }

  //! @param agreed Do all ranks that are left throw this?
  explicit RankLost(const std::string& text, const bool agreed = false) :
      std::runtime_error(text), agreed(agreed) { }

  bool Agreed() const { return agreed; }

 private:
  bool agreed = false;
};

//! "rank 2 of 4 died", for any number of ranks.
inline std::string DiedText(const std::vector<size_t>& lost, const size_t ranks)
{
  if (lost.empty())
    return "a rank has died";
  std::string text = (lost.size() == 1) ? "rank " : "ranks ";
  for (size_t i = 0; i < lost.size(); ++i)
  {
    text += (i == 0) ? "" : (i + 1 == lost.size()) ? " and " : ", ";
    text += std::to_string(lost[i]);
  }
  return text + " of " + std::to_string(ranks) + " died";
}

//! Was the job started such that it survives the death of a rank?
inline bool Tolerant()
{
#if DASGD_ULFM
  void* value = nullptr;
  int set = 0;
  return MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &value, &set) ==
      MPI_SUCCESS && set && value && *static_cast<int*>(value);
#else
  return false;
#endif
}

//! Does an error code say that a rank has died?
inline bool SaysLost(const int code)
{
#if DASGD_ULFM
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_REVOKED ||
      kind == MPIX_ERR_PROC_FAILED_PENDING ||
      (kind == MPI_ERR_IN_STATUS && Tolerant());
#else
  (void) code;
  return false;
#endif
}

//! Turn an error code of MPI into an exception.
inline void Check(const int code, const char* call)
{
  if (code == MPI_SUCCESS)
    return;
  if (SaysLost(code))
    throw RankLost();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error("dasgd: " + std::string(call) + " failed: " +
      std::string(text, size_t(length)));
}

/**
 * How long to sleep when there is nothing to do.  MPI offers no wait that
 * neither spins nor needs a thread, so look again after a while: at once at
 * first, then at growing intervals up to half a millisecond.
 */
class Patience
{
 public:
  enum Mood { Relaxed, Alert };

  //! @param mood Alert: never sleep, only let others on this core go first.
  explicit Patience(const Mood mood = Relaxed) : mood(mood) { }

  //! Something happened: look again soon.
  void Reset() { naps = 0; }

  void Nap()
  {
    ++naps;
    if (naps <= 256 || mood == Alert)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(
          std::min<size_t>(500, 10 * (naps - 256))));
  }

 private:
  Mood mood;
  size_t naps = 0;
};

//! Wait for a request without keeping a core busy.
inline void Await(MPI_Request& request,
                  const Patience::Mood mood = Patience::Relaxed)
{
  Patience patience(mood);
  int done = 0;
  Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  while (!done)
  {
    patience.Nap();
    Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
}

/**
 * Ends this process if something that MPI offers no way to give up takes too
 * long.
 */
class Watchdog
{
 public:
  /**
   * @param seconds How long it may take.
   * @param text What to print then.
   * @param status The exit status then; negative to end by a signal, which the
   *     others notice: Open MPI 5.0 does not tell them of a status.
   */
  Watchdog(const double seconds, const std::string& text, const int status = -1)
  {
    try
    {
      thread = std::thread([this, seconds, text, status]()
      {
        std::unique_lock<std::mutex> lock(mutex);
        if (changed.wait_for(lock, std::chrono::duration<double>(seconds),
            [this]() { return over; }))
          return;
        std::fputs((text + "\n").c_str(), stderr);
        if (status < 0)
          kill(getpid(), SIGKILL);
        _exit(status);
      });
    }
    catch (const std::exception&)
    {
      // Without a thread it waits as long as MPI does.
    }
  }

  ~Watchdog()
  {
    if (!thread.joinable())
      return;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    changed.notify_all();
    thread.join();
  }

  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

//! How many seconds a rank waits for the others to notice a death; they may be
//! in the middle of a long gradient.
inline double DeathSeconds()
{
  const char* given = std::getenv("DASGD_DEATH_SECONDS");
  const double seconds = given ? std::atof(given) : 0;
  return (seconds > 0) ? seconds : 600;
}

//! How many ranks of a communicator are known to have died?
inline size_t Deaths(const MPI_Comm comm)
{
#if DASGD_ULFM
  MPI_Group group = MPI_GROUP_EMPTY;
  int dead = 0;
  if (!Tolerant() || MPIX_Comm_get_failed(comm, &group) != MPI_SUCCESS)
    return 0;
  MPI_Group_size(group, &dead);
  if (group != MPI_GROUP_EMPTY)
    MPI_Group_free(&group);
  return size_t(dead);
#else
  (void) comm;
  return 0;
#endif
}

//! Is a rank of a communicator known to have died?
inline bool IsDead(const MPI_Comm comm, const size_t rank)
{
#if DASGD_ULFM
  MPI_Group all, dead;
  if (Deaths(comm) == 0 || MPI_Comm_group(comm, &all) != MPI_SUCCESS)
    return false;
  const int it = int(rank);
  int there = MPI_UNDEFINED;
  if (MPIX_Comm_get_failed(comm, &dead) == MPI_SUCCESS)
  {
    MPI_Group_translate_ranks(all, 1, &it, dead, &there);
    if (dead != MPI_GROUP_EMPTY)
      MPI_Group_free(&dead);
  }
  MPI_Group_free(&all);
  return there != MPI_UNDEFINED;
#else
  (void) comm;
  (void) rank;
  return false;
#endif
}

#if DASGD_ULFM
//! Errors on a communicator that is not ours are returned for a while.
class ErrorsReturned
{
 public:
  explicit ErrorsReturned(const MPI_Comm comm) : comm(comm)
  {
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }

  ~ErrorsReturned()
  {
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
  }

  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm;
  MPI_Errhandler before;
};

//! What the ranks that are left agree on.
struct Agreement
{
  //! Did it come about in time?
  bool reached;
  //! Has everybody been there?
  bool whole;
  //! The bits that all of them have set.
  int bits;
};

/**
 * Agree with all ranks that are left of a communicator, be it revoked or not.
 * Errors on it must be returned.
 *
 * @param seconds How long to wait once one more rank has died.
 * @param dead Ranks whose death has been dealt with.
 */
inline Agreement Agree(const MPI_Comm comm,
                       const int bits,
                       const double seconds,
                       const size_t dead = 0)
{
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<int> agreed = std::make_unique<int>(bits);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPIX_Comm_iagree(comm, agreed.get(), &request);
  Patience patience;
  Clock::time_point limit = Clock::time_point::max();
  int done = 0;
  while (request != MPI_REQUEST_NULL)
  {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done || request == MPI_REQUEST_NULL)
      break;
    if (limit == Clock::time_point::max() && Deaths(comm) > dead)
    {
      limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(seconds));
    }
    if (Clock::now() > limit)
    {
      agreed.release(); // MPI may write to it yet.
      return Agreement{ false, false, 0 };
    }
    patience.Nap();
  }
  return Agreement{ true, code == MPI_SUCCESS, *agreed };
}

//! Others have not come to an agreement in time: the job ends.
[[noreturn]] inline void GiveUp()
{
  std::fputs(("dasgd: a rank has died, and not all others have noticed it "
      "within " + std::to_string(size_t(DeathSeconds())) + " s; the job ends. "
      "Set DASGD_DEATH_SECONDS to more if gradients or callbacks take that "
      "long\n").c_str(), stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/**
 * A communicator of those that are left of another one, and that know it.
 *
 * @param from Errors on it must be returned.
 */
inline MPI_Comm Survivors(const MPI_Comm from)
{
  // Once all are there it takes no time; MPI_Comm_shrink() itself cannot be
  // given up.
  if (!Agree(from, 1, DeathSeconds(), Deaths(from)).reached)
    GiveUp();
  const Watchdog watchdog(60, "dasgd: a rank has died, and MPI does not let "
      "the others go on without it; the job ends");
  for (;;)
  {
    MPI_Comm next = MPI_COMM_NULL;
    const int code = MPIX_Comm_shrink(from, &next);
    const bool made = (code == MPI_SUCCESS && next != MPI_COMM_NULL);
    // If one more dies in the meantime, some may have it and others not.
    const bool all = Agree(from, made, 60).bits != 0;
    if (made)
    {
      MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
      if (all && Agree(next, 1, 60).whole)
        return next;
      MPI_Comm_free(&next);
    }
    else if (!SaysLost(code))
      Check(code, "MPIX_Comm_shrink");
  }
}
#endif

//! A communicator of all ranks for AtExit() alone: what the program does on
//! MPI_COMM_WORLD at that moment must not meet it.
inline MPI_Comm& ExitCommunicator()
{
  static MPI_Comm comm = MPI_COMM_NULL;
  return comm;
}

//! A training is under way while there is one of these.
class UnderWay
{
 public:
  UnderWay() { ++Count(); }
  ~UnderWay() { --Count(); }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  static size_t& Count()
  {
    static size_t count = 0;
    return count;
  }
};

/**
 * Wait until all ranks exit as well.
 *
 * @param failed Then wait two seconds at most.
 * @return Whether they do.
 */
inline bool MeetAtExit(const bool failed)
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

/**
 * At exit of a program whose MPI we initialised.  A program that ends well
 * waits for its peers in MPI_Finalize().  One that ends with an error must not:
 * the peers may still be at work and would wait for it for ever.  So it gives
 * them two seconds to end as well, and otherwise takes the job down.  To exit
 * while a training is under way is an error, whatever the status.
 */
inline void AtExit(const int status)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized)
    return;
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
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
#if DASGD_ULFM
  else if (Tolerant())
  {
    if (!failed && !MeetAtExit(false))
    {
      // The others are not harmed by it: this rank has nothing left to do.
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

/**
 * The launcher's word for how many processes it started, if there are several
 * and this is one of them; to be asked before MPI is initialised, which may set
 * the same variables.
 *
 * @return What to say if MPI knows of one only; said by the first of them.
 */
inline std::string LaunchedApart()
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
    if (std::atoi(size) < 2 || std::atoi(rank) != 0)
      return "";
    return "dasgd: " + std::to_string(std::atoi(size)) + " processes were "
        "started (" + launcher[0] + "), but MPI tells each of them that it is "
        "alone, so each trains by itself; start them by the mpirun of the MPI "
        "that the program was linked with, or by srun --mpi=pmix\n";
  }
  return "";
}

//! Initialise MPI unless somebody has.
inline void Initialize()
{
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
  // After a death, the barrier in Open MPI 5.0's MPI_Finalize() hangs now and
  // then; AtExit() has one of its own.
  if (std::getenv("OMPI_MCA_mpi_ft_enable"))
    setenv("OMPI_MCA_async_mpi_finalize", "1", 0);
#endif
  const std::string apart = LaunchedApart();
  int provided = 0, size = 1;
  Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
      "MPI_Init_thread");
  Check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size == 1 && !apart.empty())
    std::fputs(apart.c_str(), stderr);
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
  // A child of fork() that exits runs the same handlers, but MPI is not its.
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

} // namespace mpi
} // namespace dasgd

#endif
