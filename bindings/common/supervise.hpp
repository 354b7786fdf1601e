/**
 * @file supervise.hpp
 *
 * A job that is watched: who died in it is said in one line, and it is started
 * again from its checkpoint if so asked.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_SUPERVISE_HPP
#define DASGD_BINDINGS_COMMON_SUPERVISE_HPP

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

/**
 * What mpirun writes, passed on, but for its own lines on a rank that died:
 * they stand between two rules, and are said shorter.
 */
class MpirunFilter
{
 public:
  //! What to print of some more bytes.
  std::string Take(const char* text, const size_t length)
  {
    std::string out;
    for (size_t i = 0; i < length; ++i)
      Take(text[i], out);
    return out;
  }

  //! What was held back: to the end, or for too long.
  std::string Rest()
  {
    const std::string rest = block + line;
    fresh = line.empty();
    block.clear();
    line.clear();
    return rest;
  }

  //! Which rank died, and how; empty if mpirun did not say so.  MPICH's does
  //! not say which.
  const std::string& Rank() const { return rank; }
  const std::string& Cause() const { return cause; }

 private:
  void Take(const char c, std::string& out)
  {
    recent += c;
    if (c == '\n')
    {
      const std::string mark = "EXIT STRING: ";
      const size_t at = recent.find(mark);
      if (at != std::string::npos && recent.find("(signal ") !=
          std::string::npos)
      {
        const size_t begin = recent.find("(signal ") + 1;
        cause = recent.substr(begin, recent.find(')') - begin) + ", " +
            recent.substr(at + mark.size(), recent.find(" (signal ") - at -
            mark.size());
      }
      recent.clear();
    }
    else if (recent.size() > 1000)
      recent.clear();
    line += c;
    if (c != '\n')
    {
      // Nothing waits for the end of its line that cannot be a rule.
      if (block.empty() && line.find_first_not_of('-') != std::string::npos)
        Flush(out);
      return;
    }
    const bool rule = fresh && line.size() > 60 &&
        line.find_first_not_of('-') == line.size() - 1;
    fresh = true;
    if (block.empty() && !rule)
    {
      Flush(out);
      fresh = true;
      return;
    }
    const bool closes = rule && !block.empty();
    block += line;
    line.clear();
    // Some of what is between rules is no message of this kind.
    if (closes || block.size() > 8192)
    {
      if (!Died(block))
        out += block;
      block.clear();
    }
  }

  void Flush(std::string& out)
  {
    fresh = (line.back() == '\n');
    out += line;
    line.clear();
  }

  //! Is this about a rank that died, or follows from it?
  bool Died(const std::string& text)
  {
    const size_t at = text.find("noticed that process rank ");
    const size_t on = text.find("exited on signal ");
    if (at != std::string::npos && on != std::string::npos)
    {
      const size_t begin = at + std::strlen("noticed that process rank ");
      rank = text.substr(begin, text.find_first_not_of("0123456789", begin) -
          begin);
      const size_t end = text.find_first_of(".\n", on);
      const size_t number = on + std::strlen("exited on signal ");
      cause = "signal " + text.substr(number, end - number);
      // "9 (Killed)" becomes "9, Killed".
      const size_t open = cause.find(" (");
      if (open != std::string::npos && cause.back() == ')')
      {
        cause.pop_back();
        cause.replace(open, 2, ", ");
      }
      return true;
    }
    return text.find("Primary job  terminated normally, but") !=
        std::string::npos;
  }

  //! The line so far, if it is held back, and whether it is whole.
  std::string line;
  bool fresh = true;
  //! Lines since a rule.
  std::string block;
  //! The line so far, whether it is held back or not.
  std::string recent;
  std::string rank;
  std::string cause;
};

//! The job that a signal is passed on to, and the last signal; 0 if none.
inline volatile sig_atomic_t& SupervisedJob()
{
  static volatile sig_atomic_t job = 0;
  return job;
}
inline volatile sig_atomic_t& SupervisorSignal()
{
  static volatile sig_atomic_t number = 0;
  return number;
}

