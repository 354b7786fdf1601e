/**
 * @file synchronous.hpp
 *
 * Synchronous algorithms over MPI, as the optimizers run them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_SYNCHRONOUS_HPP
#define DASGD_ALGORITHMS_SYNCHRONOUS_HPP

#include "../mpi/mpi_communicator.hpp"
#include "outcome.hpp"
#include "round_worker.hpp"
#include "run.hpp"
#include "algorithm_defaults.hpp"

namespace dasgd {

//! Drive a worker over MPI until it is over.
template<typename WorkerType>
void RunRounds(const MpiCommunicator& comm,
               const bool crowded,
               const size_t elements,
               WorkerType& worker)
{
  using ElemType = std::remove_pointer_t<decltype(worker.Vector())>;
  Stopwatch watch(nullptr);
  RankReport& counts = worker.Counts();
  std::vector<std::uint8_t> messages(comm.Size() * worker.Message().size());
  worker.Start();
  while (!worker.Over())
  {
    worker.Compute();
    watch.Lap(counts.secondsComputing);
    // Here ranks wait for the slowest.
    comm.ShareAll(worker.Message().data(), worker.Message().size(),
        messages.data(), crowded);
    watch.Lap(counts.secondsIdle);
    worker.ReceiveAll(messages.data());
    if (worker.Computed() && comm.Size() > 1)
    {
      comm.Sum(worker.Vector(), elements, crowded);
      ++counts.framesSent;
      ++counts.framesReceived;
      const std::uint64_t bytes = AllreduceBytes(comm.Size(),
          elements * sizeof(ElemType)) + (comm.Size() - 1) *
          worker.Message().size();
      counts.bytesSent += bytes;
      counts.bytesReceived += bytes;
    }
    worker.Finish();
    watch.Lap(counts.secondsExchanging);
  }
}

/**
 * A synchronous algorithm.
 *
 * @tparam TraitsType Says what is averaged when: `averaged`, Period() and
 *     Outer().
 */
template<typename TraitsType>
struct Synchronous
{
  using Traits = TraitsType;
  using Options = typename TraitsType::Options;

  static constexpr const char* Name() { return TraitsType::Name(); }

  static constexpr bool serves = false;
  static constexpr bool averages = false;
  //! Are gradients applied, so that they have a staleness?
  static constexpr bool stale = (TraitsType::averaged == Averaged::Gradients);

  static std::string TopologyName(const Topology&, const Options&)
  { return "all-reduce"; }

  //! Whose model is everyone's in the end: they are the same.
  static std::string FinalModel(const Options&) { return "rank 0's model"; }

  //! Does each rank go at its own pace, without waiting for others?
  static constexpr bool independent = false;
  //! Do all ranks step together?
  static constexpr bool inRounds = true;

  //! All ranks compute.
  static bool Computes(const Options&, size_t, size_t) { return true; }

  static std::string Validate(const RunSettings& settings,
                               const Options& options,
                               size_t,
                               size_t,
                               size_t)
  {
    const std::string complaint = UnsupportedSetting(Name(), settings, false,
        false);
    return complaint.empty() ? TraitsType::Validate(options) : complaint;
  }

  template<typename ElemType>
  static void Run(const MpiCommunicator& comm,
                  const RunSettings& settings,
                  const Options& options,
                  const size_t elements,
                  RankTask<ElemType>& task,
                  Outcome& outcome)
  {
    try
    {
      RoundWorker<ElemType> worker(
          TraitsType::averaged, TraitsType::Period(options),
          TraitsType::Outer(options), comm.Size(), comm.Rank(), elements,
          task);
      {
        const ShowCounts live(settings.live, worker.Counts(), outcome);
        RunRounds(comm, settings.crowded, elements, worker);
      }
      outcome.exception = worker.Exception();
      outcome.stopped = (worker.Stop() != nullptr);
      if (outcome.stopped)
      {
        outcome.stop = *worker.Stop();
        outcome.stop.text = comm.Gather(worker.Text())[outcome.stop.origin];
      }
    }
    catch (const std::exception& e)
    {
      // What the user's code throws never gets here.
      comm.Abort(e.what());
    }
  }
};

} // namespace dasgd

#endif
