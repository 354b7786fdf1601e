/**
 * @file routes_test.cpp
 *
 * What exactly-once delivery rests on: for every topology and every origin the
 * routes reach each rank over one path, and in order.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/topology/routes.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "catch.hpp"

using namespace dasgd;

namespace {

using Edges = std::vector<std::pair<size_t, size_t>>;

std::vector<Routes> AllRoutes(const Topology& topology, const size_t ranks)
{
  std::vector<Routes> routes;
  for (size_t i = 0; i < ranks; ++i)
    routes.emplace_back(topology, ranks, i);
  return routes;
}

//! A random spanning tree and some more edges.
Edges RandomGraph(const size_t ranks, const size_t more, const size_t seed)
{
  // Remainders instead of distributions: the same on every standard library.
  std::mt19937 random(seed);
  Edges edges;
  for (size_t i = 1; i < ranks; ++i)
    edges.push_back({ i, random() % i });
  for (size_t i = 0; i < more; ++i)
  {
    const size_t a = random() % ranks, b = random() % ranks;
    if (a != b)
      edges.push_back({ a, b });
  }

  // Otherwise rank 0 would be the centre of all trees.
  std::vector<size_t> order(ranks);
  for (size_t i = 0; i < ranks; ++i)
  {
    const size_t j = random() % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  for (auto& edge : edges)
    edge = { order[edge.first], order[edge.second] };
  return edges;
}

//! Every topology for this many ranks that the tests are about.
std::vector<Topology> Topologies(const size_t ranks)
{
  std::vector<Topology> topologies = { Topology::Complete(), Topology::Ring(),
      Topology::Exponential() };
  for (size_t rows = 1; rows <= ranks; ++rows)
  {
    if (ranks % rows == 0)
      topologies.push_back(Topology::Mesh(rows, ranks / rows));
  }
  for (size_t arity = 1; arity <= 4; ++arity)
    topologies.push_back(Topology::Tree(arity));
  for (const size_t more : { size_t(0), size_t(2), ranks, ranks * ranks / 4 })
  {
    topologies.push_back(Topology::Graph(
        RandomGraph(ranks, more, 1000 * ranks + more)));
  }
  return topologies;
}

//! A channel that leads to `rank`: who sends, and with which class.
using Incoming = std::set<std::pair<size_t, size_t>>;

/**
 * Follow the routes from every origin.
 *
 * @param longest Set to the largest number of hops.
 * @param incoming Set to all that arrives at each rank.
 * @return What is wrong; empty if every rank is reached over exactly one path.
 */
std::string Follow(const std::vector<Routes>& routes,
                   size_t& longest,
                   std::vector<Incoming>& incoming)
{
  struct Frame { size_t rank; size_t channel; size_t hops; };

  longest = 0;
  incoming.assign(routes.size(), { });
  for (size_t origin = 0; origin < routes.size(); ++origin)
  {
    std::vector<size_t> visits(routes.size(), 0);
    visits[origin] = 1;
    std::deque<Frame> frames;
    for (const size_t channel : routes[origin].Emit())
      frames.push_back({ origin, channel, 1 });
    while (!frames.empty())
    {
      const Frame frame = frames.front();
      frames.pop_front();
      const Routes& from = routes[frame.rank];
      const Routes::Channel channel = from.Channels().at(frame.channel);
      const size_t to = from.SendTo().at(channel.link);

      std::ostringstream where;
      if (++visits.at(to) > 1)
      {
        where << "a gradient of " << origin << " gets to " << to << " twice";
        return where.str();
      }
      if (!routes[to].Knows(channel.routeClass))
      {
        where << to << " does not know class " << channel.routeClass;
        return where.str();
      }

      longest = std::max(longest, frame.hops);
      incoming[to].insert({ frame.rank, channel.routeClass });
      for (const size_t next : routes[to].Forward(channel.routeClass))
        frames.push_back({ to, next, frame.hops + 1 });
    }
    for (size_t i = 0; i < routes.size(); ++i)
    {
      if (visits[i] != 1)
      {
        return "a gradient of " + std::to_string(origin) + " does not get to " +
            std::to_string(i);
      }
    }
  }
  return "";
}

