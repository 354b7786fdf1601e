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
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace dasgd {
namespace mpi {

//! A rank has died, or another one says so; thrown only where the others can go
//! on.
class RankLost : public std::runtime_error
{
 public:
  RankLost() : std::runtime_error("dasgd: a rank has died") { }
};

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

//! A communicator of all ranks for AtExit() alone: what the program does on
//! MPI_COMM_WORLD at that moment must not meet it.
inline MPI_Comm& ExitCommunicator()
{
  static MPI_Comm comm = MPI_COMM_NULL;
  return comm;
}

/**
 * At exit of a program whose MPI we initialised.  A program that ends well
 * waits for its peers in MPI_Finalize().  One that ends with an error must not:
 * the peers may still be at work and would wait for it for ever.  So it gives
 * them two seconds to end as well, and otherwise takes the job down.
 */
inline void AtExit(const bool failed)
{
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized)
    return;
  if (failed)
  {
    MPI_Request barrier;
    int done = 0;
    if (MPI_Ibarrier(ExitCommunicator(), &barrier) == MPI_SUCCESS)
    {
      const auto start = std::chrono::steady_clock::now();
      while (!done && std::chrono::steady_clock::now() - start <
          std::chrono::seconds(2))
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
      }
    }
    if (!done)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }
#if DASGD_ULFM
  else if (Tolerant())
  {
    // A last meeting of those that are left; what it says does not matter.
    MPI_Comm left = MPI_COMM_NULL;
    if (MPIX_Comm_shrink(ExitCommunicator(), &left) == MPI_SUCCESS)
    {
      MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
      MPI_Barrier(left);
    }
  }
#endif
  MPI_Finalize();
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
  int provided = 0;
  Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
      "MPI_Init_thread");
  Check(MPI_Comm_dup(MPI_COMM_WORLD, &ExitCommunicator()), "MPI_Comm_dup");
#if defined(__GLIBC__)
  on_exit([](const int status, void*) { AtExit(status != 0); }, nullptr);
#else
  std::atexit([]() { AtExit(false); });
#endif
}

} // namespace mpi
} // namespace dasgd

#endif
