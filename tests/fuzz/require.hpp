/**
 * @file require.hpp
 *
 * How a fuzz target says that something which must hold does not.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_FUZZ_REQUIRE_HPP
#define DASGD_TESTS_FUZZ_REQUIRE_HPP

#include <cstdio>
#include <cstdlib>

namespace fuzz {

//! End the program, so that the input is kept, unless something holds.
inline void Require(const bool holds, const char* what)
{
  if (holds)
    return;
  std::fprintf(stderr, "This does not hold: %s\n", what);
  std::abort();
}

} // namespace fuzz

#endif
