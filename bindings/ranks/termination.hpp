/**
 * @file termination.hpp
 *
 * What a process does when a signal asks it to end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_TERMINATION_HPP
#define DASGD_BINDINGS_RANKS_TERMINATION_HPP

#include <string>

namespace dasgd {
namespace cli {

/**
 * From now on, before SIGTERM, SIGINT or SIGHUP ends this process, it removes
 * incomplete files and reports the signal: to the program that started the
 * ranks, or else to the user.  Signals that are ignored stay so.
 */
void HandleTermination();

//! The same, and the report tells how to resume from the checkpoint.
void HandleTermination(const std::string& checkpoint);

} // namespace cli
} // namespace dasgd

#endif
