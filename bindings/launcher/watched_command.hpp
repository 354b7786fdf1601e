/**
 * @file watched_command.hpp
 *
 * A command that is run again and again for what it prints.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_WATCHED_COMMAND_HPP
#define DASGD_BINDINGS_LAUNCHER_WATCHED_COMMAND_HPP

#include <chrono>
#include <string>

#include <sys/types.h>

namespace dasgd {
namespace cli {

//! Runs a command of the shell in the background.
class WatchedCommand
{
 public:
  //! Seconds between the end of one run and the next, and of a run at most.
  static constexpr int pause = 5;
  static constexpr int longest = 20;

  explicit WatchedCommand(const std::string& command) : command(command) { }
  ~WatchedCommand() { End(); }

  WatchedCommand(const WatchedCommand&) = delete;
  WatchedCommand& operator=(const WatchedCommand&) = delete;

  /**
   * Run it now, and wait for what it prints.
   *
   * @param problem Why there is nothing, if so.
   */
  std::string Run(std::string& problem);

  //! Go on in the background, without waiting: what it printed last, if it has
  //! ended well since Run(); otherwise what Run() returned.
  const std::string& Latest();

 private:
  using Clock = std::chrono::steady_clock;

  //! Why it cannot be started, or nothing.
  std::string Start();
  //! Read what there is within so many milliseconds; true if it has ended.
  bool Read(int milliseconds);
  //! Stop it if it runs; returns its status.
  int End();

  std::string command;
  pid_t child = -1;
  int output = -1;
  std::string text;
  std::string latest;
  Clock::time_point next;
  Clock::time_point until;
};

} // namespace cli
} // namespace dasgd

#endif