//! Hops as (neighbour, class) pairs, from both descriptions of them.
std::set<std::pair<size_t, size_t>> Pairs(const std::vector<Hop>& hops)
{
  std::set<std::pair<size_t, size_t>> pairs;
  for (const Hop& hop : hops)
    pairs.insert({ hop.neighbour, hop.routeClass });
  return pairs;
}

std::set<std::pair<size_t, size_t>> Pairs(const Routes& routes,
                                          const std::vector<size_t>& numbers)
{
  std::set<std::pair<size_t, size_t>> pairs;
  for (const size_t number : numbers)
  {
    const Routes::Channel channel = routes.Channels().at(number);
    pairs.insert({ routes.SendTo().at(channel.link), channel.routeClass });
  }
  return pairs;
}

//! Whether routes and topology say the same about one rank.
bool Agree(const Topology& topology, const Routes& routes)
{
  const size_t n = routes.Ranks(), rank = routes.Rank();
  bool agree = (Pairs(topology.Emit(n, rank)) == Pairs(routes, routes.Emit()));

  // Classes are origins, senders, directions or bits: the highest has 2 * 6.
  for (size_t c = 0; c < n + 96; ++c)
  {
    const std::vector<Hop> hops = topology.Forward(n, rank, c);
    agree = agree && (routes.Knows(c) ?
        Pairs(hops) == Pairs(routes, routes.Forward(c)) : hops.empty());
  }
  return agree;
}

/**
 * Let all ranks compute, send and receive in random order, one frame in flight
 * on each link, with all that waits for a channel summed into one frame.
 *
 * @return What is wrong; empty if every rank got every gradient once and those
 *     of each origin in order.
 */
std::string Deliver(const std::vector<Routes>& routes,
                    const size_t gradients,
                    const size_t seed)
{
  struct Frame { size_t routeClass; Edges ids; };

  const size_t n = routes.size();
  std::mt19937 random(seed);
  std::vector<size_t> computed(n, 0);
  std::vector<std::vector<Edges>> pending(n);
  std::vector<std::vector<std::deque<Frame>>> flying(n);
  std::vector<std::vector<size_t>> applied(n, std::vector<size_t>(n, 0));
  for (size_t i = 0; i < n; ++i)
  {
    pending[i].resize(routes[i].Channels().size());
    flying[i].resize(routes[i].SendTo().size());
  }

  enum Kind { Compute, Send, Receive };
  struct Action { Kind kind; size_t rank; size_t what; };
  while (true)
  {
    std::vector<Action> actions;
    for (size_t i = 0; i < n; ++i)
    {
      if (computed[i] < gradients)
        actions.push_back({ Compute, i, 0 });
      for (size_t c = 0; c < pending[i].size(); ++c)
      {
        if (!pending[i][c].empty() &&
            flying[i][routes[i].Channels()[c].link].empty())
          actions.push_back({ Send, i, c });
      }
      for (size_t link = 0; link < flying[i].size(); ++link)
      {
        if (!flying[i][link].empty())
          actions.push_back({ Receive, i, link });
      }
    }
    if (actions.empty())
      break;

    const Action action = actions[random() % actions.size()];
    const size_t i = action.rank;
    if (action.kind == Compute)
    {
      applied[i][i] = ++computed[i];
      for (const size_t c : routes[i].Emit())
        pending[i][c].push_back({ i, computed[i] });
    }
    else if (action.kind == Send)
    {
      const Routes::Channel channel = routes[i].Channels()[action.what];
      flying[i][channel.link].push_back({ channel.routeClass, { } });
      flying[i][channel.link].back().ids.swap(pending[i][action.what]);
    }
    else
    {
      const Frame frame = flying[i][action.what].front();
      flying[i][action.what].pop_front();
      const size_t to = routes[i].SendTo()[action.what];
      for (const auto& id : frame.ids)
      {
        if (id.second != applied[to][id.first] + 1)
        {
          std::ostringstream message;
          message << "rank " << to << " got gradient " << id.second << " of "
              << id.first << " after " << applied[to][id.first];
          return message.str();
        }
        ++applied[to][id.first];
      }
      for (const size_t c : routes[to].Forward(frame.routeClass))
      {
        pending[to][c].insert(pending[to][c].end(), frame.ids.begin(),
            frame.ids.end());
      }
    }
  }

  const std::vector<size_t> all(n, gradients);
  for (size_t i = 0; i < n; ++i)
  {
    if (applied[i] != all)
      return "rank " + std::to_string(i) + " misses gradients";
  }
  return "";
}

