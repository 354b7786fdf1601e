/**
 * @file rank_loss.hpp
 *
 * Ranks that die: who they are, and how those that are left go on (ULFM).
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_RANK_LOSS_HPP
#define DASGD_MPI_RANK_LOSS_HPP

#include "../core/config.hpp"
#include "mpi_error.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dasgd {
namespace mpi {

//! "rank 2 of 4 died", for any number of ranks.
std::string DiedText(const std::vector<size_t>& lost, const size_t ranks);

//! How many seconds a rank waits for the others to notice a death; they may be
//! in the middle of a long gradient.
double DeathSeconds();

//! How many ranks of a communicator are known to have died?
size_t Deaths(const MPI_Comm comm);

//! Is a rank of a communicator known to have died?
bool IsDead(const MPI_Comm comm, const size_t rank);

#if DASGD_ULFM
//! For its lifetime, errors on a communicator of the user's are returned.
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
  //! Was it reached in time?
  bool reached;
  //! Are all ranks alive?
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
Agreement Agree(const MPI_Comm comm,
                const int bits,
                const double seconds,
                const size_t dead = 0);

//! End the job, since not all have agreed in time.
[[noreturn]] void GiveUp();

/**
 * A communicator of those that are left of another one, and that know it.
 *
 * @param from Errors on it must be returned.
 */
MPI_Comm Survivors(const MPI_Comm from);
#endif

} // namespace mpi
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "rank_loss_impl.hpp"
#endif

#endif
