/**
 * @file update_sums.hpp
 *
 * The sums of updates that wait to be sent, one for each channel.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_UPDATE_SUMS_HPP
#define DASGD_DASGD_UPDATE_SUMS_HPP

#include "../core/vector_ops.hpp"
#include "../protocol/endpoint.hpp"
#include "../wire/format.hpp"

namespace dasgd {

/**
 * Adds updates to the outboxes of an endpoint, right where they are sent from.
 * With a format that cannot express every number, what it leaves of a sum stays
 * in the outbox, and what it leaves of this rank's own updates is kept back for
 * the next of them.
 */
template<typename ElemType>
class UpdateSums
{
 public:
  UpdateSums(Endpoint<ElemType>& endpoint, const WireFormat& format) :
      endpoint(endpoint),
      rounding(format, endpoint.Routes().Ranks() > 1 ? endpoint.Elements() : 0),
      format(rounding.Active() ? format.Type() : WireFormat::Kind::Exact)
  { }

  void Reserve()
  {
    if (format != WireFormat::Kind::Exact)
      endpoint.Frame().expanded.reserve(endpoint.Elements());
    if (format == WireFormat::Kind::TopK)
      places.reserve(endpoint.Elements());
  }

  /**
   * Where an own update can be formed right where it is sent from, or null.
   *
   * @param spare Where it can be formed if an outbox holds no gradients, but
   *     all that hold none have a rest to which it is to be added.
   */
  ElemType* Unused(ElemType* spare = nullptr)
  {
    ElemType* other = nullptr;
    for (const size_t channel : endpoint.Routes().Emit())
    {
      Outbox& box = endpoint.Box(channel);
      if (box.manifest.Empty())
        other = spare;
      if (!box.Fresh())
        continue;
      if (!box.buffer)
        box.buffer = endpoint.Pool().Take();
      return FrameVector<ElemType>(box.buffer);
    }
    return other;
  }

  //! The sum to which alone an own update is to be added, and as it is, or
  //! null.
  ElemType* OnlySum()
  {
    if (rounding.Active() || endpoint.Routes().Emit().size() != 1)
      return nullptr;
    Outbox& box = endpoint.Box(endpoint.Routes().Emit().front());
    return box.Fresh() ? nullptr : FrameVector<ElemType>(box.buffer);
  }

  //! Does an own update remain as it is?
  bool Exact() const { return !rounding.Active(); }

  /**
   * Make an update of this rank, which the iterate has applied, one that the
   * format can express; of the computing side.
   *
   * @param update Stands in an outbox, or in memory of the task, which is
   *     done with it; null if it was added to a sum right away.
   */
  void Round(ElemType* iterate, const ElemType* update)
  {
    if (rounding.Active())
      rounding.Apply(iterate, const_cast<ElemType*>(update));
  }

  /**
   * What rounding has left of own updates, which the iterate applies now; null
   * if there is nothing.  Of the computing side.
   */
  const ElemType* Remainder(ElemType* iterate)
  { return rounding.Active() ? rounding.Flush(iterate) : nullptr; }

  /**
   * Add updates of this rank.
   *
   * @param update Null if that was done.
   * @param rest Does it hold what rounding has left?
   */
  void Emit(const ElemType* update, const bool rest = false)
  {
    if (!update)
      return;
    for (const size_t channel : endpoint.Routes().Emit())
    {
      AddTo(endpoint.Box(channel), update);
      endpoint.Box(channel).carry |= rest;
    }
  }

  //! Add the vector of the frame that was read to all channels onward.
  void Relay()
  {
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    for (const size_t channel : endpoint.Onward())
    {
      Outbox& box = endpoint.Box(channel);
      AddTo(box, frame.vector);
      // A rest goes with the next that there is to send.
      box.carry |= frame.manifest.Empty();
    }
  }

  //! The sum of an outbox goes out; shorter, if it may be, and what that leaves
  //! is kept.
  void Put(Outbox& box, FrameHeader& header, Buffer& rest)
  {
    header.elements = box.Fresh() ? 0 : endpoint.Elements();
    // The final count of an origin comes with all that is left of it, and so
    // does a frame that is nothing but a rest: nothing may stay behind.
    const bool final = std::any_of(box.facts.begin(), box.facts.end(),
        [](const Fact& fact) { return fact.kind == Fact::Kind::Final; });
    if (format == WireFormat::Kind::Exact || header.elements == 0 || final ||
        box.manifest.Empty())
      return;
    // One update fits the format, since its origin saw to it; a sum may not.
    const bool sum = box.carry || box.manifest.Gradients() > 1;
    if (sum && format != WireFormat::Kind::TopK)
      rest = endpoint.Pool().Take();
    if (!ShortenFrame<ElemType>(box.buffer, header, format, rest ?
        FrameVector<ElemType>(rest) : nullptr, places) && rest)
    {
      endpoint.Pool().Give(std::move(rest));
      rest = Buffer();
    }
  }

 private:
  //! Add an update to an outbox, unless it was formed right there.
  void AddTo(Outbox& box, const ElemType* update)
  {
    if (box.buffer && FrameVector<ElemType>(box.buffer) == update)
      return;
    if (!box.Fresh())
    {
      Add(FrameVector<ElemType>(box.buffer), update, endpoint.Elements());
      return;
    }
    if (!box.buffer)
      box.buffer = endpoint.Pool().Take();
    std::memcpy(FrameVector<ElemType>(box.buffer), update,
        FrameLimits<ElemType>::VectorBytes(endpoint.Elements()));
  }

  Endpoint<ElemType>& endpoint;
  //! How own updates become what is sent of them.
  Rounding<ElemType> rounding;
  WireFormat::Kind format;
  std::vector<std::uint32_t> places;
};

} // namespace dasgd

#endif
