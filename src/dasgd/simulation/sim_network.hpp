/**
 * @file sim_network.hpp
 *
 * Frames between ranks of one process, on virtual time: the same interface as
 * MpiTransport, with delays that a seed decides.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_SIM_NETWORK_HPP
#define DASGD_SIMULATION_SIM_NETWORK_HPP

#include "../core/config.hpp"
#include "../core/random.hpp"
#include "../wire/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

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
  void At(const double time, std::function<void()> action);

  //! When is the next thing done?  Never, if there is none.
  double Next() const;

  //! Do the next thing; false if there is none.
  bool Step();

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
  //! A heap, the next on top.
  std::vector<Event> events;
};

//! What a link is like.
struct SimLink
{
  //! Seconds that a frame of no bytes takes, plus up to so many more by chance.
  double latency = 0;
  double jitter = 0;
  double bytesPerSecond = 1e300;
  //! Of longer frames so many bytes leave at once, and the rest when the
  //! receiver has agreed.  Either rank answers when it looks for messages next.
  double handshakeBytes = std::numeric_limits<double>::infinity();
  //! Of that rest, so many bytes leave at a time, and the next ones when the
  //! sender looks for messages again.
  double partBytes = std::numeric_limits<double>::infinity();
};

/**
 * The links between all ranks.  Each keeps the order of its frames; different
 * links do not.  As with synchronous sends of MPI, a sender gets its slot back
 * when the receiver has a receive posted for the frame; of a frame that was
 * announced, when the receiver has agreed and the rest has left.
 */
class SimNetwork
{
 public:
  class Port;

  /**
   * @param window Frames under way on each link, receives posted for each.
   * @param machines The machine of each rank, numbered from 0.
   * @param machineBytesPerSecond What a machine can send to all others
   *     together, and receive from them.
   * @param wake Called with a rank for which something has changed.
   * @param vectorBytes Bytes that each frame is longer than it is here.
   */
  SimNetwork(SimClock& clock,
             const std::vector<size_t>& machines,
             const size_t window,
             const double machineBytesPerSecond,
             const std::uint64_t seed,
             std::function<void(size_t)> wake,
             const size_t vectorBytes = 0);

  /**
   * Open the links of one rank.
   *
   * @param links For each rank in sendTo, what the link to it is like.
   */
  Port& Open(const size_t rank,
             const std::vector<size_t>& sendTo,
             const std::vector<SimLink>& links,
             const std::vector<size_t>& receiveFrom,
             BufferPool& pool);

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

    void Send(const size_t link, Buffer&& buffer, const size_t bytes);

    //! Frames that were sent to other machines.
    std::uint64_t SentAway() const { return sentAway; }

    //! This rank looks for messages: answer announcements, and send what was
    //! agreed on.
    void Progress();

    //! Does this rank look for messages all the time?
    void SetAttentive(const bool value)
    {
      attentive = value;
      if (attentive)
        Progress();
    }

    //! It takes no time of a rank to look for frames, nor that they are under
    //! way.
    static bool HasMessages() { return false; }
    static bool Busy() { return false; }

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
      //! What was sent, until the sender has its slot back.
      Buffer held;
      bool underWay;
      //! Bytes that have not left yet.
      double left;
    };
    using FramePointer = std::shared_ptr<Frame>;

    struct Sender
    {
      size_t peer;
      SimLink link;
      size_t underWay = 0;
      double lastArrival = 0;
      //! Frames that wait for the receiver to agree.
      size_t announced = 0;
    };

    struct Receiver
    {
      size_t peer;
      //! Arrived, but no receive is posted for them yet.
      std::deque<Frame> arrived;
      std::deque<Frame> matched;
    };

    //! So many bytes leave now.
    void Transmit(Sender& sender,
                  const double bytes,
                  std::function<void()> arrived);
    //! So many bytes of a frame leave now; false if that is not all of it.
    bool TransmitFrame(const FramePointer& frame, const double most);
    //! Agree to a frame that was announced here.
    void Agree(const FramePointer& frame);
    //! The slot of a frame that this rank has sent is free again.
    void Free(Frame& frame);
    //! A frame is here.
    void Arrive(const FramePointer& frame);

    //! Let posted receives take what has arrived, and free the senders' slots.
    void Match(Receiver& receiver);

    SimNetwork* network = nullptr;
    size_t rank = 0;
    BufferPool* pool = nullptr;
    std::vector<Sender> senders;
    std::deque<Receiver> receivers;
    size_t next = 0;
    std::uint64_t sentAway = 0;
    bool attentive = false;
    //! Frames of others that were announced here, and own ones that were agreed
    //! to.
    std::vector<FramePointer> announced;
    std::vector<FramePointer> agreed;
  };

 private:
  //! Until when a machine's part of the network is taken.
  struct Adapter
  {
    double sendsUntil = 0;
    double receivesUntil = 0;
  };

  SimClock& clock;
  std::vector<size_t> machines;
  //! By machine.
  std::vector<Adapter> adapters;
  size_t window;
  double machineBytesPerSecond;
  Random random;
  std::function<void(size_t)> wake;
  size_t vectorBytes;
  std::deque<Port> ports;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "sim_network_impl.hpp"
#endif

#endif
