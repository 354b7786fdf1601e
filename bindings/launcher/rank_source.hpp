/**
 * @file rank_source.hpp
 *
 * How many ranks to start, and on which machines: as the command line says, or
 * as a file says that may change while they run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_RANK_SOURCE_HPP
#define DASGD_BINDINGS_LAUNCHER_RANK_SOURCE_HPP

#include "watched_command.hpp"

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dasgd {
namespace cli {

//! A machine and how many ranks it takes.
struct Host
{
  std::string name;
  size_t slots = 1;

  bool operator==(const Host& other) const
  { return name == other.name && slots == other.slots; }
};

/**
 * Read a list of machines: a name in each line, with `slots=N` behind it as for
 * Open MPI, or `:N` as for MPICH, or neither for one rank.  What follows a '#'
 * is a comment.
 *
 * @param problem What is wrong with the list, if anything is.
 */
std::vector<Host> ReadHosts(std::istream& list, std::string& problem);

//! What the command line says of ranks.
struct RankSettings
{
  //! How many; 0 if files say so.
  size_t ranks = 0;
  //! A list of machines, a file that holds a number, and a command that prints
  //! either; or empty.
  std::string hostFile;
  std::string ranksFile;
  std::string command;
  //! May the number change while the program runs, and within which limits?
  bool elastic = false;
  size_t least = 1;
  //! 0: no limit.
  size_t most = 0;
};

//! What to start at a time.
struct Allocation
{
  size_t ranks = 0;
  std::vector<Host> hosts;

  bool operator==(const Allocation& other) const
  { return ranks == other.ranks && hosts == other.hosts; }
};

//! Knows how many ranks there are to be.
class RankSource
{
 public:
  explicit RankSource(const RankSettings& settings) :
      settings(settings), command(settings.command.empty() ? nullptr :
      std::make_shared<WatchedCommand>(settings.command)) { }

  const RankSettings& Settings() const { return settings; }

  /**
   * Read the files, or run the command.
   *
   * @param problem What is wrong with them, if anything is.
   */
  Allocation Read(std::string& problem);

  //! Has it changed since it was read?
  bool Changed() const { return Version() != version; }

  //! The file or the command that decides; empty if the command line does.
  const std::string& Name() const
  {
    return !settings.command.empty() ? settings.command :
        settings.ranksFile.empty() ? settings.hostFile : settings.ranksFile;
  }

 private:
  std::string Version() const;

  RankSettings settings;
  std::shared_ptr<WatchedCommand> command;
  std::string version;
};

//! What tells one version of a file from another; empty if there is no file.
std::string FileVersion(const std::string& path);

//! "1 rank", "2 ranks".
std::string RanksText(size_t ranks);

} // namespace cli
} // namespace dasgd

#endif
