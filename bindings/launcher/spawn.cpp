/**
 * @file spawn.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "spawn.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

void SignalWithParent(const int signal) { prctl(PR_SET_PDEATHSIG, signal); }

// posix_spawn() would do, but for SignalWithParent(), which only the child
// itself can call, before it becomes another program.
int Spawn(const std::vector<std::string>& command,
          const SpawnSettings& settings,
          pid_t& child)
{
  std::vector<char*> argv;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  // Closed without a byte when the program has started.
  int problem[2];
  if (pipe2(problem, O_CLOEXEC) != 0)
    return errno;
  // No handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  child = fork();
  if (child == 0)
  {
    for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGUSR1,
        SIGUSR2, SIGCHLD })
    {
      // What nohup and the like ignore stays ignored.
      struct sigaction action;
      if (sigaction(number, nullptr, &action) == 0 &&
          action.sa_handler != SIG_IGN)
        std::signal(number, SIG_DFL);
    }
    std::signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (settings.group)
      setpgid(0, 0);
    SignalWithParent(SIGTERM);
    if (getppid() != parent)
      _exit(127);
    const int streams[3] = { settings.in, settings.out, settings.error };
    for (int i = 0; i < 3; ++i)
    {
      if (streams[i] >= 0)
        dup2(streams[i], i);
    }
    execvp(argv[0], argv.data());
    const int reason = errno;
    _exit(write(problem[1], &reason, sizeof(reason)) < 0 ? 126 : 127);
  }
  int reason = (child < 0) ? errno : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child > 0 && settings.group)
    setpgid(child, child); // Whoever of the two is first.
  close(problem[1]);
  while (child > 0 && read(problem[0], &reason, sizeof(reason)) < 0 &&
      errno == EINTR) { }
  close(problem[0]);
  int status;
  if (child > 0 && reason != 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
  return reason;
}

} // namespace cli
} // namespace dasgd
