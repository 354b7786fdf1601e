/**
 * @file main.cpp
 *
 * The main() of the test programs that run under mpirun.  Every rank runs every
 * case, in the same order.  Rank 0 prints as usual; another rank prints only
 * the cases that failed on it.  The program fails on all ranks if it fails on
 * one.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "catch.hpp"

#include "catch_runner.hpp"

#include <dasgd/mpi/mpi_environment.hpp>

#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

//! What ranks other than 0 would have printed since the last case.
std::ostringstream silenced;
int rank = 0;

//! Print what was held back, in one piece, so that ranks do not interleave.
void Tell()
{
  std::istringstream lines(silenced.str());
  std::string line, text;
  while (std::getline(lines, line))
    text += "[rank " + std::to_string(rank) + "] " + line + "\n";
  std::cerr << text << std::flush;
}

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

//! Lets out what a case printed as soon as it has failed: a later case may hang
//! for the same reason.
class FailuresOnly : public Listener
{
 public:
  using Listener::Listener;

  void testCaseEnded(const Catch::TestCaseStats& stats) override
  {
    if (rank == 0)
      return;
    if (stats.totals.assertions.failed > 0)
      Tell();
    silenced.str("");
  }
};

CATCH_REGISTER_LISTENER(FailuresOnly)

//! Has the user given one of these options?
bool Given(const int argc, char** argv, const char* option)
{
  for (int i = 1; i < argc; ++i)
  {
    if (std::strcmp(argv[i], option) == 0)
      return true;
  }
  return false;
}

} // namespace

int main(int argc, char** argv)
{
  int threads = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  // The order must be the same on all ranks, so nothing may be left to chance
  // or to the clock.
  std::vector<const char*> arguments(argv, argv + argc);
  if (!Given(argc, argv, "--order"))
    arguments.insert(arguments.end(), { "--order", "decl" });
  if (!Given(argc, argv, "--rng-seed"))
    arguments.insert(arguments.end(), { "--rng-seed", "1" });

  std::streambuf* const visible = std::cout.rdbuf();
  if (rank != 0)
    std::cout.rdbuf(silenced.rdbuf());
  const int result = RunTests(int(arguments.size()), arguments.data());
  std::cout.rdbuf(visible);

  const int mine = (result == 0) ? 0 : 1;
  int failed = 0;
  MPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && failed > 0)
    std::cout << "Failed on " << failed << " ranks.\n" << std::flush;
  MPI_Finalize();
  return (failed > 0) ? 1 : 0;
}
