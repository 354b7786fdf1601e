/**
 * @file main.cpp
 *
 * The main() of the test programs that do not use MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int main(int argc, char** argv)
{
  return Catch::Session().run(argc, argv);
}
