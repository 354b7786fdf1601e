/**
 * @file program.hpp
 *
 * A command-line program from its start to its end, on one rank or on several.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_PROGRAM_HPP
#define DASGD_FRONT_END_PROGRAM_HPP

#include "kind.hpp"

namespace dasgd {
namespace cli {

/**
 * Run a binding as a program.
 *
 * @param binding Its name.
 * @param function What it does.
 * @return The exit status, the same on all ranks.
 */
int RunProgram(const int argc,
               char** argv,
               const std::string& binding,
               void (*function)(Params&, mlpack::util::Timers&));

} // namespace cli
} // namespace dasgd

#endif
