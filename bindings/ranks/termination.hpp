/**
 * @file termination.hpp
 *
 * What a process does when a signal asks it to end.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_TERMINATION_HPP
#define DASGD_BINDINGS_RANKS_TERMINATION_HPP

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dasgd {
namespace cli {

//! The status of a program whose training was interrupted by a signal, and is
//! to be resumed: EX_TEMPFAIL of sysexits.h, which invites to try again.
constexpr int ToBeResumed = 75;

/**
 * From now on, before SIGTERM, SIGINT, SIGHUP or SIGUSR1 ends this process, it
 * removes incomplete files and reports the signal: to the program that started
 * the ranks, or else to the user.  Signals that are ignored stay so.
 */
void HandleTermination();

//! The same, and the report tells how to resume from the checkpoint.
void HandleTermination(const std::string& checkpoint);

/**
 * While a training takes signals by itself, in ranks that were started by
 * mpirun, srun or the like: if it has not ended soon after one, since another
 * rank has died and the job is being ended, tell how to resume; and later,
 * after SIGTERM, end this rank.
 */
class TerminationNotice
{
 public:
  //! @param used Does it take them?
  explicit TerminationNotice(const bool used);
  ~TerminationNotice();

  TerminationNotice(const TerminationNotice&) = delete;
  TerminationNotice& operator=(const TerminationNotice&) = delete;

  //! Has it told so?
  static bool Told();

 private:
  void Watch();

  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

} // namespace cli
} // namespace dasgd

#endif