//! What stands for the content of a file: another one has another.
inline std::string Mark(const std::string& path)
{
  struct stat status;
  return (stat(path.c_str(), &status) != 0) ? "" :
      std::to_string(status.st_ino) + " " + std::to_string(
      status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
}

//! How old a file is, in words.
inline std::string Age(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  const double seconds = std::max(0.0, std::difftime(std::time(nullptr),
      status.st_mtime));
  return std::to_string(size_t(seconds)) + " s ago";
}

//! How a job ended.
struct JobEnd
{
  //! As of a shell: 128 and more for a signal.
  int status = 0;
  //! Did a rank die, which one, and of what?
  bool died = false;
  std::string rank;
  std::string cause;
};

/**
 * Run a command to its end, with its standard error passed on.
 *
 * @return False if it could not be started, with errno set.
 */
inline bool RunJob(std::vector<std::string>& command, JobEnd& end)
{
  int started[2], errors[2];
  if (pipe(started) != 0 || pipe(errors) != 0)
    return false;
  // A signal in between must reach the right one of the two.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0)
  {
    for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2,
        SIGPIPE })
      std::signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    // Whatever happens to this program, its job does not outlive it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(started[0]);
    close(errors[0]);
    fcntl(started[1], F_SETFD, FD_CLOEXEC); // Closed if all goes well.
    dup2(errors[1], STDERR_FILENO);
    close(errors[1]);
    std::vector<char*> argv;
    for (std::string& word : command)
      argv.push_back(&word[0]);
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    const int reason = errno;
    _exit(write(started[1], &reason, sizeof(reason)) < 0 ? 126 : 127);
  }
  SupervisedJob() = (child > 0) ? child : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(started[1]);
  close(errors[1]);
  int reason = 0;
  ssize_t length = 0;
  while (child > 0 && (length = read(started[0], &reason,
      sizeof(reason))) < 0 && errno == EINTR) { }
  close(started[0]);

  MpirunFilter filter;
  const auto print = [](const std::string& text)
  {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  int status = 0;
  bool over = (child < 0);
  char bytes[4096];
  for (;;)
  {
    pollfd look = { errors[0], POLLIN, 0 };
    const int ready = poll(&look, 1, 1000);
    if (ready > 0)
    {
      length = read(errors[0], bytes, sizeof(bytes));
      if (length > 0)
        print(filter.Take(bytes, size_t(length)));
      else if (length == 0 || errno != EINTR)
        break;
    }
    else if (ready == 0)
    {
      // Nobody has to wait for what cannot be told from a message of mpirun;
      // nor for somebody else who has its standard error.
      print(filter.Rest());
      over = over || waitpid(child, &status, WNOHANG) == child;
      if (over)
        break;
    }
    else if (errno != EINTR)
      break;
  }
  close(errors[0]);
  print(filter.Rest());
  while (!over && waitpid(child, &status, 0) < 0 && errno == EINTR) { }
  SupervisedJob() = 0;
  if (child < 0 || reason != 0)
  {
    errno = (child < 0) ? EAGAIN : reason;
    return false;
  }
  end.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
      WEXITSTATUS(status);
  end.rank = filter.Rank();
  end.cause = filter.Cause();
  end.died = !end.cause.empty() || (end.status > 128 && end.status < 160);
  return true;
}

/**
 * Run a command until it ends otherwise than by the death of a rank, or has
 * been started again often enough.
 *
 * @param command The command; the first word is the program.
 * @param checkpoint The file that it goes on from when it is started again.
 * @param restarts How often at most.
 * @return Its exit status; -1 if it could not be started, with errno set.
 */
