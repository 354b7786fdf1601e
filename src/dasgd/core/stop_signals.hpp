/**
 * @file stop_signals.hpp
 *
 * Signals that ask a run to save its state and to end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_STOP_SIGNALS_HPP
#define DASGD_CORE_STOP_SIGNALS_HPP

#include "config.hpp"

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace dasgd {

/**
 * While one of these lives, the given signals do not end the process; they are
 * remembered.  Afterwards they do what they did before.
 *
 * One may live within another, as when a callback calls an optimizer; a signal
 * is for all of them.  In several threads at a time it is for all, too, but
 * what signals did before may then not be restored.
 */
class StopSignals
{
 public:
  //! @param numbers Such as SIGTERM; those that are ignored stay ignored.
  explicit StopSignals(const std::vector<int>& numbers);

  //! A signal that came too late for anybody to end because of it is raised
  //! again.
  ~StopSignals();

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  //! Can a program be asked by this signal to end?  Not by one that cannot be
  //! caught, nor by one that comes of a mistake in the program, which would be
  //! made over and over again.
  static bool Possible(int number);

  //! The first signal that has come, or 0.
  static int Come();

  //! Mark the signal as handled: the destructor does not raise it again.
  static void Heeded();

 private:
  std::vector<std::pair<int, struct sigaction>> before;
};

//! The number and the name of a signal.
std::string SignalText(int number);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "stop_signals_impl.hpp"
#endif

#endif
