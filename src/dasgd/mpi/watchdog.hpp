/**
 * @file watchdog.hpp
 *
 * A limit to the time of a call that cannot be cancelled.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_WATCHDOG_HPP
#define DASGD_MPI_WATCHDOG_HPP

#include "../core/config.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dasgd {
namespace mpi {

/**
 * Ends this process if a call of MPI that cannot be cancelled takes too long.
 */
class Watchdog
{
 public:
  /**
   * @param seconds How long it may take.
   * @param text What to print then.
   * @param status The exit status then; negative to end by a signal, which the
   *     others notice: Open MPI 5.0 does not tell them of a status.
   */
  Watchdog(const double seconds,
           const std::string& text,
           const int status = -1);

  ~Watchdog();

  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

} // namespace mpi
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "watchdog_impl.hpp"
#endif

#endif
