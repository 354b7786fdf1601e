/**
 * @file asynchronous.hpp
 *
 * Asynchronous algorithms over MPI, as the optimizers run them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_ASYNCHRONOUS_HPP
#define DASGD_ALGORITHMS_ASYNCHRONOUS_HPP

#include "../core/overlap.hpp"
#include "../report/report.hpp"
#include "../transport/mpi_board.hpp"
#include "../transport/mpi_transport.hpp"
#include "adpsgd_worker.hpp"
#include "board_run.hpp"
#include "dasgd_worker.hpp"
#include "dpsgd_worker.hpp"
#include "outcome.hpp"
#include "run.hpp"
#include "server_worker.hpp"
#include "swift_worker.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>

#include <unistd.h>

namespace dasgd {

/**
 * The seam between the optimizers and what they run.  An algorithm has a name,
 * options of its own, and a Run() that returns on all ranks, whatever happened:
 * handshake, data, callbacks, the last copy and the report are the same for all
 * algorithms.
 *
 * @tparam TraitsType Makes the worker; see DasgdTraits.
 */
template<typename TraitsType>
struct Asynchronous
{
  using Traits = TraitsType;
  using Options = typename TraitsType::Options;

  static const char* Name() { return TraitsType::Name(); }

  //! Does one rank keep the model for all others?
  static constexpr bool serves = std::is_same<TraitsType, ServerTraits>::value;
  static constexpr bool averages = TraitsType::averages;
  //! Are gradients applied, so that they have a staleness?
  static constexpr bool stale = !averages;

