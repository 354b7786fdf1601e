/**
 * @file program.cpp
 *
 * All fuzz targets in one program, which is that of the target whose name it is
 * called by: fuzz_NAME.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
// Made by CMake: every fuzz_NAME.cpp with its function called Fuzz_NAME, and
// DASGD_FUZZ_TARGETS, pairs of a name and a function.
#include "fuzz_targets.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Target
{
  const char* name;
  int (*run)(const std::uint8_t* data, size_t size);
};

const Target targets[] = { DASGD_FUZZ_TARGETS };
const Target* target = nullptr;

} // namespace

extern "C" int LLVMFuzzerInitialize(int* /* argc */, char*** argv)
{
  const std::string path((*argv)[0]);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  for (const Target& candidate : targets)
  {
    if (name == candidate.name)
      target = &candidate;
  }
  if (!target)
  {
    std::fprintf(stderr, "There is no target %s.\n", name.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  return target->run(data, size);
}
