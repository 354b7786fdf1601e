/**
 * @file courier.hpp
 *
 * What the ranks of an asynchronous run tell each other besides vectors, and
 * how they all come to an end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_COURIER_HPP
#define DASGD_ALGORITHMS_COURIER_HPP

#include "../core/history.hpp"
#include "../core/rank_report.hpp"
#include "../core/routes.hpp"
#include "../core/vector_ops.hpp"
#include "../wire/frame.hpp"

#include <exception>

namespace dasgd {

//! Who frames are sent to, and who they come from; both ascending.
struct Neighbours
{
  std::vector<size_t> sendTo;
  std::vector<size_t> receiveFrom;

  //! Those that the routes lead to.
  static Neighbours Of(const Routes& routes)
  { return { routes.SendTo(), routes.ReceiveFrom() }; }

  //! The same, with every link in both directions.
  static Neighbours BothWays(const Routes& routes)
  { return { routes.BothWays(), routes.BothWays() }; }
};

/**
 * The part of a worker that all asynchronous algorithms share.  Manifests
 * (which gradients there are) and facts (final counts, reasons to stop) travel
 * over the routes of the topology, each exactly once and in the order of their
 * origin, in the same frames as the vectors.  A rank leaves once it has heard
 * the final count of all others, has passed everything on, and has heard the
 * last of its neighbours.
 *
 * A worker is a state machine: it has no clock, no thread and knows no MPI.
 * Whoever drives it (Run() over MPI, Simulation on virtual time) calls
 * Receive() when a frame has arrived, Compute() when none has and HasWork(),
 * and Send() after each.
 *
 * @tparam DerivedType The worker, which says what the vectors are.  It has
 *
 *  - `void Compute()` and `void Receive(bytes, size, from)`.
 *  - `bool Loads(link)`: does a vector wait for this link, whatever else does?
 *  - `void Load(link, Box&, FrameHeader&, Buffer& rest)`: put into the frame's
 *    buffer what goes with it, and say so in the header; `rest`, if it is set,
 *    stays in the box.
 *  - `void Finish()`: this rank computes no more.
 *  - `bool Quiet()`: having finished, may this rank say so to all, after which
 *    it has nothing more to say?
 *  - `bool Settled()`: knowing that all have finished, may this rank leave?
 *
 * @tparam ProblemType Computes gradients and judges progress; see
 *     SeparableProblem for the production one.  It has
 *
 *  - `void Begin()`: the run begins.
 *  - `bool HasWork()`: is there a batch left for this rank?
 *  - `bool Compute(ManifestEntry&)`: compute the next gradient at the iterate
 *    and describe it; false if it is not finite and must not be used.
 *  - `ElemType* Gradient()`, `size_t BatchPoints()`: where that gradient
 *    stands, and how many points it is of.
 *  - `bool TakeStep(ElemType* out, const ElemType*& update)`: apply the update
 *    that belongs to it to the iterate, and say where that update stands: in
 *    `out` unless that is null; false if it is not finite.
 *  - `bool Step(double points, double scale)`: apply to the iterate the update
 *    of the gradient as it stands, which is one of so many points, with the
 *    step size times `scale`; false if the result is not finite.
 *  - `void Applied(const ManifestEntry&)`: an entry was applied.
 *  - `void Stepped()`: this rank has taken a step.
 *  - `void Settle()`: look at progress after a step or a frame.
 *  - `const Fact* Verdict()`: the problem's own wish to stop, or null.
 *  - `ElemType* Iterate()`: where the model stands; code of the user's may have
 *    given it other memory.
 */
template<typename DerivedType, typename ElemType, typename ProblemType>
class Courier
{
 public:
  //! Make room for the largest manifests that there can be, so that nothing is
  //! allocated on the way.
  void Reserve()
  {
    const size_t entries = Manifest::MaxEntries(routes.Ranks());
    for (Box& box : boxes)
      box.manifest.Reserve(entries);
    frame.manifest.Reserve(entries);
    pool.Reserve(maxBuffers);
  }

  //! Begin; call it first.
  void Start()
  {
    Guard([&]() { problem.Begin(); });
  }

  //! Do own gradients wait for a neighbour, so many that it may be given time;
  //! and how many are that (0: no limit)?  Not where models are exchanged, for
  //! then nothing piles up.
  bool Ahead() const { return false; }
  size_t MaxLead() const { return 0; }

  //! Is it this rank's turn to compute, if no frame has arrived?
  bool HasWork()
  {
    Conclude();
    return !finished;
  }

  /**
   * Has so much arrived in a row that it is time to compute, even though more
   * is there?  Without it, frames that come as fast as they are applied would
   * keep this rank from computing for ever.
   */
  bool Starved() { return inARow >= sweep && Self().HasWork(); }

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

  //! Why the run ended, as far as this rank knows; null before that.  All must
  //! agree on the Strongest() in the end.
  const Fact* Stop() const { return stopped ? &stop : nullptr; }

  //! What was thrown on this rank, if anything.
  std::exception_ptr Exception() const { return exception; }

  //! Note from now on what happens; whoever drives the worker says when.
  void Record(RankHistory& log) { history = &log; }
  //! Where that is noted, or null.
  RankHistory* History() { return history; }

  //! A link is an index into the first of these.
  const std::vector<size_t>& SendTo() const { return neighbours.sendTo; }
  const std::vector<size_t>& ReceiveFrom() const
  { return neighbours.receiveFrom; }

