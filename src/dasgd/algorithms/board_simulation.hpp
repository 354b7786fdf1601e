/**
 * @file board_simulation.hpp
 *
 * All ranks of a board in one process, on virtual time, from one seed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_BOARD_SIMULATION_HPP
#define DASGD_ALGORITHMS_BOARD_SIMULATION_HPP

#include "../core/random.hpp"
#include "board_worker.hpp"
#include "sim_machine.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

/**
 * Drives one BoardWorker for each rank as RunOnBoard() does, with virtual
 * seconds in place of real ones.  A pass over the board takes
 * SimMachine::applySeconds, a chunk its part of that.  The same seed gives the
 * same run, bit for bit.
 */
template<typename ElemType>
class BoardSimulation
{
 public:
  using WorkerType = BoardWorker<ElemType>;
  //! Makes the worker of a rank.
  using MakeType = std::function<std::unique_ptr<WorkerType>(Board<ElemType>&,
      size_t rank)>;

  /**
   * @param size Of the board.
   * @param start The model that all begin with.
   */
  BoardSimulation(const BoardSize& size,
                  const SimMachine& machine,
                  const ElemType* start,
                  const MakeType& make) :
      machine(machine),
      random(Mix(machine.seed, 1)),
      memory(Board<ElemType>::Bytes(size) / sizeof(Line) + 1),
      board(size, memory.front().bytes),
      seats(size.ranks)
  {
    std::copy(start, start + size.elements, board.Model());
    for (size_t i = 0; i < seats.size(); ++i)
      seats[i].worker = make(board, i);
  }

  //! From that time on a rank does nothing more.  Call before Run().
  void Halt(const size_t rank, const double when)
  {
    clock.After(when, [this, rank]() { seats[rank].halted = true; });
  }

  //! See Simulation::Run().
  bool Run(const std::uint64_t maxEvents = 100000000,
           const double until = std::numeric_limits<double>::infinity())
  {
    for (size_t i = 0; i < seats.size(); ++i)
    {
      seats[i].worker->Node().Start();
      clock.After(0, [this, i]() { Act(i); });
    }
    std::uint64_t events = 0;
    while (clock.Next() <= until && clock.Step())
    {
      if (machine.clock)
        *machine.clock = clock.Now();
      if (++events > maxEvents)
        throw std::runtime_error("dasgd: a simulation does not end:" + State());
    }
    if (clock.Next() < std::numeric_limits<double>::infinity())
      return false;
    bool all = true, halted = false;
    for (const Seat& seat : seats)
    {
      all = all && seat.left;
      halted = halted || seat.halted;
    }
    if (!all && !halted)
      throw std::runtime_error("dasgd: a simulation is stuck:" + State());
    return all;
  }

  const WorkerType& Worker(const size_t rank) const
  { return *seats[rank].worker; }
  WorkerType& Worker(const size_t rank) { return *seats[rank].worker; }
  //! Has a rank got to the end?
  bool Left(const size_t rank) const { return seats[rank].left; }
  //! Virtual seconds.
  double Seconds() const { return clock.Now(); }
  //! A number that stands for all that happened, and in which order.
  std::uint64_t Fingerprint() const { return fingerprint; }

 private:
  //! Memory at the start of a line of the cache.
  struct alignas(128) Line
  {
    std::uint8_t bytes[128] = { };
  };

  struct Seat
  {
    std::unique_ptr<WorkerType> worker;
    //! Does it wait for its turn at the board, or for something to do; since
    //! when?
    bool blocked = false;
    bool resting = false;
    double since = 0;
    bool left = false;
    bool halted = false;
  };

  RankReport& Counts(const size_t rank)
  { return seats[rank].worker->Node().Counts(); }

