/**
 * @file board.hpp
 *
 * One model that the ranks of a machine share.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_BOARD_HPP
#define DASGD_PROTOCOL_BOARD_HPP

#include "board_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dasgd {

/**
 * A lock in memory that is all zero at first: whoever comes draws a ticket, and
 * tickets are served in turn.  Whoever need not keep to the order of those
 * before draws one only if it is served at once: processes that have a ticket
 * but no core would keep all others waiting.
 */
class TicketLock
{
 public:
  std::uint32_t Draw() { return drawn.fetch_add(1, std::memory_order_relaxed); }

  //! Would a ticket be served at once?
  bool Idle() const
  {
    return drawn.load(std::memory_order_relaxed) ==
        serving.load(std::memory_order_acquire);
  }

  //! Draw one only then.
  bool DrawIfIdle(std::uint32_t& ticket)
  {
    ticket = serving.load(std::memory_order_acquire);
    std::uint32_t next = ticket;
    return drawn.load(std::memory_order_relaxed) == ticket &&
        drawn.compare_exchange_strong(next, ticket + 1,
        std::memory_order_relaxed);
  }

  //! Is it this ticket's turn?
  bool Serves(const std::uint32_t ticket) const
  { return serving.load(std::memory_order_acquire) == ticket; }

  //! For messages: note which rank holds the lock.  Takes no lock.
  void NoteHolder(const size_t rank)
  { holder.store(std::uint32_t(rank), std::memory_order_relaxed); }
  size_t Holder() const { return holder.load(std::memory_order_relaxed); }
  //! May this rank, which has waited for long, say so?  The first one may.
  bool MaySay() { return said.exchange(1, std::memory_order_relaxed) == 0; }

  //! Release the lock; only its holder may call this.
  void Release()
  {
    serving.store(serving.load(std::memory_order_relaxed) + 1,
        std::memory_order_release);
  }

 private:
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free,
      "dasgd: processes need 32-bit counters that work without a lock.");

  alignas(64) std::atomic<std::uint32_t> drawn;
  alignas(64) std::atomic<std::uint32_t> serving;
  std::atomic<std::uint32_t> holder;
  std::atomic<std::uint32_t> said;
};

//! The sizes that a board's layout in memory follows from.
struct BoardSize
{
  //! Elements of the model.
  size_t elements = 0;
  //! Ranks of the run.
  size_t ranks = 0;
  //! Elements of a chunk.
  size_t chunk = 8192;
  //! Are there other machines, for which updates are summed?
  bool outgoing = false;

  //! Ranks that post at the same time work on one chunk each, so there are to
  //! be many; but a chunk costs some atomic operations.
  static BoardSize Of(const size_t elements,
                      const size_t ranks,
                      const bool outgoing = false)
  {
    return { elements, ranks, std::max<size_t>(1024, std::min<size_t>(8192,
        elements / 64 / 1024 * 1024)), outgoing };
  }

  size_t Chunks() const
  { return std::max<size_t>(1, (elements + chunk - 1) / chunk); }
};

/**
 * The model in memory of a machine that all of its ranks have mapped, divided
 * into chunks with a lock each, and the log of what has been posted.  If there
 * are other machines, the sum of the updates of this one that they have yet to
 * get stands beside the model (see BoardExchange).  Each rank has an object of
 * its own for the same memory.
 *
 * A rank gets to the board by a BoardPass: from the first chunk to the last, in
 * the order in which ranks got the first.  Nobody overtakes, so all chunks see
 * the same passes in the same order, and what a pass does is as if it were done
 * at once: a rank that subtracts its update from each chunk, and copies each
 * chunk, has the sum of all updates before its own, and of no others.
 */
template<typename ElemType>
class Board
{
 public:
  //! Bytes of memory that it needs.
  static size_t Bytes(const BoardSize& size)
  { return ModelAt(size) + (size.outgoing ? 2 : 1) * VectorBytes(size); }

