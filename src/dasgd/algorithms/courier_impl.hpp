/**
 * @file courier_impl.hpp
 *
 * Implementation of what all asynchronous workers share.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_COURIER_IMPL_HPP
#define DASGD_ALGORITHMS_COURIER_IMPL_HPP

// In case it hasn't been included yet.
#include "courier.hpp"

#include <utility>

namespace dasgd {

template<typename DerivedType, typename ElemType, typename ProblemType>
Courier<DerivedType, ElemType, ProblemType>::Courier(
    const Routes& routes,
    const Neighbours& neighbours,
    const size_t window,
    const size_t maxBuffers,
    ElemType* iterate,
    const size_t elements,
    ProblemType& problem) :
    routes(routes),
    neighbours(neighbours),
    iterate(iterate),
    limits{routes.Ranks(), elements},
    problem(problem),
    pool(limits.MaxBytes()),
    maxBuffers(maxBuffers),
    boxes(routes.Channels().size()),
    linkOf(routes.Channels().size()),
    boxesOf(neighbours.sendTo.size()),
    waiting(neighbours.sendTo.size(), 0),
    turn(neighbours.sendTo.size(), 0),
    held(neighbours.sendTo.size(), 0),
    urgent(neighbours.sendTo.size(), false),
    lastSent(neighbours.sendTo.size(), false),
    lastsToSend(neighbours.sendTo.size()),
    lastsToCome(neighbours.receiveFrom.size()),
    sweep(2 * window * neighbours.receiveFrom.size()),
    version(routes.Ranks(), 0),
    finalKnown(routes.Ranks(), false),
    finalsMissing(routes.Ranks()),
    frame(routes.Ranks())
{
  for (size_t link = 0; link < boxesOf.size(); ++link)
  {
    for (size_t i = 0; i < routes.Channels().size(); ++i)
    {
      if (routes.SendTo()[routes.Channels()[i].link] ==
          neighbours.sendTo[link])
      {
        boxesOf[link].push_back(i);
        linkOf[i] = link;
      }
    }
    if (boxesOf[link].empty())
    {
      boxesOf[link].push_back(boxes.size());
      boxes.emplace_back();
      linkOf.push_back(link);
    }
  }
  for (Box& box : boxes)
    box.manifest = Manifest(routes.Ranks());
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Read(
    const std::uint8_t* bytes,
    const size_t size,
    const size_t from)
{
  DecodeFrame(bytes, size, limits, frame);
  const bool news = !frame.manifest.Empty() || !frame.facts.empty();
  if (!routes.Knows(frame.header.routeClass) &&
      (news || frame.header.routeClass != noRoute))
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
  ++counts.framesReceived;
  counts.bytesReceived += frame.header.frameBytes;
  if (history)
    history->Apply(from, frame.header.frameBytes, frame.manifest.Entries());
  if (frame.header.last)
    --lastsToCome;
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Accept(const bool measure)
{
  static const std::vector<size_t> nowhere;
  const std::vector<size_t>& onward = routes.Knows(frame.header.routeClass) ?
      routes.Forward(frame.header.routeClass) : nowhere;
  if (!frame.manifest.Empty())
  {
    for (const size_t channel : onward)
    {
      Box& box = Open(channel);
      if constexpr (DerivedType::lazy)
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
      held[linkOf[channel]] += frame.manifest.Entries().size();
    }

    const std::vector<ManifestEntry>& entries = frame.manifest.Entries();
    for (size_t i = 0; i < entries.size(); ++i)
    {
      if (measure && entries[i].versioned)
      {
        counts.staleness.Add(Staleness(version.data(),
            frame.manifest.Version(i), routes.Ranks()));
      }
      else if (measure)
      {
        counts.staleness.Skip(entries[i].count);
      }
      version[entries[i].origin] += entries[i].count;
    }
    counts.applied += frame.manifest.Gradients();
    counts.largestFrame = std::max(counts.largestFrame,
        frame.manifest.Gradients());
  }

  for (const Fact& fact : frame.facts)
  {
    Post(fact, onward);
    Learn(fact);
  }

  Guard([&]()
  {
    for (const ManifestEntry& entry : frame.manifest.Entries())
      problem.Applied(entry);
    problem.Settle();
  });
  Conclude();
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Announce(
    ManifestEntry& entry,
    const std::uint64_t* at)
{
  entry.origin = std::uint32_t(routes.Rank());
  entry.first = version[routes.Rank()] + 1;
  entry.versioned = (at != nullptr);
  for (const size_t channel : routes.Emit())
  {
    Box& box = Open(channel);
    box.manifest.Add(entry, at);
    ++box.own;
    ++held[linkOf[channel]];
  }
  ++version[routes.Rank()];
  ++counts.computed;
  ++counts.applied;
  counts.points += problem.BatchPoints();
}

template<typename DerivedType, typename ElemType, typename ProblemType>
template<typename TransportType>
bool Courier<DerivedType, ElemType, ProblemType>::Send(
    TransportType& transport)
{
  bool sent = false, stuck = false;
  for (size_t link = 0; link < boxesOf.size(); ++link)
  {
    const std::vector<size_t>& own = boxesOf[link];
    while (!lastSent[link] && (HasNews(link) || complete ||
        Self().Loads(link)) && transport.CanSend(link))
    {
      // The next box, in turn, that has something; none is left waiting.
      size_t chosen = own[turn[link]];
      for (size_t i = 0; i < own.size() && waiting[link] > 0; ++i)
      {
        chosen = own[(turn[link] + i) % own.size()];
        if (!boxes[chosen].Empty())
          break;
      }
      turn[link] = (turn[link] + 1) % own.size();

      Box& box = boxes[chosen];
      FrameHeader header;
      header.routeClass = ClassOf(chosen);
      header.last = complete && waiting[link] <= 1;
      Buffer rest;
      Self().Load(link, box, header, rest);
      if (!box.buffer)
        box.buffer = pool.Take();
      const size_t bytes = EncodeFrame<ElemType>(box.buffer, header,
          box.manifest, box.facts);
      if (waiting[link] > 0 && --waiting[link] == 0)
      {
        held[link] = 0;
        urgent[link] = false;
      }
      box.manifest.Clear();
      box.facts.clear();
      box.own = 0;
      transport.Send(link, std::move(box.buffer), bytes);
      box.carry = bool(rest);
      box.buffer = std::move(rest);

      sent = true;
      ++counts.framesSent;
      counts.bytesSent += bytes;
      if (history)
        history->Send(neighbours.sendTo[link], bytes);
      if (header.last)
      {
        lastSent[link] = true;
        --lastsToSend;
      }
    }
    stuck |= HasNews(link) || (!lastSent[link] && Self().Loads(link));
  }
  return sent || !stuck;
}

template<typename DerivedType, typename ElemType, typename ProblemType>
typename Courier<DerivedType, ElemType, ProblemType>::Box&
Courier<DerivedType, ElemType, ProblemType>::Open(const size_t channel)
{
  if (boxes[channel].Empty())
    ++waiting[linkOf[channel]];
  return boxes[channel];
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Learn(const Fact& fact)
{
  if (fact.kind == Fact::Kind::Final)
  {
    // Facts come after the gradients of their origin, so all must be here.
    if (finalKnown[fact.origin] || fact.count != version[fact.origin])
    {
      throw WireError("rank " + std::to_string(fact.origin) + " has computed " +
          std::to_string(fact.count) + " gradients, of which " +
          std::to_string(version[fact.origin]) + " have arrived");
    }
    finalKnown[fact.origin] = true;
    --finalsMissing;
  }
  else
  {
    // Every rank learns all facts before it leaves, so all end up with the same
    // reason.
    if (!stopped || Outweighs(fact, stop))
      stop = fact;
    stopped = true;
  }
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Post(
    const Fact& fact,
    const std::vector<size_t>& channels)
{
  for (const size_t channel : channels)
  {
    // After the last frame only a late wish to stop can come by, and then
    // nobody computes any more.
    if (lastSent[linkOf[channel]])
      continue;
    Open(channel).facts.push_back(fact);
    urgent[linkOf[channel]] = true;
  }
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Tell(const Fact& fact)
{
  Post(fact, routes.Emit());
  Learn(fact);
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::AskToStop(Fact fact)
{
  asked = true;
  fact.kind = Fact::Kind::Stop;
  fact.origin = std::uint32_t(routes.Rank());
  fact.count = step;
  // Once all have told their final counts, nobody computes: there is nothing to
  // stop, and neighbours may have left.
  if (finalsMissing > 0)
    Tell(fact);
  else
    Learn(fact);
}

template<typename DerivedType, typename ElemType, typename ProblemType>
void Courier<DerivedType, ElemType, ProblemType>::Conclude()
{
  // Also of a rank that has done its share: others are at work.
  if (!stopped && problem.Verdict())
    AskToStop(*problem.Verdict());
  if (!told)
  {
    if (!finished && (stopped || !problem.HasWork()))
    {
      finished = true;
      Self().Finish();
    }
    if (finished && Self().Quiet())
    {
      // Whoever has heard this from all may leave, so no gradient may follow.
      told = true;
      Fact fact;
      fact.origin = std::uint32_t(routes.Rank());
      fact.count = version[routes.Rank()];
      Tell(fact);
    }
  }
  complete = (finalsMissing == 0) && Self().Settled();
}

template<typename DerivedType, typename ElemType, typename ProblemType>
template<typename ActionType>
void Courier<DerivedType, ElemType, ProblemType>::Guard(ActionType&& action)
{
  if (exception)
    return;
  Fact fact;
  fact.reason = StopReason::Error;
  try
  {
    action();
    iterate = problem.Iterate();
    return;
  }
  catch (const std::exception& e)
  {
    fact.text = FactText(e.what());
    exception = std::current_exception();
  }
  catch (...)
  {
    fact.text = "an exception that is not a std::exception";
    exception = std::current_exception();
  }

  iterate = problem.Iterate();
  // A rank gives one reason; what is thrown after it is told to all when they
  // meet at the end.
  if (!asked)
    AskToStop(fact);
}

} // namespace dasgd

#endif
