/**
 * @file update_sums_test.cpp
 *
 * What an endpoint sends: sums of updates, each to each rank once, and relayed
 * where the topology says so.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "protocol/wires.hpp"

#include <dasgd/dasgd/update_sums.hpp>
#include <dasgd/topology/topology.hpp>

#include <memory>

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

//! One rank that computes nothing and says that it does.
class Speaker
{
 public:
  Speaker(const char* topology,
          const size_t ranks,
          const size_t rank,
          const WireFormat& format = WireFormat::Exact) :
      version(ranks, 0),
      routes(Topology(topology), ranks, rank),
      endpoint(routes, { Neighbours::Of(routes), 2, 16, false, 0 }, 2, version,
          traffic),
      sums(endpoint, format),
      wires(endpoint.Pool())
  { }

  //! A gradient of this rank.
  void Emit(const std::vector<double>& update)
  {
    sums.Emit(update.data());
    ManifestEntry entry;
    entry.origin = std::uint32_t(routes.Rank());
    entry.first = version[routes.Rank()] + 1;
    entry.epoch = 1;
    const VersionVector at = version;
    endpoint.Announce(entry, at.data());
  }

  void Read(const Wires::Sent& frame)
  {
    endpoint.Read(frame.bytes.data(), frame.bytes.size());
    sums.Relay();
    endpoint.Relay();
  }

  bool Send() { return endpoint.Send(wires, *this); }

  // What an endpoint asks.
  static bool HasVector(size_t) { return false; }
  void PutVector(size_t, Outbox& box, FrameHeader& header, Buffer& rest)
  { sums.Put(box, header, rest); }

  //! The vector of the frame that was read last.
  std::vector<double> Vector()
  {
    const double* vector = endpoint.Frame().vector;
    return { vector, vector + 2 };
  }

  Traffic traffic;
  VersionVector version;
  Routes routes;
  Endpoint<double> endpoint;
  UpdateSums<double> sums;
  Wires wires;
};

} // namespace

TEST_CASE("updates that wait for room are summed, and go to each rank once",
    "[update_sums]")
{
  Speaker zero("complete", 3, 0), one("complete", 3, 1);
  zero.wires.room = false;
  zero.Emit({ 1, 10 });
  CHECK(!zero.Send());
  zero.Emit({ 2, 20 });
  CHECK(zero.wires.sent.empty());

  zero.wires.room = true;
  CHECK(zero.Send());
  REQUIRE(zero.wires.sent.size() == 2);
  CHECK(zero.wires.sent[0].link != zero.wires.sent[1].link);
  CHECK(zero.wires.sent[0].bytes == zero.wires.sent[1].bytes);
  // There is nothing more to send.
  CHECK(zero.Send());
  CHECK(zero.wires.sent.size() == 2);

  one.Read(zero.wires.sent[0]);
  CHECK(one.Vector() == std::vector<double>{ 3, 30 });
  CHECK(one.endpoint.Frame().manifest.Gradients() == 2);
  CHECK(one.version == VersionVector{ 2, 0, 0 });
  // On `complete` nobody passes anything on.
  CHECK(one.Send());
  CHECK(one.wires.sent.empty());
  CHECK_THROWS_WITH(one.Read(zero.wires.sent[0]),
      ContainsSubstring("gradient 1 of rank 0 came where gradient 3"));
}

TEST_CASE("a relay adds what it passes on to its own", "[update_sums]")
{
  // Rank 0 is between the others.
  Speaker zero("tree", 3, 0), one("tree", 3, 1), two("tree", 3, 2);
  one.Emit({ 1, 2 });
  CHECK(one.Send());
  REQUIRE(one.wires.sent.size() == 1);
  zero.Read(one.wires.sent[0]);
  zero.Emit({ 10, 20 });
  CHECK(zero.Send());

  std::vector<double> sum{ 0, 0 };
  for (const Wires::Sent& frame : zero.wires.sent)
  {
    if (zero.endpoint.SendTo()[frame.link] != 2)
      continue;
    two.Read(frame);
    const std::vector<double> part = two.Vector();
    Add(sum.data(), part.data(), 2);
  }
  CHECK(sum == std::vector<double>{ 11, 22 });
  CHECK(two.version == VersionVector{ 1, 1, 0 });
  // Its own gradient does not come back to where one was from.
  for (const Wires::Sent& frame : zero.wires.sent)
  {
    if (zero.endpoint.SendTo()[frame.link] == 1)
      one.Read(frame);
  }
  CHECK(one.version == VersionVector{ 1, 1, 0 });
}

TEST_CASE("what a format cannot express of a sum goes with the next one",
    "[update_sums]")
{
  Speaker zero("complete", 2, 0, WireFormat::BFloat16);
  Speaker one("complete", 2, 1, WireFormat::BFloat16);
  // Each fits 8 bits of mantissa, the sum does not.
  zero.Emit({ 256, 0 });
  zero.Emit({ 1, 0 });
  CHECK(zero.Send());
  zero.Emit({ 0, 1 });
  zero.endpoint.BroadcastFinal();
  CHECK(zero.Send());
  std::vector<double> sum{ 0, 0 };
  std::vector<double> first;
  for (const Wires::Sent& frame : zero.wires.sent)
  {
    one.Read(frame);
    if (first.empty())
      first = one.Vector();
    const std::vector<double> part = one.Vector();
    Add(sum.data(), part.data(), 2);
  }
  CHECK(first[0] != 257);
  // With the final count comes all that is left.
  CHECK(sum == std::vector<double>{ 257, 1 });
  CHECK(one.endpoint.FinalsMissing() == 1);
}