bool Ascending(const std::vector<size_t>& values)
{
  return std::adjacent_find(values.begin(), values.end(),
      [](const size_t a, const size_t b) { return a >= b; }) == values.end();
}

} // namespace

TEST_CASE("Routes: exactly one path leads from each rank to each other, with "
    "as many hops as stated", "[routes]")
{
  // All small numbers, and some larger ones of every kind: primes, powers of
  // two, and what is next to them.
  for (size_t n = 1; n <= 64; n = (n < 33) ? n + 1 : (n < 61) ? n + 7 : n + 1)
  {
    for (const Topology& topology : Topologies(n))
    {
      INFO(topology.Name() << " with " << n << " ranks");
      size_t longest;
      std::vector<Incoming> incoming;
      REQUIRE(Follow(AllRoutes(topology, n), longest, incoming) == "");
      REQUIRE(longest == topology.Hops(n));
    }
  }
}

TEST_CASE("Routes: links, channels and classes are those that carry something, "
    "and both ends know of them", "[routes]")
{
  for (size_t n = 1; n <= 64; n = (n < 16) ? n + 1 : n + 7)
  {
    for (const Topology& topology : Topologies(n))
    {
      INFO(topology.Name() << " with " << n << " ranks");
      const std::vector<Routes> routes = AllRoutes(topology, n);
      size_t longest;
      std::vector<Incoming> incoming;
      REQUIRE(Follow(routes, longest, incoming) == "");

      std::vector<Incoming> promised(n);
      std::vector<std::vector<size_t>> senders(n);
      bool ordered = true, known = true;
      for (const Routes& from : routes)
      {
        for (const Routes::Channel& channel : from.Channels())
        {
          const size_t to = from.SendTo().at(channel.link);
          promised[to].insert({ from.Rank(), channel.routeClass });
        }
        for (const size_t to : from.SendTo())
          senders[to].push_back(from.Rank());
        ordered = ordered && Ascending(from.SendTo()) &&
            Ascending(from.ReceiveFrom()) && Ascending(from.Emit());
      }
      REQUIRE(ordered);
      REQUIRE(promised == incoming);

      for (const Routes& to : routes)
      {
        std::set<size_t> classes;
        for (const auto& arrival : incoming[to.Rank()])
          classes.insert(arrival.second);
        for (size_t c = 0; c < n + 16; ++c)
          known = known && (to.Knows(c) == (classes.count(c) > 0));
        REQUIRE(to.ReceiveFrom() == senders[to.Rank()]);
      }
      REQUIRE(known);
    }
  }
}

TEST_CASE("Routes: they say what the topology says", "[routes]")
{
  for (const size_t n : { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 23, 24 })
  {
    for (const Topology& topology : Topologies(n))
    {
      INFO(topology.Name() << " with " << n << " ranks");
      bool agree = true;
      for (const Routes& routes : AllRoutes(topology, n))
        agree = agree && Agree(topology, routes);
      REQUIRE(agree);
    }
  }
}

TEST_CASE("Routes: on any graph the paths are shortest", "[routes]")
{
  for (size_t seed = 1; seed <= 40; ++seed)
  {
    const size_t n = 2 + seed;
    const Edges edges = RandomGraph(n, seed % 7, seed);
    INFO("seed " << seed);

    // All distances by relaxation, without any notion of a tree.
    std::vector<std::vector<size_t>> distance(n, std::vector<size_t>(n, n));
    for (size_t i = 0; i < n; ++i)
      distance[i][i] = 0;
    for (const auto& edge : edges)
    {
      distance[edge.first][edge.second] = 1;
      distance[edge.second][edge.first] = 1;
    }
    size_t diameter = 0;
    for (size_t k = 0; k < n; ++k)
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          distance[i][j] = std::min(distance[i][j],
              distance[i][k] + distance[k][j]);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        diameter = std::max(diameter, distance[i][j]);

    // A frame of class j comes from a rank that is one step closer to j.
    const Topology topology = Topology::Graph(edges);
    bool shortest = true;
    for (size_t i = 0; i < n; ++i)
    {
      for (const Arrival& arrival : topology.Arrivals(n, i))
      {
        shortest = shortest && distance[arrival.routeClass][arrival.sender] + 1
            == distance[arrival.routeClass][i];
      }
    }
    REQUIRE(shortest);
    REQUIRE(topology.Hops(n) == diameter);
  }
}

