/**
 * @file stop_signals_test.cpp
 *
 * Signals that ask to stop are remembered while somebody looks for them, and do
 * what they did before afterwards.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/core/stop_signals.hpp>

#include "catch.hpp"

#include <memory>

using dasgd::StopSignals;

namespace {

volatile std::sig_atomic_t handled = 0;

void Count(int) { handled = handled + 1; }

} // namespace

TEST_CASE("a signal that asks to stop is remembered, and then as before",
    "[core]")
{
  handled = 0;
  std::signal(SIGUSR1, Count);
  std::signal(SIGUSR2, Count);
  {
    StopSignals signals({ SIGUSR1 });
    CHECK(StopSignals::Come() == 0);
    raise(SIGUSR2);
    CHECK(handled == 1);
    CHECK(StopSignals::Come() == 0);
    raise(SIGUSR1);
    raise(SIGUSR1);
    CHECK(handled == 1);
    CHECK(StopSignals::Come() == SIGUSR1);
    StopSignals::Heeded();
  }
  CHECK(handled == 1);
  raise(SIGUSR1);
  CHECK(handled == 2);
  {
    StopSignals signals({ SIGUSR1 });
    CHECK(StopSignals::Come() == 0);
  }
  CHECK(handled == 2);
  std::signal(SIGUSR1, SIG_DFL);
  std::signal(SIGUSR2, SIG_DFL);
}

TEST_CASE("a signal that came too late is not lost", "[core]")
{
  handled = 0;
  std::signal(SIGUSR1, Count);
  {
    StopSignals signals({ SIGUSR1 });
    raise(SIGUSR1);
    CHECK(handled == 0);
  }
  CHECK(handled == 1);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a signal is for those within each other, too", "[core]")
{
  handled = 0;
  std::signal(SIGUSR1, Count);
  {
    StopSignals outer({ SIGUSR1 });
    {
      StopSignals inner({ SIGUSR1 });
      raise(SIGUSR1);
      StopSignals::Heeded();
    }
    CHECK(StopSignals::Come() == SIGUSR1);
    CHECK(handled == 0);
  }
  CHECK(handled == 0);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a signal that is ignored stays so", "[core]")
{
  std::signal(SIGUSR1, SIG_IGN);
  {
    StopSignals signals({ SIGUSR1 });
    raise(SIGUSR1);
    CHECK(StopSignals::Come() == 0);
  }
  CHECK(std::signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}
