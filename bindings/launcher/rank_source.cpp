/**
 * @file rank_source.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "rank_source.hpp"
#include "launch.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

namespace dasgd {
namespace cli {

namespace {

//! A whole number of at least 1 that is all of a text; otherwise 0.
size_t WholeNumber(const std::string& text)
{
  size_t value = 0;
  for (const char c : text)
  {
    if (c < '0' || c > '9' || value > 65536)
      return 0;
    value = 10 * value + size_t(c - '0');
  }
  return (value <= 65536) ? value : 0;
}

//! The machine of one line; one without a name if there is none in it.
Host ReadHost(std::string line, std::string& problem)
{
  line.erase(std::min(line.find('#'), line.size()));
  std::istringstream words(line);
  Host host;
  words >> host.name;
  std::string slots;
  const size_t colon = host.name.rfind(':');
  if (colon != std::string::npos)
  {
    slots = host.name.substr(colon + 1);
    host.name.erase(colon);
  }
  for (std::string word; words >> word; )
  {
    if (word.compare(0, 6, "slots=") == 0)
      slots = word.substr(6);
  }
  if (colon != std::string::npos || !slots.empty())
    host.slots = WholeNumber(slots);
  if (host.slots == 0)
  {
    problem = "'" + slots + "' is not a number of ranks for machine '" +
        host.name + "'; write 'slots=4' for 4 of them";
  }
  return host;
}

} // namespace

std::vector<Host> ReadHosts(std::istream& list, std::string& problem)
{
  std::vector<Host> hosts;
  for (std::string line; std::getline(list, line) && problem.empty(); )
  {
    const Host host = ReadHost(line, problem);
    if (host.name.empty())
      continue;
    const auto known = std::find_if(hosts.begin(), hosts.end(),
        [&](const Host& other) { return other.name == host.name; });
    if (known == hosts.end())
      hosts.push_back(host);
    else
      known->slots += host.slots;
  }
  if (problem.empty() && hosts.empty())
    problem = "it names no machine";
  return hosts;
}

Allocation RankSource::Read(std::string& problem)
{
  Allocation wanted;
  if (command)
  {
    const std::string printed = command->Run(problem);
    version = Version();
    if (!problem.empty())
      return wanted;
    // A number alone is one of ranks here; machines are seldom called so.
    std::istringstream words(printed);
    std::string word, more;
    words >> word;
    wanted.ranks = (words >> more) ? 0 : WholeNumber(word);
    if (wanted.ranks > 0)
      wanted.ranks = std::min(wanted.ranks, MostRanks());
    else
    {
      std::istringstream list(printed);
      wanted.hosts = ReadHosts(list, problem);
      for (const Host& host : wanted.hosts)
        wanted.ranks += host.slots;
    }
    if (settings.most > 0)
      wanted.ranks = std::min(wanted.ranks, settings.most);
    return wanted;
  }
  version = Version();
  wanted.ranks = settings.ranks;
  if (!settings.hostFile.empty())
  {
    std::ifstream list(settings.hostFile);
    wanted.hosts = ReadHosts(list, problem);
    if (wanted.ranks == 0 || settings.elastic)
    {
      wanted.ranks = 0;
      for (const Host& host : wanted.hosts)
        wanted.ranks += host.slots;
    }
  }
  if (!settings.ranksFile.empty())
  {
    std::ifstream file(settings.ranksFile);
    std::string word;
    file >> word;
    wanted.ranks = WholeNumber(word);
    // None is a number, too: the program waits then.
    if (wanted.ranks == 0 && word != "0")
      problem = "it holds '" + word + "' in place of a number of ranks";
  }
  if (settings.elastic && settings.most > 0)
    wanted.ranks = std::min(wanted.ranks, settings.most);
  return wanted;
}

std::string RankSource::Version() const
{
  return command ? command->Latest() : FileVersion(settings.hostFile) +
      FileVersion(settings.ranksFile);
}

std::string FileVersion(const std::string& path)
{
  struct stat status;
  return (path.empty() || stat(path.c_str(), &status) != 0) ? "" :
      std::to_string(status.st_ino) + " " + std::to_string(
      status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
}

std::string RanksText(const size_t ranks)
{ return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"); }

} // namespace cli
} // namespace dasgd