TEST_CASE("Routes: gradients of each origin arrive once and in order under any "
    "schedule", "[routes]")
{
  for (size_t n = 1; n <= 9; ++n)
  {
    for (const Topology& topology : Topologies(n))
    {
      const std::vector<Routes> routes = AllRoutes(topology, n);
      for (size_t seed = 1; seed <= 6; ++seed)
      {
        INFO(topology.Name() << " with " << n << " ranks, seed " << seed);
        REQUIRE(Deliver(routes, 5, seed) == "");
      }
    }
  }
}

TEST_CASE("Routes: a class that cannot arrive is refused", "[routes]")
{
  const Routes ring("ring", 4, 1);
  REQUIRE(ring.Knows(0));
  REQUIRE_FALSE(ring.Knows(1)); // Nothing returns to its origin.
  REQUIRE_FALSE(ring.Knows(4));
  REQUIRE_THROWS_AS(ring.Forward(1), std::out_of_range);
  REQUIRE_THROWS_AS(ring.Forward(std::numeric_limits<size_t>::max()),
      std::out_of_range);

  const Routes corner("mesh:2x2", 4, 0);
  REQUIRE_FALSE(corner.Knows(0)); // No rank is west of it.
  REQUIRE(corner.Knows(1));

  const Routes leaf("tree:2", 7, 6);
  REQUIRE(leaf.Knows(2));
  REQUIRE(leaf.Forward(2).empty());
  REQUIRE_FALSE(leaf.Knows(0));
}

TEST_CASE("Routes: one rank has neither links nor channels", "[routes]")
{
  for (const Topology topology : { "complete", "ring", "mesh:1x1",
      "exponential", "tree", "graph:" })
  {
    INFO(topology.Name());
    const Routes routes(topology, 1, 0);
    REQUIRE(routes.Ranks() == 1);
    REQUIRE(routes.Rank() == 0);
    REQUIRE(routes.SendTo().empty());
    REQUIRE(routes.ReceiveFrom().empty());
    REQUIRE(routes.Channels().empty());
    REQUIRE(routes.Emit().empty());
    REQUIRE_FALSE(routes.Knows(0));
  }
}

TEST_CASE("Routes: a ring of two is one link each way", "[routes]")
{
  const Routes routes("ring", 2, 0);
  REQUIRE(routes.SendTo() == std::vector<size_t>({ 1 }));
  REQUIRE(routes.ReceiveFrom() == std::vector<size_t>({ 1 }));
  REQUIRE(routes.Channels().size() == 1);
}

TEST_CASE("Routes: a topology that does not fit is refused", "[routes]")
{
  REQUIRE_THROWS_AS(Routes("mesh:2x2", 3, 0), std::invalid_argument);
  REQUIRE_THROWS_AS(Routes("graph:0-1,2-3", 4, 0), std::invalid_argument);
  REQUIRE_THROWS_AS(Routes("ring", 3, 3), std::invalid_argument);
}

TEST_CASE("Routes: classes keep the number of channels small", "[routes]")
{
  // Two classes for each bit, one for each direction, one for each neighbour.
  const size_t n = 1024;
  for (const size_t rank : { size_t(0), size_t(1), size_t(500), n - 1 })
  {
    REQUIRE(Routes("complete", n, rank).Channels().size() == n - 1);
    REQUIRE(Routes("exponential", n, rank).Channels().size() <= 20);
    REQUIRE(Routes("mesh:32x32", n, rank).Channels().size() <= 4);
    REQUIRE(Routes("tree:2", n, rank).Channels().size() <= 3);
  }

  // On a ring each of two links relays half of the origins, at most.
  const size_t m = 256;
  REQUIRE(Routes("ring", m, 100).Channels().size() <= m);
}
