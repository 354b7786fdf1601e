/**
 * @file mpi_communicator_impl.hpp
 *
 * Implementation of MpiCommunicator.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_COMMUNICATOR_IMPL_HPP
#define DASGD_MPI_MPI_COMMUNICATOR_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_communicator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace dasgd {

DASGD_INLINE MpiCommunicator::MpiCommunicator(const MPI_Comm parent) :
    MpiCommunicator(parent, nullptr)
{ }

DASGD_INLINE MpiCommunicator::MpiCommunicator(const MPI_Comm parent,
                                              ForTraining) :
    MpiCommunicator(parent, std::make_unique<mpi::Call>(parent))
{ }

DASGD_INLINE MpiCommunicator::MpiCommunicator(
    const MPI_Comm parent,
    std::unique_ptr<mpi::Call>&& ofTraining) :
    call(std::move(ofTraining)),
    owner(getpid())
{
  if (mpi::Alone(parent))
    return;
  mpi::Initialize();
  int inter = 0;
  if (parent != MPI_COMM_NULL)
    mpi::Check(MPI_Comm_test_inter(parent, &inter), "MPI_Comm_test_inter");
  if (parent == MPI_COMM_NULL || inter)
  {
    throw std::invalid_argument(inter ? "dasgd: Communicator() is an "
        "intercommunicator; merge it by MPI_Intercomm_merge(), or name another "
        "one" : "dasgd: Communicator() is MPI_COMM_NULL on this rank; call "
        "Optimize() only on ranks that are part of it");
  }
  int value = 0;
  mpi::Check(MPI_Comm_size(parent, &value), "MPI_Comm_size");
  parentSize = size_t(value);
  // A training on one rank needs none of its own.
  if (parentSize == 1 && call)
    return;
  tolerant = mpi::Tolerant();
  if (call)
    call->AwaitOthers();
#if DASGD_ULFM
  if (tolerant)
  {
    // Without those that died before.
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const mpi::ErrorsReturned returned(parent);
    mpi::Check(MPI_Comm_group(parent, &parentGroup), "MPI_Comm_group");
    comm = mpi::Survivors(parent);
    ReadRankAndSize();
    return;
  }
#endif
  MPI_Request request;
  mpi::Check(MPI_Comm_idup(parent, &comm, &request), "MPI_Comm_idup");
  mpi::Await(request);
  ReadRankAndSize();
}

DASGD_INLINE MpiCommunicator::~MpiCommunicator()
{
  if (comm == MPI_COMM_NULL)
    return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  // A child of fork() has a copy of it, but must not call MPI.
  if (finalized || getpid() != owner)
    return;
  if (parentGroup != MPI_GROUP_NULL)
    MPI_Group_free(&parentGroup);
  MPI_Comm_free(&comm);
}

template<typename StartType>
void MpiCommunicator::Pieces(const size_t bytes, StartType&& start) const
{
  constexpr size_t piece = size_t(1) << 30;
  for (size_t begin = 0; begin < bytes; begin += piece)
  {
    MPI_Request request = start(begin, int(std::min(piece, bytes - begin)));
    Await(request);
  }
}

template<typename NumberType>
std::vector<NumberType> MpiCommunicator::GatherNumbers(
    const NumberType mine,
    const MPI_Datatype type) const
{
  if (size == 1)
    return { mine };
  std::vector<NumberType> all(size);
  MPI_Request request;
  mpi::Check(MPI_Iallgather(&mine, 1, type, all.data(), 1, type, comm,
      &request), "MPI_Iallgather");
  Await(request);
  return all;
}

DASGD_INLINE std::vector<std::string> MpiCommunicator::Gather(
    const std::string& mine) const
{
  if (size == 1)
    return { mine };
  // Most texts are short, and go with their length.
  struct Short
  {
    std::uint64_t length;
    char text[248];
  };
  Short first{ mine.size(), { } };
  std::memcpy(first.text, mine.data(), std::min(mine.size(),
      sizeof(first.text)));
  std::vector<Short> firsts(size);
  MPI_Request request;
  mpi::Check(MPI_Iallgather(&first, int(sizeof(first)), MPI_BYTE, firsts.data(),
      int(sizeof(first)), MPI_BYTE, comm, &request), "MPI_Iallgather");
  Await(request);
  std::vector<std::string> texts;
  std::vector<int> counts, offsets;
  std::uint64_t total = 0;
  bool whole = true;
  for (const Short& one : firsts)
  {
    counts.push_back(Narrow(one.length));
    offsets.push_back(Narrow(total));
    total += one.length;
    whole = whole && one.length <= sizeof(one.text);
    texts.emplace_back(one.text, std::min<size_t>(one.length,
        sizeof(one.text)));
  }
  if (whole)
    return texts;

  std::string all(size_t(total), '\0');
  mpi::Check(MPI_Iallgatherv(mine.data(), Narrow(mine.size()), MPI_BYTE,
      &all[0], counts.data(), offsets.data(), MPI_BYTE, comm, &request),
      "MPI_Iallgatherv");
  Await(request);
  for (size_t i = 0; i < size; ++i)
    texts[i] = all.substr(size_t(offsets[i]), size_t(counts[i]));
  return texts;
}

DASGD_INLINE std::vector<std::string> MpiCommunicator::Collect(
    const std::string& mine) const
{
  const std::vector<std::uint64_t> lengths = Gather(
      std::uint64_t(mine.size()));
  std::vector<std::string> texts;
  if (rank != 0)
  {
    Pieces(mine.size(), [&](const size_t begin, const int count)
    {
      MPI_Request request;
      mpi::Check(MPI_Isend(mine.data() + begin, count, MPI_BYTE, 0, collect,
          comm, &request), "MPI_Isend");
      return request;
    });
    return texts;
  }
  texts.push_back(mine);
  for (size_t i = 1; i < size; ++i)
  {
    texts.emplace_back(size_t(lengths[i]), '\0');
    Pieces(texts[i].size(), [&](const size_t begin, const int count)
    {
      MPI_Request request;
      mpi::Check(MPI_Irecv(&texts[i][begin], count, MPI_BYTE, int(i),
          collect, comm, &request), "MPI_Irecv");
      return request;
    });
  }
  return texts;
}

DASGD_INLINE std::vector<std::uint64_t> MpiCommunicator::Gather(
    const std::uint64_t mine) const
{ return GatherNumbers(mine, MPI_UINT64_T); }

DASGD_INLINE std::vector<double> MpiCommunicator::Gather(
    const double mine) const
{ return GatherNumbers(mine, MPI_DOUBLE); }

DASGD_INLINE void MpiCommunicator::Broadcast(void* data,
                                             const size_t bytes,
                                             const size_t root) const
{
  if (size == 1)
    return;
  Pieces(bytes, [&](const size_t begin, const int count)
  {
    MPI_Request request;
    mpi::Check(MPI_Ibcast(static_cast<char*>(data) + begin, count, MPI_BYTE,
        int(root), comm, &request), "MPI_Ibcast");
    return request;
  });
}

DASGD_INLINE void MpiCommunicator::Share(std::vector<std::uint8_t>& bytes,
                                         const size_t root) const
{
  std::uint64_t count = bytes.size();
  Broadcast(&count, sizeof(count), root);
  bytes.resize(size_t(count));
  Broadcast(bytes.data(), bytes.size(), root);
}

DASGD_INLINE void MpiCommunicator::ShareAll(const void* mine,
                                            const size_t bytes,
                                            void* all,
                                            const bool crowded) const
{
  if (size == 1)
  {
    std::memcpy(all, mine, bytes);
    return;
  }
  if (!crowded)
  {
    mpi::Check(MPI_Allgather(mine, Narrow(bytes), MPI_BYTE, all,
        Narrow(bytes), MPI_BYTE, comm), "MPI_Allgather");
    return;
  }
  MPI_Request request;
  mpi::Check(MPI_Iallgather(mine, Narrow(bytes), MPI_BYTE, all,
      Narrow(bytes), MPI_BYTE, comm, &request), "MPI_Iallgather");
  mpi::Await(request, Backoff::Yield);
}

DASGD_INLINE void MpiCommunicator::Barrier() const
{
  if (size == 1)
    return;
  MPI_Request request;
  mpi::Check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  Await(request, Backoff::Yield);
}

DASGD_INLINE std::vector<size_t> MpiCommunicator::Machines(
    const std::string& kind) const
{
  if (size == 1)
    return { 0 };
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  mpi::Check(MPI_Get_processor_name(name, &length),
      "MPI_Get_processor_name");
  std::map<std::string, size_t> numbers;
  std::vector<size_t> machines;
  std::string first;
  for (const std::string& other : Gather(kind + '\n' + std::string(name,
      size_t(length))))
  {
    const size_t end = other.find('\n');
    const std::string theirs = other.substr(0, end);
    if (machines.empty())
      first = theirs;
    if (theirs != first)
    {
      throw std::invalid_argument("dasgd: ranks 0 and " +
          std::to_string(machines.size()) + " do not train in the same way: " +
          first + " and " + theirs + "; give every rank the same");
    }
    machines.push_back(numbers.emplace(other.substr(end),
        numbers.size()).first->second);
  }
  return machines;
}

[[noreturn]] DASGD_INLINE void MpiCommunicator::Abort(
    const std::string& reason) const
{
  // Not through std::cerr, which a program may have redirected.
  std::fputs(("dasgd: rank " + std::to_string(rank) + " cannot go on, the "
      "job ends: " + reason + "\n").c_str(), stderr);
  // Without MPI the process is the whole job.
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized)
    std::_Exit(1);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

DASGD_INLINE void MpiCommunicator::Sum(void* vector,
                                       const size_t elements,
                                       const size_t elementBytes,
                                       const MPI_Datatype type,
                                       const bool crowded) const
{
  if (size == 1)
    return;
  constexpr size_t piece = size_t(1) << 28;
  for (size_t begin = 0; begin < elements; begin += piece)
  {
    char* data = static_cast<char*>(vector) + begin * elementBytes;
    const int count = int(std::min(piece, elements - begin));
    if (!crowded)
    {
      mpi::Check(MPI_Allreduce(MPI_IN_PLACE, data, count, type, MPI_SUM,
          comm), "MPI_Allreduce");
      continue;
    }
    MPI_Request request;
    mpi::Check(MPI_Iallreduce(MPI_IN_PLACE, data, count, type, MPI_SUM,
        comm, &request), "MPI_Iallreduce");
    mpi::Await(request, Backoff::Yield);
  }
}

DASGD_INLINE void MpiCommunicator::ReadRankAndSize()
{
  mpi::Check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
      "MPI_Comm_set_errhandler");
  int value = 0;
  mpi::Check(MPI_Comm_rank(comm, &value), "MPI_Comm_rank");
  rank = size_t(value);
  mpi::Check(MPI_Comm_size(comm, &value), "MPI_Comm_size");
  size = size_t(value);
}

DASGD_INLINE int MpiCommunicator::Narrow(const std::uint64_t value)
{
  if (value > std::uint64_t(std::numeric_limits<int>::max()))
  {
    throw std::length_error("dasgd: " + std::to_string(value) + " bytes are "
        "more than one MPI call can take");
  }
  return int(value);
}

} // namespace dasgd

#endif
