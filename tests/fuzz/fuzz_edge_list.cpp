/**
 * @file fuzz_edge_list.cpp
 *
 * Files of edges: the input is the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "memory_file.hpp"
#include "routes.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  static fuzz::MemoryFile file;
  file.Put(data, size);
  std::vector<dasgd::detail::Edge> edges;
  try
  {
    edges = dasgd::detail::ReadEdgeFile(file.Path());
  }
  catch (const std::invalid_argument& e)
  {
    fuzz::Require(std::string(e.what()).find(", line ") != std::string::npos,
        "an error names the line");
    return 0;
  }

  size_t ranks = 1;
  for (const dasgd::detail::Edge& edge : edges)
  {
    fuzz::Require(dasgd::detail::Problem(edge).empty(), "edges are right");
    ranks = std::max({ ranks, edge.first + 1, edge.second + 1 });
  }
  const dasgd::Topology topology = dasgd::Topology::Graph(edges);
  fuzz::CheckName(topology);
  fuzz::Require(topology == dasgd::Topology("file:" + file.Path()),
      "a file is the same by its path");
  fuzz::Require(!fuzz::Fits(topology, ranks - 1), "no edge is left out");
  if (ranks <= 32 && fuzz::Fits(topology, ranks))
    fuzz::CheckRoutes(topology, ranks);
  return 0;
}
