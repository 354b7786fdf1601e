/**
 * @file format_test.cpp
 *
 * How many bytes shorter formats save.  That nothing is lost by them is part of
 * what every simulated run is checked for.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include "sim_run.hpp"

using namespace conformance;

namespace {

//! Bytes that all ranks send in one and the same run, but for its format.
double Bytes(const std::string& format,
             const std::string& topology,
             const size_t elements,
             const double latency)
{
  SimRun run;
  run.script.topology = topology;
  run.script.format = format;
  run.script.ranks = 4;
  run.script.elements = elements;
  run.script.points = 400;
  run.script.batchSize = 1;
  run.script.maxIterations = 400;
  run.machine.seed = 1;
  run.machine.format = format;
  run.machine.computeSeconds.assign(4, 1);
  run.machine.computeSpread = 0.5;
  run.machine.link = [latency](size_t, size_t)
  {
    SimLink link;
    link.latency = latency;
    return link;
  };
  Play(run);
  CHECK(run.broken == "");
  double bytes = 0;
  for (const Ending& end : run.ends)
    bytes += double(end.counts.bytesSent);
  return bytes;
}

} // namespace

TEST_CASE("Shorter formats send a half, a quarter, and twice the fraction",
    "[format]")
{
  const size_t elements = 10000;
  for (const std::string topology : { "complete", "ring", "tree:2" })
  {
    INFO(topology);
    const double exact = Bytes("exact", topology, elements, 0.1);
    // The last frame of each origin is exact: 4 of 100 on each channel.
    CHECK(Bytes("float32", topology, elements, 0.1) / exact < 0.55);
    CHECK(Bytes("bfloat16", topology, elements, 0.1) / exact < 0.31);
    CHECK(Bytes("topk:0.01", topology, elements, 0.1) / exact < 0.07);
  }
}

TEST_CASE("Slow links get fewer bytes in shorter formats, too", "[format]")
{
  // So slow that a frame is the sum of many gradients.
  const double exact = Bytes("exact", "ring", 5000, 30);
  CHECK(Bytes("float32", "ring", 5000, 30) / exact < 0.85);
  CHECK(Bytes("bfloat16", "ring", 5000, 30) / exact < 0.75);
}

TEST_CASE("Shorter formats are never longer, however small the model",
    "[format]")
{
  for (const size_t elements : { 1, 2, 3, 10 })
  {
    const double exact = Bytes("exact", "complete", elements, 0.1);
    for (const std::string format : { "float32", "bfloat16", "topk:0.01",
        "topk:1" })
    {
      INFO(elements << " elements, " << format);
      CHECK(Bytes(format, "complete", elements, 0.1) <= exact);
    }
  }
}
