/**
 * @file threads_test.cpp
 *
 * The simulator's cases again, with threads for ranks and for what exchanges
 * beside computing: under the thread sanitizer, which MPI would confuse.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"
#include "conformance.hpp"
#include "threads/local_transport.hpp"

#include <dasgd/algorithms/dasgd_worker.hpp>
#include <dasgd/algorithms/run.hpp>

#include <cstdlib>

using namespace conformance;

namespace {

//! Run a case, each rank in a thread; everybody's ending.
std::vector<Ending> Play(const Case& script)
{
  LocalNetwork network(script.window);
  std::vector<Ending> ends(script.ranks);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < script.ranks; ++i)
  {
    threads.emplace_back([&, i]()
    {
      ScriptedRank rank(script, i);
      const Routes routes(Topology(script.topology), script.ranks, i);
      DasgdWorker<double> worker(routes, script.window, script.elements,
          rank.problem, script.format, script.Overlaps(i), script.Response());
      worker.MaxLead() = script.maxLead;
      auto& endpoint = worker.Node().Endpoint();
      endpoint.Pace().SetShare(script.share);
      LocalTransport transport(network, i, endpoint.SendTo(),
          endpoint.ReceiveFrom(), endpoint.Pool());
      Run(worker, transport);
      // Buffers of this transport are not those of the bound.
      ends[i] = EndingOf(worker, rank, 0);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return ends;
}

} // namespace

TEST_CASE("all promises hold if ranks exchange while they compute", "[threads]")
{
  const char* given = std::getenv("DASGD_SEEDS");
  const std::uint64_t seeds = given ? std::strtoull(given, nullptr, 10) : 60;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
  {
    Random random(seed);
    Case script = RandomCase(random, 2 + seed % 4);
    if (seed % 4 != 0)
      script.overlap = ~std::uint64_t(0);
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, Play(script)) == "");
  }
}
