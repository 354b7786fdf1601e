/**
 * @file host_check.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "host_check.hpp"
#include "spawn.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! The words by which mpirun starts something on another machine, if the user
//! has named any.
std::vector<std::string> NamedAgent()
{
  for (const char* name : { "OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent",
      "HYDRA_LAUNCHER_EXEC" })
  {
    const char* value = std::getenv(name);
    if (!value || !*value)
      continue;
    std::istringstream text(value);
    std::vector<std::string> words;
    for (std::string word; text >> word; )
      words.push_back(word);
    return words;
  }
  return { };
}

//! The same, or ssh.
std::vector<std::string> Agent()
{
  const std::vector<std::string> named = NamedAgent();
  return !named.empty() ? named : std::vector<std::string>{ "ssh", "-o",
      "BatchMode=yes", "-o", "ConnectTimeout=5" };
}

//! Is it this machine?
bool IsHere(const std::string& name)
{
  char own[256] = "";
  gethostname(own, sizeof(own) - 1);
  const std::string here = own;
  return name == "localhost" || name == "127.0.0.1" || name == here ||
      here.compare(0, name.size() + 1, name + ".") == 0;
}

} // namespace

std::string HostCheckText(const Host& host)
{
  std::string text;
  for (const std::string& word : Agent())
    text += word + " ";
  return text + host.name + " true";
}

std::vector<Host> HostsThatAnswer(const std::vector<Host>& hosts)
{
  // In an allocation of Slurm, mpirun starts by srun, and Slurm itself looks
  // after its nodes.
  if (std::getenv("SLURM_JOB_ID") && NamedAgent().empty())
    return hosts;
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  SpawnSettings settings;
  settings.in = settings.out = settings.error = nowhere;
  std::vector<pid_t> asked(hosts.size(), 0);
  std::vector<bool> answers(hosts.size(), false);
  for (size_t i = 0; i < hosts.size(); ++i)
  {
    std::vector<std::string> words = Agent();
    words.insert(words.end(), { hosts[i].name, "true" });
    answers[i] = IsHere(hosts[i].name);
    if (!answers[i] && Spawn(words, settings, asked[i]) != 0)
      asked[i] = 0;
  }
  if (nowhere >= 0)
    close(nowhere);
  const auto limit = std::chrono::steady_clock::now() +
      std::chrono::seconds(10);
  for (size_t i = 0; i < hosts.size(); ++i)
  {
    int status = 0;
    while (asked[i] > 0 && waitpid(asked[i], &status, WNOHANG) == 0)
    {
      if (std::chrono::steady_clock::now() >= limit)
        kill(asked[i], SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    answers[i] = answers[i] || (asked[i] > 0 && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0);
  }
  std::vector<Host> left;
  for (size_t i = 0; i < hosts.size(); ++i)
  {
    if (answers[i])
      left.push_back(hosts[i]);
  }
  return left;
}

} // namespace cli
} // namespace dasgd
