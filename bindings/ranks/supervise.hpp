/**
 * @file supervise.hpp
 *
 * Runs mpirun, and again from the last checkpoint if a rank dies.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_SUPERVISE_HPP
#define DASGD_BINDINGS_RANKS_SUPERVISE_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

/**
 * Run a command until it ends otherwise than by the death of a rank, or has
 * been restarted often enough.  If a rank dies, or a signal ends the job, one
 * line on standard error says so.
 *
 * @param command The command; the first word is the program.
 * @param ranks How many ranks it starts.
 * @param checkpoint The file that it resumes from when it is restarted; empty
 *     if there is none.
 * @param restarts How often at most to restart it.
 * @return Its exit status; -1 if it could not be started, with errno set.
 */
int Supervise(std::vector<std::string> command,
              const size_t ranks,
              const std::string& checkpoint,
              const size_t restarts);

} // namespace cli
} // namespace dasgd

#endif