  //! Frames come from here; the transport gives them back.
  BufferPool& Pool() { return pool; }
  const BufferPool& Pool() const { return pool; }
  //! How many of them are in use at a time at most.
  size_t MaxBuffers() const { return maxBuffers; }
  //! Vectors held besides iterate and gradient at most, without those that the
  //! transport has for receiving.
  size_t PeakVectors() const
  {
    return pool.Peak() + static_cast<const DerivedType&>(*this).FixedVectors();
  }
  const RankReport& Counts() const { return counts; }
  RankReport& Counts() { return counts; }
  //! How many gradients of each origin have been applied.
  const VersionVector& Version() const { return version; }

 protected:
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
    //! Gradients of this rank that wait here.
    size_t own = 0;

    //! Is the sum yet to be begun?
    bool Fresh() const { return manifest.Empty() && !carry; }
    bool Empty() const { return manifest.Empty() && facts.empty(); }
  };

  /**
   * @param routes The routes of this rank.
   * @param neighbours Who it has links with: those of the routes, or more.
   * @param window Frames under way to each neighbour.
   * @param maxBuffers Frames that can be in use at a time.
   * @param iterate The model, updated in place.
   * @param elements Its number of elements.
   * @param problem What to train.
   */
  Courier(const Routes& routes,
          const Neighbours& neighbours,
          size_t window,
          size_t maxBuffers,
          ElemType* iterate,
          size_t elements,
          ProblemType& problem);
  ~Courier() = default;

  //! Read a frame that came from a neighbour; throws WireError if it cannot be.
  void Read(const std::uint8_t* bytes, size_t size, size_t from);

  /**
   * Take note of the manifest and the facts of the frame that was read, and
   * pass them on.
   *
   * @param measure Are its gradients applied here, so that their staleness can
   *     be measured?
   */
  void Accept(bool measure);

  /**
   * Tell all others that this rank has computed a gradient.
   *
   * @param entry What it is; who computed it is filled in.
   * @param at The version of the model that it was computed at, or null if that
   *     means nothing to anybody.
   */
  void Announce(ManifestEntry& entry, const std::uint64_t* at);

  //! The link to a rank that a frame came from, if links go both ways.
  size_t LinkTo(const size_t peer) const
  {
    return size_t(std::lower_bound(neighbours.sendTo.begin(),
        neighbours.sendTo.end(), peer) - neighbours.sendTo.begin());
  }

  //! A step begins here.
  void Begin()
  {
    inARow = 0;
    step = version[routes.Rank()] + 1;
  }

  //! A box that is about to get something.
  Box& Open(size_t channel);
  //! Learn a fact: from here or from elsewhere.
  void Learn(const Fact& fact);
  //! Put a fact into the boxes of some channels.
  void Post(const Fact& fact, const std::vector<size_t>& channels);
  //! Tell all others.
  void Tell(const Fact& fact);
  //! Ask all to stop, with the reason, value and text of a fact.
  void AskToStop(Fact fact);
  //! End this rank's own computing if there is a reason to.
  void Conclude();
  //! Run something of the user's; what it throws becomes a fact.
  template<typename ActionType>
  void Guard(ActionType&& action);

  // What most workers do not need.
  //! Do manifests wait for a vector to go with?
  static constexpr bool lazy = true;
  //! Vectors that are there all the time.
  size_t FixedVectors() const { return 0; }
  bool Loads(const size_t) const { return false; }
  void Finish() { }
  bool Quiet() const { return true; }
  bool Settled() const { return true; }

  const Routes& routes;
  Neighbours neighbours;
  ElemType* iterate;
  FrameLimits<ElemType> limits;
  ProblemType& problem;
  BufferPool pool;
  size_t maxBuffers;
  //! One for each channel, then one for each link that no route takes.
  std::vector<Box> boxes;
  //! Per box, its link.
  std::vector<size_t> linkOf;
  //! Per link: its boxes, how many of them have something to send, and the one
  //! whose turn is next.
  std::vector<std::vector<size_t>> boxesOf;
  std::vector<size_t> waiting;
  std::vector<size_t> turn;
  //! Per link: gradients that wait to be told, and whether a fact does.
  std::vector<size_t> held;
  std::vector<bool> urgent;
  std::vector<bool> lastSent;
  size_t lastsToSend;
  size_t lastsToCome;

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
  //! This rank computes no more ...
  bool finished = false;
  //! ... and has said so; after that it computes nothing and may only ask to
  //! stop.
  bool told = false;
  //! Everything of everybody has been applied.
  bool complete = false;

  bool stopped = false;
  Fact stop;
  //! Has this rank told a reason to stop?  One is enough, and all that there is
  //! room for in a frame.
  bool asked = false;
  std::exception_ptr exception;

  DecodedFrame<ElemType> frame;
  //! Scratch: the version vector as a frame's manifest goes on.
  VersionVector due;
  RankReport counts;
  RankHistory* history = nullptr;

 private:
  //! The class of frames on links that no route takes: no news come with them.
  static constexpr std::uint32_t noRoute = 0xffffffff;

  DerivedType& Self() { return static_cast<DerivedType&>(*this); }

  /**
   * Is there news that must not wait?  Where vectors are sent anyway, the
   * gradients of a manifest go with the next, so that they cost no messages of
   * their own; but not for too long, since progress is judged by them.
   */
  bool HasNews(const size_t link) const
  {
    return waiting[link] > 0 && (!DerivedType::lazy || urgent[link] ||
        held[link] >= 16);
  }

  std::uint32_t ClassOf(const size_t box) const
  {
    return (box < routes.Channels().size()) ?
        std::uint32_t(routes.Channels()[box].routeClass) : noRoute;
  }
};

} // namespace dasgd

#include "courier_impl.hpp"

#endif
