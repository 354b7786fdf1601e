/**
 * @file process.hpp
 *
 * Starts a program and waits for its end, but not for ever.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_PROCESS_HPP
#define DASGD_BINDINGS_STUDY_PROCESS_HPP

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace dasgd {
namespace study {

//! How a program ended.
struct Ending
{
  bool timeout = false;
  bool interrupted = false;
  //! Could it not be started, and why?
  int startError = 0;
  //! Exit status, or the signal that ended it.
  int status = 0;
  int signal = 0;

  bool Fine() const
  {
    return !timeout && !interrupted && startError == 0 && status == 0 &&
        signal == 0;
  }
};

//! Whoever started this process is gone: then it has no reason to go on.
inline void DieWithParent(const int signal)
{
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, signal);
#else
  (void) signal;
#endif
}

/**
 * Signals that ask the study to end: noted while an object of this class lives.
 * The running program is then ended first, and what is there is kept.
 */
class Interruption
{
 public:
  Interruption()
  {
    Signal() = 0;
    struct sigaction action;
    std::memset(&action, 0, sizeof(action));
    action.sa_handler = [](const int signal) { Signal() = signal; };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < count; ++i)
      sigaction(signals[i], &action, &before[i]);
  }

  ~Interruption()
  {
    for (size_t i = 0; i < count; ++i)
      sigaction(signals[i], &before[i], nullptr);
  }

  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  //! Which has come; 0 if none has.
  static volatile std::sig_atomic_t& Signal()
  {
    static volatile std::sig_atomic_t signal = 0;
    return signal;
  }

 private:
  static constexpr size_t count = 3;
  const int signals[count] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction before[count];
};

/**
 * Run a program.
 *
 * @param command Program and arguments.
 * @param log File for all that it prints.
 * @param seconds How long it may take.
 * @param wait Called some times a second.
 */
inline Ending RunProcess(std::vector<std::string> command,
                         const std::string& log,
                         const double seconds,
                         const std::function<void()>& wait)
{
  using Clock = std::chrono::steady_clock;
  std::vector<char*> argv;
  for (std::string& word : command)
    argv.push_back(&word[0]);
  argv.push_back(nullptr);

  // Through this pipe it is known whether the program could be started.
  int fate[2];
  if (pipe(fate) != 0)
  {
    throw std::runtime_error(std::string("No process can be started (") +
        std::strerror(errno) + "); end other programs and start again!");
  }
  fcntl(fate[1], F_SETFD, FD_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
  {
    const int reason = errno;
    close(fate[0]);
    close(fate[1]);
    throw std::runtime_error(std::string("No process can be started (") +
        std::strerror(reason) + "); end other programs and start again!");
  }
  if (child == 0)
  {
    // A group of its own: what is typed on the terminal goes to the study,
    // which then ends its runs itself.
    setpgid(0, 0);
    DieWithParent(SIGTERM);
    for (const int signal : { SIGINT, SIGTERM, SIGHUP })
      ::signal(signal, SIG_DFL);
    const int in = open("/dev/null", O_RDONLY);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (getppid() != parent)
      _exit(127);
    if (in >= 0)
      dup2(in, STDIN_FILENO);
    if (out >= 0)
    {
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
    }
    execvp(argv[0], argv.data());
    const int reason = errno;
    const ssize_t ignored = write(fate[1], &reason, sizeof(reason));
    (void) ignored;
    _exit(127);
  }
  close(fate[1]);
  setpgid(child, child);

  Ending ending;
  if (read(fate[0], &ending.startError, sizeof(ending.startError)) !=
      ssize_t(sizeof(ending.startError)))
    ending.startError = 0;
  close(fate[0]);

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

#endif
