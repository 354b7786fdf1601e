/**
 * @file fuzz_frame.cpp
 *
 * Frames as they come over the wire: FrameInput says how an input begins.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "frame_input.hpp"
#include "require.hpp"

#include <dasgd/core/vector_ops.hpp>
#include <dasgd/wire/frame.hpp>

using namespace dasgd;
using fuzz::FrameInput;
using fuzz::Require;

namespace {

//! A message in memory that ends where the message does, so that reading on is
//! found out.
class Message
{
 public:
  Message(const std::uint8_t* data, const size_t sizeIn) : size(sizeIn)
  {
    void* memory = nullptr;
    Require(posix_memalign(&memory, Buffer::Block,
        std::max<size_t>(size, 1)) == 0, "there is memory");
    bytes = static_cast<std::uint8_t*>(memory);
    std::copy(data, data + size, bytes);
  }
  ~Message() { std::free(bytes); }

  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void Mend()
  {
    const std::uint64_t length = size;
    if (size < FrameHeader::Bytes)
      return;
    std::memcpy(bytes, &FrameHeader::Magic, 4);
    std::memcpy(bytes + 4, &FrameHeader::Version, 2);
    std::memcpy(bytes + 12, &length, 8);
  }

  std::uint8_t* bytes;
  size_t size;
};

//! Memory for a frame that is written, made once for all inputs.
template<typename ElemType>
Buffer Room(const FrameLimits<ElemType>& limits)
{
  static Buffer memory;
  const size_t bytes = Buffer::RoundUp(limits.MaxBytes());
  if (memory.Size() < bytes)
    memory = Buffer(bytes);
  return Buffer(memory.Bytes(), bytes);
}

//! Bit by bit, so that what is not a number equals itself.
bool Same(const double a, const double b)
{
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

void CheckSame(const Manifest& a, const Manifest& b)
{
  Require(a.Entries().size() == b.Entries().size() &&
      a.Gradients() == b.Gradients(), "a manifest is as long as it was");
  for (size_t i = 0; i < a.Entries().size(); ++i)
  {
    const ManifestEntry& one = a.Entries()[i];
    const ManifestEntry& other = b.Entries()[i];
    Require(one.origin == other.origin && one.first == other.first &&
        one.count == other.count && one.points == other.points &&
        one.epoch == other.epoch && one.epochPoints == other.epochPoints &&
        Same(one.epochObjective, other.epochObjective) &&
        one.versioned == other.versioned, "an entry is what it was");
    Require(!one.versioned || std::equal(a.Version(i),
        a.Version(i) + a.Length(), b.Version(i)), "a version is what it was");
  }
}

void CheckSame(const std::vector<Fact>& a, const std::vector<Fact>& b)
{
  Require(a.size() == b.size(), "there are as many facts as there were");
  for (size_t i = 0; i < a.size(); ++i)
  {
    Require(a[i].kind == b[i].kind && a[i].origin == b[i].origin &&
        a[i].count == b[i].count && a[i].reason == b[i].reason &&
        Same(a[i].value, b[i].value) && a[i].text == b[i].text,
        "a fact is what it was");
  }
}

//! All but how the vector is written, and the vector.
template<typename ElemType>
void CheckSame(const DecodedFrame<ElemType>& a, const DecodedFrame<ElemType>& b)
{
  Require(a.header.last == b.header.last &&
      a.header.routeClass == b.header.routeClass &&
      a.header.elements == b.header.elements &&
      a.header.kind == b.header.kind, "a header is what it was");
  Require((a.vector == nullptr) == (b.vector == nullptr),
      "there is a vector if there was one");
  CheckSame(a.manifest, b.manifest);
  CheckSame(a.facts, b.facts);
}

//! What the rest of the program relies on.
template<typename ElemType>
void CheckFrame(const DecodedFrame<ElemType>& frame,
                const Message& message,
                const FrameLimits<ElemType>& limits)
{
  const FrameHeader& header = frame.header;
  Require(header.frameBytes >= FrameHeader::Bytes &&
      header.frameBytes <= message.size, "a frame is within its message");
  Require(header.elements == 0 || header.elements == limits.elements,
      "a vector is as long as the model");
  Require(header.places <= header.elements, "places are within the vector");
  Require(header.format <= WireFormat::Kind::TopK, "a format is known");
  Require((frame.vector != nullptr) == (header.elements != 0),
      "there is a vector if the header says so");

  const std::vector<ManifestEntry>& entries = frame.manifest.Entries();
  Require(entries.size() <= Manifest::MaxEntries(limits.ranks),
      "a manifest has no more entries than allowed");
  std::vector<std::uint64_t> next(limits.ranks, 0);
  std::uint64_t gradients = 0;
  for (const ManifestEntry& entry : entries)
  {
    Require(entry.origin < limits.ranks, "an origin is a rank");
    Require(entry.first > 0 && entry.count > 0 && entry.epoch > 0,
        "gradients and epochs are counted from 1");
    Require(next[entry.origin] == 0 || next[entry.origin] == entry.first,
        "gradients of one origin stand in a row");
    next[entry.origin] = entry.first + entry.count;
    Require(next[entry.origin] > entry.first, "sequence numbers grow");
    Require(entry.epochPoints <= entry.points, "an epoch is part of the run");
    Require(!entry.versioned || entry.count == 1,
        "a version vector is that of one gradient");
    gradients += entry.count;
    Require(gradients >= entry.count, "gradients can be counted");
  }
  Require(frame.manifest.Gradients() == gradients, "gradients are counted");

  Require(frame.facts.size() <= limits.MaxFacts(),
      "there are no more facts than allowed");
  for (const Fact& fact : frame.facts)
  {
    Require(fact.origin < limits.ranks, "a fact's origin is a rank");
    Require(fact.kind <= Fact::Kind::Stop && fact.reason <= StopReason::Signal,
        "a fact is a known one");
    Require(fact.text.size() <= Fact::MaxText, "a text is not too long");
  }
}

//! Written again, the frame fits its buffer and says the same.
template<typename ElemType>
void CheckWritten(const DecodedFrame<ElemType>& frame,
                  const FrameLimits<ElemType>& limits,
                  const WireFormat::Kind format)
{
  Buffer buffer = Room(limits);
  FrameHeader header;
  header.last = frame.header.last;
  header.routeClass = frame.header.routeClass;
  header.elements = frame.header.elements;
  header.kind = frame.header.kind;
  const size_t elements = size_t(header.elements);
  std::vector<ElemType> rest(elements, ElemType(0));
  bool lacks = false;
  if (frame.vector)
  {
    std::copy(frame.vector, frame.vector + elements,
        FrameVector<ElemType>(buffer));
    std::vector<std::uint32_t> places;
    lacks = ShortenFrame(buffer, header, format, rest.data(), places);
  }
  const size_t bytes = EncodeFrame<ElemType>(buffer, header, frame.manifest,
      frame.facts);
  Require(bytes <= limits.MaxBytes(), "a frame is within the limit");

  const Message message(buffer.Bytes(), bytes);
  DecodedFrame<ElemType> again(limits.ranks);
  DecodeFrame(message.bytes, message.size, limits, again);
  CheckFrame(again, message, limits);
  CheckSame(frame, again);
  if (!frame.vector)
    return;
  if (format == WireFormat::Kind::Exact)
  {
    Require(std::memcmp(frame.vector, again.vector,
        elements * sizeof(ElemType)) == 0, "a vector is what it was");
    return;
  }
  for (size_t i = 0; i < elements; ++i)
  {
    // Beyond the numbers of the format, a rest may itself be rounded.
    if (!(std::abs(frame.vector[i]) < ElemType(1e38)))
      continue;
    Require(again.vector[i] + rest[i] == frame.vector[i],
        "what was sent and what is left make the whole");
    Require(lacks || rest[i] == ElemType(0), "a rest is told");
  }
}

template<typename ElemType>
void Receive(const FrameInput& input, Message& message)
{
  const FrameLimits<ElemType> limits{ FrameInput::Ranks[input.ranks],
      FrameInput::Elements[input.elements] };
  DecodedFrame<ElemType> frame(limits.ranks);
  try
  {
    DecodeFrame(message.bytes, message.size, limits, frame);
  }
  catch (const WireError&)
  {
    return;
  }
  CheckFrame(frame, message, limits);

  // As a worker does: applied, and added to what goes on to others.
  std::vector<ElemType> iterate(limits.elements, ElemType(1));
  if (frame.vector)
    Subtract(iterate.data(), frame.vector, limits.elements);
  Manifest relayed(limits.ranks);
  relayed.Add(frame.manifest);
  Require(relayed.Entries().size() <= Manifest::MaxEntries(limits.ranks) &&
      relayed.Gradients() == frame.manifest.Gradients(),
      "a manifest can be relayed");

  // A frame's memory is used again for the next.
  DecodedFrame<ElemType> first = frame;
  DecodeFrame(message.bytes, message.size, limits, frame);
  CheckSame(first, frame);

  for (const WireFormat::Kind format : { WireFormat::Kind::Exact,
      WireFormat::Kind::Float32, WireFormat::Kind::BFloat16,
      WireFormat::Kind::TopK })
  {
    if (format == WireFormat::Kind::Exact || frame.vector)
      CheckWritten(frame, limits, format);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  if (size == 0)
    return 0;
  const FrameInput input = FrameInput::Read(data[0]);
  Message message(data + 1, size - 1);
  if (input.mended)
    message.Mend();
  if (input.isDouble)
    Receive<double>(input, message);
  else
    Receive<float>(input, message);
  return 0;
}
