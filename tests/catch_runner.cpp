/**
 * @file catch_runner.cpp
 *
 * Catch2's own part, which takes long to compile: once for all test programs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include "catch_runner.hpp"

int RunTests(const int argc, const char* const* argv)
{ return Catch::Session().run(argc, argv); }
