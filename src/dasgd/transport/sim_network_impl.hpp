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
                                    const size_t vectorBytes,
                                    const bool fair) :
    clock(clock), machines(machines),
    adapters(*std::max_element(machines.begin(), machines.end()) + 1),
    window(window), machineBytesPerSecond(machineBytesPerSecond),
    random(seed), wake(std::move(wake)), vectorBytes(vectorBytes),
    fair(fair), ports(machines.size())
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
      std::move(buffer), double(bytes + network->vectorBytes) });
  std::memcpy(frame->buffer.Bytes(), frame->held.Bytes(), bytes);
  // None overtakes one that was announced.
  if (frame->left <= sender.link.handshakeBytes &&
      sender.announced == 0)
  {
    Transmit(frame);
    return;
  }
  ++sender.announced;
  network->clock.After(sender.link.latency, [this, frame]()
  {
    Port& peer = network->ports[senders[frame->link].peer];
    peer.announced.push_back(frame);
    if (peer.attentive)
      peer.Progress();
  });
}

DASGD_INLINE void SimNetwork::Port::Progress()
{
  for (const FramePointer& frame : announced)
  {
    Port& from = network->ports[frame->from];
    network->clock.After(from.senders[frame->link].link.latency,
        [&from, frame]()
    {
      from.agreed.push_back(frame);
      if (from.attentive)
        from.Progress();
    });
  }
  announced.clear();
  std::vector<FramePointer> rest;
  for (const FramePointer& frame : agreed)
  {
    Sender& sender = senders[frame->link];
    // One after the other on each link.
    const bool first = std::none_of(rest.begin(), rest.end(),
        [&](const FramePointer& other) { return other->link == frame->link; });
    if (first && Transmit(frame, attentive ?
        std::numeric_limits<double>::infinity() : sender.link.partBytes))
      --sender.announced;
    else
      rest.push_back(frame);
  }
  agreed.swap(rest);
}

DASGD_INLINE bool SimNetwork::Port::Transmit(const FramePointer& frame,
                                             const double most)
{
  Sender& sender = senders[frame->link];
  const double bytes = std::min(frame->left, most);
  frame->left -= bytes;
  if (network->fair && network->machines[rank] !=
      network->machines[sender.peer])
  {
    sender.parts.push_back(Part{ frame, bytes, frame->left == 0 });
    if (sender.parts.size() == 1)
      BeginPart(sender);
    return frame->left == 0;
  }
  double begin = network->clock.Now();
  const double delay = sender.link.latency +
      sender.link.jitter * network->random.Uniform();
  const double onLink = bytes / sender.link.bytesPerSecond;
  double arrival = begin + delay + onLink;
  const size_t here = network->machines[rank];
  const size_t there = network->machines[sender.peer];
  if (here != there && std::isfinite(network->machineBytesPerSecond))
  {
    // One frame after the other leaves this machine, and enters the other, in
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
  arrival = std::max(sender.lastArrival, arrival);
  sender.lastArrival = arrival;
  if (frame->left > 0)
    return false;
  network->clock.At(arrival, [this, frame]()
  { network->ports[senders[frame->link].peer].Arrive(frame); });
  return true;
}

DASGD_INLINE void SimNetwork::Port::BeginPart(Sender& sender)
{
  const size_t here = network->machines[rank];
  const size_t there = network->machines[sender.peer];
  sender.left = sender.parts.front().bytes;
  sender.rate = 0;
  sender.since = network->clock.Now();
  network->adapters[here].sends.emplace_back(this, &sender);
  network->adapters[there].receives.emplace_back(this, &sender);
  network->Share(here, there);
}

DASGD_INLINE void SimNetwork::Share(const size_t here, const size_t there)
{
  const double now = clock.Now();
  const auto share = [&](const std::pair<Port*, Port::Sender*>& moving)
  {
    Port& port = *moving.first;
    Port::Sender& sender = *moving.second;
    const double sends = double(adapters[machines[port.rank]].sends.size());
    const double receives = double(adapters[machines[sender.peer]].receives
        .size());
    const double rate = std::min(sender.link.bytesPerSecond,
        machineBytesPerSecond / std::max(sends, receives));
    if (rate == sender.rate)
      return;
    sender.left -= sender.rate * (now - sender.since);
    sender.since = now;
    sender.rate = rate;
    const std::uint64_t version = ++sender.version;
    clock.After(std::max(0.0, sender.left) / rate, [&port, &sender, version]()
    { port.EndPart(sender, version); });
  };
  for (const auto& moving : adapters[here].sends)
    share(moving);
  for (const auto& moving : adapters[there].receives)
    share(moving);
}

DASGD_INLINE void SimNetwork::Port::EndPart(Sender& sender,
                                            const std::uint64_t version)
{
  if (version != sender.version)
    return; // Its rate has changed since.
  const Part part = sender.parts.front();
  sender.parts.pop_front();
  const size_t here = network->machines[rank];
  const size_t there = network->machines[sender.peer];
  for (auto* moving : { &network->adapters[here].sends,
      &network->adapters[there].receives })
  {
    moving->erase(std::find(moving->begin(), moving->end(),
        std::make_pair(this, &sender)));
  }
  network->Share(here, there);
  if (!sender.parts.empty())
    BeginPart(sender);
  if (!part.last)
    return;
  sender.lastArrival = std::max(sender.lastArrival, network->clock.Now() +
      sender.link.latency + sender.link.jitter * network->random.Uniform());
  network->clock.At(sender.lastArrival, [this, part]()
  { network->ports[senders[part.frame->link].peer].Arrive(part.frame); });
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
    Port& from = network->ports[frame.from];
    --from.senders[frame.link].underWay;
    from.pool->Give(std::move(frame.held));
    receiver.matched.push_back(std::move(frame));
    network->wake(from.rank);
  }
}

} // namespace dasgd

#endif
