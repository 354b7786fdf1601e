/**
 * @file topology_test.cpp
 *
 * Names, texts, files, fits and misfits of topologies.  That their routes are
 * right is shown in routes_test.cpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/topology/routes.hpp>
#include <dasgd/topology/topology.hpp>
#include <dasgd/topology/shape.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>

#include "catch.hpp"

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

//! A file with the given content, gone at the end of the test.
class TemporaryFile
{
 public:
  explicit TemporaryFile(const std::string& content) :
      path((std::filesystem::temp_directory_path() / ("dasgd_topology_" +
          std::to_string(std::random_device()()) + ".txt")).string())
  {
    std::ofstream(path, std::ios::binary) << content;
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() { std::remove(path.c_str()); }

  const std::string& Path() const { return path; }

 private:
  std::string path;
};

std::string NameOfFile(const std::string& content)
{
  return Topology::FromFile(TemporaryFile(content).Path()).Name();
}

//! The message of the exception that a call must end in.
template<typename ExceptionType = std::invalid_argument, typename CallType>
std::string Message(const CallType& call)
{
  try
  {
    call();
  }
  catch (const ExceptionType& e)
  {
    return e.what();
  }
  return "nothing was thrown";
}

std::string ParseMessage(const std::string& text)
{
  return Message([&]() { Topology topology(text); });
}

std::string CheckMessage(const Topology& topology, const size_t ranks)
{
  return Message([&]() { topology.Check(ranks); });
}

//! The message for a file, which must name the path.
std::string FileMessage(const std::string& content)
{
  const TemporaryFile file(content);
  std::string message = Message([&]() { Topology::FromFile(file.Path()); });
  const std::string start = "topology file '" + file.Path() + "', ";
  REQUIRE(message.substr(0, start.size()) == start);
  return message.substr(start.size());
}

} // namespace

TEST_CASE("Topology: the default is complete", "[topology]")
{
  REQUIRE(Topology().Name() == "complete");
  REQUIRE(Topology() == Topology::Complete());
}

TEST_CASE("Topology: a text can be assigned", "[topology]")
{
  static_assert(std::is_convertible<const char*, Topology>::value,
      "a literal is a topology");
  static_assert(std::is_convertible<std::string, Topology>::value,
      "a string is a topology");

  Topology topology;
  topology = "ring";
  REQUIRE(topology == Topology::Ring());
  topology = std::string("tree:3");
  REQUIRE(topology == Topology::Tree(3));
}

TEST_CASE("Topology: a moved-from topology is still a topology", "[topology]")
{
  Topology source = "ring";
  const Topology target = std::move(source);
  REQUIRE(target.Name() == "ring");
  REQUIRE(source.Name() == "ring");
}

TEST_CASE("Topology: topologies are equal exactly if their names are",
    "[topology]")
{
  const std::vector<Topology> all = { Topology::Complete(), Topology::Ring(),
      Topology::Mesh(2, 3), Topology::Mesh(3, 2), Topology::Exponential(),
      Topology::Tree(2), Topology::Tree(3), Topology::Graph({ { 0, 1 } }),
      Topology::Graph({ { 0, 1 }, { 1, 2 } }), Topology::Graph({ }),
      Topology::Auto() };
  for (size_t i = 0; i < all.size(); ++i)
  {
    for (size_t j = 0; j < all.size(); ++j)
    {
      INFO(all[i].Name() << " and " << all[j].Name());
      REQUIRE((all[i] == all[j]) == (i == j));
      REQUIRE((all[i] != all[j]) == (i != j));
    }
  }
}

TEST_CASE("Topology: a name is canonical and parses back", "[topology]")
{
  const std::vector<std::pair<Topology, std::string>> cases = {
      { Topology::Complete(), "complete" },
      { Topology::Ring(), "ring" },
      { Topology::Mesh(2, 3), "mesh:2x3" },
      { Topology::Mesh(1, 1), "mesh:1x1" },
      { Topology::Exponential(), "exponential" },
      { Topology::Tree(), "tree:2" },
      { Topology::Tree(7), "tree:7" },
      { Topology::Graph({ }), "graph:" },
      { Topology::Graph({ { 2, 1 }, { 1, 0 }, { 1, 2 }, { 0, 1 } }),
          "graph:0-1,1-2" },
      { Topology::Auto(), "auto" },
      { "tree", "tree:2" },
      { "tree:04", "tree:4" },
      { "mesh:02x010", "mesh:2x10" },
      { "graph:10-9,3-2,9-10", "graph:2-3,9-10" },
      { "graph: 0-1, 1 2", "graph:0-1,1-2" } };
  for (const auto& [topology, name] : cases)
  {
    REQUIRE(topology.Name() == name);
    REQUIRE(Topology(name) == topology);
    REQUIRE(Topology(name).Name() == name);
  }
}

TEST_CASE("Topology: an unknown text is answered with the valid forms",
    "[topology]")
{
  for (const std::string text : { "", "star", "Ring", "ring ", "ring:",
      "ring:4", "complete:", "exponential:2", "tree:", "tree:x", "tree:-1",
      "tree:2x", "tree: 2", "tree:2.5", "mesh", "mesh:", "mesh:2", "mesh:2x",
      "mesh:x3", "mesh:2x3x", "mesh:2x3x4", "mesh:2,3", "mesh:-2x3", "mesh:2X3",
      "graph", "file", "file:", ":", "0-1" })
  {
    const std::string message = ParseMessage(text);
    REQUIRE_THAT(message, ContainsSubstring("topology '" + text + "'"));
    for (const char* form : { "auto", "complete", "ring", "mesh:RxC",
        "exponential", "tree:K", "graph:A-B", "file:PATH" })
      REQUIRE_THAT(message, ContainsSubstring(form));
  }

  const char* nothing = nullptr;
  REQUIRE_THROWS_AS(Topology(nothing), std::invalid_argument);
}

TEST_CASE("Topology: foreign text in a message is short and printable",
    "[topology]")
{
  const std::string message = ParseMessage("\n\x1b[2J" +
      std::string(100000, 'x'));
  REQUIRE_THAT(message, ContainsSubstring("'??[2Jxxx"));
  REQUIRE(message.size() < 400);
}

TEST_CASE("Topology: a number out of range is named with its limit",
    "[topology]")
{
  REQUIRE(ParseMessage("tree:0") == "topology tree:0: a rank of a tree has at "
      "least 1 child and at most 1048576; choose for example tree:2");
  REQUIRE(ParseMessage("mesh:0x3") == "topology mesh:0x3: rows and columns "
      "must be at least 1, and their product at most 1048576; choose mesh:RxC "
      "with R times C the number of ranks");
  REQUIRE_THAT(ParseMessage("mesh:3x0"), ContainsSubstring("at least 1"));
  REQUIRE_THAT(ParseMessage("mesh:1025x1024"),
      ContainsSubstring("at most 1048576"));

  // 2^64 + 2 must not be taken for 2.
  for (const std::string text : { "tree:18446744073709551618",
      "mesh:18446744073709551618x2", "mesh:2x18446744073709551618" })
  {
    REQUIRE(ParseMessage(text) == "topology '" + text + "': numbers may be at "
        "most 1048576; correct the text");
  }

  const size_t huge = std::numeric_limits<size_t>::max();
  REQUIRE_THROWS_AS(Topology::Tree(huge), std::invalid_argument);
  REQUIRE_THROWS_AS(Topology::Mesh(huge, huge), std::invalid_argument);
  REQUIRE_THROWS_AS(Topology::Mesh(size_t(1) << 32, size_t(1) << 32),
      std::invalid_argument);
  REQUIRE_THROWS_AS(Topology::Graph({ { 0, huge } }), std::invalid_argument);
}

TEST_CASE("Topology: a wrong edge in a text is named", "[topology]")
{
  REQUIRE(ParseMessage("graph:0-1,2-2") == "topology 'graph:0-1,2-2', edge "
      "'2-2': this joins rank 2 to itself; remove it");
  REQUIRE(ParseMessage("graph:0-1048576") == "topology 'graph:0-1048576', edge "
      "'0-1048576': ranks may be numbered up to 1048575; correct the number");
  for (const std::string edge : { "", "0", "0-", "-1", "0--1", "0-1-2", "a-b",
      "0-1x", "0x-1", "0 1 2" })
  {
    const std::string text = "graph:5-6," + edge;
    REQUIRE(ParseMessage(text) == "topology '" + text + "', edge '" + edge +
        "': this is not an edge; write two ranks, such as 0-1");
  }
  REQUIRE(Message([]() { Topology::Graph({ { 0, 1 }, { 3, 3 } }); }) ==
      "topology graph, edge 3-3: this joins rank 3 to itself; remove it");
}

TEST_CASE("Topology: every topology fits one rank, which then sends nothing",
    "[topology]")
{
  for (const Topology topology : { "complete", "ring", "mesh:1x1",
      "exponential", "tree:1", "tree:2", "graph:", "auto" })
  {
    INFO(topology.Name());
    REQUIRE_NOTHROW(topology.Check(1));
    REQUIRE(topology.Emit(1, 0).empty());
    REQUIRE(topology.Arrivals(1, 0).empty());
    REQUIRE(topology.Forward(1, 0, 0).empty());
    REQUIRE(topology.Hops(1) == 0);
  }
}

TEST_CASE("Topology: a mesh of the wrong size is named with a right one",
    "[topology]")
{
  REQUIRE(CheckMessage("mesh:2x3", 4) == "topology mesh:2x3 is for 6 ranks, "
      "but 4 are running; start 6 ranks or choose mesh:2x2");
  REQUIRE(CheckMessage("mesh:2x3", 12) == "topology mesh:2x3 is for 6 ranks, "
      "but 12 are running; start 6 ranks or choose mesh:3x4");
  REQUIRE(CheckMessage("mesh:2x3", 7) == "topology mesh:2x3 is for 6 ranks, "
      "but 7 are running; start 6 ranks or choose mesh:1x7");
  REQUIRE(CheckMessage("mesh:2x3", 1) == "topology mesh:2x3 is for 6 ranks, "
      "but 1 is running; start 6 ranks or choose mesh:1x1");
  REQUIRE(CheckMessage("mesh:1x1", 2) == "topology mesh:1x1 is for 1 rank, "
      "but 2 are running; start 1 rank or choose mesh:1x2");
  REQUIRE_NOTHROW(Topology("mesh:2x3").Check(6));
}

TEST_CASE(
    "Topology: auto goes by the number of ranks, all others are themselves",
    "[topology]")
{
  const auto machines = [](const size_t count, const size_t each)
  {
    std::vector<size_t> all(count * each);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = i / each;
    return all;
  };
  const Topology automatic = Topology::Auto();
  REQUIRE(automatic.On(machines(1, 1)) == Topology::Complete());
  REQUIRE(automatic.On(machines(1, 8)) == Topology::Complete());
  REQUIRE(automatic.On(machines(1, 9)) == Topology::Exponential());
  REQUIRE(automatic.On(machines(2, 1)) == Topology::Complete());
  REQUIRE(automatic.On(machines(64, 1)) == Topology::Exponential());
  REQUIRE(Topology::Ring().On(machines(2, 2)) == Topology::Ring());
  // Before machines are known.
  REQUIRE(automatic.Hops(8) == 1);
  REQUIRE(automatic.Hops(9) == 3);
}

TEST_CASE("Topology: a graph that does not fit says which edge or rank it is",
    "[topology]")
{
  REQUIRE(CheckMessage("graph:0-1,1-5", 4) == "topology graph:0-1,1-5 has the "
      "edge 1-5, but 4 are running, numbered from 0; start 6 ranks or remove "
      "the edge");
  REQUIRE(CheckMessage("graph:0-1", 1) == "topology graph:0-1 has the edge "
      "0-1, but 1 is running, numbered from 0; start 2 ranks or remove the "
      "edge");
  REQUIRE(CheckMessage("graph:0-1", 3) == "topology graph:0-1 has no edge for "
      "rank 2, but 3 are running; start 2 ranks or add an edge for it");
  REQUIRE(CheckMessage("graph:0-2", 3) == "topology graph:0-2 has no edge for "
      "rank 1, but 3 are running; add an edge for it");
  REQUIRE(CheckMessage("graph:", 2) == "topology graph: has no edge for rank "
      "0, but 2 are running; add an edge for it");
  REQUIRE(CheckMessage("graph:0-3,1-2", 4) == "topology graph:0-3,1-2 is not "
      "connected: rank 1 cannot be reached from rank 0; add an edge that joins "
      "the parts");
}

TEST_CASE("Topology: a question about ranks that are not there is an error",
    "[topology]")
{
  for (const Topology topology : { "complete", "ring", "mesh:1x2",
      "exponential", "tree", "graph:0-1", "auto" })
  {
    const std::string name = "topology " + topology.Name();
    REQUIRE_THAT(CheckMessage(topology, 0), ContainsSubstring(name));
    const std::string outside = name + " was asked about rank 2, but 2 are "
        "running; ask about ranks 0 to 1";
    REQUIRE(Message([&]() { topology.Emit(2, 2); }) == outside);
    REQUIRE(Message([&]() { topology.Forward(2, 2, 0); }) == outside);
    REQUIRE(Message([&]() { topology.Arrivals(2, 2); }) == outside);
    REQUIRE_THROWS_AS(topology.Hops(0), std::invalid_argument);
  }
  REQUIRE_THROWS_AS(Topology("mesh:2x2").Emit(3, 0), std::invalid_argument);
  REQUIRE_THROWS_AS(Topology("graph:0-1").Forward(3, 0, 1),
      std::invalid_argument);
}

TEST_CASE("Topology: hops are those that the documentation states",
    "[topology]")
{
  for (size_t n = 1; n <= 64; ++n)
  {
    INFO(n << " ranks");
    REQUIRE(Topology("complete").Hops(n) == (n > 1 ? 1 : 0));
    REQUIRE(Topology("ring").Hops(n) == n / 2);

    // At most log2(n), and that where n is a power of two.
    const size_t exponential = Topology("exponential").Hops(n);
    REQUIRE((size_t(1) << exponential) <= n);
    REQUIRE((size_t(2) << exponential) > n);

    // A path has two ends and no branch; a tree of depth d reaches from one
    // deepest rank over the root to another.
    REQUIRE(Topology("tree:1").Hops(n) == n - 1);
    for (size_t arity = 2; arity <= 4; ++arity)
    {
      size_t depth = 0;
      for (size_t i = n - 1; i > 0; i = (i - 1) / arity)
        ++depth;
      const size_t hops = Topology::Tree(arity).Hops(n);
      REQUIRE(hops <= 2 * depth);
      REQUIRE(hops + 1 >= 2 * depth);
    }

    for (size_t rows = 1; rows <= n; ++rows)
    {
      if (n % rows == 0)
        REQUIRE(Topology::Mesh(rows, n / rows).Hops(n) == rows + n / rows - 2);
    }
  }
}

TEST_CASE("Topology: exponential sends to powers of two, tight or not",
    "[topology]")
{
  // n - 1 is 101 in binary: offsets 1 to 5.
  const Topology topology = "exponential";
  const std::vector<Hop> emit = topology.Emit(6, 4);
  REQUIRE(emit.size() == 3);
  REQUIRE(emit[0].neighbour == 2); // Offset 100, tight.
  REQUIRE(emit[0].routeClass == 5);
  REQUIRE(emit[1].neighbour == 0); // Offset 010.
  REQUIRE(emit[1].routeClass == 2);
  REQUIRE(emit[2].neighbour == 5); // Offset 001.
  REQUIRE(emit[2].routeClass == 0);

  const std::vector<Hop> tight = topology.Forward(6, 2, 5);
  REQUIRE(tight.size() == 1); // 101 is an offset, 110 is not.
  REQUIRE(tight[0].neighbour == 3);
  REQUIRE(tight[0].routeClass == 0); // Below the lowest bit nothing is tight.

  // For a power of two of ranks every offset is one: a class for each bit, so
  // that a link has one sum.
  for (size_t bits = 1; bits <= 8; ++bits)
  {
    const size_t n = size_t(1) << bits;
    CAPTURE(n);
    REQUIRE(Routes(topology, n, n / 2).Channels().size() == bits);
  }
}

TEST_CASE("Topology: a file may write edges in three ways", "[topology]")
{
  REQUIRE(NameOfFile("0 1\n1-2\n2,3\n") == "graph:0-1,1-2,2-3");
  REQUIRE(NameOfFile("  0\t1  \n1-2\n 2 , 3") == "graph:0-1,1-2,2-3");
  REQUIRE(NameOfFile("# a ring\n\n0 1 # first\n \t\n#\n2-1\n2 0") ==
      "graph:0-1,0-2,1-2");
  REQUIRE(NameOfFile("0 1\r\n1 2\r\n\r\n") == "graph:0-1,1-2");
  REQUIRE(NameOfFile("0 1\n1 0\n0-1\n") == "graph:0-1");
  REQUIRE(NameOfFile("") == "graph:");
  REQUIRE(NameOfFile("# nothing yet") == "graph:");

  const TemporaryFile file("1 0\n");
  REQUIRE(Topology("file:" + file.Path()) == Topology::Graph({ { 0, 1 } }));
}

TEST_CASE("Topology: a wrong line of a file is named with number and text",
    "[topology]")
{
  REQUIRE(FileMessage("0 1\n\n2 2 # self\n") == "line 3, '2 2 # self': this "
      "joins rank 2 to itself; remove it");
  REQUIRE(FileMessage("0 1\n1 4294967296\n") == "line 2, '1 4294967296': ranks "
      "may be numbered up to 1048575; correct the number");
  REQUIRE_THAT(FileMessage("0 " + std::string(40, '9')),
      ContainsSubstring("ranks may be numbered up to"));
  for (const std::string line : { "0", "0 1 2", "01", "-1 2", "0 -1 2",
      "0--1", "0 -1", "0- 1", "0,,1",
      "a b", "0;1", "0 1.5", "1e3 2", "0x1 2", "%PDF-1.7" })
  {
    REQUIRE(FileMessage("0 1\n" + line) == "line 2, '" + line + "': this is "
        "not an edge; write two ranks, such as 0-1");
  }
}

TEST_CASE("Topology: a file that is no edge list is refused early",
    "[topology]")
{
  // Neither control characters nor long lines reach the message.
  REQUIRE(FileMessage(std::string("\x7f" "ELF\0\x01\n", 7)) == "line 1, "
      "'?ELF?" "?': this is not an edge; write two ranks, such as 0-1");
  REQUIRE(FileMessage(std::string("0 1\0", 4)) == "line 1, '0 1?': this is "
      "not an edge; write two ranks, such as 0-1");
  const std::string longLine = FileMessage("0 1\n" + std::string(2000, '1'));
  REQUIRE_THAT(longLine, ContainsSubstring("line 2, '1111"));
  REQUIRE_THAT(longLine, ContainsSubstring("longer than 1024 characters"));
  REQUIRE(longLine.size() < 200);
  REQUIRE(NameOfFile("0 1\n" + std::string(1024, '#')) == "graph:0-1");
  REQUIRE_THAT(FileMessage(std::string((size_t(1) << 22) + 1, '\n')),
      ContainsSubstring("more than 4194304 lines"));

  if (std::filesystem::exists("/dev/zero"))
  {
    REQUIRE_THAT(ParseMessage("file:/dev/zero"),
        ContainsSubstring("longer than 1024 characters"));
  }
}

TEST_CASE("Topology: a file that cannot be read is named with the reason",
    "[topology]")
{
  const std::string missing = TemporaryFile("").Path();
  REQUIRE_THAT(Message<std::runtime_error>([&]()
      {
        Topology topology("file:" + missing);
      }), ContainsSubstring("topology file '" + missing + "' cannot be opened: "
      "No such file or directory; give the path"));

  // Some systems refuse to open a folder, others to read it.
  const std::string folder = std::filesystem::temp_directory_path().string();
  REQUIRE_THAT(Message<std::runtime_error>([&]()
      {
        Topology::FromFile(folder);
      }), ContainsSubstring("topology file '" + folder + "' cannot be "));
  REQUIRE_THROWS_AS(Topology::FromFile(""), std::runtime_error);
}

namespace {

//! All send to rank 0, which passes on: a star, written as a user would.
class Star : public TopologyShape
{
 public:
  //! @param broken Does rank 0 forget the last rank, or send to it twice?
  explicit Star(const int broken = 0) : broken(broken) { }

  std::string Name() const override { return "star of my own"; }

  std::vector<Hop> Emit(const size_t ranks, const size_t rank) const override
  {
    return (rank == 0) ? Others(ranks, 0) : std::vector<Hop>{ { 0, rank } };
  }

  std::vector<Hop> Forward(const size_t ranks,
                           const size_t rank,
                           const size_t routeClass) const override
  {
    return (rank == 0) ? Others(ranks, routeClass) : std::vector<Hop>();
  }

 private:
  std::vector<Hop> Others(const size_t ranks, const size_t except) const
  {
    std::vector<Hop> hops;
    for (size_t i = 1; i < ranks - (broken == 1); ++i)
      if (i != except)
        hops.push_back({ i, 0 });
    if (broken == 2 && ranks > 2 && except != 1)
      hops.push_back({ 1, 0 });
    return hops;
  }

  int broken;
};

} // namespace

TEST_CASE("A user's own topology is checked, and its arrivals and hops follow",
    "[topology]")
{
  const Topology star = Topology::Custom(std::make_shared<Star>());
  CHECK(star.Name() == "star of my own");
  for (size_t n = 1; n <= 9; ++n)
  {
    CHECK_NOTHROW(star.Check(n));
    CHECK(star.Hops(n) == (n < 2 ? 0 : n == 2 ? 1 : 2));
    CHECK(star.Arrivals(n, 0).size() == n - 1);
  }
  CHECK(star.Arrivals(4, 2).size() == 1);
  CHECK(star.Arrivals(4, 2)[0].sender == 0);

  CHECK_THROWS_WITH(Topology::Custom(std::make_shared<Star>(1)).Check(4),
      Catch::Contains("star of my own") &&
      Catch::Contains("does not get to rank 3") &&
      Catch::Contains("exactly one path"));
  CHECK_THROWS_WITH(Topology::Custom(std::make_shared<Star>(2)).Check(4),
      Catch::Contains("gets to rank 1 more than once"));
  CHECK_THROWS_AS(Topology::Custom(nullptr), std::invalid_argument);
}
