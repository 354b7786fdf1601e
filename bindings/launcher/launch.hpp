/**
 * @file launch.hpp
 *
 * Starts the ranks of a program by mpirun.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_LAUNCH_HPP
#define DASGD_BINDINGS_LAUNCHER_LAUNCH_HPP

#include "rank_source.hpp"

#include <cstddef>
#include <string>

namespace dasgd {
namespace cli {

//! Cores of this machine; at least 1.
size_t Cores();

//! How many ranks may be started on this machine: more than anybody has a use
//! for, and fewer than would bring it down.
size_t MostRanks();

/**
 * Set the environment up for mpirun, which inherits it, and find mpirun.
 *
 * @param oversubscribe Are there to be more ranks than cores?
 * @return The name of mpirun.
 */
std::string PrepareMpirun(const bool oversubscribe);

//! Why mpirun did not start, and what to do.
std::string MpirunProblem(const std::string& mpirun, const std::string& reason);

/**
 * Start mpirun with this very command under it, and exit as it does.  Returns
 * only if that cannot be done, with the reason.
 *
 * @param settings How many to start, and where.
 * @param checkpoint Where the training keeps its checkpoints, if it does.
 * @param restarts How often to restart it if a rank dies.
 */
std::string Launch(const RankSettings& settings,
                   const std::string& checkpoint,
                   const size_t restarts);

} // namespace cli
} // namespace dasgd

#endif
