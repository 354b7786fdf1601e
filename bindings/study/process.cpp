/**
 * @file process.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "process.hpp"

#include <launcher/spawn.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace study {

Interruption::Interruption()
{
  Signal() = 0;
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = [](const int signal) { Signal() = signal; };
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < count; ++i)
    sigaction(signals[i], &action, &before[i]);
}

Interruption::~Interruption()
{
  for (size_t i = 0; i < count; ++i)
    sigaction(signals[i], &before[i], nullptr);
}

volatile std::sig_atomic_t& Interruption::Signal()
{
  static volatile std::sig_atomic_t signal = 0;
  return signal;
}

Ending RunProcess(const std::vector<std::string>& command,
                  const std::string& log,
                  const double seconds,
                  const std::function<void()>& wait)
{
  using Clock = std::chrono::steady_clock;
  cli::SpawnSettings settings;
  settings.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  settings.out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
      0666);
  settings.error = settings.out;
  // What is typed on the terminal goes to the study, which then ends its runs
  // itself.
  settings.group = true;
  Ending ending;
  pid_t child = 0;
  ending.startError = cli::Spawn(command, settings, child);
  for (const int file : { settings.in, settings.out })
  {
    if (file >= 0)
      close(file);
  }
  if (ending.startError != 0)
    return ending;

  const Clock::time_point start = Clock::now();
  Clock::time_point asked;
  bool asking = false;
  int status = 0;
  for (size_t round = 0; ; ++round)
  {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR))
      break;
    const Clock::time_point now = Clock::now();
    if (!asking)
    {
      ending.interrupted = Interruption::Signal() != 0;
      ending.timeout = !ending.interrupted &&
          std::chrono::duration<double>(now - start).count() > seconds;
      if (ending.interrupted || ending.timeout)
      {
        // mpirun ends its processes if it is asked to end.
        kill(-child, SIGTERM);
        asking = true;
        asked = now;
      }
    }
    else if (now - asked > std::chrono::seconds(3))
      kill(-child, SIGKILL);
    if (wait && round % 10 == 0)
      wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (WIFSIGNALED(status))
    ending.signal = WTERMSIG(status);
  else
    ending.status = WEXITSTATUS(status);
  return ending;
}

} // namespace study
} // namespace dasgd
