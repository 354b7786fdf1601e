/**
 * @file termination.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "termination.hpp"
#include "job_channel.hpp"
#include "ranks.hpp"

#include <terminal/terminal.hpp>

#include <dasgd/core/stop_signals.hpp>
#include <dasgd/files/whole_file.hpp>

#include <chrono>
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
bool told = false;

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
          number == SIGHUP ? "1, Hangup" : number == SIGUSR1 ?
          "10, User defined signal 1" : "15, Terminated");
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
  for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGUSR1 })
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

TerminationNotice::TerminationNotice(const bool used)
{
  // A program that has started its ranks looks after them; and one that is
  // alone ends at once.
  if (used && Launched() && !JobChannel::Get().Connected())
    thread = std::thread([this]() { Watch(); });
}

TerminationNotice::~TerminationNotice()
{
  {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void TerminationNotice::Watch()
{
  // mpirun kills ranks a second after it has told them to end, Slurm after half
  // a minute.
  const auto often = std::chrono::milliseconds(100);
  const size_t tellAfter = 5, endAfter = 100;
  size_t since = 0;
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, often, [this]() { return over; }))
  {
    since += (StopSignals::Come() != 0);
    const int come = StopSignals::Come();
    if (since >= endAfter && (come == SIGTERM || come == SIGINT))
    {
      std::signal(come, SIG_DFL);
      raise(come);
    }
    struct stat status;
    if (since != tellAfter || stat(checkpointPath, &status) != 0)
      continue;
    std::fprintf(stderr, "%sdasgd: the job was ended%s\n",
        ProgressShown() ? "\n" : "", checkpointText);
    std::fflush(stderr);
    told = true;
  }
}

bool TerminationNotice::Told() { return told; }

} // namespace cli
} // namespace dasgd
