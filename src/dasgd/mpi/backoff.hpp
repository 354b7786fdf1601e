/**
 * @file backoff.hpp
 *
 * How long to wait before looking again.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_BACKOFF_HPP
#define DASGD_MPI_BACKOFF_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace dasgd {

/**
 * Backoff for polling.  MPI offers no wait that neither spins nor needs a
 * thread, so look again after a while: at once at first, then at growing
 * intervals up to half a millisecond.
 */
class Backoff
{
 public:
  enum Mode
  {
    //! Yield at first, then sleep for longer and longer.
    Sleep,
    //! Yield only, to react as soon as possible.
    Yield
  };

  explicit Backoff(const Mode mode = Sleep) : mode(mode) { }

  //! Something happened: begin with short waits again.
  void Reset() { waits = 0; }

  void Wait()
  {
    ++waits;
    if (waits <= 256 || mode == Yield)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(
          std::min<size_t>(500, 10 * (waits - 256))));
  }

 private:
  Mode mode;
  size_t waits = 0;
};

/**
 * Lets a peer run that waits for this core.  If another program took it and
 * kept it for long, sleep for a moment the next times: schedulers resume a
 * process that slept sooner than one that yielded.
 */
class CoreOffer
{
 public:
  void Make()
  {
    if (sleeps > 0)
    {
      --sleeps;
      std::this_thread::sleep_for(std::chrono::microseconds(1));
      return;
    }
    const auto before = std::chrono::steady_clock::now();
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - before >
        std::chrono::milliseconds(1))
      sleeps = 256;
  }

 private:
  //! How many more times to sleep instead of yielding.
  size_t sleeps = 0;
};

} // namespace dasgd

#endif
