/**
 * @file endpoint.hpp
 *
 * One rank's end of the protocol of asynchronous runs: frames, manifests and
 * facts, and how all come to an end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_ENDPOINT_HPP
#define DASGD_PROTOCOL_ENDPOINT_HPP

#include "../staleness/history.hpp"
#include "../report/rank_report.hpp"
#include "../topology/routes.hpp"
#include "../staleness/staleness.hpp"
#include "../wire/frame.hpp"
#include "exchange_pace.hpp"
#include "outbox.hpp"
#include "termination.hpp"

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

//! How an algorithm uses an endpoint.
struct EndpointOptions
{
  Neighbours neighbours;
  //! Frames under way to each neighbour.
  size_t window = 2;
  //! Frames that can be in use at a time.
  size_t maxBuffers = 0;
  //! Do manifests wait for a vector to go with, and are they relayed without
  //! version vectors, which only receivers that apply gradients need?
  bool lazy = true;
  //! Ranks whose gradients and facts there are, if each end of the routes
  //! stands for several; 0 if each is a rank.
  size_t origins = 0;
};

/**
 * Manifests (which gradients there are) and facts (final counts, reasons to
 * stop) travel over the routes of the topology, each exactly once and in the
 * order of their origin, in the same frames as the vectors.  A rank leaves once
 * it knows the final count of all others, has passed everything on, and has the
 * last frame of each neighbour.
 *
 * It has no clock and no thread and knows neither MPI nor what the vectors are:
 * a worker owns it, and says what they are when a frame is sent (see Send()).
 */
template<typename ElemType>
class Endpoint
{
 public:
  /**
   * @param routes The routes of this rank, or of its machine.  Version vectors
   *     have a number for each end of them.
   * @param elements Elements of the model.
   * @param version Gradients of each origin that are known here; counted here.
   *     The model may be behind, if it applies them later.
   * @param traffic Where frames are counted.
   */
  Endpoint(const dasgd::Routes& routes,
           const EndpointOptions& options,
           size_t elements,
           VersionVector& version,
           dasgd::Traffic& traffic);

  //! Which machine each rank is on; what goes to others is counted apart.
  void SetMachines(const std::vector<size_t>& machines);

  //! All others are on other machines.
  void AllBetween()
  {
    for (Link& link : links)
      link.between = true;
  }

  //! Make room for the largest manifests that there can be, so that nothing is
  //! allocated on the way.
  void Reserve();

  //
  // Frames that arrive.
  //

  //! Read a frame that came from a neighbour; throws WireError if it cannot be.
  void Read(const std::uint8_t* bytes, size_t size);

  //! The frame that was read last.
  DecodedFrame<ElemType>& Frame() { return frame; }
  const DecodedFrame<ElemType>& Frame() const { return frame; }

  //! The channels that it is to be passed on to.
  const std::vector<size_t>& Onward() const;

  //! Pass its manifest and its facts on, and count its gradients.
  void Relay();

  //! Have so many frames arrived in a row that it is time to compute, even
  //! though there are more?
  bool Starved() const { return inARow >= sweep; }

  //
  // What this rank has to say.
  //

  //! It is this rank's turn to compute.
  void BeginStep() { inARow = 0; }

  /**
   * Announce gradients of this rank, or of one that it speaks for, to all
   * others.
   *
   * @param entry What they are.
   * @param at The version of the model that they were computed at, or null if
   *     that means nothing to anybody.
   */
  void Announce(const ManifestEntry& entry, const std::uint64_t* at);

  //! Tell all others a fact of a rank that this one speaks for.
  void Tell(const Fact& fact) { Broadcast(fact); }

  //! Ask all to stop, with the reason, count, value and text of a fact.  Once
  //! is enough, and all that there is room for in a frame.
  void AskToStop(Fact fact);

  //! This rank computes no more, and has nothing else to say but that it may
  //! ask to stop.
  void BroadcastFinal();

