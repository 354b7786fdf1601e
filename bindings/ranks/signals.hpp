/**
 * @file signals.hpp
 *
 * Signals as input: they come through a pipe, next to everything else that a
 * program waits for.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_SIGNALS_HPP
#define DASGD_BINDINGS_RANKS_SIGNALS_HPP

#include <string>

namespace dasgd {
namespace cli {

//! A signal that has come.
struct SignalNote
{
  int number;
  //! From the terminal: then mpirun, in the same group, has got it as well.
  bool terminal;
};

//! Let signals come through a pipe.
//! @return Where to read them, as SignalNote objects; -1 if it cannot be done.
int ReceiveSignals();

//! "9, Killed".
std::string SignalText(const int number);

} // namespace cli
} // namespace dasgd

#endif
