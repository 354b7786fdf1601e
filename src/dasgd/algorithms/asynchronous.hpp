/**
 * @file asynchronous.hpp
 *
 * Asynchronous algorithms over MPI, as the optimizers run them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_ASYNCHRONOUS_HPP
#define DASGD_ALGORITHMS_ASYNCHRONOUS_HPP

#include "../report/report.hpp"
#include "../transport/mpi_transport.hpp"
#include "algorithm_defaults.hpp"
#include "outcome.hpp"
#include "run.hpp"

#include <algorithm>
#include <vector>

#include <unistd.h>

namespace dasgd {

/**
 * The seam between the optimizers and what they run.  An algorithm has a name,
 * options of its own, and a Run() that returns on all ranks, whatever happened:
 * handshake, data, callbacks, the last copy and the report are the same for all
 * algorithms.
 *
 * @tparam TraitsType Makes the worker; see AlgorithmDefaults and DasgdTraits.
 */
template<typename TraitsType>
struct Asynchronous
{
  using Traits = TraitsType;
  using Options = typename TraitsType::Options;

  static constexpr const char* Name() { return TraitsType::Name(); }

  //! Does one rank keep the model for all others?
  static constexpr bool serves = TraitsType::serves;
  static constexpr bool averages = TraitsType::averages;
  //! Are gradients applied, so that they have a staleness?
  static constexpr bool stale = !averages;

  //! What frames travel over.
  static Topology Links(const Topology& chosen,
                        const Options& options,
                        const size_t ranks)
  {
    if constexpr (serves)
      return TraitsType::Star(options, ranks);
    else
      return chosen;
  }

  static std::string TopologyName(const Topology& chosen,
                                  const Options& options)
  {
    if constexpr (serves)
      return "star around rank " + std::to_string(options.ServerRank());
    else
      return chosen.Name();
  }

  //! Whose model is everyone's in the end.
  static std::string FinalModel(const Options& options)
  {
    if constexpr (serves)
      return "the model of rank " + std::to_string(options.ServerRank());
    else
      return TraitsType::averages ? "their mean" : "rank 0's model";
  }

  //! Does each rank go at its own pace, without waiting for others?
  static constexpr bool independent = !TraitsType::waits;
  //! Do all ranks step together?
  static constexpr bool inRounds = false;

  //! Does a rank compute gradients?
  static bool Computes(const Options& options,
                       const size_t ranks,
                       const size_t rank)
  {
    if constexpr (serves)
      return ranks == 1 || rank != options.ServerRank();
    else
      return true;
  }

  /**
   * Is there a reason not to start?  A topology whose relays keep a sum for
   * each origin may need more memory than there is.
   *
   * @param vectorBytes Bytes of the model.
   * @return What is wrong, or nothing.
   */
  static std::string Validate(const RunSettings& settings,
                               const Options& options,
                               const size_t ranks,
                               const size_t rank,
                               const size_t vectorBytes)
  {
    std::string complaint = UnsupportedSetting(Name(), settings,
        TraitsType::topologies, TraitsType::formats);
    if (complaint.empty())
      complaint = TraitsType::Validate(options, ranks);
    if (!complaint.empty())
      return complaint;
    const Routes routes(Links(settings.topology, options, ranks), ranks, rank);
    const double needed = double(vectorBytes) *
        double(TraitsType::Vectors(routes, settings));
    const double there = double(sysconf(_SC_PHYS_PAGES)) *
        double(sysconf(_SC_PAGESIZE));
    if (needed <= there)
      return "";
    return "topology " + TopologyName(settings.topology, options) + " may need "
        "up to " + report::Bytes(std::uint64_t(needed)) + " for vectors of the "
        "model, but the machine has " + report::Bytes(std::uint64_t(there)) +
        "; choose \"exponential\" or \"tree\", which keep fewer.";
  }

  /**
   * @param comm The ranks.
   * @param settings How they are connected, and the like.
   * @param options The algorithm's own.
   * @param elements Elements of the model, which is the same on all ranks at
   *     the start.
   * @param task What to train (see RankTask).
   * @param outcome How it ended; as far as it got, if mpi::RankLost is thrown.
   */
  template<typename ElemType>
  static void Run(const MpiCommunicator& comm,
                  const RunSettings& settings,
                  const Options& options,
                  const size_t elements,
                  RankTask<ElemType>& task,
                  Outcome& outcome)
  {
    Guarded(comm, [&]()
    { RunWorker(comm, settings, options, elements, task, outcome); });
  }

