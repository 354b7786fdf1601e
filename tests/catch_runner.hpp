/**
 * @file catch_runner.hpp
 *
 * Runs the cases of a test program.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_CATCH_RUNNER_HPP
#define DASGD_TESTS_CATCH_RUNNER_HPP

//! Run the cases that the arguments choose; returns the status of the program.
int RunTests(int argc, const char* const* argv);

#endif
