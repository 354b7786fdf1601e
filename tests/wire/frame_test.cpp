/**
 * @file frame_test.cpp
 *
 * Frames say what they were told, and malformed ones are exceptions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/core/random.hpp>
#include <dasgd/wire/frame.hpp>

#include <cstring>

using namespace dasgd;

namespace {

//! A frame with something in every part.
template<typename ElemType>
struct FrameSample
{
  explicit FrameSample(const std::uint64_t seed, const size_t ranks = 5) :
      limits{ ranks, 7 }, buffer(limits.MaxBytes()), manifest(ranks)
  {
    Random random(seed);
    for (size_t i = 0; i < limits.elements; ++i)
      FrameVector<ElemType>(buffer)[i] = ElemType(random.Uniform(-1, 1));
    std::vector<std::uint64_t> next(ranks, 0), version(ranks, 0);
    for (size_t i = 0; i < 20; ++i)
    {
      ManifestEntry entry;
      entry.origin = std::uint32_t(random.Below(ranks));
      entry.first = next[entry.origin] + 1;
      entry.versioned = random.Chance(0.8);
      entry.count = entry.versioned ? 1 : 1 + random.Below(300);
      next[entry.origin] += entry.count;
      entry.points = 1000000 + random.Below(1000000);
      entry.epoch = 1 + random.Below(5);
      entry.epochPoints = random.Below(1000);
      entry.epochObjective = random.Uniform();
      for (std::uint64_t& v : version)
        v = random.Chance(0.1) ? random.Next() >> 3 : v + random.Below(3);
      manifest.Push(entry, version.data());
    }
    facts.resize(2);
    facts[0].origin = 3;
    facts[0].count = 12345678901ull;
    facts[1].kind = Fact::Kind::Stop;
    facts[1].reason = StopReason::Error;
    facts[1].value = 0.5;
    facts[1].text = "it broke";
    header.elements = limits.elements;
    header.routeClass = 4;
    header.last = true;
    bytes = EncodeFrame<ElemType>(buffer, header, manifest, facts);
  }

  FrameLimits<ElemType> limits;
  Buffer buffer;
  Manifest manifest;
  std::vector<Fact> facts;
  FrameHeader header;
  size_t bytes = 0;
};

//! The message that decoding these bytes ends with; empty if it succeeds.
template<typename ElemType>
std::string Decode(const std::vector<std::uint8_t>& bytes,
                   const FrameLimits<ElemType>& limits)
{
  Buffer aligned(std::max<size_t>(bytes.size(), 1));
  std::copy(bytes.begin(), bytes.end(), aligned.Bytes());
  DecodedFrame<ElemType> frame(limits.ranks);
  try
  {
    DecodeFrame(aligned.Bytes(), bytes.size(), limits, frame);
    return "";
  }
  catch (const WireError& e)
  {
    return e.what();
  }
}

template<typename ElemType>
std::vector<std::uint8_t> Bytes(FrameSample<ElemType>& sample)
{
  return std::vector<std::uint8_t>(sample.buffer.Bytes(),
      sample.buffer.Bytes() + sample.bytes);
}

} // namespace

TEMPLATE_TEST_CASE("a frame arrives as it was sent", "[wire]", double, float)
{
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
  {
    FrameSample<TestType> sample(seed);
    DecodedFrame<TestType> frame(5);
    DecodeFrame(sample.buffer.Bytes(), sample.bytes, sample.limits, frame);
    CHECK(frame.header.last);
    CHECK(frame.header.routeClass == 4);
    // In place: nothing was copied.
    CHECK(frame.vector == FrameVector<TestType>(sample.buffer));
    REQUIRE(frame.manifest.Entries().size() ==
        sample.manifest.Entries().size());
    CHECK(frame.manifest.Gradients() == sample.manifest.Gradients());
    for (size_t i = 0; i < frame.manifest.Entries().size(); ++i)
    {
      const ManifestEntry& a = frame.manifest.Entries()[i];
      const ManifestEntry& b = sample.manifest.Entries()[i];
      CHECK(a.origin == b.origin);
      CHECK(a.first == b.first);
      CHECK(a.count == b.count);
      CHECK(a.points == b.points);
      CHECK(a.epoch == b.epoch);
      CHECK(a.epochPoints == b.epochPoints);
      CHECK(a.epochObjective == b.epochObjective);
      CHECK(a.versioned == b.versioned);
      if (a.versioned)
      {
        CHECK(std::equal(frame.manifest.Version(i),
            frame.manifest.Version(i) + 5, sample.manifest.Version(i)));
      }
    }
    REQUIRE(frame.facts.size() == 2);
    CHECK(frame.facts[0].kind == Fact::Kind::Final);
    CHECK(frame.facts[0].origin == 3);
    CHECK(frame.facts[0].count == 12345678901ull);
    CHECK(frame.facts[1].reason == StopReason::Error);
    CHECK(frame.facts[1].value == 0.5);
    CHECK(frame.facts[1].text == "it broke");
  }
}

TEST_CASE("a frame is aligned and its size is bounded up front", "[wire]")
{
  FrameSample<double> sample(1);
  CHECK(reinterpret_cast<std::uintptr_t>(FrameVector<double>(sample.buffer)) %
      Buffer::Block == 0);

  // As full as it can get.
  const size_t ranks = 5;
  Manifest manifest(ranks);
  std::vector<std::uint64_t> version(ranks, ~std::uint64_t(0) >> 1);
  std::vector<std::uint64_t> next(ranks, 1);
  for (size_t i = 0; i < 10 * Manifest::MaxEntries(ranks); ++i)
  {
    ManifestEntry entry;
    entry.origin = std::uint32_t(i % ranks);
    entry.first = next[entry.origin]++;
    entry.points = std::uint64_t(1) << 61;
    entry.epoch = i + 1; // Never the same, so that folding comes late.
    version[i % ranks] ^= ~std::uint64_t(0);
    manifest.Add(entry, version.data());
  }
  CHECK(manifest.Entries().size() <= Manifest::MaxEntries(ranks));
  CHECK(manifest.Gradients() == 10 * Manifest::MaxEntries(ranks));
  Fact fact;
  fact.text = std::string(5000, 'x');
  const std::vector<Fact> facts(sample.limits.MaxFacts(), fact);
  const size_t bytes = EncodeFrame<double>(sample.buffer, sample.header,
      manifest, facts);
  CHECK(bytes <= sample.limits.MaxBytes());
  DecodedFrame<double> frame(ranks);
  CHECK_NOTHROW(DecodeFrame(sample.buffer.Bytes(), bytes, sample.limits,
      frame));
  CHECK(frame.facts[0].text.size() == Fact::MaxText);
}

TEST_CASE("padding behind a frame is ignored", "[wire]")
{
  FrameSample<double> sample(2);
  std::vector<std::uint8_t> bytes = Bytes(sample);
  bytes.resize(Buffer::RoundUp(bytes.size()), 0xFF);
  CHECK(Decode(bytes, sample.limits) == "");
}

TEST_CASE("every truncation of a frame is an exception with byte counts",
    "[wire]")
{
  FrameSample<double> sample(3);
  const std::vector<std::uint8_t> bytes = Bytes(sample);
  for (size_t length = 0; length < bytes.size(); ++length)
  {
    const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() +
        std::ptrdiff_t(length));
    const std::string message = Decode(cut, sample.limits);
    CHECK(message.find(std::to_string(length)) != std::string::npos);

    // The same with a header that owns up to being so short.
    if (length >= FrameHeader::Bytes)
    {
      std::vector<std::uint8_t> honest = cut;
      const std::uint64_t claimed = length;
      std::memcpy(honest.data() + 12, &claimed, sizeof(claimed));
      CHECK(Decode(honest, sample.limits) != "");
    }
  }
}

TEST_CASE("a malformed frame is an exception, never a crash", "[wire]")
{
  FrameSample<double> sample(4);
  const std::vector<std::uint8_t> good = Bytes(sample);
  const auto with = [&](const size_t at, const std::uint8_t value)
  {
    std::vector<std::uint8_t> bad = good;
    bad[at] = value;
    return Decode(bad, sample.limits);
  };
  CHECK(with(0, 'X').find("not a frame") != std::string::npos);
  CHECK(with(4, 99).find("version 99") != std::string::npos);
  CHECK(with(6, 4).find("elements of 4 bytes") != std::string::npos);
  CHECK(with(19, 0x7F).find("came in a message of") != std::string::npos);
  CHECK(with(27, 0x7F).find("elements, but the model has 7") !=
      std::string::npos);

  // Whatever single bytes, and whatever noise behind the header: decoded or
  // refused, and never more memory than a frame can hold.
  Random random(5);
  for (size_t at = 0; at < good.size(); ++at)
    for (size_t i = 0; i < 8; ++i)
      with(at, std::uint8_t(random.Next()));
  for (size_t i = 0; i < 2000; ++i)
  {
    std::vector<std::uint8_t> noise = good;
    for (size_t at = FrameHeader::Bytes + 56; at < noise.size(); ++at)
      noise[at] = std::uint8_t(random.Next());
    Decode(noise, sample.limits);
  }
  SUCCEED();
}

TEST_CASE("a manifest out of order is an exception", "[wire]")
{
  const FrameLimits<double> limits{ 3, 1 };
  Buffer buffer(limits.MaxBytes());
  FrameVector<double>(buffer)[0] = 1;
  const std::uint64_t version[] = { 0, 0, 0 };
  Manifest manifest(3);
  ManifestEntry entry;
  entry.origin = 1;
  entry.first = 5;
  entry.epoch = 1;
  manifest.Push(entry, version);
  entry.first = 7;
  manifest.Push(entry, version);
  FrameHeader header;
  header.elements = 1;
  const size_t bytes = EncodeFrame<double>(buffer, header, manifest, {});
  DecodedFrame<double> frame(3);
  std::string message;
  try
  {
    DecodeFrame(buffer.Bytes(), bytes, limits, frame);
  }
  catch (const WireError& e)
  {
    message = e.what();
  }
  CHECK(message.find("after gradient 5 of rank 1 comes gradient 7") !=
      std::string::npos);
}

TEST_CASE("more gradients than can be counted are an exception", "[wire]")
{
  const FrameLimits<double> limits{ 4, 1 };
  Buffer buffer(limits.MaxBytes());
  FrameVector<double>(buffer)[0] = 1;
  FrameHeader header;
  header.elements = 1;
  DecodedFrame<double> frame(4);
  const auto decode = [&](const std::uint64_t count)
  {
    Manifest manifest(4);
    for (std::uint32_t origin = 0; origin < 4; ++origin)
    {
      ManifestEntry entry;
      entry.origin = origin;
      entry.first = 1;
      entry.count = count;
      entry.epoch = 1;
      entry.versioned = false;
      manifest.Push(entry, nullptr);
    }
    const size_t bytes = EncodeFrame<double>(buffer, header, manifest, {});
    DecodeFrame(buffer.Bytes(), bytes, limits, frame);
  };
  decode(std::uint64_t(1) << 60);
  CHECK(frame.manifest.Gradients() == std::uint64_t(1) << 62);
  // Four times this is 0 in 64 bits.
  CHECK_THROWS_AS(decode(std::uint64_t(1) << 62), WireError);
}

TEST_CASE("a manifest keeps so many version vectors, and a frame holds no more",
    "[wire]")
{
  const size_t ranks = 200;
  const std::vector<std::uint64_t> version(ranks, 7);
  Manifest manifest(ranks);
  // Of many origins, so that none is folded into another.
  for (size_t round = 0; round < 3; ++round)
  {
    for (size_t i = 0; i < ranks; ++i)
    {
      ManifestEntry entry;
      entry.origin = std::uint32_t(i);
      entry.first = round + 1;
      entry.count = 1;
      entry.epoch = 1;
      entry.versioned = true;
      manifest.Add(entry, version.data());
    }
  }
  size_t versioned = 0;
  for (const ManifestEntry& entry : manifest.Entries())
    versioned += entry.versioned;
  CHECK(versioned <= Manifest::Limit(ranks));
  CHECK(versioned > 0);
  CHECK(manifest.Gradients() == 3 * ranks);
  CHECK(manifest.Entries().size() <= Manifest::MaxEntries(ranks));

  const FrameLimits<double> limits{ ranks, 1 };
  Buffer buffer(limits.MaxBytes());
  FrameHeader header;
  header.elements = 1;
  FrameVector<double>(buffer)[0] = 1;
  const size_t bytes = EncodeFrame<double>(buffer, header, manifest, {});
  DecodedFrame<double> frame(ranks);
  DecodeFrame(buffer.Bytes(), bytes, limits, frame);
  CHECK(frame.manifest.Gradients() == 3 * ranks);
}
