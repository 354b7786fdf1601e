/**
 * @file format_test.cpp
 *
 * Shorter formats on the wire: the same model on all ranks.  How many bytes
 * they save is tested where time stands still, in tests/sim.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "one_rank.hpp"
#include "probe.hpp"

#include <dasgd.hpp>

#include "catch.hpp"

using namespace tests;

TEST_CASE("Whatever the format, all ranks agree, and not by the last copy",
    "[format]")
{
  const size_t elements = 4000;
  for (const std::string topology : { "complete", "ring", "tree:2" })
  {
    for (const std::string format : { "exact", "float32", "bfloat16",
        "topk:0.01" })
    {
      INFO(topology << ", " << format);
      Probe probe(64 * Ranks(), elements);
      arma::mat iterate(elements, 1, arma::fill::zeros);
      dasgd::DASGD<> optimizer(MeanStep(1e-6, 1), 1, 5 * 64 * Ranks(), -1);
      optimizer.Topology() = topology;
      optimizer.WireFormat() = format;
      optimizer.Optimize(probe, iterate);
      const dasgd::Report& report = optimizer.Report();
      CHECK(report.wireFormat == format);
      CHECK(Same(iterate));
      // The last copy had nothing to mend but the rounding of sums.
      CHECK(report.Deviation() <= 1e-12 * arma::abs(iterate).max());
      for (const dasgd::RankReport& rank : report.ranks)
        CHECK(rank.peakVectors <= rank.vectorBound);
    }
  }
}

TEST_CASE("A fraction of nothing is refused on all ranks", "[format]")
{
  Probe probe(8 * Ranks(), 3);
  arma::mat iterate(3, 1, arma::fill::zeros);
  dasgd::DASGD<> optimizer(1e-3, 1, 8);
  optimizer.WireFormat() = dasgd::WireFormat::TopK(0);
  CHECK_THROWS_AS(optimizer.Optimize(probe, iterate), std::invalid_argument);
}
