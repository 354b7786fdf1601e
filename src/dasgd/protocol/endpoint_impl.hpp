/**
 * @file endpoint_impl.hpp
 *
 * Implementation of one rank's end of the protocol.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_ENDPOINT_IMPL_HPP
#define DASGD_PROTOCOL_ENDPOINT_IMPL_HPP

// In case it hasn't been included yet.
#include "endpoint.hpp"

#include <utility>

namespace dasgd {

template<typename ElemType>
Endpoint<ElemType>::Endpoint(const dasgd::Routes& routes,
                             const EndpointOptions& options,
                             const size_t elements,
                             VersionVector& version,
                             dasgd::Traffic& traffic) :
    routes(routes),
    neighbours(options.neighbours),
    limits{ options.origins > 0 ? options.origins : routes.Ranks(), elements,
        routes.Ranks() },
    version(version),
    lazy(options.lazy),
    pool(limits.MaxBytes()),
    maxBuffers(options.maxBuffers),
    boxes(routes.Channels().size()),
    linkOf(routes.Channels().size()),
    links(neighbours.sendTo.size()),
    lastsToSend(neighbours.sendTo.size()),
    lastsToCome(neighbours.receiveFrom.size()),
    sweep(2 * options.window * neighbours.receiveFrom.size()),
    pace(neighbours.sendTo.size()),
    termination(limits.ranks),
    frame(limits.ranks, limits.length),
    traffic(traffic)
{
  for (size_t link = 0; link < links.size(); ++link)
  {
    std::vector<size_t>& own = links[link].boxes;
    for (size_t i = 0; i < routes.Channels().size(); ++i)
    {
      if (routes.SendTo()[routes.Channels()[i].link] ==
          neighbours.sendTo[link])
      {
        own.push_back(i);
        linkOf[i] = link;
      }
    }
    if (own.empty())
    {
      own.push_back(boxes.size());
      boxes.emplace_back();
      linkOf.push_back(link);
    }
  }
  for (Outbox& box : boxes)
    box.manifest = Manifest(limits.ranks, limits.length);
}

template<typename ElemType>
void Endpoint<ElemType>::Reserve()
{
  const size_t entries = Manifest::MaxEntries(limits.ranks,
      limits.length);
  for (Outbox& box : boxes)
    box.manifest.Reserve(entries);
  frame.manifest.Reserve(entries);
  pool.Reserve(maxBuffers);
}

template<typename ElemType>
void Endpoint<ElemType>::Read(const std::uint8_t* bytes, const size_t size)
{
  DecodeFrame(bytes, size, limits, frame);
  const bool says = !frame.manifest.Empty() || !frame.facts.empty();
  if (!routes.Knows(frame.header.routeClass) &&
      (says || frame.header.routeClass != noRoute))
  {
    throw WireError("a frame of " + std::to_string(size) + " bytes has route "
        "class " + std::to_string(frame.header.routeClass) +
        ", which does not pass rank " + std::to_string(routes.Rank()));
  }
  due = version;
  for (const ManifestEntry& entry : frame.manifest.Entries())
  {
    if (entry.first != due[entry.origin] + 1)
    {
      throw WireError("a frame's manifest is out of order: gradient " +
          std::to_string(entry.first) + " of rank " +
          std::to_string(entry.origin) + " came where gradient " +
          std::to_string(due[entry.origin] + 1) + " was due");
    }
    due[entry.origin] += entry.count;
  }
  if (frame.header.last && lastsToCome == 0)
    throw WireError("more last frames came than there are neighbours");

  ++inARow;
  ++traffic.framesReceived;
  traffic.bytesReceived += frame.header.frameBytes;
  if (frame.header.last)
    --lastsToCome;
}

template<typename ElemType>
const std::vector<size_t>& Endpoint<ElemType>::Onward() const
{
  static const std::vector<size_t> nowhere;
  return routes.Knows(frame.header.routeClass) ?
      routes.Forward(frame.header.routeClass) : nowhere;
}

template<typename ElemType>
void Endpoint<ElemType>::Relay()
{
  const std::vector<size_t>& onward = Onward();
  if (!frame.manifest.Empty())
  {
    for (const size_t channel : onward)
    {
      Outbox& box = Open(channel);
      if (lazy)
      {
        // Nobody beyond measures staleness, and version vectors would be the
        // most of what is sent.
        for (ManifestEntry entry : frame.manifest.Entries())
        {
          entry.versioned = false;
          box.manifest.Add(entry, nullptr);
        }
      }
      else
        box.manifest.Add(frame.manifest);
      links[linkOf[channel]].held += frame.manifest.Entries().size();
    }

    for (const ManifestEntry& entry : frame.manifest.Entries())
      version[entry.origin] += entry.count;
    traffic.largestFrame = std::max(traffic.largestFrame,
        frame.manifest.Gradients());
  }

  for (const Fact& fact : frame.facts)
  {
    Post(fact, onward);
    termination.Receive(fact, version);
  }
}

template<typename ElemType>
void Endpoint<ElemType>::Announce(const ManifestEntry& entry,
                                  const std::uint64_t* at)
{
  for (const size_t channel : routes.Emit())
  {
    Outbox& box = Open(channel);
    box.manifest.Add(entry, at);
    box.own += size_t(entry.count);
    ++links[linkOf[channel]].held;
  }
  version[entry.origin] += entry.count;
  announced += entry.count;
}

template<typename ElemType>
void Endpoint<ElemType>::AskToStop(Fact fact)
{
  fact.kind = Fact::Kind::Stop;
  fact.origin = std::uint32_t(routes.Rank());
  // Once all have told their final counts, nobody computes: there is nothing to
  // stop, and neighbours may have left.
  if (FinalsMissing() > 0)
    Broadcast(fact);
  else
    termination.Receive(fact, version);
}

template<typename ElemType>
void Endpoint<ElemType>::BroadcastFinal()
{
  Fact fact;
  fact.origin = std::uint32_t(routes.Rank());
  fact.count = version[routes.Rank()];
  Broadcast(fact);
  pace.End();
}

template<typename ElemType>
size_t Endpoint<ElemType>::NextBox(Link& link)
{
  const std::vector<size_t>& own = link.boxes;
  size_t chosen = own[link.turn];
  for (size_t i = 0; i < own.size() && link.waiting > 0; ++i)
  {
    chosen = own[(link.turn + i) % own.size()];
    if (!boxes[chosen].Empty())
      break;
  }
  link.turn = (link.turn + 1) % own.size();
  return chosen;
}

template<typename ElemType>
template<typename TransportType, typename VectorsType>
bool Endpoint<ElemType>::Send(TransportType& transport, VectorsType& vectors)
{
  bool sent = false, stuck = false;
  size_t room = RoomBetween(transport);
  const size_t first = nextLink;
  for (size_t i = 0; i < links.size(); ++i)
  {
    const size_t number = (first + i) % links.size();
    Link& link = links[number];
    const auto waits = [&]()
    { return HasUrgent(number) || complete || vectors.HasVector(number); };
    if (link.lastSent || !waits())
      continue;
    if (!Due(number))
    {
      link.paced = true;
      continue;
    }
    while (!link.lastSent && waits() && transport.CanSend(number) &&
        (!link.between || room > 0))
    {
      if (Limited() && link.between)
      {
        --room;
        nextLink = (number + 1) % links.size();
      }
      SendNext(number, transport, vectors);
      sent = true;
    }
    stuck |= HasUrgent(number) || (!link.lastSent &&
        vectors.HasVector(number));
  }
  return sent || !stuck;
}

template<typename ElemType>
template<typename TransportType, typename VectorsType>
void Endpoint<ElemType>::SendNext(const size_t number,
                                  TransportType& transport,
                                  VectorsType& vectors)
{
  Link& link = links[number];
  const size_t chosen = NextBox(link);
  Outbox& box = boxes[chosen];
  FrameHeader header;
  header.routeClass = ClassOf(chosen);
  header.last = complete && link.waiting <= 1;
  Buffer rest;
  vectors.PutVector(number, box, header, rest);
  if (!box.buffer)
    box.buffer = pool.Take();
  const size_t bytes = EncodeFrame<ElemType>(box.buffer, header, box.manifest,
      box.facts);
  if (link.waiting > 0 && --link.waiting == 0)
  {
    link.held = 0;
    link.urgent = false;
  }
  box.manifest.Clear();
  box.facts.clear();
  box.own = 0;
  transport.Send(number, std::move(box.buffer), bytes);
  box.carry = bool(rest);
  box.buffer = std::move(rest);

  pace.Sent(number, announced);
  traffic.framesPaced += link.paced ? 1 : 0;
  link.paced = false;
  ++traffic.framesSent;
  traffic.bytesSent += bytes;
  if (link.between)
    traffic.bytesBetween += bytes;
  if (history)
    history->Send(neighbours.sendTo[number], bytes);
  if (header.last)
  {
    link.lastSent = true;
    --lastsToSend;
  }
}

template<typename ElemType>
void Endpoint<ElemType>::SetMachines(const std::vector<size_t>& machines)
{
  for (size_t link = 0; link < links.size(); ++link)
  {
    links[link].between = machines[neighbours.sendTo[link]] !=
        machines[routes.Rank()];
  }
}

template<typename ElemType>
Outbox& Endpoint<ElemType>::Open(const size_t channel)
{
  if (boxes[channel].Empty())
    ++links[linkOf[channel]].waiting;
  return boxes[channel];
}

template<typename ElemType>
void Endpoint<ElemType>::Post(const Fact& fact,
                              const std::vector<size_t>& channels)
{
  for (const size_t channel : channels)
  {
    // After the last frame only a late request to stop can come by, and then
    // nobody computes any more.
    Link& link = links[linkOf[channel]];
    if (link.lastSent)
      continue;
    Open(channel).facts.push_back(fact);
    link.urgent = true;
  }
}

template<typename ElemType>
void Endpoint<ElemType>::Broadcast(const Fact& fact)
{
  Post(fact, routes.Emit());
  termination.Receive(fact, version);
}

} // namespace dasgd

#endif
