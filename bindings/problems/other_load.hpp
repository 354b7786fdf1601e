/**
 * @file other_load.hpp
 *
 * What other programs do to the machine meanwhile: where times are measured, it
 * makes them longer.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_OTHER_LOAD_HPP
#define DASGD_BINDINGS_PROBLEMS_OTHER_LOAD_HPP

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

//! Processor seconds of this process, and of those of its children that have
//! ended.
inline double OwnSeconds()
{
  double sum = 0;
  for (const int who : { RUSAGE_SELF, RUSAGE_CHILDREN })
  {
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
      continue;
    for (const timeval& time : { usage.ru_utime, usage.ru_stime })
      sum += double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  }
  return sum;
}

//! The same of all programs, by the first line of /proc/stat; not a number if
//! it does not tell.
inline double BusySeconds(std::istream& stat)
{
  std::string name;
  // In user mode, at low priority, in the kernel, idle, waiting for a disk, two
  // kinds of interrupts, and taken by other virtual machines.
  double ticks[8] = { };
  stat >> name;
  for (double& value : ticks)
    stat >> value;
  if (!stat || name != "cpu")
    return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const size_t i : { 0, 1, 2, 5, 6, 7 })
    sum += ticks[i];
  return sum / double(sysconf(_SC_CLK_TCK));
}

//! How many cores other programs keep busy.
class OtherLoad
{
 public:
  OtherLoad() : began(Clock::now()), busy(Busy()), own(OwnSeconds()) { }

  //! On average since this was made; not a number if the system does not tell,
  //! or that was too short a while ago.
  double Cores() const
  {
    const double seconds = std::chrono::duration<double>(Clock::now() - began)
        .count();
    // The system counts hundredths of seconds.
    if (seconds < 0.1)
      return std::numeric_limits<double>::quiet_NaN();
    const double cores = ((Busy() - busy) - (OwnSeconds() - own)) / seconds;
    return (cores < 0) ? 0 : cores;
  }

  //! Is that enough to change what is measured?
  static bool Matters(const double cores, const size_t coresThere)
  { return cores > 0.1 * double(coresThere); }

 private:
  using Clock = std::chrono::steady_clock;

  static double Busy()
  {
    std::ifstream stat("/proc/stat");
    return BusySeconds(stat);
  }

  Clock::time_point began;
  double busy;
  double own;
};

} // namespace cli
} // namespace dasgd

#endif