inline int Supervise(std::vector<std::string> command,
                     const std::string& checkpoint,
                     const size_t restarts)
{
  setenv("DASGD_SUPERVISED", "1", 1);
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction pass = { };
  pass.sa_flags = SA_SIGINFO;
  pass.sa_sigaction = [](const int number, siginfo_t* info, void*)
  {
    SupervisorSignal() = number;
    // What comes from the terminal has reached mpirun as well, which takes a
    // second one for a reason to leave at once, without its ranks.
    if (SupervisedJob() > 0 && info->si_code != SI_KERNEL)
      kill(pid_t(SupervisedJob()), number);
  };
  for (const int number : { SIGTERM, SIGINT, SIGHUP })
    sigaction(number, &pass, nullptr);
  struct sigaction user = pass;
  user.sa_sigaction = [](const int number, siginfo_t*, void*)
  {
    if (SupervisedJob() > 0)
      kill(pid_t(SupervisedJob()), number);
  };
  for (const int number : { SIGUSR1, SIGUSR2 })
    sigaction(number, &user, nullptr);

  // What is to be ignored is what there is now.
  const bool anew = std::find(command.begin(), command.end(), "--restart") !=
      command.end();
  const std::string ignored = anew ? Mark(checkpoint) : "";
  for (size_t again = 0; ; ++again)
  {
    JobEnd end;
    if (!RunJob(command, end))
      return -1;
    const std::string mark = Mark(checkpoint);
    const bool there = !mark.empty() && mark != ignored;
    const int number = SupervisorSignal();
    if (number == 0 && (end.status == 0 || !end.died))
      return end.status;

    std::string line = "dasgd: ";
    if (number != 0)
      line += "ended by signal " + std::to_string(number);
    else
      line += end.cause.empty() ? "the job died (status " +
        std::to_string(end.status) + ")" : (end.rank.empty() ? "a rank" :
        "rank " + end.rank) + " died (" + end.cause + "), and the job with it";
    line += there ? "; the last checkpoint is " + checkpoint + ", of " +
        Age(checkpoint) : "; there is no checkpoint of it in " + checkpoint +
        " yet";
    const bool more = (again < restarts && number == 0);
    if (more)
    {
      line += "; starting again" + std::string(there ? " from it" : "") + " (" +
          std::to_string(again + 1) + " of " + std::to_string(restarts) + ")";
    }
    else
    {
      if (again > 0)
      {
        line += "; it has been started again " + std::to_string(again) +
            (again == 1 ? " time" : " times");
      }
      if (there)
        line += "; the same command goes on from it";
    }
    std::fputs((line + "\n").c_str(), stderr);
    std::fflush(stderr);
    if (!more)
      return (number != 0) ? 128 + number : end.status;
    if (there)
    {
      command.erase(std::remove(command.begin(), command.end(), "--restart"),
          command.end());
    }
  }
}

/**
 * Under somebody else's mpirun, which ends all ranks when one dies: let rank 0
 * say in its last moments where the checkpoint is.
 */
inline void SayOnTermination(const std::string& checkpoint)
{
  static char path[4096], line[8192];
  static const pid_t owner = getpid();
  if (std::getenv("DASGD_SUPERVISED") || checkpoint.size() >= sizeof(path))
    return;
  std::strcpy(path, checkpoint.c_str());
  std::snprintf(line, sizeof(line), "dasgd: the job is ended; the last "
      "checkpoint is %s, and the same command goes on from it\n", path);
  struct sigaction before, last = { };
  last.sa_handler = [](const int number)
  {
    struct stat status;
    // A child of fork() has the same handler, but nothing to say.
    if (getpid() == owner && stat(path, &status) == 0 && write(STDERR_FILENO,
        line, std::strlen(line)) < 0)
      _exit(128 + number);
    std::signal(number, SIG_DFL);
    raise(number);
  };
  if (sigaction(SIGTERM, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
    sigaction(SIGTERM, &last, nullptr);
}

} // namespace cli
} // namespace dasgd

#endif
