/**
 * @file format_test.cpp
 *
 * Shorter formats: what they round, and that nothing is lost.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/core/random.hpp>
#include <dasgd/wire/frame.hpp>

#include <numeric>

#include "catch.hpp"

using namespace dasgd;

namespace {

//! Numbers of all sizes, and some of special interest.
std::vector<double> Numbers(const size_t count, const std::uint64_t seed)
{
  Random random(seed);
  std::vector<double> numbers = { 0, -0.0, 1, -1, 1e-50, -1e-50, 1e300, -1e300,
      3.4e38, 1e-40, 257, 1.00390625, 1.005859375 };
  while (numbers.size() < count)
  {
    numbers.push_back((random.Chance(0.5) ? 1 : -1) *
        std::pow(10.0, random.Uniform(-12, 12)));
  }
  numbers.resize(count);
  return numbers;
}

} // namespace

TEST_CASE("Texts of formats are read as they are written", "[format]")
{
  for (const std::string text : { "exact", "float32", "bfloat16", "topk:0.01",
      "topk:1" })
  {
    CHECK(WireFormat(text).Name() == text);
    CHECK(WireFormat(text).Validate() == "");
  }
  CHECK(WireFormat().Name() == "exact");
  CHECK(WireFormat::TopK(0.25).Name() == "topk:0.25");
  for (const std::string text : { "", "float", "topk", "topk:", "topk:x",
      "topk:0.1x", "Exact" })
  {
    INFO(text);
    CHECK_THROWS_AS(WireFormat(text), std::invalid_argument);
  }
  for (const double fraction : { 0.0, -1.0, 1.5, std::nan("") })
    CHECK(WireFormat::TopK(fraction).Validate() != "");
}

TEST_CASE("BFloat rounds to the nearest of its numbers, ties to even",
    "[format]")
{
  // Between 1 and 2 they are 1/128 apart.
  CHECK(double(wire::BFloat(1.0)) == 1.0);
  CHECK(double(wire::BFloat(1 + 1 / 128.0)) == 1 + 1 / 128.0);
  CHECK(double(wire::BFloat(1 + 1 / 256.0)) == 1.0);
  CHECK(double(wire::BFloat(1 + 3 / 256.0)) == 1 + 2 / 128.0);
  // Above a tie by less than a float can tell: rounding twice would go wrong.
  CHECK(double(wire::BFloat(1 + 1 / 256.0 + 1e-12)) == 1 + 1 / 128.0);
  CHECK(double(wire::BFloat(1 + 3 / 256.0 - 1e-12)) == 1 + 1 / 128.0);
  CHECK(double(wire::BFloat(-257.0)) == -256.0);
  // Too large: as large as can be, and finite.
  CHECK(std::isfinite(double(wire::BFloat(1e300))));
  CHECK(double(wire::BFloat(1e300)) > 3.3e38);
  CHECK(std::isfinite(double(wire::Float(-1e300))));

  // Nothing is nearer, over many numbers: neither neighbour.
  for (const double number : Numbers(20000, 1))
  {
    if (std::abs(number) > 3e38)
      continue;
    const wire::BFloat rounded(number);
    const double error = std::abs(double(rounded) - number);
    for (const int step : { -1, 1 })
    {
      wire::BFloat other = rounded;
      other.bits = std::uint16_t(other.bits + step);
      if (std::isfinite(double(other)))
        REQUIRE(error <= std::abs(double(other) - number));
    }
  }
}

TEST_CASE("What an origin sends and keeps is what it computed", "[format]")
{
  const size_t elements = 200;
  for (const std::string text : { "float32", "bfloat16", "topk:0.05",
      "topk:0.001" })
  {
    INFO(text);
    Rounding<double> rounding(WireFormat(text), elements);
    REQUIRE(rounding.Active());
    std::vector<double> iterate(elements, 0), sent(elements, 0),
        computed(elements, 0);
    for (std::uint64_t step = 1; step <= 50; ++step)
    {
      // Whole numbers, so that sums are exact.
      std::vector<double> update(elements);
      for (size_t i = 0; i < elements; ++i)
      {
        update[i] = double(Mix(step, i) % 100000) - 50000 +
            (i % 7 == 0 ? 134217728.0 : 0);
        computed[i] += update[i];
        iterate[i] -= update[i];
      }
      rounding.Apply(iterate.data(), update.data());
      size_t nonzero = 0;
      for (size_t i = 0; i < elements; ++i)
      {
        sent[i] += update[i];
        nonzero += (update[i] != 0);
        // It applies what it sends.
        REQUIRE(iterate[i] == -sent[i]);
        if (text == "float32")
          REQUIRE(update[i] == double(float(update[i])));
        if (text == "bfloat16")
          REQUIRE(update[i] == double(wire::BFloat(update[i])));
      }
      if (text == "topk:0.05")
        REQUIRE(nonzero == 10);
      if (text == "topk:0.001")
        REQUIRE(nonzero == 1);
    }
    const double* rest = rounding.Flush(iterate.data());
    REQUIRE(rest);
    bool any = false;
    for (size_t i = 0; i < elements; ++i)
    {
      any |= (rest[i] != 0);
      REQUIRE(sent[i] + rest[i] == computed[i]);
      REQUIRE(iterate[i] == -computed[i]);
    }
    CHECK(any);
    CHECK(!rounding.Active());
  }
}

TEST_CASE("TopK takes the largest, also among equals", "[format]")
{
  Rounding<double> rounding(WireFormat::TopK(0.5), 6);
  std::vector<double> iterate(6, 0), update = { 1, 1, 5, -1, 1, -7 };
  rounding.Apply(iterate.data(), update.data());
  CHECK(update == std::vector<double>{ 1, 0, 5, 0, 0, -7 });
  // What was left comes first the next time.
  update = { 0, 3, 0, 0, 0, 0 };
  rounding.Apply(iterate.data(), update.data());
  CHECK(update == std::vector<double>{ 0, 4, 0, -1, 1, 0 });
}

TEST_CASE("Formats that would not be shorter do nothing", "[format]")
{
  CHECK(!Rounding<double>(WireFormat::Exact, 10).Active());
  CHECK(!Rounding<float>(WireFormat::Float32, 10).Active());
  CHECK(Rounding<float>(WireFormat::BFloat16, 10).Active());
  CHECK(!Rounding<double>(WireFormat::TopK(0.1), 0).Active());
  CHECK(WireFormat(WireFormat::Float32).Vectors(4) == 0);
}

TEMPLATE_TEST_CASE("Frames come through in every format, and say what is left",
    "[format]", double, float)
{
  const size_t elements = 1000, ranks = 3;
  const FrameLimits<TestType> limits{ ranks, elements };
  Manifest manifest(ranks);
  ManifestEntry entry;
  entry.origin = 1;
  entry.first = 1;
  entry.points = 10;
  entry.epoch = 1;
  const std::vector<std::uint64_t> version(ranks, 0);
  manifest.Add(entry, version.data());
  std::vector<std::uint32_t> places;

  const auto exactBytes = [&]()
  {
    Buffer buffer(limits.MaxBytes());
    std::fill_n(FrameVector<TestType>(buffer), elements, TestType(1));
    FrameHeader header;
    header.elements = elements;
    return EncodeFrame<TestType>(buffer, header, manifest, {});
  }();

  for (const WireFormat::Kind kind : { WireFormat::Kind::Exact,
      WireFormat::Kind::Float32, WireFormat::Kind::BFloat16,
      WireFormat::Kind::TopK })
  {
    // Dense, sparse, and nothing at all.
    for (const size_t every : { size_t(1), size_t(50), size_t(5000) })
    {
      INFO(int(kind) << ", one in " << every);
      Buffer buffer(limits.MaxBytes());
      std::vector<TestType> vector(elements, TestType(0)), rest(elements);
      const std::vector<double> numbers = Numbers(elements, 5);
      for (size_t i = every - 1; i < elements; i += every)
        vector[i] = TestType(std::min(std::max(numbers[i], -1e30), 1e30));
      std::copy(vector.begin(), vector.end(), FrameVector<TestType>(buffer));
      FrameHeader header;
      header.elements = elements;
      const bool lacks = ShortenFrame<TestType>(buffer, header, kind,
          rest.data(), places);
      const size_t bytes = EncodeFrame<TestType>(buffer, header, manifest, {});
      CHECK(bytes <= exactBytes);

      DecodedFrame<TestType> frame(ranks);
      DecodeFrame(buffer.Bytes(), Buffer::RoundUp(bytes), limits, frame);
      REQUIRE(frame.vector);
      bool same = true;
      for (size_t i = 0; i < elements; ++i)
      {
        const TestType whole = frame.vector[i] + (lacks ? rest[i] : 0);
        REQUIRE(whole == vector[i]);
        same = same && frame.vector[i] == vector[i];
      }
      CHECK(same == !lacks);
      CHECK(frame.manifest.Gradients() == 1);
      if (kind == WireFormat::Kind::TopK && every == 50)
        CHECK(double(bytes) < 0.1 * double(exactBytes));
    }
  }
}

TEST_CASE("Malformed short frames are refused", "[format]")
{
  const FrameLimits<double> limits{ 2, 100 };
  std::vector<std::uint32_t> places;
  Buffer buffer(limits.MaxBytes());
  double* vector = FrameVector<double>(buffer);
  std::fill_n(vector, 100, 0.0);
  vector[3] = 1;
  vector[99] = 2;
  FrameHeader header;
  header.elements = 100;
  ShortenFrame<double>(buffer, header, WireFormat::Kind::TopK, nullptr, places);
  REQUIRE(header.places == 2);
  const size_t bytes = EncodeFrame<double>(buffer, header, Manifest(2), {});
  DecodedFrame<double> frame(2);
  DecodeFrame(buffer.Bytes(), bytes, limits, frame);
  CHECK(frame.vector[99] == 2);

  // A place outside of the model.
  const std::uint32_t place = 100;
  std::memcpy(buffer.Bytes() + FrameHeader::Bytes + 2 * sizeof(double) +
      sizeof(place), &place, sizeof(place));
  CHECK_THROWS_AS(DecodeFrame(buffer.Bytes(), bytes, limits, frame), WireError);

  // More places than elements, and formats that do not exist.
  header.places = 101;
  Buffer other(limits.MaxBytes());
  std::fill_n(FrameVector<double>(other), 152, 0.0);
  const size_t more = EncodeFrame<double>(other, header, Manifest(2), {});
  CHECK_THROWS_AS(DecodeFrame(other.Bytes(), more, limits, frame), WireError);
  header.places = 0;
  header.format = WireFormat::Kind(7);
  const size_t unknown = EncodeFrame<double>(other, header, Manifest(2), {});
  CHECK_THROWS_AS(DecodeFrame(other.Bytes(), unknown, limits, frame),
      WireError);
}
