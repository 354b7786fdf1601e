/**
 * @file rank_loss_impl.hpp
 *
 * Implementation of what to do about ranks that die.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_RANK_LOSS_IMPL_HPP
#define DASGD_MPI_RANK_LOSS_IMPL_HPP

// In case it hasn't been included yet.
#include "rank_loss.hpp"

#include "backoff.hpp"
#include "watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace dasgd {
namespace mpi {

DASGD_INLINE std::string DiedText(const std::vector<size_t>& lost,
                                  const size_t ranks)
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

DASGD_INLINE double DeathSeconds()
{
  const char* given = std::getenv("DASGD_DEATH_SECONDS");
  const double seconds = given ? std::atof(given) : 0;
  return (seconds > 0) ? seconds : 600;
}

DASGD_INLINE size_t Deaths(const MPI_Comm comm)
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

DASGD_INLINE bool IsDead(const MPI_Comm comm, const size_t rank)
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
DASGD_INLINE Agreement Agree(const MPI_Comm comm,
                             const int bits,
                             const double seconds,
                             const size_t dead)
{
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<int> agreed = std::make_unique<int>(bits);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPIX_Comm_iagree(comm, agreed.get(), &request);
  Backoff backoff;
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
      agreed.release(); // MPI may still write to it.
      return Agreement{ false, false, 0 };
    }
    backoff.Wait();
  }
  return Agreement{ true, code == MPI_SUCCESS, *agreed };
}

[[noreturn]] DASGD_INLINE void GiveUp()
{
  std::fputs(("dasgd: a rank has died, and not all others have noticed it "
      "within " + std::to_string(size_t(DeathSeconds())) + " s; the job ends. "
      "Set DASGD_DEATH_SECONDS to more if gradients or callbacks take that "
      "long\n").c_str(), stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

DASGD_INLINE MPI_Comm Survivors(const MPI_Comm from)
{
  // Wait with a time limit until all are here, since MPIX_Comm_shrink() cannot
  // be cancelled.
  if (!Agree(from, 1, DeathSeconds(), Deaths(from)).reached)
    GiveUp();
  const Watchdog watchdog(60, "dasgd: a rank has died, and MPI does not let "
      "the others go on without it; the job ends");
  for (;;)
  {
    MPI_Comm next = MPI_COMM_NULL;
    const int code = MPIX_Comm_shrink(from, &next);
    const bool made = (code == MPI_SUCCESS && next != MPI_COMM_NULL);
    // If one more dies in the meantime, some may have made it and others not.
    const bool all = Agree(from, made, 60).bits != 0;
    if (made)
    {
      MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
      if (all && Agree(next, 1, 60).whole)
        return next;
      MPI_Comm_free(&next);
    }
    else if (!IsRankLoss(code))
      Check(code, "MPIX_Comm_shrink");
  }
}
#endif

} // namespace mpi
} // namespace dasgd

#endif
