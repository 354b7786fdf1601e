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

  //! What was held back to the end.
  std::string Rest()
  {
    const std::string rest = block + line;
    block.clear();
    line.clear();
    return rest;
  }

  //! Which rank died, and how; empty if mpirun did not say so.
  const std::string& Rank() const { return rank; }
  const std::string& Cause() const { return cause; }

 private:
  void Take(const char c, std::string& out)
  {
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
  std::string rank;
  std::string cause;
};

//! The job that a signal is passed on to; 0 if there is none.
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

//! How old a file is, in words; empty if there is none.
inline std::string Age(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  const double seconds = std::max(0.0, std::difftime(std::time(nullptr),
      status.st_mtime));
  return std::to_string(size_t(seconds)) + " s ago";
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
  struct sigaction pass = { };
  pass.sa_handler = [](const int number)
  {
    SupervisorSignal() = number;
    if (SupervisedJob() > 0)
      kill(pid_t(SupervisedJob()), number);
  };
  for (const int number : { SIGTERM, SIGINT, SIGHUP })
    sigaction(number, &pass, nullptr);

  for (size_t again = 0; ; ++again)
  {
    int started[2], errors[2];
    if (pipe(started) != 0 || pipe(errors) != 0)
      return -1;
    const pid_t child = fork();
    if (child < 0)
      return -1;
    if (child == 0)
    {
      for (const int number : { SIGTERM, SIGINT, SIGHUP })
        std::signal(number, SIG_DFL);
      // Closed by the exec that it would tell the failure of.
      close(started[0]);
      fcntl(started[1], F_SETFD, FD_CLOEXEC);
      dup2(errors[1], STDERR_FILENO);
      close(errors[0]);
      close(errors[1]);
      std::vector<char*> argv;
      for (std::string& word : command)
        argv.push_back(&word[0]);
      argv.push_back(nullptr);
      execvp(argv[0], argv.data());
      const int reason = errno;
      if (write(started[1], &reason, sizeof(reason)) < 0)
        _exit(126);
      _exit(127);
    }
    SupervisedJob() = child;
    if (SupervisorSignal() != 0)
      kill(child, SupervisorSignal());
    close(started[1]);
    close(errors[1]);
    int reason = 0;
    if (read(started[0], &reason, sizeof(reason)) != ssize_t(sizeof(reason)))
      reason = 0;
    close(started[0]);

    MpirunFilter filter;
    char bytes[4096];
    const auto print = [](const std::string& text)
    {
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    };
    for (;;)
    {
      const ssize_t length = read(errors[0], bytes, sizeof(bytes));
      if (length > 0)
        print(filter.Take(bytes, size_t(length)));
      else if (length == 0 || errno != EINTR)
        break;
    }
    close(errors[0]);
    print(filter.Rest());
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
    SupervisedJob() = 0;
    if (reason != 0)
    {
      errno = reason;
      return -1;
    }

    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
        WEXITSTATUS(status);
    const bool died = !filter.Rank().empty() || code > 128;
    if (code == 0 || !died || SupervisorSignal() != 0)
      return (code == 0 && SupervisorSignal() != 0) ?
          128 + SupervisorSignal() : code;

    std::string line = "dasgd: ";
    line += filter.Rank().empty() ? "the job died (status " +
        std::to_string(code) + ")" : "rank " + filter.Rank() + " died (" +
        filter.Cause() + "), and the job with it";
    const std::string age = Age(checkpoint);
    line += age.empty() ? "; there is no checkpoint in " + checkpoint + " yet" :
        "; the last checkpoint is " + checkpoint + ", of " + age;
    const bool more = (again < restarts);
    if (more)
    {
      line += "; starting again" + std::string(age.empty() ? "" : " from it") +
          " (" + std::to_string(again + 1) + " of " +
          std::to_string(restarts) + ")";
    }
    else if (restarts > 0)
      line += "; it has been started again " + std::to_string(restarts) +
          " times";
    else if (!age.empty())
      line += "; the same command goes on from it";
    print(line + "\n");
    if (!more)
      return code;
    // What was to be ignored was what there was at first.
    for (size_t i = 0; i < command.size(); )
    {
      if (command[i] == "--restart")
        command.erase(command.begin() + std::ptrdiff_t(i));
      else
        ++i;
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
  if (std::getenv("DASGD_SUPERVISED") || checkpoint.size() >= sizeof(path))
    return;
  std::strcpy(path, checkpoint.c_str());
  std::snprintf(line, sizeof(line), "dasgd: the job is ended; the last "
      "checkpoint is %s, and the same command goes on from it\n", path);
  struct sigaction before, last = { };
  last.sa_handler = [](const int number)
  {
    struct stat status;
    if (stat(path, &status) == 0 && write(STDERR_FILENO, line,
        std::strlen(line)) < 0)
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
