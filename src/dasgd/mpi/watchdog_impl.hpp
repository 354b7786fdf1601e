/**
 * @file watchdog_impl.hpp
 *
 * Implementation of Watchdog.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_WATCHDOG_IMPL_HPP
#define DASGD_MPI_WATCHDOG_IMPL_HPP

// In case it hasn't been included yet.
#include "watchdog.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include <unistd.h>

namespace dasgd {
namespace mpi {

DASGD_INLINE Watchdog::Watchdog(const double seconds,
                                const std::string& text,
                                const int status)
{
  try
  {
    thread = std::thread([this, seconds, text, status]()
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (changed.wait_for(lock, std::chrono::duration<double>(seconds),
          [this]() { return over; }))
        return;
      std::fputs((text + "\n").c_str(), stderr);
      if (status < 0)
        kill(getpid(), SIGKILL);
      _exit(status);
    });
  }
  catch (const std::exception&)
  {
    // Without a thread there is no limit.
  }
}

DASGD_INLINE Watchdog::~Watchdog()
{
  if (!thread.joinable())
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  changed.notify_all();
  thread.join();
}

} // namespace mpi
} // namespace dasgd

#endif
