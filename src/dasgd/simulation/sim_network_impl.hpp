/**
 * @file sim_network_impl.hpp
 *
 * Implementation of the simulated network.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_SIM_NETWORK_IMPL_HPP
#define DASGD_SIMULATION_SIM_NETWORK_IMPL_HPP

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
{
  events.push_back(Event{ time, count++, std::move(action) });
  std::push_heap(events.begin(), events.end());
}

DASGD_INLINE double SimClock::Next() const
{
  return events.empty() ? std::numeric_limits<double>::infinity() :
      events.front().time;
}

DASGD_INLINE bool SimClock::Step()
{
  if (events.empty())
    return false;
  std::pop_heap(events.begin(), events.end());
  const Event event = std::move(events.back());
  events.pop_back();
  now = event.time;
  event.action();
  return true;
}

DASGD_INLINE SimNetwork::SimNetwork(SimClock& clock,
                                    const std::vector<size_t>& machines,
                                    const size_t window,
                                    const double machineBytesPerSecond,
                                    const std::uint64_t seed,
                                    std::function<void(size_t)> wake,
                                    const size_t vectorBytes) :
    clock(clock), machines(machines),
    adapters(*std::max_element(machines.begin(), machines.end()) + 1),
    window(window), machineBytesPerSecond(machineBytesPerSecond),
    random(seed), wake(std::move(wake)), vectorBytes(vectorBytes),
    ports(machines.size())
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
  {
    port.senders.emplace_back();
    port.senders.back().peer = sendTo[i];
    port.senders.back().link = links[i];
  }
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
  sentAway += (network->machines[rank] != network->machines[sender.peer]);
  // The message is a copy; the buffer stays taken until it is matched.
  auto frame = std::make_shared<Frame>(Frame{ Buffer(bytes), rank, link,
      std::move(buffer), true, double(bytes + network->vectorBytes) });
  std::memcpy(frame->buffer.Bytes(), frame->held.Bytes(), bytes);
  // None overtakes one that was announced.
  if (frame->left <= sender.link.handshakeBytes && sender.announced == 0)
  {
    TransmitFrame(frame, frame->left);
    return;
  }
  ++sender.announced;
  const double first = std::min(frame->left, sender.link.handshakeBytes);
  frame->left -= first;
  Transmit(sender, first, [this, frame]()
  {
    Port& peer = network->ports[senders[frame->link].peer];
    peer.announced.push_back(frame);
    if (peer.attentive)
      peer.Progress();
  });
}

DASGD_INLINE void SimNetwork::Port::Agree(const FramePointer& frame)
{
  Port& from = network->ports[frame->from];
  auto agreed = [&from, frame]()
  {
    from.agreed.push_back(frame);
    if (from.attentive)
      from.Progress();
  };
  // The answer waits behind what is on its way in that direction.
  for (Sender& sender : senders)
  {
    if (sender.peer == frame->from)
    {
      Transmit(sender, 0, std::move(agreed));
      return;
    }
  }
  network->clock.After(from.senders[frame->link].link.latency,
      std::move(agreed));
}

DASGD_INLINE void SimNetwork::Port::Progress()
{
  for (const FramePointer& frame : announced)
    Agree(frame);
  announced.clear();
  std::vector<FramePointer> rest;
  for (const FramePointer& frame : agreed)
  {
    Sender& sender = senders[frame->link];
    // One after the other on each link.
    const bool first = std::none_of(rest.begin(), rest.end(),
        [&](const FramePointer& other) { return other->link == frame->link; });
    if (first && TransmitFrame(frame, attentive ?
        std::numeric_limits<double>::infinity() : sender.link.partBytes))
    {
      --sender.announced;
      Free(*frame);
    }
    else
      rest.push_back(frame);
  }
  agreed.swap(rest);
}

DASGD_INLINE bool SimNetwork::Port::TransmitFrame(const FramePointer& frame,
                                                  const double most)
{
  const double bytes = std::min(frame->left, most);
  frame->left -= bytes;
  const bool last = (frame->left == 0);
  Transmit(senders[frame->link], bytes, [this, frame, last]()
  {
    if (last)
      network->ports[senders[frame->link].peer].Arrive(frame);
  });
  return last;
}

DASGD_INLINE void SimNetwork::Port::Transmit(Sender& sender,
                                             const double bytes,
                                             std::function<void()> arrived)
{
  const size_t here = network->machines[rank];
  const size_t there = network->machines[sender.peer];
  double begin = network->clock.Now();
  const double delay = sender.link.latency +
      sender.link.jitter * network->random.Uniform();
  const double onLink = bytes / sender.link.bytesPerSecond;
  double arrival = begin + delay + onLink;
  if (here != there && std::isfinite(network->machineBytesPerSecond))
  {
    // One part after the other leaves this machine, and enters the other, in
    // the order in which they were sent.
    const double takes = bytes / network->machineBytesPerSecond;
    double& sendsUntil = network->adapters[here].sendsUntil;
    double& receivesUntil = network->adapters[there].receivesUntil;
    begin = std::max(begin, sendsUntil);
    sendsUntil = begin + takes;
    arrival = std::max(begin + delay + std::max(onLink, takes),
        receivesUntil + takes);
    receivesUntil = arrival;
  }
  sender.lastArrival = std::max(sender.lastArrival, arrival);
  network->clock.At(sender.lastArrival, std::move(arrived));
}

DASGD_INLINE void SimNetwork::Port::Free(Frame& frame)
{
  if (!frame.underWay)
    return;
  frame.underWay = false;
  --senders[frame.link].underWay;
  pool->Give(std::move(frame.held));
  network->wake(rank);
}

DASGD_INLINE void SimNetwork::Port::Arrive(const FramePointer& frame)
{
  for (Receiver& receiver : receivers)
  {
    if (receiver.peer != frame->from)
      continue;
    receiver.arrived.push_back(std::move(*frame));
    Match(receiver);
    network->wake(rank);
    return;
  }
  assert(!"a frame for a rank that does not expect any");
}

DASGD_INLINE void SimNetwork::Port::Match(Receiver& receiver)
{
  while (!receiver.arrived.empty() &&
      receiver.matched.size() < network->window)
  {
    Frame frame = std::move(receiver.arrived.front());
    receiver.arrived.pop_front();
    network->ports[frame.from].Free(frame);
    receiver.matched.push_back(std::move(frame));
  }
}

} // namespace dasgd

#endif
