/**
 * @file supervise.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "supervise.hpp"
#include "host_check.hpp"
#include "signals.hpp"

#include <ranks/termination.hpp>

#include <dasgd/core/stop_signals.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! How old a file is, as text.
std::string AgeText(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  const double seconds = std::max(0.0, std::difftime(std::time(nullptr),
      status.st_mtime));
  return std::to_string(size_t(seconds)) + " s old";
}

//! What ended the job.
std::string EndText(const JobEnd& end)
{
  const int number = (end.ended != 0) ? end.ended : end.interrupted;
  if (number != 0)
    return "ended by signal " + SignalText(number);
  if (end.cause.empty())
    return "the job died (status " + std::to_string(end.status) + ")";
  return (end.rank.empty() ? "a rank" : "rank " + end.rank) + " died (" +
      end.cause + "), and the job with it";
}

void Say(const std::string& line)
{
  std::fputs(("dasgd: " + line + "\n").c_str(), stderr);
  std::fflush(stderr);
}

//! The next signal that ends this program, if one comes within the time;
//! otherwise 0.
int AwaitSignal(const int signals, const int milliseconds)
{
  pollfd look = { signals, POLLIN, 0 };
  poll(&look, 1, milliseconds);
  SignalNote note;
  while (read(signals, &note, sizeof(note)) == ssize_t(sizeof(note)))
  {
    if (note.number != SIGCHLD && note.number != SIGTSTP &&
        note.number != SIGUSR2)
      return note.number;
  }
  return 0;
}

} // namespace

Supervisor::Supervisor(const Command& command,
                       const RankSource& source,
                       const std::string& checkpoint,
                       const size_t restarts) :
    command(command),
    source(source),
    checkpoint(checkpoint),
    restarts(restarts),
    signals(ReceiveSignals())
{
  // With --restart, a checkpoint that exists now is not resumed from.
  const std::vector<std::string> words = command(Allocation());
  if (std::find(words.begin(), words.end(), "--restart") != words.end())
    ignored = FileVersion(checkpoint);
}

int Supervisor::Run()
{
  (void) Read();
  while (true)
  {
    LeaveOutDeadHosts();
    if (!AwaitRanks())
      return ToBeResumed;
    JobEnd end;
    if (!RunOnce(end))
      return -1;
    progressLine = end.progressLine;
    if (end.changed && end.ended == 0 && (end.interrupted != 0 || end.died))
    {
      Rescale();
      continue;
    }
    if (end.ended == 0 && end.interrupted == 0 && !end.died)
      return end.status;
    const int status = AfterDeath(end);
    if (status >= 0)
      return status;
  }
}

bool Supervisor::Read()
{
  std::string problem;
  const Allocation read = source.Read(problem);
  if (!problem.empty())
  {
    Say(source.Name() + ": " + problem + "; " + (allocation.ranks > 0 ?
        "it stays at " + RanksText(allocation.ranks) : "waiting for another"));
    return false;
  }
  allocation = read;
  return true;
}

bool Supervisor::AwaitRanks()
{
  const size_t least = source.Settings().elastic ? source.Settings().least : 1;
  const size_t none = size_t(-1);
  size_t said = none;
  for (size_t tries = 1; allocation.ranks < least; ++tries)
  {
    if (said != allocation.ranks)
    {
      Say(RanksText(allocation.ranks) + ", fewer than --min_ranks " +
          std::to_string(least) + "; waiting for more");
    }
    said = allocation.ranks;
    const int number = AwaitSignal(signals, 250);
    if (number != 0)
    {
      Say("ended by signal " + SignalText(number) + CheckpointText());
      return false;
    }
    // Machines come back without a change of the file.
    if (source.Changed() || (!allocation.hosts.empty() && tries % 40 == 0))
    {
      (void) Read();
      LeaveOutDeadHosts();
    }
  }
  return true;
}

bool Supervisor::RunOnce(JobEnd& end)
{
  std::vector<std::string> words = command(allocation);
  if (Resumes())
  {
    words.erase(std::remove(words.begin(), words.end(), "--restart"),
        words.end());
  }
  MpirunJob job(words, allocation.ranks, signals, !checkpoint.empty());
  return job.Run(end, [this]()
  {
    if (!source.Settings().elastic || !source.Changed())
      return false;
    const Allocation before = allocation;
    // What cannot be read now may be about to be written.
    return Read() && !(allocation == before);
  });
}

void Supervisor::Rescale()
{
  if (progressLine)
    std::fputs("\n", stderr);
  if (allocation.ranks >= source.Settings().least)
  {
    Say("now " + RanksText(allocation.ranks) + ", as " + source.Name() +
        " says; starting again" + (Resumes() ? " from " + checkpoint : ""));
  }
}

int Supervisor::AfterDeath(const JobEnd& end)
{
  const bool elastic = source.Settings().elastic;
  const bool signalled = (end.ended != 0 || end.interrupted != 0);
  const std::string version = FileVersion(checkpoint);
  if (elastic && version != seen)
    again = 0;
  seen = version;
  std::string line = EndText(end) + CheckpointText();
  const bool more = (again < restarts && !signalled);
  if (more)
  {
    ++again;
    line += "; starting again" + std::string(Resumes() ? " from it" : "") +
        " (" + std::to_string(again) + " of " + std::to_string(restarts) + ")";
  }
  else
  {
    if (again > 0)
    {
      line += "; restarted " + std::to_string(again) +
          (again == 1 ? " time" : " times") + " before";
    }
    if (Resumes())
      line += "; run the same command to resume";
  }
  if (progressLine)
    std::fputs("\n", stderr);
  Say(line);
  if (end.interrupted != 0)
    return ToBeResumed;
  if (!more)
    return (end.ended != 0) ? 128 + end.ended : end.status;
  if (elastic)
    (void) Read();
  return -1;
}

void Supervisor::LeaveOutDeadHosts()
{
  const std::vector<Host> all = allocation.hosts;
  if (all.empty() || !source.Settings().elastic)
    return;
  allocation.hosts = HostsThatAnswer(all);
  if (allocation.hosts.size() == all.size())
    return;
  size_t slots = 0;
  std::string missing, check;
  for (const Host& host : all)
  {
    if (std::find(allocation.hosts.begin(), allocation.hosts.end(), host) !=
        allocation.hosts.end())
    {
      slots += host.slots;
      continue;
    }
    missing += (missing.empty() ? "" : ", ") + host.name;
    if (check.empty())
      check = HostCheckText(host);
  }
  allocation.ranks = std::min(allocation.ranks, slots);
  Say("without " + missing + ", which cannot be reached (\"" + check +
      "\" fails): " + RanksText(allocation.ranks));
}

std::string Supervisor::CheckpointText() const
{
  if (checkpoint.empty())
    return "";
  return Resumes() ? "; the last checkpoint is " + checkpoint + ", " +
      AgeText(checkpoint) : "; there is no checkpoint in " + checkpoint +
      " yet";
}

bool Supervisor::Resumes() const
{
  const std::string version = FileVersion(checkpoint);
  return !version.empty() && version != ignored;
}

} // namespace cli
} // namespace dasgd
