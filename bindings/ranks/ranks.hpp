/**
 * @file ranks.hpp
 *
 * How many processes a program runs on, and which of them this one is.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_RANKS_HPP
#define DASGD_BINDINGS_RANKS_RANKS_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

//! Was this process started by mpirun, srun or the like?
bool Launched();

//! How many ranks there are.  Does not start MPI unless Launched().
size_t Ranks();

//! Which of them this is.
size_t Rank();

//! Is this the rank that prints, and writes the files?  It is rank 0, or the
//! first that is left if the others continue without it.
bool Writes();

//! This rank's number by the launcher's environment variables, without MPI;
//! -1 if they do not tell.
int LaunchedRank();

//! How many ranks the launcher has started on this machine; 1 without one.
size_t RanksOnMachine();

//! The path of this program; empty if the system does not tell.
std::string ProgramPath();

//! The words of the command line, as the system has them: mlpack does not hand
//! them to bindings.  Empty if /proc cannot be read.
std::vector<std::string> CommandWords();

} // namespace cli
} // namespace dasgd

#endif
