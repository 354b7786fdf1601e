/**
 * @file main.cpp
 *
 * The main() of the test programs that do not use MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch_runner.hpp"

int main(int argc, char** argv)
{
  return RunTests(argc, argv);
}
