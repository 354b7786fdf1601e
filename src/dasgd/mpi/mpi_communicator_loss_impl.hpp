/**
 * @file mpi_communicator_loss_impl.hpp
 *
 * Implementation of what MpiCommunicator does about ranks that die.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_COMMUNICATOR_LOSS_IMPL_HPP
#define DASGD_MPI_MPI_COMMUNICATOR_LOSS_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_communicator.hpp"

#include "mpi_environment.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace dasgd {

DASGD_INLINE bool MpiCommunicator::Survive(const std::function<void()>& action)
{
  if (!tolerant)
  {
    action();
    return true;
  }
  begun = true;
  int bits = Begun | Done;
  std::exception_ptr exception;
  try
  {
    action();
  }
  catch (const mpi::RankLost&)
  {
    Revoke();
    bits = Begun;
  }
  catch (...)
  {
    // Others may have met a death instead; then all repeat the action.
    exception = std::current_exception();
  }
  // All that are left get the same answer, whether they threw or not.
  bits = Agree(bits);
  if (!(bits & Begun))
    Lose("before training had begun");
  if (!(bits & Done))
    return false;
  if (exception)
    std::rethrow_exception(exception);
  return true;
}

[[noreturn]] DASGD_INLINE void MpiCommunicator::Lose(
    const std::string& when) const
{
  throw mpi::RankLost("dasgd: " + mpi::DiedText(Lost(), parentSize) + " " +
      when + "; call Optimize() again to train with those that are left, or "
      "start the job again", true);
}

DASGD_INLINE std::vector<size_t> MpiCommunicator::Lost() const
{
  std::vector<size_t> lost;
#if DASGD_ULFM
  if (!tolerant)
    return lost;
  MPI_Group all, dead, left;
  if (MPI_Comm_group(comm, &all) != MPI_SUCCESS)
    return lost;
  if (MPIX_Comm_get_failed(comm, &dead) == MPI_SUCCESS)
  {
    MPI_Group_difference(all, dead, &left);
    for (int i = 0; i < int(parentSize); ++i)
    {
      int there = MPI_UNDEFINED;
      MPI_Group_translate_ranks(parentGroup, 1, &i, left, &there);
      if (there == MPI_UNDEFINED)
        lost.push_back(size_t(i));
    }
    for (MPI_Group* group : { &dead, &left })
      if (*group != MPI_GROUP_EMPTY)
        MPI_Group_free(group);
  }
  MPI_Group_free(&all);
#endif
  return lost;
}

DASGD_INLINE void MpiCommunicator::Shrink()
{
#if DASGD_ULFM
  MPI_Comm broken = comm;
  Revoke();
  comm = mpi::Survivors(broken);
  ReadRankAndSize();
  MPI_Comm_free(&broken);
#endif
}

DASGD_INLINE void MpiCommunicator::Revoke() const
{
#if DASGD_ULFM
  MPIX_Comm_revoke(comm);
#endif
}

DASGD_INLINE void MpiCommunicator::ThrowIfRankDied() const
{
#if DASGD_ULFM
  if (!tolerant)
    return;
  // Open MPI reports a death only while it makes progress, and only in one of
  // eight calls.
  int there = 0;
  for (size_t i = 0; i < 8; ++i)
  {
    mpi::Check(MPI_Iprobe(MPI_ANY_SOURCE, probe, comm, &there,
        MPI_STATUS_IGNORE), "MPI_Iprobe");
  }
  if (mpi::Deaths(comm) > 0)
    throw mpi::RankLost("dasgd: " + mpi::DiedText(Lost(), parentSize));
#endif
}

DASGD_INLINE void MpiCommunicator::ThrowIfRankDied(
    std::chrono::steady_clock::time_point& due) const
{
  const auto begin = std::chrono::steady_clock::now();
  if (begin < due)
    return;
  ThrowIfRankDied();
  // Where there are more ranks than cores, each call of MPI's gives the core to
  // others, and on a busy machine they keep it for long.
  const auto end = std::chrono::steady_clock::now();
  due = end + std::max<std::chrono::steady_clock::duration>(
      std::chrono::milliseconds(10), 9 * (end - begin));
}

DASGD_INLINE void MpiCommunicator::Await(MPI_Request& request,
                                         const Backoff::Mode mode) const
{
  Backoff backoff(mode);
  try
  {
    int done = 0;
    mpi::Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    while (!done)
    {
      backoff.Wait();
      if (call)
        call->Answer(true);
      ThrowIfRankDied();
      mpi::Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
  }
  catch (const mpi::RankLost&)
  {
    Revoke();
    Drain(request);
    throw mpi::RankLost("dasgd: " + mpi::DiedText(Lost(), parentSize));
  }
}

DASGD_INLINE void MpiCommunicator::Drain(MPI_Request& request) const
{
  const auto start = std::chrono::steady_clock::now();
  while (request != MPI_REQUEST_NULL)
  {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10))
      Abort("a rank has died, and MPI does not let go of what it was sent");
  }
}

[[noreturn]] DASGD_INLINE void MpiCommunicator::FailTogether() const
{
  try
  {
    throw;
  }
  catch (const mpi::RankLost& e)
  {
    if (e.Agreed())
      throw;
    Revoke();
    Agree(0);
  }
  catch (...)
  {
    // Others may have met a death instead, and wait to agree on it.
    if (!begun)
      Agree(0);
    throw;
  }
  Lose("before training had begun");
}

DASGD_INLINE int MpiCommunicator::Agree(const int bits) const
{
#if DASGD_ULFM
  const mpi::Agreement agreement = mpi::Agree(comm, bits,
      mpi::DeathSeconds());
  if (!agreement.reached)
    mpi::GiveUp();
  return agreement.whole ? agreement.bits : agreement.bits & ~Done;
#else
  return bits;
#endif
}

} // namespace dasgd

#endif
