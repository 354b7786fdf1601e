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

#include <dasgd/algorithms/board_run.hpp>
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

//! Threads let each other run while they wait.
struct Yield
{
  void Glance() { }
  void Begin() { }
  void Pause() { std::this_thread::yield(); }
  void Turn(BoardPass<double>&) { std::this_thread::yield(); }
  void Rest() { std::this_thread::yield(); }
};

//! The same on a board, with chunks of so many elements.
std::vector<Ending> PlayOnBoard(const Case& script, const size_t chunk)
{
  struct alignas(128) Line
  {
    std::uint8_t bytes[128] = { };
  };
  const BoardSize size{ script.elements, script.ranks, chunk };
  std::vector<Line> memory(Board<double>::Bytes(size) / sizeof(Line) + 1);
  const std::vector<double> start = script.Model();
  std::copy(start.begin(), start.end(), Board<double>(size,
      memory.front().bytes).Model());
  std::vector<Ending> ends(script.ranks);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < script.ranks; ++i)
  {
    threads.emplace_back([&, i]()
    {
      ScriptedRank rank(script, i);
      Board<double> board(size, memory.front().bytes);
      BoardWorker<double> worker(board, rank.problem, script.Response());
      Yield wait;
      RunOnBoard(worker, wait, NoExchange(), script.maxLead);
      ends[i] = EndingOf(worker, rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return ends;
}

std::uint64_t Seeds(const std::uint64_t otherwise)
{
  const char* given = std::getenv("DASGD_SEEDS");
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

} // namespace

TEST_CASE("all promises hold if ranks share a board", "[threads]")
{
  for (std::uint64_t seed = 1; seed <= Seeds(100); ++seed)
  {
    Random random(seed);
    const Case script = RandomCase(random, 2 + seed % 5);
    const size_t chunk = 1 + seed % script.elements;
    INFO("seed " << seed << " (" << script.Text() << ", chunks of " << chunk
        << ")");
    CHECK(Broken(script, PlayOnBoard(script, chunk)) == "");
  }
}

TEST_CASE("a log that is overwritten is not read", "[threads]")
{
  Case script;
  script.ranks = 4;
  script.sharing = Sharing::Dynamic;
  script.points = 100;
  script.batchSize = 1;
  script.maxIterations = 40000;
  CHECK(Broken(script, PlayOnBoard(script, 1)) == "");
}

TEST_CASE("all promises hold if ranks exchange while they compute", "[threads]")
{
  for (std::uint64_t seed = 1; seed <= Seeds(60); ++seed)
  {
    Random random(seed);
    Case script = RandomCase(random, 2 + seed % 4);
    if (seed % 4 != 0)
      script.overlap = ~std::uint64_t(0);
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, Play(script)) == "");
  }
}
