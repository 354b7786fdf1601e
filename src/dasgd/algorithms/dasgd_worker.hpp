/**
 * @file dasgd_worker.hpp
 *
 * Decentralized asynchronous SGD: what one rank does, Algorithm 1 of the paper
 * over routes with summed relays.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_DASGD_WORKER_HPP
#define DASGD_ALGORITHMS_DASGD_WORKER_HPP

#include "../core/history.hpp"
#include "../core/rank_report.hpp"
#include "../core/routes.hpp"
#include "../core/vector_ops.hpp"
#include "../wire/frame.hpp"

#include <exception>

namespace dasgd {

//! The most frames that a rank has begun and not yet got rid of.
inline size_t DasgdBuffers(const Routes& routes, const size_t window)
{ return routes.Channels().size() + window * routes.SendTo().size(); }

/**
 * The most vectors that a rank holds besides iterate and gradient.
 *
 * @param window Frames under way to each neighbour, and receives posted for each.
 */
inline size_t DasgdVectors(const Routes& routes, const size_t window)
{
  return DasgdBuffers(routes, window) + window * routes.ReceiveFrom().size();
}

/**
 * One rank of DASGD as a state machine: it has no clock, no thread and knows no
 * MPI.  Whoever drives it (Run() over MPI, Simulation on virtual time) calls
 * Receive() when a frame has arrived, Compute() when none has and HasWork(),
 * and Send() after each.
 *
 * @tparam ProblemType Computes gradients and judges progress; see
 *     SeparableProblem for the production one.  It has
 *
 *  - `void Begin()`: the run begins.
 *  - `bool HasWork()`: is there a batch left for this rank?
 *  - `bool Compute(ManifestEntry&)`: compute the next gradient at the iterate
 *    and describe it; false if it is not finite and must not be used.
 *  - `bool TakeStep(ElemType* out, const ElemType*& update)`: apply the update
 *    that belongs to it to the iterate, and say where that update stands: in
 *    `out` unless that is null; false if it is not finite.
 *  - `void Applied(const ManifestEntry&, bool own)`: an entry was applied.
 *  - `void Settle()`: look at progress after a step or a frame.
 *  - `const Fact* Verdict()`: the problem's own wish to stop, or null.
 */
template<typename ElemType, typename ProblemType>
class DasgdWorker
{
 public:
  /**
   * @param routes The routes of this rank.
   * @param window Frames under way to each neighbour.
   * @param iterate The model, updated in place.
   * @param elements Its number of elements.
   * @param problem What to train.
   * @param format How updates are written.
   */
  DasgdWorker(const Routes& routes,
              size_t window,
              ElemType* iterate,
              const size_t elements,
              ProblemType& problem,
              const WireFormat& format = WireFormat::Exact);

  //! Make room for the largest manifests that there can be, so that nothing is
  //! allocated on the way.
  void Reserve();

  //! Begin; call it first.
  void Start();

  //! Is it this rank's turn to compute, if no frame has arrived?
  bool HasWork();

  /**
   * Has so much arrived in a row that it is time to compute, even though more is
   * there?  Without it, frames that come as fast as they are applied would keep
   * this rank from computing for ever.
   */
  bool Starved() { return inARow >= sweep && HasWork(); }

  //! Compute one gradient, apply it, hand it to the network.
  void Compute();

  //! Apply a frame that came from a neighbour, and relay it.
  void Receive(const std::uint8_t* bytes, size_t size, size_t from);

  /**
   * Hand to the transport what it has room for.
   *
   * @tparam TransportType Has `bool CanSend(link)` and
   *     `void Send(link, Buffer&&, bytes)`.
   * @return False if frames wait for room and none could be sent.
   */
  template<typename TransportType>
  bool Send(TransportType& transport);

  /**
   * Has this rank applied everything, passed everything on, and heard the last
   * of its neighbours?  It may leave once its frames have been delivered.
   */
  bool Done() const { return complete && lastsToSend == 0 && lastsToCome == 0; }

  //! Why the run ended, as far as this rank knows; null before that.
  const Fact* Stop() const { return stopped ? &stop : nullptr; }

  //! What was thrown on this rank, if anything.
  std::exception_ptr Exception() const { return exception; }

  //! Note from now on what happens; whoever drives the worker says when.
  void Record(RankHistory& log) { history = &log; }
  //! Where that is noted, or null.
  RankHistory* History() { return history; }

  //! Frames come from here; the transport gives them back.
  BufferPool& Pool() { return pool; }
  const BufferPool& Pool() const { return pool; }
  //! How many of them are in use at a time at most.
  size_t MaxBuffers() const { return maxBuffers; }
  const RankReport& Counts() const { return counts; }
  RankReport& Counts() { return counts; }
  //! How many gradients of each origin have been applied.
  const VersionVector& Version() const { return version; }

 private:
  //! What waits to be sent on a channel.
  struct Box
  {
    //! The sum of updates, in a buffer, if there are any.
    Buffer buffer;
    Manifest manifest;
    std::vector<Fact> facts;
    //! Does the sum hold something that no gradient of the manifest accounts
    //! for: what rounding has left of those sent before?
    bool carry = false;

    //! Is the sum yet to be begun?
    bool Fresh() const { return manifest.Empty() && !carry; }
    bool Empty() const { return manifest.Empty() && facts.empty(); }
  };

  //! A box that is about to get something.
  Box& Open(size_t channel);
  //! Where an own update can be formed right where it is sent from, or null.
  ElemType* IdleBuffer();
  //! Add an update to a box, unless it was formed right there.
  void AddUpdate(Box& box, const ElemType* update);
  //! Write the vector of a box shorter, if it may be; what that leaves is kept.
  void Shorten(Box& box, FrameHeader& header, Buffer& rest);
  //! Learn a fact: from here or from elsewhere.
  void Learn(const Fact& fact);
  //! Tell all others.
  void Tell(const Fact& fact);
  //! End this rank's own computing if there is a reason to.
  void Conclude();
  //! Run something of the user's; what it throws becomes a fact.
  template<typename ActionType>
  void Guard(ActionType&& action);

  const Routes& routes;
  ElemType* iterate;
  FrameLimits<ElemType> limits;
  ProblemType& problem;
  BufferPool pool;
  size_t maxBuffers;
  std::vector<Box> boxes;
  //! Per link: its channels, how many of them have something to send, and the
  //! one whose turn is next.
  std::vector<std::vector<size_t>> channelsOf;
  std::vector<size_t> waiting;
  std::vector<size_t> turn;
  std::vector<bool> lastSent;
  size_t lastsToSend;
  size_t lastsToCome;

  //! How own updates become what is sent of them.
  Rounding<ElemType> rounding;
  WireFormat::Kind format;
  std::vector<std::uint32_t> places;

  //! Frames since the last gradient, and how many can be waiting at a time: as
  //! many as are received and as are under way.
  size_t inARow = 0;
  size_t sweep;
  //! The last step that was begun here.
  std::uint64_t step = 0;

  VersionVector version;
  //! Which origins have told their final count.
  std::vector<bool> finalKnown;
  size_t finalsMissing;
  //! This rank computes no more and has said so.
  bool finished = false;
  //! Everything of everybody has been applied.
  bool complete = false;

  bool stopped = false;
  Fact stop;
  std::exception_ptr exception;

  DecodedFrame<ElemType> frame;
  //! Scratch: the version vector as a frame's manifest goes on.
  VersionVector due;
  RankReport counts;
  RankHistory* history = nullptr;
};

} // namespace dasgd

#include "dasgd_worker_impl.hpp"

#endif