  /**
   * Hand to the transport what it has room for.
   *
   * @tparam TransportType Has `bool CanSend(link)` and
   *     `void Send(link, Buffer&&, bytes)`.
   * @tparam VectorsType Has `bool HasVector(link)`: does a vector wait for this
   *     link, whatever else does?  And `void PutVector(link, Outbox&,
   *     FrameHeader&, Buffer& rest)`: put into the frame what goes with it, and
   *     say so in the header; `rest`, if it is set, stays in the outbox.
   * @return False if frames wait for room and none could be sent.
   */
  template<typename TransportType, typename VectorsType>
  bool Send(TransportType& transport, VectorsType& vectors);

  //
  // The end.
  //

  //! Ranks that have not told their final count yet.
  size_t FinalsMissing() const { return termination.FinalsMissing(); }
  //! Why the run ended, as far as this rank knows; null before that.  All must
  //! agree on the Strongest() in the end.
  const Fact* Stop() const { return termination.Stop(); }

  //! Is everything of everybody here?  Then frames are marked as the last.
  void SetComplete(const bool now) { complete = now; }
  //! Has everything been passed on, and all that was to come arrived?  This
  //! rank may leave once its frames have been delivered.
  bool Done() const { return complete && lastsToSend == 0 && lastsToCome == 0; }

  //
  // What workers and drivers look at.
  //

  //! The outbox of a channel.
  Outbox& Box(const size_t channel) { return boxes[channel]; }
  const Outbox& Box(const size_t channel) const { return boxes[channel]; }
  //! Outboxes of a link that have something to send.
  size_t Waiting(const size_t link) const { return links[link].waiting; }

  //! A link is an index into the first of these.
  const std::vector<size_t>& SendTo() const { return neighbours.sendTo; }
  const std::vector<size_t>& ReceiveFrom() const
  { return neighbours.receiveFrom; }
  //! The link to a rank that a frame came from, if links go both ways.
  size_t LinkTo(const size_t peer) const
  {
    return size_t(std::lower_bound(neighbours.sendTo.begin(),
        neighbours.sendTo.end(), peer) - neighbours.sendTo.begin());
  }

  const dasgd::Routes& Routes() const { return routes; }
  size_t Elements() const { return limits.elements; }
  //! How many gradients of each origin are known here.
  const VersionVector& Known() const { return version; }

  //! Frames come from here; the transport gives them back.
  BufferPool& Pool() { return pool; }
  const BufferPool& Pool() const { return pool; }
  //! How many of them are in use at a time at most.
  size_t MaxBuffers() const { return maxBuffers; }

  //! Is there room for a frame on a link that own gradients take, and is it
  //! time for one?
  template<typename TransportType>
  bool Wanted(TransportType& transport) const
  {
    const size_t room = RoomBetween(transport);
    return std::any_of(routes.Emit().begin(), routes.Emit().end(),
        [&](const size_t channel)
    {
      const size_t link = linkOf[channel];
      return Due(link) && transport.CanSend(link) &&
          (!links[link].between || room > 0);
    });
  }

  //! Is it time for a frame on a link that own gradients take, or will it be as
  //! soon as there is room?
  bool Timely() const
  {
    return std::any_of(routes.Emit().begin(), routes.Emit().end(),
        [&](const size_t channel) { return Due(linkOf[channel]); });
  }

  //! Own gradients wait elsewhere, since it is not Timely().
  void NotePaced()
  {
    for (const size_t channel : routes.Emit())
      links[linkOf[channel]].paced = true;
  }

  //! What stands in the outboxes for own gradients is to go: facts come after
  //! it.
  void Hurry()
  {
    for (const size_t channel : routes.Emit())
      links[linkOf[channel]].urgent |= links[linkOf[channel]].waiting > 0;
  }

  //! So many own gradients wait elsewhere to be announced.
  void SetWaiting(const std::uint64_t gradients) { waiting = gradients; }

  //! Links to other machines take at most so many frames at a time, in turn; of
  //! equal machines, each begins with another one.
  void LimitBetween(const size_t frames)
  {
    mostBetween = frames;
    nextLink = LinkTo(routes.Rank()) % std::max<size_t>(1, links.size());
  }

  //! Decides how long frames wait for more gradients; facts do not.
  ExchangePace& Pace() { return pace; }

