/**
 * @file termination_test.cpp
 *
 * When a rank knows that all is over, and why.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/protocol/termination.hpp>

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

Fact Final(const std::uint32_t origin, const std::uint64_t count)
{
  Fact fact;
  fact.origin = origin;
  fact.count = count;
  return fact;
}

Fact Stop(const std::uint32_t origin, const StopReason reason)
{
  Fact fact;
  fact.kind = Fact::Kind::Stop;
  fact.origin = origin;
  fact.reason = reason;
  return fact;
}

} // namespace

TEST_CASE("all ranks are done when the final counts of all have come",
    "[termination]")
{
  Termination termination(3);
  const VersionVector version{ 4, 0, 7 };
  CHECK(termination.FinalsMissing() == 3);
  termination.Receive(Final(2, 7), version);
  termination.Receive(Final(1, 0), version);
  CHECK(termination.IsFinal(1));
  CHECK(!termination.IsFinal(0));
  CHECK(termination.FinalsMissing() == 1);
  termination.Receive(Final(0, 4), version);
  CHECK(termination.FinalsMissing() == 0);
  CHECK(termination.Stop() == nullptr);
}

TEST_CASE("a final count that is not what has arrived is refused",
    "[termination]")
{
  Termination termination(2);
  const VersionVector version{ 4, 7 };
  // One more than have come: gradients were lost, or are still under way.
  CHECK_THROWS_WITH(termination.Receive(Final(1, 8), version),
      ContainsSubstring("rank 1 has computed 8 gradients, of which 7"));
  CHECK_THROWS_AS(termination.Receive(Final(1, 6), version), WireError);
  CHECK(termination.FinalsMissing() == 2);
  termination.Receive(Final(1, 7), version);
  // It says so once.
  CHECK_THROWS_AS(termination.Receive(Final(1, 7), version), WireError);
  CHECK(termination.FinalsMissing() == 1);
}

TEST_CASE("of several reasons to stop the same one wins, whichever came first",
    "[termination]")
{
  const Fact reasons[] = { Stop(1, StopReason::Callback),
      Stop(0, StopReason::Tolerance), Stop(2, StopReason::Error) };
  std::vector<size_t> order{ 0, 1, 2 };
  do
  {
    Termination termination(3);
    for (const size_t i : order)
      termination.Receive(reasons[i], { 0, 0, 0 });
    REQUIRE(termination.Stop());
    CHECK(termination.Stop()->origin == 2);
    CHECK(termination.Stop()->reason == StopReason::Error);
    // Stopping is not being done.
    CHECK(termination.FinalsMissing() == 3);
  }
  while (std::next_permutation(order.begin(), order.end()));
}
