/**
 * @file mpi_call.hpp
 *
 * Calls of Optimize() on several ranks that could miss each other: by two
 * threads of one process, or by one within another.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_CALL_HPP
#define DASGD_MPI_MPI_CALL_HPP

#include "../core/config.hpp"
#include "mpi_error.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace dasgd {

class MpiCommunicator;

namespace mpi {

//! Threads called Optimize() in a way that all ranks must refuse.
class MixedThreads : public std::invalid_argument
{
 public:
  using std::invalid_argument::invalid_argument;
};

/**
 * Throw MixedThreads.  In a thread other than the first, the text is printed as
 * well, once: if several threads do not catch the exception, all of them end
 * the program at the same time, and none of them says why.
 */
[[noreturn]] void RefuseThreads(const std::string& text);

//! What this process knows of a communicator of the user's; see Call.
struct CallState;

/**
 * One call of Optimize() on a communicator of several ranks.
 *
 * **Threads.**  The n-th call of one rank meets the n-th of another.  If two
 * threads of a process make them, whose call is the n-th is a matter of chance,
 * and the models of two threads could be mixed up.  So a communicator is one
 * thread's at a time: whoever comes while another thread has it is refused, and
 * the run of the other thread ends on all ranks, since it may be with the wrong
 * one.  A thread is refused as well if it could have come before the last call,
 * because it existed when that call ended.
 *
 * **Calls within calls.**  A callback may call another Optimize().  If not all
 * ranks do so, those that do wait for the rest, and the rest for them.  So a
 * rank that waits in this way asks the others, by messages on the communicator
 * of the run around it, and they answer whether they are waiting, too.
 */
class Call
{
 public:
  //! Throws MixedThreads if this process knows that it must not be.
  explicit Call(const MPI_Comm parent);
  ~Call();

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  //! The innermost one of this thread if it is one of several ranks, or null.
  static Call* Innermost()
  {
    Call* const call = Top();
    return (call && call->state) ? call : nullptr;
  }

  //! What is wrong with the threads, if anything is.
  std::string Problem() const;

  //! The same at the end of a run; whoever comes later waits for that.
  std::string Close();

  //! All ranks know what is wrong: nobody gets to this communicator any more.
  void Refuse(const std::string& problem);

  //! Throw if something is wrong; costs next to nothing.
  void Check() const
  {
    if (disturbed && disturbed->load(std::memory_order_relaxed))
      RefuseThreads(Problem());
  }

  /**
   * The run begins.
   *
   * @param comm Its own communicator.
   * @param inRounds Do ranks wait for each other in MPI's own functions?
   * @param oneMachine Do all run on one?
   */
  void Begin(const MpiCommunicator& comm,
             const bool inRounds,
             const bool oneMachine);

  /**
   * The run goes on: answer ranks that ask, if there are some.
   *
   * @param idle Is this rank waiting for others, or about to compute?
   */
  void Answer(const bool idle);

  //! Gradients of other ranks have been applied.
  void Move() { ++changes; }

  /**
   * If this call was made within another one, wait until all of its ranks have
   * come.  Throws std::logic_error if they cannot.
   */
  void AwaitOthers();

 private:
  using Clock = std::chrono::steady_clock;

  //! What ranks tell each other.
  struct Talk
  {
    //! A rank has called; all have, as far as it knows, so that it will not
    //! withdraw any more; it has withdrawn.  And in answer to the first.
    enum Kind : std::uint64_t { Ask, Go, Withdraw, Idle, Busy };
    std::uint64_t kind;
    //! Of the call, or how often this rank has begun or ceased to be idle.
    std::uint64_t number;
    //! Gradients that this rank has computed.
    std::uint64_t steps;
  };

  //! What is known of another rank.
  struct Other
  {
    //! The number of its call that waits, if one does, and since when.
    std::uint64_t asked = 0;
    Clock::time_point askedSince;
    //! Those of the calls that it goes on with, and that it has given up.
    std::uint64_t gone = 0;
    std::uint64_t withdrawn = 0;
    //! What it told last, and since when it tells the same.
    bool told = false;
    Talk talk;
    Clock::time_point since, heard;
    //! It has computed more than this rank, and still does: since when?
    Clock::time_point passedSince;
  };

  //! The tag of what ranks tell each other.
  static constexpr int tag = 7;

  static Call*& Top()
  {
    static thread_local Call* top = nullptr;
    return top;
  }

  //! Get to the communicator.
  void Enter();
  void Tell(const size_t rank,
      const Talk::Kind kind,
      const std::uint64_t number);
  void Receive();
  //! Can no other rank get any further without this one?
  bool Stuck(const Clock::time_point now) const;
  //! Wait for the others of the call around this one.
  void AwaitOthers(Call& around);

  //! The call around this one.
  Call* const below;
  MPI_Comm parent;
  //! Null if it is not of several ranks.
  std::shared_ptr<CallState> state;
  std::atomic<bool>* disturbed = nullptr;
  //! Is it within another one on the same communicator?
  bool within = false;

  const MpiCommunicator* comm = nullptr;
  bool inRounds = false;
  std::chrono::seconds patience{ 0 };
  //! Ranks of this run.
  std::vector<Other> others;
  //! How many calls this rank has made within this one, by their ranks; how
  //! often it has begun or ceased to be idle or got gradients, and how many it
  //! has computed.
  std::map<std::vector<bool>, std::uint64_t> calls;
  std::uint64_t changes = 0;
  std::uint64_t steps = 0;
  bool isIdle = false;
  bool anyAsked = false;
  Clock::time_point lookedAt, toldAt;
  //! On their way.
  std::list<std::pair<Talk, MPI_Request>> sent;
};

} // namespace mpi
} // namespace dasgd

#endif
