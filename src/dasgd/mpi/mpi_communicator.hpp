/**
 * @file mpi_communicator.hpp
 *
 * A communicator of our own, and the few collective operations that open and
 * close a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_COMMUNICATOR_HPP
#define DASGD_MPI_MPI_COMMUNICATOR_HPP

#include "../core/config.hpp"
#include "mpi_call.hpp"
#include "mpi_environment.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/types.h>

namespace dasgd {

/**
 * A duplicate of the user's communicator: our messages cannot meet theirs.  A
 * process that is alone, as mpi::Alone() says or since the communicator has no
 * other one, has none and calls nothing of MPI: several threads may do so.  All
 * operations are collective; waiting in them does not keep a core busy, but for
 * ShareAll() and Sum(), which are made for rounds.
 */
class MpiCommunicator
{
 public:
  explicit MpiCommunicator(const MPI_Comm parent);

  //! The same for a call of Optimize(); see mpi::Call.
  struct ForTraining { };
  MpiCommunicator(const MPI_Comm parent, ForTraining);

  ~MpiCommunicator();

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  //! Can the others go on if a rank dies?
  bool Tolerant() const { return tolerant; }

  /**
   * Do something together that may end in RankLost.
   *
   * @return Did it end well on all ranks?  If not, Shrink() comes next.
   */
  bool Survive(const std::function<void()>& action);

  /**
   * The whole of what all ranks do together, of which Survive() is a part.  If
   * a rank dies before that part, or it cannot be done over again, all that are
   * left throw RankLost, which names who died.
   */
  template<typename ActionType>
  auto RunTogether(ActionType&& action) -> decltype(action())
  {
    if (!tolerant)
      return action();
    try
    {
      return action();
    }
    catch (...)
    {
      FailTogether();
    }
  }

  //! Throw RankLost with the ranks that died; all that are left must call it.
  [[noreturn]] void Lose(const std::string& when) const;

  //! Ranks of the user's communicator that have died, as far as is known.
  std::vector<size_t> Lost() const;

  //! How many ranks the user's communicator has, dead ones included.
  size_t ParentSize() const { return parentSize; }

  //! Go on without those that died.  Ranks are renumbered in their order.
  void Shrink();

  //! Make every rank's operations on this communicator fail from now on.
  void Revoke() const;

  //! Has a rank died?  Throws RankLost if so.
  void ThrowIfRankDied() const;

  //! The same from time to time: if it is due, and `due` becomes when it is
  //! next.
  void ThrowIfRankDied(std::chrono::steady_clock::time_point& due) const;

  //! Wait for a request on this communicator, or for the death of a rank.
  void Await(MPI_Request& request,
             const Backoff::Mode mode = Backoff::Sleep) const;

  //! After Revoke(): wait until MPI is done with a request, as it soon is.
  void Drain(MPI_Request& request) const;

  size_t Rank() const { return rank; }
  size_t Size() const { return size; }
  MPI_Comm Handle() const { return comm; }

  //! The call of Optimize() that it is for, or null.
  mpi::Call* Call() const { return call.get(); }

  //! Everybody's text, by rank.
  std::vector<std::string> Gather(const std::string& mine) const;

  //! Everybody's text, by rank, on rank 0; nothing elsewhere.
  std::vector<std::string> Collect(const std::string& mine) const;

  //! Everybody's number, by rank.
  std::vector<std::uint64_t> Gather(const std::uint64_t mine) const;
  std::vector<double> Gather(const double mine) const;

  //! The bytes of rank 0, or of another, become everybody's.
  void Broadcast(void* data, const size_t bytes, const size_t root = 0) const;

  //! The same, if only that rank knows how many there are.
  void Share(std::vector<std::uint8_t>& bytes, const size_t root = 0) const;

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
                const bool crowded) const;

  //! The vectors of all ranks become their sum; as above.
  template<typename ElemType>
  void Sum(ElemType* vector, const size_t elements, const bool crowded) const
  {
    static_assert(std::is_same<ElemType, double>::value ||
                  std::is_same<ElemType, float>::value,
        "dasgd: elements must be float or double.");
    Sum(vector, elements, sizeof(ElemType),
        std::is_same<ElemType, double>::value ? MPI_DOUBLE : MPI_FLOAT,
        crowded);
  }

  //! Wait for all others.
  void Barrier() const;

  /**
   * The machine of each rank, numbered from 0 in the order of ranks.
   *
   * @param kind What this rank is about to do; throws on all ranks if others
   *     are about to do something else.
   */
  std::vector<size_t> Machines(const std::string& kind = "") const;

  /**
   * End the whole job: for failures of the protocol itself, after which no rank
   * can be relied on to tell the others.
   */
  [[noreturn]] void Abort(const std::string& reason) const;

 private:
  //! The tag of Collect(); the transport has its own.
  static constexpr int collect = 2;
  //! A tag that no message has, for ThrowIfRankDied().
  static constexpr int probe = 4;

  void Sum(void* vector,
           const size_t elements,
           const size_t elementBytes,
           const MPI_Datatype type,
           const bool crowded) const;

  MpiCommunicator(const MPI_Comm parent, std::unique_ptr<mpi::Call>&& call);

  void ReadRankAndSize();

  //! Within a handler: the end of RunTogether() if its action has thrown.
  [[noreturn]] void FailTogether() const;

  //! How far a rank is when it agrees with the others.
  enum { Begun = 1, Done = 2 };

  //! The bits that all ranks have set; without Done if one has died.
  int Agree(const int bits) const;

  //! Call start(begin, count) for one piece after the other, since counts are
  //! int, and await the request that it returns.
  template<typename StartType>
  void Pieces(const size_t bytes, StartType&& start) const;

  static int Narrow(const std::uint64_t value);

  template<typename NumberType>
  std::vector<NumberType> GatherNumbers(const NumberType mine,
                                        const MPI_Datatype type) const;

  //! Before the rest: its end comes last.
  std::unique_ptr<mpi::Call> call;
  MPI_Comm comm = MPI_COMM_NULL;
  size_t rank = 0;
  size_t size = 1;
  bool tolerant = false;
  //! The user's communicator: how many ranks, and who they are.
  size_t parentSize = 1;
  MPI_Group parentGroup = MPI_GROUP_NULL;
  //! Has Survive() been called?
  bool begun = false;
  //! The process that made it.
  pid_t owner;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_communicator_impl.hpp"
#include "mpi_communicator_loss_impl.hpp"
#include "mpi_call_impl.hpp"
#endif

#endif
