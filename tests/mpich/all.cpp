/**
 * @file all.cpp
 *
 * The library and tests of the optimizer that run.sh runs on MPICH, in one
 * file: most of the time goes into reading headers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "../../src/dasgd_core.cpp"
#include "../../src/dasgd_mpi.cpp"

#include "../optimizer/overlap_test.cpp"
#include "../optimizer/probe.cpp"
#include "../optimizer/report_test.cpp"
