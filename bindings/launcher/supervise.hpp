/**
 * @file supervise.hpp
 *
 * Runs mpirun, and again from the last checkpoint if a rank dies, or if there
 * are to be more or fewer ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_SUPERVISE_HPP
#define DASGD_BINDINGS_LAUNCHER_SUPERVISE_HPP

#include "mpirun_job.hpp"
#include "rank_source.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

/**
 * Runs the ranks of a program until it ends otherwise than by the death of a
 * rank, or has been restarted often enough.  If a rank dies, or a signal ends
 * the job, or the number of ranks changes, one line on standard error says so.
 */
class Supervisor
{
 public:
  //! Makes the command that starts these ranks; the first word is the program.
  using Command = std::function<std::vector<std::string>(const Allocation&)>;

  /**
   * @param source How many ranks there are to be.
   * @param checkpoint The file that the program resumes from when it is
   *     restarted; empty if there is none.
   * @param restarts How often at most to restart it after a death.  If the
   *     number of ranks may change: how often without a new checkpoint.
   */
  Supervisor(const Command& command,
             const RankSource& source,
             const std::string& checkpoint,
             const size_t restarts);

  /**
   * Run it.
   *
   * @return Its exit status; -1 if it could not be started, with errno set.
   */
  int Run();

 private:
  //! Read how many ranks there are to be; false if not enough, or if a file
  //! cannot be understood.
  bool Read();

  //! Wait until there are enough ranks; false if a signal ends this program.
  bool AwaitRanks();

  //! Run the job once.
  bool RunOnce(JobEnd& end);

  //! It was interrupted, since the number of ranks may have changed.
  void Rescale();

  //! A rank has died, or a signal has come.
  //! @return The status to exit with; -1 to start again.
  int AfterDeath(const JobEnd& end);

  //! Leave out machines that do not answer.
  void LeaveOutDeadHosts();

  //! The last checkpoint, as text.
  std::string CheckpointText() const;

  //! Is there a checkpoint to resume from?
  bool Resumes() const;

  Command command;
  RankSource source;
  std::string checkpoint;
  size_t restarts;
  int signals;
  Allocation allocation;
  //! A checkpoint that there was before, and is not to be resumed from.
  std::string ignored;
  //! The checkpoint when ranks were last started after a death.
  std::string seen;
  size_t again = 0;
  bool progressLine = false;
};

} // namespace cli
} // namespace dasgd

#endif
