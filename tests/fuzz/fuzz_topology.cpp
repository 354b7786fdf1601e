/**
 * @file fuzz_topology.cpp
 *
 * Texts of topologies: the first byte is a number of ranks, the rest the text.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "routes.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  if (size == 0)
    return 0;
  const size_t ranks = 1 + data[0] % 32;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  // Files have a target of their own, and nobody knows which there are here.
  if (text.compare(0, 5, "file:") == 0)
    return 0;
  try
  {
    const dasgd::Topology topology(text);
    fuzz::CheckName(topology);
    fuzz::Require(!fuzz::Fits(topology, 0), "nothing fits no ranks");
    if (fuzz::Fits(topology, ranks))
      fuzz::CheckRoutes(topology, ranks);
  }
  catch (const std::invalid_argument& e)
  {
    for (const char* c = e.what(); *c != '\0'; ++c)
      fuzz::Require(*c >= ' ' && *c <= '~', "a message is printable");
  }
  return 0;
}
