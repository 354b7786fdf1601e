/**
 * @file mpi_communicator.hpp
 *
 * A communicator of our own, and the few collective operations that open and
 * close a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_COMMUNICATOR_HPP
#define DASGD_TRANSPORT_MPI_COMMUNICATOR_HPP

#include "mpi_environment.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace dasgd {

/**
 * A duplicate of the user's communicator: our messages cannot meet theirs.  All
 * operations are collective; waiting in them does not keep a core busy, but for
 * ShareAll() and Sum(), which are made for rounds.
 */
class MpiCommunicator
{
 public:
  explicit MpiCommunicator(const MPI_Comm parent)
  {
    mpi::Initialize();
    if (parent == MPI_COMM_NULL)
    {
      throw std::invalid_argument("dasgd: Communicator() is MPI_COMM_NULL on "
          "this rank; call Optimize() only on ranks that are part of it");
    }
    tolerant = mpi::Tolerant();
    int value = 0;
    mpi::Check(MPI_Comm_size(parent, &value), "MPI_Comm_size");
    parentSize = size_t(value);
#if DASGD_ULFM
    if (tolerant)
    {
      // Without those that died before.
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
      const mpi::ErrorsReturned returned(parent);
      mpi::Check(MPI_Comm_group(parent, &parentGroup), "MPI_Comm_group");
      comm = mpi::Survivors(parent);
      Look();
      return;
    }
#endif
    MPI_Request request;
    mpi::Check(MPI_Comm_idup(parent, &comm, &request), "MPI_Comm_idup");
    mpi::Await(request);
    Look();
  }

