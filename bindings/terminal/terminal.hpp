/**
 * @file terminal.hpp
 *
 * The terminal that a program prints to, directly or through mpirun.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_TERMINAL_HPP
#define DASGD_BINDINGS_TERMINAL_TERMINAL_HPP

#include <csignal>
#include <cstddef>

namespace dasgd {
namespace cli {

//! Does standard error end up on a terminal?
bool OnTerminal();

//! Is what is written to a file seen in colours?  Not if NO_COLOR is set.
bool Colours(const int file);

//! Columns of that terminal; 80 if they are not known.
size_t TerminalColumns();

//! Is there a progress line on the terminal that has no line break yet?  Read
//! by signal handlers, too.
volatile std::sig_atomic_t& ProgressShown();

} // namespace cli
} // namespace dasgd

#endif