  //! Begin what is next.
  void Act(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    WorkerType& worker = *seat.worker;
    if (worker.Done())
    {
      seat.left = true;
      Note(rank, 3);
      return;
    }
    if (worker.MustLook())
      BeginPass(rank);
    else if (HasWork(worker))
    {
      // Nothing else touches the iterate until then.
      const double seconds = machine.computeSeconds[rank] * random.Uniform(
          1 - machine.computeSpread, 1 + machine.computeSpread);
      clock.After(seconds, [this, rank, seconds]() { Computed(rank, seconds); });
    }
    else if (worker.MustLook() || worker.Behind())
      BeginPass(rank);
    else
    {
      worker.Node().Look(worker);
      if (worker.MustLook())
      {
        BeginPass(rank);
        return;
      }
      seat.resting = true;
      seat.since = clock.Now();
    }
  }

  void Computed(const size_t rank, const double seconds)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    Note(rank, 2);
    seat.worker->Evaluate();
    Counts(rank).secondsComputing += seconds;
    if (seat.worker->Due())
      BeginPass(rank);
    else
      clock.After(Stall(), [this, rank]() { Act(rank); });
  }

  void BeginPass(const size_t rank)
  {
    seats[rank].worker->BeginPass();
    Pass(rank);
  }

  //! At a chunk: touch it as soon as it is this rank's turn.
  void Pass(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    seat.blocked = true;
    seat.since = clock.Now();
    Wake();
  }

  //! Whose turn it is goes on, after the time that its chunk takes.
  void Wake()
  {
    for (size_t i = 0; i < seats.size(); ++i)
    {
      Seat& seat = seats[i];
      if (seat.halted)
        continue;
      if (seat.blocked && seat.worker->Pass().Turn())
      {
        seat.blocked = false;
        Counts(i).secondsExchanging += clock.Now() - seat.since;
        const double seconds = machine.applySeconds / double(board.Chunks());
        clock.After(seconds + Stall(), [this, i, seconds]()
        { Touch(i, seconds); });
      }
      else if (seat.resting && (seat.worker->Behind() ||
          seat.worker->MustLook()))
      {
        seat.resting = false;
        Counts(i).secondsIdle += clock.Now() - seat.since;
        clock.After(0, [this, i]() { Act(i); });
      }
    }
  }

  void Touch(const size_t rank, const double seconds)
  {
    Seat& seat = seats[rank];
    // A rank that dies inside a post leaves its chunk locked.
    if (seat.halted)
      return;
    Note(rank, 1);
    seat.worker->Advance();
    Counts(rank).secondsExchanging += seconds;
    if (seat.worker->UnderWay())
      Pass(rank);
    else
    {
      clock.After(Stall(), [this, rank]() { Act(rank); });
      Wake();
    }
  }

  //! How long a rank stands still, by chance.
  double Stall()
  {
    return (machine.stallChance > 0 && random.Chance(machine.stallChance)) ?
        random.Uniform(0, 2 * machine.stallSeconds) : 0;
  }

  void Note(const size_t rank, const std::uint64_t what)
  {
    std::uint64_t bits;
    const double now = clock.Now();
    std::memcpy(&bits, &now, sizeof(bits));
    fingerprint = Mix(fingerprint ^ bits, 4 * rank + what);
  }

  //! For messages: who is where.
  std::string State() const
  {
    std::ostringstream out;
    for (size_t i = 0; i < seats.size(); ++i)
    {
      const Seat& seat = seats[i];
      out << " rank " << i << (seat.left ? " left" : seat.halted ? " halted" :
          seat.blocked ? " waits at chunk " + std::to_string(
          seat.worker->Pass().Chunk()) : seat.resting ? " rests" : " works")
          << ", has applied " << seat.worker->Node().Counts().applied << ";";
    }
    out << " at " << clock.Now() << " s";
    return out.str();
  }

  SimMachine machine;
  SimClock clock;
  Random random;
  std::vector<Line> memory;
  Board<ElemType> board;
  std::vector<Seat> seats;
  std::uint64_t fingerprint = 0;
};

} // namespace dasgd

#endif
