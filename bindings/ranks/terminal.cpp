/**
 * @file terminal.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "terminal.hpp"
#include "ranks.hpp"

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! Under mpirun standard error is a pipe to mpirun: where that writes to.
std::string ParentStandardError()
{ return "/proc/" + std::to_string(getppid()) + "/fd/2"; }

} // namespace

bool OnTerminal()
{
  if (isatty(STDERR_FILENO) || std::getenv("DASGD_TERMINAL"))
    return true;
  char target[256];
  const ssize_t length = readlink(ParentStandardError().c_str(), target,
      sizeof(target));
  const std::string name(target, length > 0 ? size_t(length) : 0);
  return Launched() && (name.rfind("/dev/pts/", 0) == 0 ||
      name.rfind("/dev/tty", 0) == 0);
}

size_t TerminalColumns()
{
  winsize size = { };
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const int terminal = Launched() ? open(ParentStandardError().c_str(),
      O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
  if (terminal >= 0)
  {
    ioctl(terminal, TIOCGWINSZ, &size);
    close(terminal);
  }
  const char* given = std::getenv("COLUMNS");
  const int columns = given ? std::atoi(given) : 0;
  return size.ws_col > 0 ? size.ws_col : columns > 0 ? size_t(columns) : 80;
}

volatile std::sig_atomic_t& ProgressShown()
{
  static volatile std::sig_atomic_t shown = 0;
  return shown;
}

} // namespace cli
} // namespace dasgd
