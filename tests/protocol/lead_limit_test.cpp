/**
 * @file lead_limit_test.cpp
 *
 * When a rank whose gradients take microseconds pauses for a neighbour.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/algorithms/lead_limit.hpp>

using namespace dasgd;

TEST_CASE("a rank that is ahead pauses, but not for long", "[lead]")
{
  LeadLimit limit(4);
  RankReport counts;
  counts.secondsComputing = 1;
  for (size_t i = 0; i < 4; ++i)
  {
    CHECK(!limit.Pauses(false, 1e-5 * double(i), counts));
    limit.Begins(1e-5 * double(i));
  }
  CHECK(limit.Pauses(true, 4e-5, counts));
  CHECK(limit.Until() == Approx(LeadLimit::patience));
  CHECK(limit.Pauses(true, 0.005, counts));
  // The neighbour is stopped rather than interrupted: go on.
  CHECK(!limit.Pauses(true, 0.0101, counts));
  CHECK(!limit.Pauses(true, 0.0102, counts));
  CHECK(counts.pauses == 1);
  CHECK(counts.secondsAhead == Approx(0.0101 - 4e-5));
  // It has taken something, and falls behind again.
  CHECK(!limit.Pauses(false, 0.0103, counts));
  for (size_t i = 0; i < 4; ++i)
    limit.Begins(0.0104);
  CHECK(limit.Pauses(true, 0.0105, counts));
  CHECK(counts.pauses == 2);
}

TEST_CASE("a rank whose gradients take long does not pause", "[lead]")
{
  LeadLimit limit(4);
  RankReport counts;
  counts.secondsComputing = 1;
  for (size_t i = 0; i < 4; ++i)
    limit.Begins(0.003 * double(i));
  CHECK(!limit.Pauses(true, 0.012, counts));
  CHECK(counts.pauses == 0);
}

TEST_CASE("pauses take no more than half of a run", "[lead]")
{
  LeadLimit limit(1);
  RankReport counts;
  counts.secondsComputing = 0.5;
  counts.secondsAhead = 0.511;
  limit.Begins(1);
  CHECK(!limit.Pauses(true, 1, counts));
  counts.secondsAhead = 0.509;
  CHECK(!limit.Pauses(false, 1, counts));
  CHECK(limit.Pauses(true, 1, counts));
}

TEST_CASE("without a limit there is no pause", "[lead]")
{
  LeadLimit limit(0);
  RankReport counts;
  limit.Begins(1);
  CHECK(!limit.Pauses(true, 1, counts));
}
