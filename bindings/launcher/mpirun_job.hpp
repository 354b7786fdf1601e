/**
 * @file mpirun_job.hpp
 *
 * One run of mpirun: start it, watch its ranks, and find out how it ended.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_LAUNCHER_MPIRUN_JOB_HPP
#define DASGD_BINDINGS_LAUNCHER_MPIRUN_JOB_HPP

#include <ranks/job_channel.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

//! How a job ended.
struct JobEnd
{
  //! As in a shell: 128 and more for a signal.
  int status = 0;
  //! The signal that has ended this program, or 0.
  int ended = 0;
  //! The signal by which the training has ended such that it can be resumed,
  //! or 0.
  int interrupted = 0;
  //! Was it ended since something has changed?
  bool changed = false;
  //! Did a rank die, which one, and of what?
  bool died = false;
  std::string rank;
  std::string cause;
  //! Is the cursor at the end of a progress line?
  bool progressLine = false;
};

/**
 * A command that starts ranks, from its start to its end.  The ranks connect to
 * this program and tell how they end; so it need not understand what mpirun
 * prints, and drops it if it is about an end that is known already.
 */
class MpirunJob
{
 public:
  /**
   * @param command The command; the first word is the program.
   * @param ranks How many ranks it starts.
   * @param signals See ReceiveSignals().
   * @param resumable Can its training be interrupted and resumed?
   */
  MpirunJob(const std::vector<std::string>& command,
            const size_t ranks,
            const int signals,
            const bool resumable) :
      command(command), ranks(ranks), signals(signals), resumable(resumable)
  { }

  ~MpirunJob();

  MpirunJob(const MpirunJob&) = delete;
  MpirunJob& operator=(const MpirunJob&) = delete;

  /**
   * Run it to its end.
   *
   * @param changed Asked now and then: is it to be interrupted, since it is to
   *     go on differently?
   * @return False if it could not be started, with errno set.
   */
  bool Run(JobEnd& end, const std::function<bool()>& changed);

 private:
  using Clock = std::chrono::steady_clock;

  //! A rank that has connected.
  struct Member
  {
    int connection;
    pid_t process;
    int rank = -1;
    bool failed = false;
    bool finished = false;
    //! The signal that it died of, if it could tell, and when.
    int number = 0;
    std::int64_t when = 0;
    //! The position of this rank among those that ended without a message;
    //! 0 if it sent one.
    size_t silent = 0;
  };

  //! Open the socket that ranks connect to.  Without it they write through
  //! mpirun, and all that mpirun prints is shown.
  void Listen();

  //! Start the command.
  //! @return Why it cannot be done, as in errno, or 0.
  int Start();

  //! Wait until something happens.
  void Wait(const int milliseconds) const;

  //! Pass on the signals that have come.
  void HandleSignals();

  //! Let the training end such that it can be resumed.
  void Interrupt(const int number, const std::chrono::seconds patience);

  //! Send a signal to all ranks that are connected.
  void SignalRanks(const int number) const;
  //! The same, and to mpirun.
  void SignalAll(const int number) const;

  //! Stop the whole job, and continue it when this program is continued.
  void Pause();

  //! Accept connections, and receive messages.
  void ReceiveMessages();
  void Accept();
  void HandleMessage(Member& member, const RankMessage& message);

  //! Print what has come from mpirun; after a failure, keep it.
  void ForwardOutput();

  //! Kill what has not ended in time after a signal.
  void KillOverdue();

  //! mpirun has ended: wait for the last messages of its ranks.
  void CollectLastMessages();

  //! Find out how the job ended.
  void Conclude(JobEnd& end);

  //! The rank whose death has ended the job, given the signal; null if none.
  const Member* FirstVictim(const int number) const;

  std::vector<std::string> command;
  size_t ranks;
  int signals;
  bool resumable;
  pid_t child = 0;
  int status = 0;
  bool over = false;
  int server = -1;
  //! What mpirun prints, on either stream.
  int texts[2] = { -1, -1 };
  std::string held[2];
  std::vector<Member> members;
  size_t silents = 0;
  bool failed = false;
  bool progressLine = false;
  //! Has anything happened that mpirun may print about?
  bool trouble = false;
  int ended = 0;
  //! The signal by which ranks were asked to end, and the one by which they
  //! have ended their training.
  int interrupt = 0;
  int interrupted = 0;
  bool changes = false;
  //! When the job was last continued after a stop.
  Clock::time_point continued = Clock::time_point::min();
  //! When what has not ended is killed.
  Clock::time_point deadline = Clock::time_point::max();
};

} // namespace cli
} // namespace dasgd

#endif