  //! Record from now on what happens; the driver says when.
  void Record(RankHistory& log) { history = &log; }
  //! Where that is recorded, or null.
  RankHistory* History() { return history; }

 private:
  //! What waits for one neighbour.
  struct Link
  {
    //! Its outboxes, how many of them have something to send, and the one whose
    //! turn is next.
    std::vector<size_t> boxes;
    size_t waiting = 0;
    size_t turn = 0;
    //! Gradients that wait to be announced, and does a fact wait?
    size_t held = 0;
    bool urgent = false;
    //! Does what waits do so because of the pace?
    bool paced = false;
    //! Has the last frame been sent?
    bool lastSent = false;
    //! Does it lead to another machine?
    bool between = false;
  };

  //! The class of frames on links that no route takes: they carry no manifests.
  static constexpr std::uint32_t noRoute = 0xffffffff;

  //! An outbox that is about to get something.
  Outbox& Open(size_t channel);
  //! Put a fact into the outboxes of some channels.
  void Post(const Fact& fact, const std::vector<size_t>& channels);
  //! Send a fact of this rank to all others.
  void Broadcast(const Fact& fact);

  /**
   * Is there something that must not wait?  Where vectors are sent anyway, the
   * gradients of a manifest go with the next, so that they cost no messages of
   * their own; but not for too long, since progress is judged by them.
   */
  bool HasUrgent(const size_t link) const
  {
    const Link& l = links[link];
    return l.waiting > 0 && (!lazy || l.urgent || l.held >= 16);
  }

  std::uint32_t ClassOf(const size_t box) const
  {
    return (box < routes.Channels().size()) ?
        std::uint32_t(routes.Channels()[box].routeClass) : noRoute;
  }

  //! May all that waits on a link go now, or is it to wait for more gradients?
  bool Due(const size_t link) const
  {
    return links[link].urgent || complete ||
        pace.Due(link, announced + waiting);
  }

  bool Limited() const
  { return mostBetween < std::numeric_limits<size_t>::max(); }

  //! How many frames may still leave for other machines?
  template<typename TransportType>
  size_t RoomBetween(TransportType& transport) const
  {
    size_t room = mostBetween;
    for (size_t link = 0; link < links.size() && Limited() && room > 0; ++link)
      room -= (links[link].between && !transport.CanSend(link));
    return room;
  }

  //! The next outbox of a link, in turn, that has something.
  size_t NextBox(Link& link);

  //! Hand the next outbox of a link to the transport.
  template<typename TransportType, typename VectorsType>
  void SendNext(size_t link, TransportType& transport, VectorsType& vectors);

  const dasgd::Routes& routes;
  Neighbours neighbours;
  FrameLimits<ElemType> limits;
  VersionVector& version;
  bool lazy;
  BufferPool pool;
  size_t maxBuffers;

  //! One for each channel, then one for each link that no route takes.
  std::vector<Outbox> boxes;
  //! Per outbox, its link.
  std::vector<size_t> linkOf;
  //! By their numbers in SendTo().
  std::vector<Link> links;
  //! Frames to other machines that may be under way at a time.
  size_t mostBetween = std::numeric_limits<size_t>::max();
  //! The link whose turn is next.
  size_t nextLink = 0;
  size_t lastsToSend;
  size_t lastsToCome;

  //! Frames since the last gradient, and how many can be waiting at a time: as
  //! many as are received and as are under way.
  size_t inARow = 0;
  size_t sweep;

  ExchangePace pace;
  //! Own gradients that were announced, and that wait for it.
  std::uint64_t announced = 0;
  std::uint64_t waiting = 0;
  Termination termination;
  bool complete = false;

  DecodedFrame<ElemType> frame;
  //! Scratch: the version vector as a frame's manifest goes on.
  VersionVector due;
  Traffic& traffic;
  RankHistory* history = nullptr;
};

} // namespace dasgd

#include "endpoint_impl.hpp"

#ifdef DASGD_COMPILED
namespace dasgd {
extern template class Endpoint<double>;
extern template class Endpoint<float>;
} // namespace dasgd
#endif

#endif