  //! What frames travel over.
  static Topology Links(const Topology& chosen,
                        const Options& options,
                        const size_t ranks)
  {
    if constexpr (serves)
      return ServerTraits::Star(options, ranks);
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
  static std::string Complaint(const RunSettings& settings,
                               const Options& options,
                               const size_t ranks,
                               const size_t rank,
                               const size_t vectorBytes)
  {
    std::string complaint = UnsupportedSetting(Name(), settings,
        TraitsType::topologies, TraitsType::formats);
    if (complaint.empty())
      complaint = TraitsType::Complaint(options, ranks);
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
   * @param problem What to train (see Problem).
   * @param outcome How it ended; as far as it got, if mpi::RankLost is thrown.
   */
  template<typename ElemType>
  static void Run(const MpiCommunicator& comm,
                  const RunSettings& settings,
                  const Options& options,
                  const size_t elements,
                  Problem<ElemType>& problem,
                  Outcome& outcome)
  {
    // Alone they are all the same.
    if constexpr (!std::is_same<TraitsType, DasgdTraits>::value)
    {
      if (comm.Size() == 1)
      {
        Asynchronous<DasgdTraits>::Run(comm, settings, DasgdTraits::Options(),
            elements, problem, outcome);
        return;
      }
    }
    try
    {
      bool done = false;
      if constexpr (std::is_same<TraitsType, DasgdTraits>::value)
      {
        done = settings.board && RunOnBoards(comm, settings, elements, problem,
            outcome);
        if (!done && settings.overlap && comm.Size() > 1)
        {
          RunOnOwnBoard(comm, settings, elements, problem, outcome);
          done = true;
        }
      }
      if (!done)
        RunWorker(comm, settings, options, elements, problem, outcome);
      outcome.counts.deviation = std::max(outcome.counts.deviation,
          MakeModelsEqual(comm, settings, options, problem.Iterate(),
          elements));
    }
    catch (const mpi::RankLost&)
    {
      // The others can continue without it, if any of them has all there is.
      if constexpr (std::is_same<TraitsType, DasgdTraits>::value)
        throw;
      comm.Abort(mpi::DiedText(comm.Lost(), comm.ParentSize()) + ", and " +
          Name() + " does not go on without it");
    }
    catch (const std::exception& e)
    {
      // What the user's code throws never gets here: the node turns it into a
      // fact.  This is the transport's own failure, a malformed frame, or
      // memory that one rank lacks.
      comm.Abort(e.what());
    }
  }

 private:
  //! The ranks of each machine share a board; false if they cannot.
  template<typename ElemType>
  static bool RunOnBoards(const MpiCommunicator& comm,
                          const RunSettings& settings,
                          const size_t elements,
                          Problem<ElemType>& problem,
                          Outcome& outcome)
  {
    const BoardLinks machines = settings.machines ?
        BoardLinks(*settings.machines) : BoardLinks::One(comm.Size());
    const BoardSize size = BoardSize::Of(elements, comm.Size(),
        machines.Machines() > 1);
    const MpiBoardMemory memory(comm, machines.Carrier(machines.Of(
        comm.Rank())), Board<ElemType>::Bytes(size));
    if (!memory)
    {
      if (comm.Rank() == 0)
      {
        std::cerr << Name() << ": ranks cannot share a model of " <<
            report::Bytes(Board<ElemType>::Bytes(size)) << " in memory, so "
            "each has its own, and they send each other what they compute; run "
            "them in one container, with permission to see each other's "
            "processes (ptrace), or set SharedMemory() to false." << std::endl;
      }
      return false;
    }
    outcome.boards = machines.Machines();
    RunOn(comm, settings, machines, size, memory.Bytes(), problem, outcome);
    return true;
  }

  //! A rank that exchanges while it computes has a board of its own.
  template<typename ElemType>
  static void RunOnOwnBoard(const MpiCommunicator& comm,
                            const RunSettings& settings,
                            const size_t elements,
                            Problem<ElemType>& problem,
                            Outcome& outcome)
  {
    const BoardSize size = BoardSize::Of(elements, comm.Size(), true);
    Buffer memory(Board<ElemType>::Bytes(size));
    std::memset(memory.Bytes(), 0, memory.Size());
    RunOn(comm, settings, BoardLinks::Own(comm.Size(), settings.topology), size,
        memory.Bytes(), problem, outcome);
  }

  template<typename ElemType>
  static void RunOn(const MpiCommunicator& comm,
                    const RunSettings& settings,
                    const BoardLinks& machines,
                    const BoardSize& size,
                    std::uint8_t* memory,
                    Problem<ElemType>& problem,
                    Outcome& outcome)
  {
    const bool carries = comm.Rank() == machines.Carrier(machines.Of(
        comm.Rank()));
    Board<ElemType> board(size, memory);
    if (carries)
    {
      std::copy(problem.Iterate(), problem.Iterate() + size.elements,
          board.Model());
    }
    BoardWorker<ElemType> worker(board, problem, StalenessResponse(
        settings.damping, settings.lookAhead, comm.Size()));
    worker.Node().Counts().staleness = settings.staleness;
    MpiBoardWait wait(comm, settings.crowded, Name());
    {
      // Also if a rank is lost: what this one has counted is needed then.
      const ShowCounts live(settings.live, worker.Node().Counts(), outcome);
      try
      {
        if (carries && machines.Machines() > 1)
          RunBetween(comm, settings, machines, board, worker, wait);
        else
        {
          // All begin together, when the model is there.
          comm.Barrier();
          RunOnBoard(worker, wait, NoExchange(), settings.maxLead);
        }
      }
      catch (const mpi::RankLost&)
      {
        outcome.exception = worker.Node().Exception();
        outcome.torn = worker.Torn();
        worker.Abandon();
        throw;
      }
    }
    outcome.stopped = (worker.Node().Stop() != nullptr);
    if (outcome.stopped)
      outcome.stop = *worker.Node().Stop();
    outcome.exception = worker.Node().Exception();
    if (machines.Machines() == 1)
    {
      // It is final when the first rank leaves.
      outcome.counts.deviation = CopyAndCompare(problem.Iterate(),
          board.Model(), size.elements);
      outcome.equal = true;
    }
  }

  //! The rank of a machine that exchanges with others.
  template<typename ElemType>
  static void RunBetween(const MpiCommunicator& comm,
                         const RunSettings& settings,
                         const BoardLinks& machines,
                         Board<ElemType>& board,
                         BoardWorker<ElemType>& worker,
                         MpiBoardWait& wait)
  {
    RankReport& counts = worker.Node().Counts();
    const Routes routes(machines.Between(), machines.Machines(),
        machines.Of(comm.Rank()));
    // A thread counts by itself.
    Traffic traffic;
    BoardExchange<ElemType> exchange(board, routes, machines.All(),
        comm.Rank(), settings.window, settings.overlap ? traffic : counts,
        settings.format);
    exchange.Reserve();
    Endpoint<ElemType>& endpoint = exchange.Endpoint();
    if (machines.Machines() < comm.Size() || !settings.machines)
      endpoint.AllBetween();
    else
      endpoint.SetMachines(*settings.machines);
    endpoint.Pace().SetShare(settings.share);
    endpoint.LimitBetween(FramesAtATime(double(board.Size().elements *
        sizeof(ElemType)), settings.overlap));
    const size_t rounding = settings.format.Vectors(sizeof(ElemType));
    counts.vectorBound += exchange.Vectors(routes, settings.window) + rounding;

    MpiTransport::Options links;
    // Those who share memory share a board.
    const bool own = machines.Machines() == comm.Size();
    links.buffers = (own && settings.sharedMemory) ? endpoint.MaxBuffers() : 0;
    links.crowded = settings.crowded;
    MpiTransport transport(comm, machines.Carriers(endpoint.SendTo()),
        machines.Carriers(endpoint.ReceiveFrom()), settings.window,
        endpoint.Pool(), links);
    if (settings.overlap)
    {
      MpiBoardWait beside(comm, settings.crowded, Name());
      Exchanging exchanging(exchange, transport, beside);
      RunOnBoardBeside(worker, wait, exchanging, settings.maxLead);
      static_cast<Traffic&>(counts) = traffic;
    }
    else
    {
      RunOnBoard(worker, wait, Exchanging(exchange, transport, wait),
          settings.maxLead);
    }
    counts.peakVectors += exchange.PeakVectors() + rounding +
        settings.window * (endpoint.ReceiveFrom().size() -
        transport.Borrowed());
  }

  template<typename ElemType>
  static void RunWorker(const MpiCommunicator& comm,
                        const RunSettings& settings,
                        const Options& options,
                        const size_t elements,
                        Problem<ElemType>& problem,
                        Outcome& outcome)
  {
    const Routes routes(Links(settings.topology, options, comm.Size()),
        comm.Size(), comm.Rank());
    const auto made = TraitsType::template Make<ElemType>(routes, settings,
        options, elements, problem);
    auto& worker = *made;
    Reserve(worker);
    Endpoint<ElemType>& endpoint = worker.Node().Endpoint();
    if (settings.machines)
      endpoint.SetMachines(*settings.machines);
    worker.Node().Counts().staleness = settings.staleness;
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
      const ShowCounts live(settings.live, worker.Node().Counts(), outcome);
      try
      {
        dasgd::Run(worker, transport);
      }
      catch (const mpi::RankLost&)
      {
        outcome.exception = worker.Node().Exception();
        throw;
      }
    }
    outcome.stopped = (endpoint.Stop() != nullptr);
    if (outcome.stopped)
      outcome.stop = *endpoint.Stop();
    outcome.exception = worker.Node().Exception();
    outcome.counts.peakVectors = PeakVectors(worker) +
        settings.format.Vectors(sizeof(ElemType)) + settings.window *
        (endpoint.ReceiveFrom().size() - transport.Borrowed());
  }

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

using DasgdAlgorithm = Asynchronous<DasgdTraits>;
using DpsgdAlgorithm = Asynchronous<DpsgdTraits>;
using AdpsgdAlgorithm = Asynchronous<AdpsgdTraits>;
using SwiftAlgorithm = Asynchronous<SwiftTraits>;
using ServerAlgorithm = Asynchronous<ServerTraits>;

} // namespace dasgd

#endif
