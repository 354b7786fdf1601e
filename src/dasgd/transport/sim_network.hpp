/**
 * @file sim_network.hpp
 *
 * Frames between ranks of one process, on virtual time: the same interface as
 * MpiTransport, with delays that a seed decides.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_SIM_NETWORK_HPP
#define DASGD_TRANSPORT_SIM_NETWORK_HPP

#include "../core/random.hpp"
#include "../wire/buffer.hpp"

#include <cassert>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <queue>

namespace dasgd {

//! Virtual time: things to do, done in the order of their times.
class SimClock
{
 public:
  double Now() const { return now; }

  //! Do something after the given number of seconds.
  void After(const double seconds, std::function<void()> action)
  { At(now + seconds, std::move(action)); }

  //! Do something at the given time.
  void At(const double time, std::function<void()> action)
  { events.push(Event{ time, count++, std::move(action) }); }

  //! When is the next thing done?  Never, if there is none.
  double Next() const
  {
    return events.empty() ? std::numeric_limits<double>::infinity() :
        events.top().time;
  }

  //! Do the next thing; false if there is none.
  bool Step()
  {
    if (events.empty())
      return false;
    Event event = events.top();
    events.pop();
    now = event.time;
    event.action();
    return true;
  }

 private:
  struct Event
  {
    double time;
    //! Equal times: in the order in which they were scheduled.
    std::uint64_t order;
    std::function<void()> action;

    bool operator<(const Event& other) const
    {
      return (time != other.time) ? time > other.time : order > other.order;
    }
  };

  double now = 0;
  std::uint64_t count = 0;
  std::priority_queue<Event> events;
};

//! What a link is like.
struct SimLink
{
  //! Seconds that a frame of no bytes takes, plus up to so many more by chance.
  double latency = 0;
  double jitter = 0;
  double bytesPerSecond = 1e300;
};

/**
 * The links between all ranks.  Each keeps the order of its frames; different
 * links do not.  As with synchronous sends of MPI, a sender gets its slot back
 * when the receiver has a receive posted for the frame.
 */
class SimNetwork
{
 public:
  class Port;

  /**
   * @param window Frames under way on each link, receives posted for each.
   * @param rankBytesPerSecond What a rank can send, and receive, on all its
   *     links together.
   * @param wake Called with a rank for which something has changed.
   */
  SimNetwork(SimClock& clock,
             const size_t ranks,
             const size_t window,
             const double rankBytesPerSecond,
             const std::uint64_t seed,
             std::function<void(size_t)> wake) :
      clock(clock), window(window), rankBytesPerSecond(rankBytesPerSecond),
      random(seed), wake(std::move(wake)), ports(ranks)
  { }

  /**
   * Open the links of one rank.
   *
   * @param links For each rank in sendTo, what the link to it is like.
   */
  Port& Open(const size_t rank,
             const std::vector<size_t>& sendTo,
             const std::vector<SimLink>& links,
             const std::vector<size_t>& receiveFrom,
             BufferPool& pool)
  {
    Port& port = ports[rank];
    port.network = this;
    port.rank = rank;
    port.pool = &pool;
    for (size_t i = 0; i < sendTo.size(); ++i)
      port.senders.push_back(Port::Sender{ sendTo[i], links[i], 0, 0 });
    for (const size_t peer : receiveFrom)
      port.receivers.push_back(Port::Receiver{ peer, {}, {} });
    return port;
  }

  //! The transport of one rank.
  class Port
  {
   public:
    //! Has a frame arrived?
    bool HasFrame() const
    {
      for (const Receiver& receiver : receivers)
        if (!receiver.matched.empty())
          return true;
      return false;
    }

    //! Take the next frame that has arrived, if any; see MpiTransport.
    template<typename ActionType>
    bool Receive(ActionType&& action)
    {
      for (size_t i = 0; i < receivers.size(); ++i)
      {
        next = (next + 1) % receivers.size();
        Receiver& receiver = receivers[next];
        if (receiver.matched.empty())
          continue;
        const Frame frame = std::move(receiver.matched.front());
        receiver.matched.pop_front();
        Match(receiver);
        action(frame.buffer.Bytes(), frame.buffer.Size(), receiver.peer);
        return true;
      }
      return false;
    }

    bool CanSend(const size_t link) const
    { return senders[link].underWay < network->window; }

    void Send(const size_t link, Buffer&& buffer, const size_t bytes)
    {
      Sender& sender = senders[link];
      ++sender.underWay;
      Port& peer = network->ports[sender.peer];
      double begin = network->clock.Now();
      const double delay = sender.link.latency +
          sender.link.jitter * network->random.Uniform();
      const double onLink = double(bytes) / sender.link.bytesPerSecond;
      double arrival = begin + delay + onLink;
      if (std::isfinite(network->rankBytesPerSecond))
      {
        // One frame after the other leaves this rank, and enters the other, in
        // the order in which they were sent.
        const double takes = double(bytes) / network->rankBytesPerSecond;
        begin = std::max(begin, sendsUntil);
        sendsUntil = begin + takes;
        arrival = std::max(begin + delay + std::max(onLink, takes),
            peer.receivesUntil + takes);
        peer.receivesUntil = arrival;
      }
      arrival = std::max(sender.lastArrival, arrival);
      sender.lastArrival = arrival;

      // The message is a copy; the buffer stays taken until it is matched.
      auto frame = std::make_shared<Frame>(Frame{ Buffer(bytes), rank, link,
          std::move(buffer) });
      std::memcpy(frame->buffer.Bytes(), frame->held.Bytes(), bytes);
      network->clock.At(arrival, [this, &peer, frame]()
      {
        for (Receiver& receiver : peer.receivers)
        {
          if (receiver.peer != rank)
            continue;
          receiver.arrived.push_back(std::move(*frame));
          peer.Match(receiver);
          network->wake(peer.rank);
          return;
        }
        assert(!"a frame for a rank that does not expect any");
      });
    }

    bool Delivered() const
    {
      for (const Sender& sender : senders)
        if (sender.underWay > 0)
          return false;
      return true;
    }

   private:
    friend class SimNetwork;

    struct Frame
    {
      Buffer buffer;
      size_t from;
      size_t link;
      Buffer held;
    };

    struct Sender
    {
      size_t peer;
      SimLink link;
      size_t underWay;
      double lastArrival;
    };

    struct Receiver
    {
      size_t peer;
      //! Arrived, but no receive is posted for them yet.
      std::deque<Frame> arrived;
      std::deque<Frame> matched;
    };

    //! Let posted receives take what has arrived, and free the senders' slots.
    void Match(Receiver& receiver)
    {
      while (!receiver.arrived.empty() &&
          receiver.matched.size() < network->window)
      {
        Frame frame = std::move(receiver.arrived.front());
        receiver.arrived.pop_front();
        Port& from = network->ports[frame.from];
        --from.senders[frame.link].underWay;
        from.pool->Give(std::move(frame.held));
        receiver.matched.push_back(std::move(frame));
        network->wake(from.rank);
      }
    }

    SimNetwork* network = nullptr;
    size_t rank = 0;
    BufferPool* pool = nullptr;
    std::vector<Sender> senders;
    std::deque<Receiver> receivers;
    size_t next = 0;
    //! Until when this rank's part of the network is taken.
    double sendsUntil = 0;
    double receivesUntil = 0;
  };

 private:
  SimClock& clock;
  size_t window;
  double rankBytesPerSecond;
  Random random;
  std::function<void(size_t)> wake;
  std::deque<Port> ports;
};

} // namespace dasgd

#endif
