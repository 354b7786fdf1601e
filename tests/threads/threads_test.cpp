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

#include <dasgd/dasgd/board_run.hpp>

#include <cstdlib>
#include <iostream>

using namespace conformance;

namespace {

//! Threads let each other run while they wait.
struct Yield
{
  void Glance() { }
  void Begin() { }
  void Pause() { std::this_thread::yield(); }
  void Turn(BoardPass<double>&) { std::this_thread::yield(); }
  void Idle()
  {
    std::this_thread::yield();
    // Many times what any of these cases takes.
    if (++idle == 10000000)
    {
      std::cerr << "a rank waits for ever" << std::endl;
      std::abort();
    }
  }

  size_t idle = 0;
};

/**
 * Run a case, each rank in a thread; everybody's ending.
 *
 * @param chunk Elements of a chunk.
 * @param machines The machine of each rank.
 * @param between The topology of machines.
 * @param frameSeconds What machines believe that a frame costs them.
 */
std::vector<Ending> PlayOnBoards(const Case& script,
                                 const size_t chunk,
                                 const std::vector<size_t>& machines,
                                 const Topology& between = Topology::Auto(),
                                 const double frameSeconds = 0)
{
  struct alignas(128) Line
  {
    std::uint8_t bytes[128] = { };
  };
  const BoardLinks links(machines, between);
  const BoardSize size{ script.elements, script.ranks, chunk,
      links.Machines() > 1 };
  std::vector<std::vector<Line>> memories(links.Machines(), std::vector<Line>(
      Board<double>::Bytes(size) / sizeof(Line) + 1));
  const std::vector<double> start = script.Model();
  for (std::vector<Line>& memory : memories)
  {
    std::copy(start.begin(), start.end(), Board<double>(size,
        memory.front().bytes).Model());
  }
  LocalNetwork network(script.window);
  std::vector<Ending> ends(script.ranks);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < script.ranks; ++i)
  {
    threads.emplace_back([&, i]()
    {
      ScriptedRank rank(script, i);
      const size_t here = links.Of(i);
      Board<double> board(size, memories[here].front().bytes);
      BoardWorker<double> worker(board, rank.problem, script.Response());
      Yield wait;
      if (links.Machines() == 1 || links.Carrier(here) != i)
      {
        RunOnBoard(worker, wait, NoExchange(), script.maxLead);
        ends[i] = EndingOf(worker, rank);
        return;
      }
      const Routes routes(links.Between(), links.Machines(), here);
      Traffic traffic;
      BoardExchange<double> exchange(board, routes, links.All(), i,
          script.window, traffic, script.format);
      auto& endpoint = exchange.Endpoint();
      endpoint.Pace().SetShare(script.share);
      if (frameSeconds > 0)
      {
        traffic.framesSent = 100;
        endpoint.Pace().Exchanged(100 * frameSeconds, 100, false, true);
      }
      LocalTransport transport(network, i, links.Carriers(endpoint.SendTo()),
          links.Carriers(endpoint.ReceiveFrom()), endpoint.Pool());
      Yield beside;
      Exchanging exchanging(exchange, transport, beside);
      if (script.Overlaps(i))
        RunOnBoardBeside(worker, wait, exchanging, script.maxLead);
      else
        RunOnBoard(worker, wait, exchanging, script.maxLead);
      ends[i] = EndingOf(worker, rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return ends;
}

//! The same on one board.
std::vector<Ending> PlayOnBoard(const Case& script, const size_t chunk)
{ return PlayOnBoards(script, chunk, std::vector<size_t>(script.ranks, 0)); }

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
    const size_t chunk = 1 + seed % script.elements;
    // Each with a board of its own, or several on a machine.
    std::vector<size_t> machines;
    for (size_t i = 0; i < script.ranks; ++i)
      machines.push_back(seed % 2 == 0 ? i : random.Below(script.ranks));
    INFO("seed " << seed << " (" << script.Text() << ")");
    CHECK(Broken(script, PlayOnBoards(script, chunk, machines, seed % 2 == 0 ?
        Topology(script.topology) : Topology::Auto())) == "");
  }
}

TEST_CASE("the end of a run waits for no frame that is not due", "[threads]")
{
  // By what frames cost, the next one would be due after days.
  for (const size_t ranks : { 2, 3 })
  {
    Case script;
    script.ranks = ranks;
    // Gradients of microseconds never wait.
    script.elements = 30000;
    script.points = 50;
    script.batchSize = 1;
    script.maxIterations = 200;
    script.share = 0.1;
    std::vector<size_t> machines(ranks, 0);
    machines.back() = 1;
    CHECK(Broken(script, PlayOnBoards(script, script.elements, machines,
        Topology::Auto(), 1e5)) == "");
  }
}
