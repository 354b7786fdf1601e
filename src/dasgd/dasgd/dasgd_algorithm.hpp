/**
 * @file dasgd_algorithm.hpp
 *
 * Decentralized asynchronous SGD over MPI: which ranks share a model, and which
 * of them exchange while they compute.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_DASGD_ALGORITHM_HPP
#define DASGD_DASGD_DASGD_ALGORITHM_HPP

#include "../algorithms/asynchronous.hpp"
#include "../transport/mpi_board.hpp"
#include "board_run.hpp"
#include "dasgd_worker.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>

namespace dasgd {

//! DASGD, on boards where ranks may share one.
struct DasgdAlgorithm : public Asynchronous<DasgdTraits>
{
  //! See Asynchronous.
  template<typename ElemType>
  static void Run(const MpiCommunicator& comm,
                  const RunSettings& settings,
                  const Options& options,
                  const size_t elements,
                  RankTask<ElemType>& task,
                  Outcome& outcome)
  {
    Guarded(comm, [&]()
    {
      if (settings.board && RunOnBoards(comm, settings, elements, task,
          outcome))
        return;
      if (settings.overlap && comm.Size() > 1)
        RunOnOwnBoard(comm, settings, elements, task, outcome);
      else
        RunWorker(comm, settings, options, elements, task, outcome);
    });
  }

 private:
  //! The ranks of each machine share a board; false if they cannot.
  template<typename ElemType>
  static bool RunOnBoards(const MpiCommunicator& comm,
                          const RunSettings& settings,
                          const size_t elements,
                          RankTask<ElemType>& task,
                          Outcome& outcome)
  {
    const BoardLinks machines = settings.machines ?
        BoardLinks(*settings.machines) : BoardLinks::SingleMachine(comm.Size());
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
    RunOn(comm, settings, machines, size, memory.Bytes(), task, outcome);
    return true;
  }

  //! A rank that exchanges while it computes has a board of its own.
  template<typename ElemType>
  static void RunOnOwnBoard(const MpiCommunicator& comm,
                            const RunSettings& settings,
                            const size_t elements,
                            RankTask<ElemType>& task,
                            Outcome& outcome)
  {
    const BoardSize size = BoardSize::Of(elements, comm.Size(), true);
    Buffer memory(Board<ElemType>::Bytes(size));
    std::memset(memory.Bytes(), 0, memory.Size());
    RunOn(comm, settings, BoardLinks::Own(comm.Size(), settings.topology), size,
        memory.Bytes(), task, outcome);
  }

  template<typename ElemType>
  static void RunOn(const MpiCommunicator& comm,
                    const RunSettings& settings,
                    const BoardLinks& machines,
                    const BoardSize& size,
                    std::uint8_t* memory,
                    RankTask<ElemType>& task,
                    Outcome& outcome)
  {
    const bool carries = comm.Rank() == machines.Carrier(machines.Of(
        comm.Rank()));
    Board<ElemType> board(size, memory);
    if (carries)
    {
      std::copy(task.Iterate(), task.Iterate() + size.elements,
          board.Model());
    }
    BoardWorker<ElemType> worker(board, task, StalenessResponse(
        settings.damping, settings.lookAhead, comm.Size()));
    worker.Participant().Counts().staleness = settings.staleness;
    MpiBoardWait wait(comm, settings.crowded, Name());
    {
      // Also if a rank is lost: what this one has counted is needed then.
      const ShowCounts live(settings.live, worker.Participant().Counts(),
          outcome);
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
        outcome.exception = worker.Participant().Exception();
        outcome.torn = worker.Torn();
        throw;
      }
    }
    outcome.stopped = (worker.Participant().Stop() != nullptr);
    if (outcome.stopped)
      outcome.stop = *worker.Participant().Stop();
    outcome.exception = worker.Participant().Exception();
    if (machines.Machines() == 1)
    {
      // It is final when the first rank leaves.
      outcome.counts.deviation = CopyAndCompare(task.Iterate(),
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
    RankReport& counts = worker.Participant().Counts();
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
      RunOnBoard(worker, wait, Exchanging(exchange, transport, wait,
          &counts.secondsIdle), settings.maxLead);
    }
    counts.peakVectors += exchange.PeakVectors() + rounding +
        settings.window * (endpoint.ReceiveFrom().size() -
        transport.Borrowed());
  }
};

//! Is it the paper's algorithm?  The theorem speaks of no other, and there is a
//! model in every rank that a run can continue from.
template<typename AlgorithmType>
constexpr bool IsDasgd = std::is_same<AlgorithmType, DasgdAlgorithm>::value;

} // namespace dasgd

#endif
