/**
 * @file exchange_pace_test.cpp
 *
 * How long frames wait for more gradients, in the time that a test says.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/protocol/exchange_pace.hpp>

using namespace dasgd;

namespace {

//! A rank with one neighbour whose frames cost a millisecond each, and whose
//! gradients take as long as is said.
struct PacedRank
{
  explicit PacedRank(const double share, const double gradient)
  {
    pace.SetShare(share);
    // What a frame costs is believed after some of them.
    for (size_t i = 0; i < 80; ++i)
    {
      Compute(gradient);
      Exchange(1);
    }
  }

  void Compute(const double seconds)
  {
    now += seconds;
    pace.Computed(now);
    ++own;
  }

  void Exchange(const std::uint64_t more)
  {
    now += 0.001 * double(more);
    frames += more;
    pace.Exchanged(now, frames, false, true);
  }

  ExchangePace pace{ 1 };
  double now = 0;
  std::uint64_t frames = 0;
  std::uint64_t own = 0;
};

} // namespace

TEST_CASE("nothing waits before costs are known, nor with a share of 1",
    "[pace]")
{
  ExchangePace fresh(1);
  fresh.SetShare(0.1);
  fresh.Sent(0, 0);
  CHECK(fresh.Due(0, 0));
  CHECK(fresh.LookDue());

  PacedRank rank(1, 0.005);
  rank.pace.Sent(0, rank.own);
  CHECK(rank.pace.Due(0, rank.own));
}

TEST_CASE("a frame waits until exchanging takes its share of the time",
    "[pace]")
{
  PacedRank rank(0.1, 0.005);
  // Both ends have its cost: 2 ms of 20.
  CHECK(rank.pace.Interval() == Approx(0.02).epsilon(0.01));
  rank.pace.Sent(0, rank.own);
  size_t waited = 0;
  while (!rank.pace.Due(0, rank.own) && waited < 100)
  {
    rank.Compute(0.005);
    ++waited;
  }
  // Rather half a gradient early than late.
  CHECK(waited == 4);
}

TEST_CASE("no frame waits for more than eight gradients", "[pace]")
{
  PacedRank rank(0.001, 0.005);
  rank.pace.Sent(0, rank.own);
  size_t waited = 0;
  while (!rank.pace.Due(0, rank.own) && waited < 100)
  {
    rank.Compute(0.005);
    ++waited;
  }
  CHECK(waited == ExchangePace::longest);
  // Of each rank, if those of several are in it; not of very many.
  rank.pace.SetRanks(3);
  rank.pace.Sent(0, 0);
  CHECK(!rank.pace.Due(0, 3 * ExchangePace::longest - 1));
  CHECK(rank.pace.Due(0, 3 * ExchangePace::longest));
  rank.pace.SetRanks(1000);
  CHECK(rank.pace.Due(0, ExchangePace::most));
}

TEST_CASE("gradients of microseconds never wait, and none does at the end",
    "[pace]")
{
  PacedRank quick(0.1, 5e-6);
  quick.pace.Sent(0, quick.own);
  CHECK(quick.pace.Due(0, quick.own));
  CHECK(quick.pace.LookDue());

  PacedRank rank(0.1, 0.005);
  rank.pace.Sent(0, rank.own);
  CHECK(!rank.pace.Due(0, rank.own));
  rank.pace.End();
  CHECK(rank.pace.Due(0, rank.own));
}
