/**
 * @file signals.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "signals.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! Where the handler writes.
volatile std::sig_atomic_t signalPipe = -1;

} // namespace

int ReceiveSignals()
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return -1;
  signalPipe = ends[1];
  struct sigaction note = { };
  note.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  note.sa_handler = [](const int number)
  {
    const int before = errno;
    const SignalNote come = { number };
    // If the pipe is full, it holds enough of them.
    if (write(int(signalPipe), &come, sizeof(come)) < 0)
      errno = before;
  };
  for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2,
      SIGCHLD })
  {
    // What nohup and the like ignore stays ignored.
    struct sigaction before;
    if (number == SIGCHLD || (sigaction(number, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN))
      sigaction(number, &note, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return ends[0];
}

} // namespace cli
} // namespace dasgd
