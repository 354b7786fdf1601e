/**
 * @file driver.hpp
 *
 * What a rank does next: the same choice over MPI and on virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_DRIVER_HPP
#define DASGD_ALGORITHMS_DRIVER_HPP

#include "../protocol/participant.hpp"
#include "lead_limit.hpp"

namespace dasgd {

//! What there is to do when no frame is taken.
enum class Action
{
  //! Compute a gradient.
  Compute,
  //! Look again for frames at once: something has been sent.
  Retry,
  //! Give a neighbour time, until Driver::PausesUntil() or a frame arrives.
  Pause,
  //! There is no work: wait for a frame.
  Wait
};

/**
 * Algorithm 1 of the paper: apply what has arrived; only when nothing has,
 * compute a gradient.  Neither waits for a peer, but see LeadLimit.  With no
 * work left, wait for the others.  The owner of clock and network calls
 *
 *  - MayReceive(): if so, take a frame if there is one;
 *  - Choose() if none was taken;
 *  - Send() after each.
 *
 * @tparam WorkerType See WorkerDefaults.
 */
template<typename WorkerType>
class Driver
{
 public:
  static_assert(IsWorker<WorkerType>, "WorkerDefaults says what a worker has.");

  explicit Driver(WorkerType& worker) :
      worker(worker), limit(worker.MaxLead()) { }

  //! May a frame that has arrived be taken, or is it time to compute?
  bool MayReceive()
  {
    return worker.Participant().Endpoint().Pace().LookDue() ? !Starved(worker) :
        !HasWork(worker);
  }

  //! What to do if no frame was taken; `now` is the time in seconds.
  template<typename TransportType>
  Action Choose(const double now, TransportType& transport)
  {
    const bool pauses = limit.Pauses(HasWork(worker) && worker.Ahead(), now,
        worker.Participant().Counts());
    if (!pauses && HasWork(worker))
    {
      limit.Begins(now);
      return Action::Compute;
    }
    dasgd::Send(worker, transport);
    // What was sent may have been what this rank had to wait for.
    if (pauses ? !worker.Ahead() : HasWork(worker))
      return Action::Retry;
    return pauses ? Action::Pause : Action::Wait;
  }

  /**
   * The time up to now was spent on exchanging frames; see ExchangePace.
   *
   * @param traffic Where frames are counted.
   * @param looked Was it looked for frames?
   */
  template<typename TransportType>
  void Exchanged(const double now,
                 const Traffic& traffic,
                 const TransportType& transport,
                 const bool looked)
  {
    worker.Participant().Endpoint().Pace().Exchanged(now, traffic.framesSent +
        traffic.framesReceived, transport.Busy(), looked &&
        transport.HasMessages());
  }

  //! The time up to now was spent on a gradient.
  void Computed(const double now)
  { worker.Participant().Endpoint().Pace().Computed(now); }

  //! The time up to now was spent neither on exchanging nor on a gradient.
  void Other(const double now)
  { worker.Participant().Endpoint().Pace().Other(now); }

  //! When a pause ends.
  double PausesUntil() const { return limit.Until(); }

  //! Hand out what there is room for; false if frames wait and none could go.
  template<typename TransportType>
  bool Send(TransportType& transport)
  { return dasgd::Send(worker, transport); }

  //! Has this rank nothing more to do with the others?
  template<typename TransportType>
  bool MayLeave(TransportType& transport)
  { return worker.Participant().Endpoint().Done() && transport.Delivered(); }

 private:
  WorkerType& worker;
  LeadLimit limit;
};

} // namespace dasgd

#endif
