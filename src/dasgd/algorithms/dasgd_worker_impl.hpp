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

namespace dasgd {

template<typename ElemType, typename ProblemType>
DasgdWorker<ElemType, ProblemType>::DasgdWorker(const Routes& routes,
                                                const size_t window,
                                                ElemType* iterate,
                                                const size_t elements,
                                                ProblemType& problem,
                                                const WireFormat& format) :
    BaseType(routes, Neighbours::Of(routes), window,
        DasgdBuffers(routes, window), iterate, elements, problem),
    rounding(format, routes.Ranks() > 1 ? elements : 0),
    format(rounding.Active() ? format.Type() : WireFormat::Kind::Exact)
{
  counts.vectorBound = DasgdVectors(routes, window) +
      format.Vectors(sizeof(ElemType));
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Reserve()
{
  BaseType::Reserve();
  if (format != WireFormat::Kind::Exact)
    frame.expanded.reserve(limits.elements);
  if (format == WireFormat::Kind::TopK)
    places.reserve(limits.elements);
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Compute()
{
  this->Begin();
  this->Guard([&]()
  {
    ManifestEntry entry;
    const ElemType* update = nullptr;
    if (problem.Compute(entry) && problem.TakeStep(IdleBuffer(), update))
    {
      iterate = problem.Iterate(); // A policy may have moved it.
      // The update stands in a buffer of ours, or of the problem's, which is
      // done with it.
      if (rounding.Active())
        rounding.Apply(iterate, const_cast<ElemType*>(update));
      if (history)
        history->Compute(); // First: nobody may have what is not noted.
      for (const size_t channel : routes.Emit())
        AddUpdate(boxes[channel], update);
      this->Announce(entry, version.data());
      counts.staleness.Add(0);
      problem.Applied(entry);
      problem.Stepped();
    }
    problem.Settle();
  });
  this->Conclude();
}

template<typename ElemType, typename ProblemType>
void DasgdWorker<ElemType, ProblemType>::Receive(const std::uint8_t* bytes,
                                                 const size_t size,
                                                 const size_t from)
{
  this->Read(bytes, size, from);
  // A vector without gradients is what rounding has left of them.
  if (!frame.vector && !frame.manifest.Empty())
  {
    throw WireError("a frame of " + std::to_string(size) + " bytes has no "
        "elements, but names " + std::to_string(frame.manifest.Gradients()) +
        " gradients");
  }
  if (frame.vector)
  {
    Subtract(iterate, frame.vector, limits.elements);
    for (const size_t channel : routes.Forward(frame.header.routeClass))
    {
      // A rest goes with the next that there is to send.
      AddUpdate(boxes[channel], frame.vector);
      boxes[channel].carry |= frame.manifest.Empty();
    }
  }
  this->Accept(true);
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
void DasgdWorker<ElemType, ProblemType>::Load(const size_t /* link */,
                                              Box& box,
                                              FrameHeader& header,
                                              Buffer& rest)
{
  header.elements = box.Fresh() ? 0 : limits.elements;
  // An origin's last word comes with all that is left of it, and so does a
  // frame that is nothing but a rest: nothing may stay behind.
  const bool final = std::any_of(box.facts.begin(), box.facts.end(),
      [](const Fact& fact) { return fact.kind == Fact::Kind::Final; });
  if (format == WireFormat::Kind::Exact || header.elements == 0 || final ||
      box.manifest.Empty())
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
void DasgdWorker<ElemType, ProblemType>::Finish()
{
  if (!rounding.Active())
    return;
  if (const ElemType* rest = rounding.Flush(iterate))
  {
    for (const size_t channel : routes.Emit())
    {
      AddUpdate(boxes[channel], rest);
      boxes[channel].carry = true;
    }
  }
}

} // namespace dasgd

#endif
