/**
 * @file dasgd_worker_impl.hpp
 *
 * Implementation of one rank of DASGD.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_DASGD_WORKER_IMPL_HPP
#define DASGD_ALGORITHMS_DASGD_WORKER_IMPL_HPP

// In case it hasn't been included yet.
#include "dasgd_worker.hpp"

#include <utility>

namespace dasgd {

template<typename ElemType, typename ProblemType>
DasgdWorker<ElemType, ProblemType>::DasgdWorker(const Routes& routes,
                                                const size_t window,
                                                ElemType* iterate,
                                                const size_t elements,
                                                ProblemType& problem,
                                                const WireFormat& format) :
    routes(routes),
    iterate(iterate),
    limits{routes.Ranks(), elements},
    problem(problem),
    pool(limits.MaxBytes()),
    maxBuffers(DasgdBuffers(routes, window)),
    boxes(routes.Channels().size()),
    channelsOf(routes.SendTo().size()),
    waiting(routes.SendTo().size(), 0),
    turn(routes.SendTo().size(), 0),
    lastSent(routes.SendTo().size(), false),
    lastsToSend(routes.SendTo().size()),
    lastsToCome(routes.ReceiveFrom().size()),
    rounding(format, routes.Ranks() > 1 ? elements : 0),
    format(rounding.Active() ? format.Type() : WireFormat::Kind::Exact),
    sweep(2 * window * routes.ReceiveFrom().size()),
    version(routes.Ranks(), 0),
    finalKnown(routes.Ranks(), false),
    finalsMissing(routes.Ranks()),
    frame(routes.Ranks())
{
  for (size_t i = 0; i < boxes.size(); ++i)
  {
    boxes[i].manifest = Manifest(routes.Ranks());
    channelsOf[routes.Channels()[i].link].push_back(i);
  }
  counts.vectorBound = DasgdVectors(routes, window) +
      format.Vectors(sizeof(ElemType));
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Reserve()
{
  const size_t entries = Manifest::MaxEntries(routes.Ranks());
  for (Box& box : boxes)
    box.manifest.Reserve(entries);
  frame.manifest.Reserve(entries);
  pool.Reserve(maxBuffers);
  if (format != WireFormat::Kind::Exact)
    frame.expanded.reserve(limits.elements);
  if (format == WireFormat::Kind::TopK)
    places.reserve(limits.elements);
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Start()
{
  Guard([&]() { problem.Begin(); });
}

template<typename ElemType, typename ProblemType>
bool DasgdWorker<ElemType, ProblemType>::HasWork()
{
  Conclude();
  return !finished;
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Compute()
{
  const size_t rank = routes.Rank();
  inARow = 0;
  step = version[rank] + 1;
  Guard([&]()
  {
    ManifestEntry entry;
    const ElemType* update = nullptr;
    if (problem.Compute(entry) && problem.TakeStep(IdleBuffer(), update))
    {
      entry.origin = std::uint32_t(rank);
      entry.first = version[rank] + 1;
      // The update stands in a buffer of ours, or of the problem's, which is
      // done with it.
      if (rounding.Active())
        rounding.Apply(iterate, const_cast<ElemType*>(update));
      if (history)
        history->Compute(); // First: nobody may have what is not noted.
      for (const size_t channel : routes.Emit())
      {
        AddUpdate(Open(channel), update);
        boxes[channel].manifest.Add(entry, version.data());
      }

      ++version[rank];
      ++counts.computed;
      ++counts.applied;
      counts.points = entry.points;
      counts.staleness.Add(0);
      problem.Applied(entry, true);
    }
    problem.Settle();
  });
  Conclude();
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Receive(const std::uint8_t* bytes,
                                                 const size_t size,
                                                 const size_t from)
{
  DecodeFrame(bytes, size, limits, frame);
  if (!routes.Knows(frame.header.routeClass))
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

  const std::vector<size_t>& onward =
      routes.Forward(frame.header.routeClass);
  if (frame.vector)
  {
    Subtract(iterate, frame.vector, limits.elements);
    for (const size_t channel : onward)
    {
      // A rest goes with the next that there is to send.
      const bool rest = frame.manifest.Empty();
      AddUpdate(rest ? boxes[channel] : Open(channel), frame.vector);
      boxes[channel].carry |= rest;
      boxes[channel].manifest.Add(frame.manifest);
    }

    const std::vector<ManifestEntry>& entries = frame.manifest.Entries();
    for (size_t i = 0; i < entries.size(); ++i)
    {
      if (entries[i].versioned)
      {
        counts.staleness.Add(Staleness(version.data(),
            frame.manifest.Version(i), routes.Ranks()));
      }
      else
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
    for (const size_t channel : onward)
      Open(channel).facts.push_back(fact);
    Learn(fact);
  }

  Guard([&]()
  {
    for (const ManifestEntry& entry : frame.manifest.Entries())
      problem.Applied(entry, false);
    problem.Settle();
  });
  Conclude();
}

template<typename ElemType, typename ProblemType>
template<typename TransportType>
bool DasgdWorker<ElemType, ProblemType>::Send(TransportType& transport)
{
  bool sent = false, stuck = false;
  for (size_t link = 0; link < channelsOf.size(); ++link)
  {
    const std::vector<size_t>& channels = channelsOf[link];
    while (!lastSent[link] && (waiting[link] > 0 || complete) &&
        transport.CanSend(link))
    {
      // The next channel, in turn, that has something; none is left waiting.
      size_t chosen = channels[turn[link]];
      for (size_t i = 0; i < channels.size() && waiting[link] > 0; ++i)
      {
        chosen = channels[(turn[link] + i) % channels.size()];
        if (!boxes[chosen].Empty())
          break;
      }
      turn[link] = (turn[link] + 1) % channels.size();

      Box& box = boxes[chosen];
      if (!box.buffer)
        box.buffer = pool.Take();
      FrameHeader header;
      header.routeClass = std::uint32_t(routes.Channels()[chosen].routeClass);
      header.elements = box.Fresh() ? 0 : limits.elements;
      header.last = complete && waiting[link] <= 1;
      Buffer rest;
      if (format != WireFormat::Kind::Exact)
        Shorten(box, header, rest);
      const size_t bytes = EncodeFrame<ElemType>(box.buffer, header,
          box.manifest, box.facts);
      if (waiting[link] > 0)
        --waiting[link];
      box.manifest.Clear();
      box.facts.clear();
      transport.Send(link, std::move(box.buffer), bytes);
      box.carry = bool(rest);
      box.buffer = std::move(rest);

      sent = true;
      ++counts.framesSent;
      counts.bytesSent += bytes;
      if (history)
        history->Send(routes.SendTo()[link], bytes);
      if (header.last)
      {
        lastSent[link] = true;
        --lastsToSend;
      }
    }
    stuck |= (waiting[link] > 0);
  }
  return sent || !stuck;
}

template<typename ElemType, typename ProblemType>
typename DasgdWorker<ElemType, ProblemType>::Box&
DasgdWorker<ElemType, ProblemType>::Open(const size_t channel)
{
  if (boxes[channel].Empty())
    ++waiting[routes.Channels()[channel].link];
  return boxes[channel];
}

template<typename ElemType, typename ProblemType>
ElemType* DasgdWorker<ElemType, ProblemType>::IdleBuffer()
{
  for (const size_t channel : routes.Emit())
  {
    Box& box = boxes[channel];
    if (!box.Fresh())
      continue;
    if (!box.buffer)
      box.buffer = pool.Take();
    return FrameVector<ElemType>(box.buffer);
  }
  return nullptr;
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::AddUpdate(Box& box,
                                                   const ElemType* update)
{
  if (box.buffer && FrameVector<ElemType>(box.buffer) == update)
    return; // It was formed there.
  if (!box.Fresh())
  {
    Add(FrameVector<ElemType>(box.buffer), update, limits.elements);
    return;
  }
  if (!box.buffer)
    box.buffer = pool.Take();
  std::memcpy(FrameVector<ElemType>(box.buffer), update,
      FrameLimits<ElemType>::VectorBytes(limits.elements));
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Shorten(Box& box,
                                                 FrameHeader& header,
                                                 Buffer& rest)
{
  // An origin's last word comes with all that is left of it, and so does a frame
  // that is nothing but a rest: nothing may stay behind.
  const bool final = std::any_of(box.facts.begin(), box.facts.end(),
      [](const Fact& fact) { return fact.kind == Fact::Kind::Final; });
  if (header.elements == 0 || final || box.manifest.Empty())
    return;
  // One update fits the format, since its origin saw to it; a sum may not.
  const bool sum = box.carry || box.manifest.Gradients() > 1;
  if (sum && format != WireFormat::Kind::TopK)
    rest = pool.Take();
  if (!ShortenFrame<ElemType>(box.buffer, header, format, rest ?
      FrameVector<ElemType>(rest) : nullptr, places) && rest)
  {
    pool.Give(std::move(rest));
    rest = Buffer();
  }
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Learn(const Fact& fact)
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
    // Several ranks may stop at once.  Every rank learns all facts before it
    // leaves, so all end up with the same one: errors first, then the lowest
    // rank.
    const auto weight = [](const Fact& f)
    { return std::make_pair(f.reason != StopReason::Error, f.origin); };
    if (!stopped || weight(fact) < weight(stop))
      stop = fact;
    stopped = true;
  }
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Tell(const Fact& fact)
{
  for (const size_t channel : routes.Emit())
    Open(channel).facts.push_back(fact);
  Learn(fact);
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Conclude()
{
  if (!finished)
  {
    const std::uint32_t rank = std::uint32_t(routes.Rank());
    const Fact* verdict = stopped ? nullptr : problem.Verdict();
    if (verdict)
    {
      Fact fact = *verdict;
      fact.kind = Fact::Kind::Stop;
      fact.origin = rank;
      fact.count = step;
      Tell(fact);
    }
    if (stopped || !problem.HasWork())
    {
      finished = true;
      if (rounding.Active())
      {
        if (const ElemType* rest = rounding.Flush(iterate))
        {
          for (const size_t channel : routes.Emit())
          {
            AddUpdate(boxes[channel], rest);
            boxes[channel].carry = true;
          }
        }
      }
      // The last that this rank has to say: whoever has heard it from all may
      // leave, so nothing may follow it.
      Fact fact;
      fact.origin = rank;
      fact.count = version[rank];
      Tell(fact);
    }
  }
  complete = (finalsMissing == 0);
}

template<typename ElemType, typename ProblemType>
template<typename ActionType>
void DasgdWorker<ElemType, ProblemType>::Guard(ActionType&& action)
{
  if (exception)
    return;
  Fact fact;
  try
  {
    action();
    return;
  }
  catch (const std::exception& e)
  {
    fact.text = e.what();
    exception = std::current_exception();
  }
  catch (...)
  {
    fact.text = "an exception that is not a std::exception";
    exception = std::current_exception();
  }

  // After its final count a rank tells no more (see Conclude()); what is thrown
  // then is settled when all meet at the end.
  if (finished)
    return;
  fact.kind = Fact::Kind::Stop;
  fact.origin = std::uint32_t(routes.Rank());
  fact.count = step;
  fact.reason = StopReason::Error;
  Tell(fact);
}

} // namespace dasgd

#endif
