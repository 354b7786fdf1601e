/**
 * @file terminal.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "terminal.hpp"

#include <ranks/job_channel.hpp>
#include <ranks/ranks.hpp>

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! Where mpirun's own stream is, to which it passes that of this rank on.
std::string ParentStream(const int file)
{ return "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(file); }

bool ParentOnTerminal(const int file)
{
  char target[256];
  const ssize_t length = readlink(ParentStream(file).c_str(), target,
      sizeof(target));
  const std::string name(target, length > 0 ? size_t(length) : 0);
  return name.rfind("/dev/pts/", 0) == 0 || name.rfind("/dev/tty", 0) == 0;
}

} // namespace

bool OnTerminal()
{
  if (isatty(STDERR_FILENO) || std::getenv("DASGD_TERMINAL"))
    return true;
  return Launched() && ParentOnTerminal(STDERR_FILENO);
}

bool Colours(const int file)
{
  // Open MPI gives a rank something like a terminal, whatever it has itself.
  return isatty(file) && !std::getenv("NO_COLOR") && (!Launched() ||
      JobChannel::Get().Connected() || ParentOnTerminal(file));
}

size_t TerminalColumns()
{
  winsize size = { };
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const int terminal = Launched() ? open(ParentStream(STDERR_FILENO).c_str(),
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
