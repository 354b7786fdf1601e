/**
 * @file mpi_environment.hpp
 *
 * MPI by RAII: initialised if nobody has, finalised only if we initialised it,
 * error codes as exceptions, waiting without burning a core.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ENVIRONMENT_HPP
#define DASGD_MPI_MPI_ENVIRONMENT_HPP

#include "../core/config.hpp"
#include "backoff.hpp"
#include "mpi_error.hpp"
#include "rank_loss.hpp"

#include <atomic>
#include <cstddef>
#include <string>

namespace dasgd {
namespace mpi {

//! Wait for a request without keeping a core busy.
void Await(MPI_Request& request,
           const Backoff::Mode mode = Backoff::Sleep);

//! A communicator of all ranks for AtExit() alone, so that its messages cannot
//! match those of the program on MPI_COMM_WORLD.
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

  static std::atomic<size_t>& Count()
  {
    static std::atomic<size_t> count{ 0 };
    return count;
  }
};

//! Is AtExit() at work?
inline std::atomic<bool>& Exiting()
{
  static std::atomic<bool> exiting{ false };
  return exiting;
}

/**
 * Wait until all ranks exit as well.
 *
 * @param failed Then wait two seconds at most.
 * @return Whether they do.
 */
bool MeetAtExit(const bool failed);

/**
 * At exit of a program whose MPI we initialised.  A program that ends well
 * waits for its peers in MPI_Finalize().  One that ends with an error must not:
 * the peers may still be at work and would wait for it for ever.  So it gives
 * them two seconds to end as well, and otherwise takes the job down.  To exit
 * while a training is under way is an error, whatever the status.
 */
void AtExit(const int status);

//! How the launcher has started this process, as its environment tells.
struct Launched
{
  size_t size = 1;
  size_t rank = 0;
  //! Where the size stands; null if there is no launcher.
  const char* variable = nullptr;
};

//! Call it before MPI is initialised, which may set the same variables.
Launched FindLauncher();

/**
 * Has the launcher started several processes?
 *
 * @return On the first process, the warning to print if MPI then knows of one
 *     process only; otherwise nothing.
 */
std::string LauncherMismatch();

//! What to say before MPI_Init() if Slurm has started processes in a way that
//! Open MPI does not know; empty if it has not, or if another rank says it.
std::string MissingPmix();

/**
 * Is this process the only one of a communicator, whatever MPI would say?  So
 * it is without a launcher, unless the program has initialised MPI.  Then
 * nothing of MPI is needed, and nothing of it must be called.
 */
bool Alone(const MPI_Comm comm);

//! Initialise MPI unless somebody has.
void Initialize();

//! Was MPI initialised, such that any thread may call it at any time?
bool AnyThread();

//! How many ranks a communicator has.
size_t Ranks(MPI_Comm comm);

} // namespace mpi
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_environment_impl.hpp"
#endif

#endif
