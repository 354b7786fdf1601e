/**
 * @file watched_command.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "watched_command.hpp"
#include "spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

std::string WatchedCommand::Start()
{
  End();
  text.clear();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return std::strerror(errno);
  SpawnSettings settings;
  settings.out = ends[1];
  settings.group = true;
  const int reason = Spawn({ "/bin/sh", "-c", command }, settings, child);
  close(ends[1]);
  output = ends[0];
  if (reason != 0)
  {
    child = -1;
    End();
    return std::strerror(reason);
  }
  until = Clock::now() + std::chrono::seconds(longest);
  return "";
}

bool WatchedCommand::Read(const int milliseconds)
{
  const Clock::time_point end = Clock::now() +
      std::chrono::milliseconds(milliseconds);
  while (true)
  {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now()).count();
    pollfd look = { output, POLLIN, 0 };
    const int ready = poll(&look, 1, int(std::max<long long>(0, left)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return false;
    char buffer[4096];
    const ssize_t count = read(output, buffer, sizeof(buffer));
    if (count <= 0)
      return true;
    text.append(buffer, size_t(count));
  }
}

int WatchedCommand::End()
{
  if (output >= 0)
    close(output);
  output = -1;
  int status = 0;
  if (child > 0)
  {
    // All that it has started, if it still runs; it may have closed its output.
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(200);
    while (waitpid(child, &status, WNOHANG) == 0)
    {
      if (Clock::now() > end)
        kill(-child, SIGKILL);
      poll(nullptr, 0, 1);
    }
  }
  child = -1;
  next = Clock::now() + std::chrono::seconds(pause);
  return status;
}

std::string WatchedCommand::Run(std::string& problem)
{
  problem = Start();
  if (!problem.empty())
    return "";
  if (!Read(1000 * longest))
  {
    kill(-child, SIGKILL);
    End();
    problem = "has not ended after " + std::to_string(longest) + " s";
    return "";
  }
  const int status = End();
  if (status != 0)
  {
    problem = WIFEXITED(status) ? "failed with status " + std::to_string(
        WEXITSTATUS(status)) : "was killed by signal " + std::to_string(
        WTERMSIG(status));
    return "";
  }
  return latest = text;
}

const std::string& WatchedCommand::Latest()
{
  const Clock::time_point now = Clock::now();
  if (child < 0)
  {
    if (now >= next)
      (void) Start();
    return latest;
  }
  if (Read(0))
  {
    const std::string said = text;
    if (End() == 0)
      latest = said;
  }
  else if (now > until)
  {
    kill(-child, SIGKILL);
    End();
  }
  return latest;
}

} // namespace cli
} // namespace dasgd