  ~MpiCommunicator()
  {
    int finalized = 0;
    MPI_Finalized(&finalized);
    // A child of fork() has a copy of it, but MPI is not its.
    if (finalized || getpid() != owner)
      return;
    if (parentGroup != MPI_GROUP_NULL)
      MPI_Group_free(&parentGroup);
    MPI_Comm_free(&comm);
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  //! Can the others go on if a rank dies?
  bool Tolerant() const { return tolerant; }

  /**
   * Do something together that may end in RankLost.
   *
   * @return Did it end well on all ranks?  If not, Shrink() comes next.
   */
  template<typename ActionType>
  bool Survive(ActionType&& action)
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
      // Others may have met a death instead, and then it is done over again.
      exception = std::current_exception();
    }
    // The same answer on all that are left, be they on their way out or not.
    bits = Agree(bits);
    if (!(bits & Begun))
      Lose("before training had begun");
    if (!(bits & Done))
      return false;
    if (exception)
      std::rethrow_exception(exception);
    return true;
  }

  /**
   * The whole of what all ranks do together, of which Survive() is a part.  If
   * a rank dies before that part, or it cannot be done over again, all that are
   * left throw RankLost, which names who died.
   */
  template<typename ActionType>
  auto Whole(ActionType&& action) -> decltype(action())
  {
    if (!tolerant)
      return action();
    try
    {
      return action();
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

  //! Those that are left say who died; all of them must be here.
  [[noreturn]] void Lose(const std::string& when) const
  {
    throw mpi::RankLost("dasgd: " + mpi::DiedText(Lost(), parentSize) + " " +
        when + "; call Optimize() again to train with those that are left, or "
        "start the job again", true);
  }

  //! Ranks of the user's communicator that have died, as far as is known.
  std::vector<size_t> Lost() const
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

  //! How many ranks the user's communicator has, dead ones included.
  size_t ParentSize() const { return parentSize; }

  //! Go on without those that died.  Ranks are numbered anew, in their order.
  void Shrink()
  {
#if DASGD_ULFM
    MPI_Comm broken = comm;
    Revoke();
    comm = mpi::Survivors(broken);
    Look();
    MPI_Comm_free(&broken);
#endif
  }

  //! Let everybody know that this communicator is of no use any more.
  void Revoke() const
  {
#if DASGD_ULFM
    MPIX_Comm_revoke(comm);
#endif
  }

  //! Has a rank died?  Throws RankLost if so.
  void Watch() const
  {
#if DASGD_ULFM
    if (!tolerant)
      return;
    // It is learnt only while MPI makes progress, and by every eighth look.
    int there = 0;
    for (size_t i = 0; i < 8; ++i)
    {
      mpi::Check(MPI_Iprobe(MPI_ANY_SOURCE, watch, comm, &there,
          MPI_STATUS_IGNORE), "MPI_Iprobe");
    }
    if (mpi::Deaths(comm) > 0)
      throw mpi::RankLost("dasgd: " + mpi::DiedText(Lost(), parentSize));
#endif
  }

  //! Wait for a request on this communicator, or for the death of a rank.
  void Await(MPI_Request& request,
             const mpi::Patience::Mood mood = mpi::Patience::Relaxed) const
  {
    if (!tolerant)
    {
      mpi::Await(request, mood);
      return;
    }
    mpi::Patience patience(mood);
    try
    {
      int done = 0;
      mpi::Check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      while (!done)
      {
        patience.Nap();
        Watch();
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

  //! After Revoke(): wait until MPI is done with a request, as it soon is.
  void Drain(MPI_Request& request) const
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

  size_t Rank() const { return rank; }
  size_t Size() const { return size; }
  MPI_Comm Handle() const { return comm; }

  //! Everybody's text, by rank.
  std::vector<std::string> Gather(const std::string& mine) const
  {
    const std::vector<std::uint64_t> lengths = Gather(
        std::uint64_t(mine.size()));
    std::vector<int> counts, offsets;
    std::uint64_t total = 0;
    for (const std::uint64_t length : lengths)
    {
      counts.push_back(Narrow(length));
      offsets.push_back(Narrow(total));
      total += length;
    }
    std::string all(size_t(total), '\0');
    MPI_Request request;
    mpi::Check(MPI_Iallgatherv(mine.data(), Narrow(mine.size()), MPI_BYTE,
        &all[0], counts.data(), offsets.data(), MPI_BYTE, comm, &request),
        "MPI_Iallgatherv");
    Await(request);

    std::vector<std::string> texts;
    for (size_t i = 0; i < size; ++i)
      texts.push_back(all.substr(size_t(offsets[i]), size_t(counts[i])));
    return texts;
  }

  //! Everybody's text, by rank, on rank 0; nothing elsewhere.
  std::vector<std::string> Collect(const std::string& mine) const
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

  //! Everybody's number, by rank.
  std::vector<std::uint64_t> Gather(const std::uint64_t mine) const
  { return GatherNumbers(mine, MPI_UINT64_T); }
  std::vector<double> Gather(const double mine) const
  { return GatherNumbers(mine, MPI_DOUBLE); }

  //! The bytes of rank 0, or of another, become everybody's.
  void Broadcast(void* data, const size_t bytes, const size_t root = 0) const
  {
    Pieces(bytes, [&](const size_t begin, const int count)
    {
      MPI_Request request;
      mpi::Check(MPI_Ibcast(static_cast<char*>(data) + begin, count, MPI_BYTE,
          int(root), comm, &request), "MPI_Ibcast");
      return request;
    });
  }

  //! The same, if only that rank knows how many there are.
  void Share(std::vector<std::uint8_t>& bytes, const size_t root = 0) const
  {
    std::uint64_t count = bytes.size();
    Broadcast(&count, sizeof(count), root);
    bytes.resize(size_t(count));
    Broadcast(bytes.data(), bytes.size(), root);
  }

  /**
   * Everybody's bytes, one after the other, for use in every round of a run:
   * nobody sleeps meanwhile, and ranks that share cores let each other run.
   *
   * @param bytes The same number on all ranks.
   * @param crowded Do ranks share cores?
   */
  void ShareAll(const void* mine,
                const size_t bytes,
                void* all,
                const bool crowded) const
  {
    if (!crowded)
    {
      mpi::Check(MPI_Allgather(mine, Narrow(bytes), MPI_BYTE, all,
          Narrow(bytes), MPI_BYTE, comm), "MPI_Allgather");
      return;
    }
    MPI_Request request;
    mpi::Check(MPI_Iallgather(mine, Narrow(bytes), MPI_BYTE, all,
        Narrow(bytes), MPI_BYTE, comm, &request), "MPI_Iallgather");
    mpi::Await(request, mpi::Patience::Alert);
  }

  //! The vectors of all ranks become their sum; as above.
  template<typename ElemType>
  void Sum(ElemType* vector, const size_t elements, const bool crowded) const
  {
    static_assert(std::is_same<ElemType, double>::value ||
                  std::is_same<ElemType, float>::value,
        "dasgd: elements must be float or double.");
    const MPI_Datatype type = std::is_same<ElemType, double>::value ?
        MPI_DOUBLE : MPI_FLOAT;
    constexpr size_t piece = size_t(1) << 28;
    for (size_t begin = 0; begin < elements; begin += piece)
    {
      const int count = int(std::min(piece, elements - begin));
      if (!crowded)
      {
        mpi::Check(MPI_Allreduce(MPI_IN_PLACE, vector + begin, count, type,
            MPI_SUM, comm), "MPI_Allreduce");
        continue;
      }
      MPI_Request request;
      mpi::Check(MPI_Iallreduce(MPI_IN_PLACE, vector + begin, count, type,
          MPI_SUM, comm, &request), "MPI_Iallreduce");
      mpi::Await(request, mpi::Patience::Alert);
    }
  }

  //! How many of these ranks run on this machine?
  size_t RanksHere() const
  {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    mpi::Check(MPI_Get_processor_name(name, &length),
        "MPI_Get_processor_name");
    const std::string mine(name, size_t(length));
    const std::vector<std::string> all = Gather(mine);
    return size_t(std::count(all.begin(), all.end(), mine));
  }

  /**
   * End the whole job: for failures of the protocol itself, after which no rank
   * can be relied on to tell the others.
   */
  [[noreturn]] void Abort(const std::string& reason) const
  {
    // Not through std::cerr, which a program may have turned elsewhere.
    std::fputs(("dasgd: rank " + std::to_string(rank) + " cannot go on, the "
        "job ends: " + reason + "\n").c_str(), stderr);
    MPI_Abort(comm, 1);
    std::abort();
  }

 private:
  //! The tag of Collect(); the transport has its own.
  static constexpr int collect = 2;
  //! The tag of nothing at all.
  static constexpr int watch = 4;

  //! Who is who in the communicator?
  void Look()
  {
    mpi::Check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler");
    int value = 0;
    mpi::Check(MPI_Comm_rank(comm, &value), "MPI_Comm_rank");
    rank = size_t(value);
    mpi::Check(MPI_Comm_size(comm, &value), "MPI_Comm_size");
    size = size_t(value);
  }

  //! What a rank has come to when it agrees with the others.
  enum { Begun = 1, Done = 2 };

  //! The bits that all ranks have set; without Done if one has died.
  int Agree(const int bits) const
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

  //! Call start(begin, count) for one piece after the other, since counts are
  //! int, and await the request that it returns.
  template<typename StartType>
  void Pieces(const size_t bytes, StartType&& start) const
  {
    constexpr size_t piece = size_t(1) << 30;
    for (size_t begin = 0; begin < bytes; begin += piece)
    {
      MPI_Request request = start(begin, int(std::min(piece, bytes - begin)));
      Await(request);
    }
  }

  static int Narrow(const std::uint64_t value)
  {
    if (value > std::uint64_t(std::numeric_limits<int>::max()))
    {
      throw std::length_error("dasgd: " + std::to_string(value) + " bytes are "
          "more than one MPI call can take");
    }
    return int(value);
  }

  template<typename NumberType>
  std::vector<NumberType> GatherNumbers(const NumberType mine,
                                        const MPI_Datatype type) const
  {
    std::vector<NumberType> all(size);
    MPI_Request request;
    mpi::Check(MPI_Iallgather(&mine, 1, type, all.data(), 1, type, comm,
        &request), "MPI_Iallgather");
    Await(request);
    return all;
  }

  MPI_Comm comm = MPI_COMM_NULL;
  size_t rank = 0;
  size_t size = 1;
  bool tolerant = false;
  //! The user's communicator: how many ranks, and who they are.
  size_t parentSize = 1;
  MPI_Group parentGroup = MPI_GROUP_NULL;
  //! Has it come to Survive()?
  bool begun = false;
  pid_t owner = getpid();
};

} // namespace dasgd

#endif