  //! @param memory All zero when the first rank gets it.
  Board(const BoardSize& size, std::uint8_t* memory) :
      size(size),
      locks(reinterpret_cast<TicketLock*>(memory)),
      log(size.ranks, memory + LogAt(size)),
      model(reinterpret_cast<ElemType*>(memory + ModelAt(size))),
      outgoing(size.outgoing ? reinterpret_cast<ElemType*>(memory +
          ModelAt(size) + VectorBytes(size)) : nullptr)
  { }

  const BoardSize& Size() const { return size; }
  size_t Chunks() const { return size.Chunks(); }
  TicketLock& Lock(const size_t chunk) { return locks[chunk]; }
  const TicketLock& Lock(const size_t chunk) const { return locks[chunk]; }

  //! A chunk may be touched by whoever has its lock.
  ElemType* Model() { return model; }
  //! The sum for other machines, likewise; null if there are none.
  ElemType* Outgoing() { return outgoing; }
  //! To be added to by whoever has the lock of the last chunk; anybody reads.
  BoardLog& Log() { return log; }
  const BoardLog& Log() const { return log; }

 private:
  static size_t RoundUp(const size_t bytes)
  {
    return (bytes + 127) / 128 * 128;
  }
  static size_t VectorBytes(const BoardSize& size)
  { return RoundUp(size.elements * sizeof(ElemType)); }
  static size_t LogAt(const BoardSize& size)
  { return RoundUp(size.Chunks() * sizeof(TicketLock)); }
  static size_t ModelAt(const BoardSize& size)
  { return LogAt(size) + RoundUp(BoardLog::Bytes(size.ranks)); }

  BoardSize size;
  TicketLock* locks;
  BoardLog log;
  ElemType* model;
  ElemType* outgoing;
};

/**
 * The way of a rank over the board, from chunk to chunk.  It never waits by
 * itself: whoever drives it asks whether it is its Turn().
 */
template<typename ElemType>
class BoardPass
{
 public:
  BoardPass(Board<ElemType>& board, const size_t rank) :
      board(board), rank(rank) { }

  //! Wait for the first chunk from now on.
  void Begin()
  {
    chunk = 0;
    under = true;
    entered = false;
  }

  //! Is it under way?
  bool UnderWay() const { return under; }
  //! Has it touched the first chunk, but not all?
  bool Within() const { return under && chunk > 0; }

  //! Lock the chunk, if it is this rank's turn.  At the first chunk it queues
  //! only if the lock is free.
  bool TryLock()
  {
    if (!entered)
      entered = board.Lock(0).DrawIfIdle(ticket);
    return entered && board.Lock(chunk).Serves(ticket);
  }

  //! Would TryLock() succeed now?  Draws no ticket.
  bool CouldLock() const
  {
    return entered ? board.Lock(chunk).Serves(ticket) : board.Lock(0).Idle();
  }

  //! For messages: who touches it now, and may this rank speak for those that
  //! wait?
  size_t Holder() const { return board.Lock(chunk).Holder(); }
  bool MaySay() { return board.Lock(chunk).MaySay(); }

  //! For messages: this rank has locked the chunk.
  void NoteHolder() { board.Lock(chunk).NoteHolder(rank); }

  //! The chunk.
  size_t Chunk() const { return chunk; }
  size_t First() const { return chunk * board.Size().chunk; }
  size_t End() const
  {
    return std::min(board.Size().elements, First() + board.Size().chunk);
  }
  bool Last() const { return chunk + 1 == board.Chunks(); }

  //! On to the next chunk.  The place in the row for it is taken before this
  //! one is left, so nobody gets ahead.
  void Next()
  {
    TicketLock& lock = board.Lock(chunk);
    under = !Last();
    if (under)
      ticket = board.Lock(++chunk).Draw();
    lock.Release();
  }

 private:
  Board<ElemType>& board;
  size_t rank;
  size_t chunk = 0;
  std::uint32_t ticket = 0;
  bool under = false;
  bool entered = false;
};

} // namespace dasgd

#endif
