/**
 * @file supervise.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "supervise.hpp"
#include "mpirun_job.hpp"
#include "signals.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <sys/stat.h>

namespace dasgd {
namespace cli {

namespace {

//! What tells one version of a file from another; empty if there is no file.
std::string FileVersion(const std::string& path)
{
  struct stat status;
  return (stat(path.c_str(), &status) != 0) ? "" :
      std::to_string(status.st_ino) + " " + std::to_string(
      status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
}

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
  if (end.ended != 0)
    return "ended by signal " + SignalText(end.ended);
  if (end.cause.empty())
    return "the job died (status " + std::to_string(end.status) + ")";
  return (end.rank.empty() ? "a rank" : "rank " + end.rank) + " died (" +
      end.cause + "), and the job with it";
}

} // namespace

int Supervise(std::vector<std::string> command,
              const size_t ranks,
              const std::string& checkpoint,
              const size_t restarts)
{
  setenv("DASGD_SUPERVISED", "1", 1);
  const int signals = ReceiveSignals();

  // With --restart, a checkpoint that exists now is not resumed from.
  const bool fresh = std::find(command.begin(), command.end(), "--restart") !=
      command.end();
  const std::string ignored = fresh ? FileVersion(checkpoint) : "";
  for (size_t again = 0; ; ++again)
  {
    JobEnd end;
    if (!MpirunJob(command, ranks, signals).Run(end))
      return -1;
    const std::string version = FileVersion(checkpoint);
    const bool exists = !version.empty() && version != ignored;
    if (end.ended == 0 && !end.died)
      return end.status;

    std::string line = (end.progressLine ? "\ndasgd: " : "dasgd: ") +
        EndText(end);
    if (!checkpoint.empty())
    {
      line += exists ? "; the last checkpoint is " + checkpoint + ", " +
          AgeText(checkpoint) : "; there is no checkpoint in " + checkpoint +
          " yet";
    }
    const bool more = (again < restarts && end.ended == 0);
    if (more)
    {
      line += "; starting again" + std::string(exists ? " from it" : "") +
          " (" + std::to_string(again + 1) + " of " +
          std::to_string(restarts) + ")";
    }
    else
    {
      if (again > 0)
      {
        line += "; restarted " + std::to_string(again) +
            (again == 1 ? " time" : " times") + " before";
      }
      if (exists)
        line += "; run the same command to resume";
    }
    std::fputs((line + "\n").c_str(), stderr);
    std::fflush(stderr);
    if (!more)
      return (end.ended != 0) ? 128 + end.ended : end.status;
    if (exists)
    {
      command.erase(std::remove(command.begin(), command.end(), "--restart"),
          command.end());
    }
  }
}

} // namespace cli
} // namespace dasgd
