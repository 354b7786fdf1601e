/**
 * @file sim_network_impl.hpp
 *
 * Implementation of the simulated network.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_SIM_NETWORK_IMPL_HPP
#define DASGD_TRANSPORT_SIM_NETWORK_IMPL_HPP

// In case it hasn't been included yet.
#include "sim_network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace dasgd {

DASGD_INLINE void SimClock::At(const double time, std::function<void()> action)
{ events.push(Event{ time, count++, std::move(action) }); }

DASGD_INLINE double SimClock::Next() const
{
  return events.empty() ? std::numeric_limits<double>::infinity() :
      events.top().time;
}

DASGD_INLINE bool SimClock::Step()
{
  if (events.empty())
    return false;
  Event event = events.top();
  events.pop();
  now = event.time;
  event.action();
  return true;
}

DASGD_INLINE SimNetwork::SimNetwork(SimClock& clock,
                                    const std::vector<size_t>& machines,
                                    const size_t window,
                                    const double machineBytesPerSecond,
                                    const std::uint64_t seed,
                                    std::function<void(size_t)> wake) :
    clock(clock), machines(machines),
    adapters(*std::max_element(machines.begin(), machines.end()) + 1),
    window(window), machineBytesPerSecond(machineBytesPerSecond),
    random(seed), wake(std::move(wake)), ports(machines.size())
{ /* Nothing to do. */ }

DASGD_INLINE SimNetwork::Port& SimNetwork::Open(
    const size_t rank,
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

DASGD_INLINE void SimNetwork::Port::Send(const size_t link,
                                         Buffer&& buffer,
                                         const size_t bytes)
{
  Sender& sender = senders[link];
  ++sender.underWay;
  Port& peer = network->ports[sender.peer];
  double begin = network->clock.Now();
  const double delay = sender.link.latency +
      sender.link.jitter * network->random.Uniform();
  const double onLink = double(bytes) / sender.link.bytesPerSecond;
  double arrival = begin + delay + onLink;
  const size_t here = network->machines[rank];
  const size_t there = network->machines[sender.peer];
  if (here != there && std::isfinite(network->machineBytesPerSecond))
  {
    // One frame after the other leaves this machine, and enters the other, in
    // the order in which they were sent.
    const double takes = double(bytes) / network->machineBytesPerSecond;
    double& sendsUntil = network->adapters[here].sendsUntil;
    double& receivesUntil = network->adapters[there].receivesUntil;
    begin = std::max(begin, sendsUntil);
    sendsUntil = begin + takes;
    arrival = std::max(begin + delay + std::max(onLink, takes),
        receivesUntil + takes);
    receivesUntil = arrival;
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

DASGD_INLINE void SimNetwork::Port::Match(Receiver& receiver)
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

} // namespace dasgd

#endif
