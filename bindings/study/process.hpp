/**
 * @file process.hpp
 *
 * Runs a program, for a limited time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_PROCESS_HPP
#define DASGD_BINDINGS_STUDY_PROCESS_HPP

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace dasgd {
namespace study {

//! How a program ended.
struct Ending
{
  bool timeout = false;
  bool interrupted = false;
  //! Could it not be started, and why?
  int startError = 0;
  //! Exit status, or the signal that ended it.
  int status = 0;
  int signal = 0;

  bool Fine() const
  {
    return !timeout && !interrupted && startError == 0 && status == 0 &&
        signal == 0;
  }
};

/**
 * While an object of this class exists, signals that ask the study to end are
 * noted only: the running program is ended first, and its results are kept.
 */
class Interruption
{
 public:
  Interruption();
  ~Interruption();

  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  //! Which has come; 0 if none has.
  static volatile std::sig_atomic_t& Signal();

 private:
  static constexpr size_t count = 3;
  const int signals[count] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction before[count];
};

/**
 * Run a program, in a process group of its own.
 *
 * @param command Program and arguments.
 * @param log File for all that it prints.
 * @param seconds How long it may take.
 * @param wait Called some times a second.
 */
Ending RunProcess(const std::vector<std::string>& command,
                  const std::string& log,
                  const double seconds,
                  const std::function<void()>& wait);

} // namespace study
} // namespace dasgd

#endif
