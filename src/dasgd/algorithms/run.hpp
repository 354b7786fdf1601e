/**
 * @file run.hpp
 *
 * The loop that drives a worker over a transport until all are done.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_RUN_HPP
#define DASGD_ALGORITHMS_RUN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dasgd {

/**
 * Algorithm 1 of the paper: apply what has arrived; only when nothing has,
 * compute a gradient.  Neither waits for a peer.  With no work left, wait for
 * the others.
 *
 * @tparam WorkerType See DasgdWorker.
 * @tparam TransportType Has `bool Receive(action)`, which calls action(bytes,
 *     size) if a frame has arrived, CanSend() and Send() (see DasgdWorker),
 *     `bool Delivered()`, `void Wait()` and `void Yield()`.
 */
template<typename WorkerType, typename TransportType>
void Run(WorkerType& worker, TransportType& transport)
{
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  const auto lap = [&last](double& seconds)
  {
    const Clock::time_point now = Clock::now();
    seconds += std::chrono::duration<double>(now - last).count();
    last = now;
  };

  worker.Start();
  while (!worker.Done() || !transport.Delivered())
  {
    if (worker.Starved() || !transport.Receive(
        [&worker](const std::uint8_t* bytes, const size_t size)
        { worker.Receive(bytes, size); }))
    {
      lap(worker.Counts().secondsExchanging);
      if (worker.HasWork())
      {
        worker.Compute();
        lap(worker.Counts().secondsComputing);
      }
      else
      {
        worker.Send(transport);
        transport.Wait();
        lap(worker.Counts().secondsIdle);
      }
    }
    // Never wait for a peer that takes nothing; but if it shares this core,
    // let it run.
    if (!worker.Send(transport))
      transport.Yield();
  }
  lap(worker.Counts().secondsExchanging);
}

} // namespace dasgd

#endif
