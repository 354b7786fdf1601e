/**
 * @file signals.hpp
 *
 * Signals as input: they come through a pipe, next to everything else that a
 * program waits for.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_SIGNALS_HPP
#define DASGD_BINDINGS_LAUNCHER_SIGNALS_HPP

namespace dasgd {
namespace cli {

//! A signal that has come.
struct SignalNote
{
  int number;
};

//! Let signals come through a pipe.
//! @return Where to read them, as SignalNote objects; -1 if it cannot be done.
int ReceiveSignals();

} // namespace cli
} // namespace dasgd

#endif
