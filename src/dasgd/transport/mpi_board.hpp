/**
 * @file mpi_board.hpp
 *
 * Memory for a board that all ranks share, and how they wait at it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_MPI_BOARD_HPP
#define DASGD_TRANSPORT_MPI_BOARD_HPP

#include "../core/config.hpp"
#include "../mpi/backoff.hpp"
#include "../mpi/mpi_communicator.hpp"
#include "shared_memory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace dasgd {

//! Memory that all ranks of a machine have mapped.
class MpiBoardMemory
{
 public:
  /**
   * All ranks call it.
   *
   * @param owner The rank of this machine that makes it.
   */
  MpiBoardMemory(const MpiCommunicator& comm, size_t owner, size_t bytes);

  //! Do all ranks of all machines have it?  The same answer on all.
  explicit operator bool() const { return shared; }
  std::uint8_t* Bytes() const { return memory.Bytes(); }

 private:
  SharedMemory memory;
  bool shared = false;
};

//! How a rank waits at a board.
class MpiBoardWait
{
 public:
  /**
   * @param crowded Do ranks share cores?
   * @param name Of the algorithm, for messages.
   */
  MpiBoardWait(const MpiCommunicator& comm,
               const bool crowded,
               const char* name) :
      comm(comm), crowded(crowded), name(name) { }

  //! A gradient begins.  Ranks that share cores take turns after each:
  //! otherwise they would take turns of many, all computed on the same old
  //! model.
  void Glance()
  {
    backoff.Reset();
    LookForDeaths();
    if (crowded)
      core.Make();
  }

  //! This rank is far ahead of another.
  void Pause()
  {
    core.Make();
    LookForDeaths();
  }

  //! A wait for a chunk may begin.
  void Begin()
  {
    turns = 0;
    waits = false;
  }

  /**
   * It is not this rank's turn yet.  Whoever is at the chunk needs
   * microseconds, unless it has lost its core.
   *
   * @param pass Knows who that is; see BoardPass.
   */
  template<typename PassType>
  void Turn(PassType& pass)
  {
    if (++turns % spins != 0 && !crowded)
    {
      Relax();
      return;
    }
    core.Make();
    LookForDeaths();
    if (turns % (64 * spins) == 0 && Long() && pass.MaySay())
      SayWho(pass.Holder());
  }

  //! There is nothing to do.
  void Idle()
  {
    backoff.Wait();
    LookForDeaths();
  }

 private:
  static constexpr size_t spins = 256;

  //! Let the core know that this is a loop that waits.
  static void Relax()
  {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  //! Does this wait take long?
  bool Long();
  //! Say that another rank is in the middle of its update.
  void SayWho(size_t rank);

  //! MPI does not report deaths to ranks that do not call it, so ask for them
  //! every 10 ms.
  void LookForDeaths()
  {
    if (comm.Tolerant())
      AskForDeaths();
  }

  void AskForDeaths();

  const MpiCommunicator& comm;
  bool crowded;
  const char* name;
  Backoff backoff;
  CoreOffer core;
  size_t turns = 0;
  //! Is the wait for this turn a long one, and since when?
  bool waits = false;
  std::chrono::steady_clock::time_point since;
  std::chrono::steady_clock::time_point nextCheck;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_board_impl.hpp"
#endif

#endif
