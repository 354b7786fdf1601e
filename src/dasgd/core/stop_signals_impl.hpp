/**
 * @file stop_signals_impl.hpp
 *
 * Implementation of signals that ask to stop.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_STOP_SIGNALS_IMPL_HPP
#define DASGD_CORE_STOP_SIGNALS_IMPL_HPP

// In case it hasn't been included yet.
#include "stop_signals.hpp"

#include <atomic>
#include <cstring>

namespace dasgd {

//! What the handler writes to.
struct StopSignalState
{
  std::atomic<int> come{ 0 };
  std::atomic<bool> heeded{ false };
  //! How many StopSignals there are.
  std::atomic<int> users{ 0 };
};

DASGD_INLINE StopSignalState& TheStopSignals()
{
  static StopSignalState state;
  return state;
}

DASGD_INLINE StopSignals::StopSignals(const std::vector<int>& numbers)
{
  static_assert(std::atomic<int>::is_always_lock_free,
      "A signal handler may not wait for a lock.");
  StopSignalState& state = TheStopSignals();
  if (state.users++ == 0)
  {
    state.come = 0;
    state.heeded = false;
  }
  struct sigaction action = { };
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](const int number)
  {
    int none = 0;
    TheStopSignals().come.compare_exchange_strong(none, number);
  };
  for (const int number : numbers)
  {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN &&
        sigaction(number, &action, nullptr) == 0)
      before.push_back({ number, now });
  }
}

DASGD_INLINE StopSignals::~StopSignals()
{
  while (!before.empty())
  {
    sigaction(before.back().first, &before.back().second, nullptr);
    before.pop_back();
  }
  StopSignalState& state = TheStopSignals();
  if (--state.users == 0 && state.come != 0 && !state.heeded)
    raise(state.come);
}

DASGD_INLINE bool StopSignals::Possible(const int number)
{
  for (const int other : { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
      SIGTRAP, SIGABRT, SIGSYS })
  {
    if (number == other)
      return false;
  }
  struct sigaction now;
  return number > 0 && sigaction(number, nullptr, &now) == 0;
}

DASGD_INLINE int StopSignals::Come() { return TheStopSignals().come; }

DASGD_INLINE void StopSignals::Heeded() { TheStopSignals().heeded = true; }

DASGD_INLINE std::string SignalText(const int number)
{ return std::to_string(number) + ", " + strsignal(number); }

} // namespace dasgd

#endif
