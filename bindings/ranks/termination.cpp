/**
 * @file termination.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "termination.hpp"
#include "job_channel.hpp"
#include "ranks.hpp"
#include "terminal.hpp"

#include <dasgd/core/whole_file.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

// A signal handler must not allocate, so that its texts are made before.
char checkpointPath[4096];
char checkpointText[8192];
pid_t owner;
bool alone;

void Handler(const int number)
{
  PartFiles::Remove();
  // A child of fork() has the same handler, but nothing to report.
  if (getpid() == owner && !JobChannel::Get().Send(RankMessage::Signalled,
      number))
  {
    struct stat status;
    const bool exists = checkpointPath[0] && stat(checkpointPath, &status) == 0;
    // Written at once, since several ranks may do so.
    char line[sizeof(checkpointText) + 100] = "";
    if (ProgressShown())
      std::strcat(line, "\n");
    if (alone)
    {
      std::strcat(line, "dasgd: ended by signal ");
      std::strcat(line, number == SIGINT ? "2, Interrupt" :
          number == SIGHUP ? "1, Hangup" : "15, Terminated");
    }
    else if (exists)
      std::strcat(line, "dasgd: the job was ended");
    if (exists)
      std::strcat(line, checkpointText);
    if (alone || exists)
      std::strcat(line, "\n");
    const ssize_t ignored = write(STDERR_FILENO, line, std::strlen(line));
    (void) ignored; // There is nobody left to tell.
  }
  std::signal(number, SIG_DFL);
  raise(number);
}

} // namespace

void HandleTermination()
{
  owner = getpid();
  alone = !Launched();
  // Made now, not in the handler.
  JobChannel::Get();
  (void) &ProgressShown();
  struct sigaction before, action = { };
  action.sa_handler = Handler;
  // UCX, which some MPIs load, installs a handler of SIGHUP that does not end
  // the process; so whatever handler there is gets replaced.
  for (const int number : { SIGTERM, SIGINT, SIGHUP })
  {
    if (sigaction(number, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN)
      sigaction(number, &action, nullptr);
  }
}

void HandleTermination(const std::string& checkpoint)
{
  if (checkpoint.size() >= sizeof(checkpointPath))
    return;
  std::snprintf(checkpointText, sizeof(checkpointText), "; the last checkpoint "
      "is %s; run the same command to resume", checkpoint.c_str());
  std::strcpy(checkpointPath, checkpoint.c_str());
  HandleTermination();
}

} // namespace cli
} // namespace dasgd