 protected:
  /**
   * Whatever an algorithm throws ends the job.  What the user's code throws
   * never gets here: the participant turns it into a fact.  This is the
   * transport's own failure, a malformed frame, or memory that one rank lacks.
   */
  template<typename ActionType>
  static void Guarded(const MpiCommunicator& comm, ActionType&& action)
  {
    try
    {
      action();
    }
    catch (const mpi::RankLost&)
    {
      // The others can continue without it, if any of them has all there is.
      if (TraitsType::survives)
        throw;
      comm.Abort(mpi::DiedText(comm.Lost(), comm.ParentSize()) + ", and " +
          Name() + " does not go on without it");
    }
    catch (const std::exception& e)
    {
      comm.Abort(e.what());
    }
  }

  template<typename ElemType>
  static void RunWorker(const MpiCommunicator& comm,
                        const RunSettings& settings,
                        const Options& options,
                        const size_t elements,
                        RankTask<ElemType>& task,
                        Outcome& outcome)
  {
    const Routes routes(Links(settings.topology, options, comm.Size()),
        comm.Size(), comm.Rank());
    const auto made = TraitsType::template Make<ElemType>(routes, settings,
        options, elements, task);
    auto& worker = *made;
    Reserve(worker);
    Endpoint<ElemType>& endpoint = worker.Participant().Endpoint();
    if (settings.machines)
      endpoint.SetMachines(*settings.machines);
    worker.Participant().Counts().staleness = settings.staleness;
    if (settings.history)
      endpoint.Record(*settings.history);

    MpiTransport::Options links;
    links.buffers = settings.sharedMemory ? endpoint.MaxBuffers() : 0;
    links.crowded = settings.crowded;
    links.alert = TraitsType::waits;
    MpiTransport transport(comm, endpoint.SendTo(), endpoint.ReceiveFrom(),
        settings.window, endpoint.Pool(), links);
    {
      // Also if a rank is lost: what this one has counted is needed then.
      const ShowCounts live(settings.live, worker.Participant().Counts(),
          outcome);
      try
      {
        dasgd::Run(worker, transport);
      }
      catch (const mpi::RankLost&)
      {
        outcome.exception = worker.Participant().Exception();
        throw;
      }
    }
    outcome.stopped = (endpoint.Stop() != nullptr);
    if (outcome.stopped)
      outcome.stop = *endpoint.Stop();
    outcome.exception = worker.Participant().Exception();
    outcome.counts.peakVectors = PeakVectors(worker) +
        settings.format.Vectors(sizeof(ElemType)) + settings.window *
        (endpoint.ReceiveFrom().size() - transport.Borrowed());
    outcome.counts.deviation = MakeModelsEqual(comm, settings, options,
        task.Iterate(), elements);
  }

 private:
  //! Where the algorithm leaves models different, make them equal; returns how
  //! far this one was off.
  template<typename ElemType>
  static double MakeModelsEqual(const MpiCommunicator& comm,
                                const RunSettings& settings,
                                const Options& options,
                                ElemType* iterate,
                                const size_t elements)
  {
    double deviation = 0;
    if constexpr (averages)
    {
      // In pieces, so that no other vector of the model's size is needed.
      constexpr size_t piece = size_t(1) << 16;
      std::vector<ElemType> mine(std::min(piece, elements));
      for (size_t begin = 0; begin < elements; begin += piece)
      {
        const size_t count = std::min(piece, elements - begin);
        std::copy(iterate + begin, iterate + begin + count, mine.begin());
        comm.Sum(iterate + begin, count, settings.crowded);
        for (size_t i = 0; i < count; ++i)
        {
          iterate[begin + i] /= ElemType(comm.Size());
          deviation = std::max(deviation, std::abs(
              double(iterate[begin + i]) - double(mine[i])));
        }
      }
    }
    if constexpr (serves)
    {
      comm.Broadcast(iterate, elements * sizeof(ElemType),
          options.ServerRank());
    }
    (void) options;
    (void) settings;
    return deviation;
  }
};

} // namespace dasgd

#endif
