/**
 * @file board_simulation.hpp
 *
 * All ranks of one or several boards in one process, on virtual time, from one
 * seed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_BOARD_SIMULATION_HPP
#define DASGD_SIMULATION_BOARD_SIMULATION_HPP

#include "../core/overlap.hpp"
#include "../core/random.hpp"
#include "../dasgd/board_exchange.hpp"
#include "../dasgd/board_worker.hpp"
#include "sim_cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

//! Chunks of a board that are enough to have all ranks on it at the same time.
inline size_t ChunksToSimulate(const BoardSize& size)
{ return std::min(size.Chunks(), std::max<size_t>(64, 2 * size.ranks)); }

/**
 * The board of a small problem that stands for a model with so many elements:
 * as many passes get on side by side as there.
 */
inline BoardSize BoardAsLongAs(const size_t model,
                               const size_t elements,
                               const size_t ranks)
{
  BoardSize size = BoardSize::Of(model, ranks);
  const size_t chunks = std::max<size_t>(1, std::min(ChunksToSimulate(size),
      elements));
  size.elements = elements;
  size.chunk = std::max<size_t>(1, (elements + chunks - 1) / chunks);
  return size;
}

/**
 * Drives one BoardWorker for each rank as RunOnBoard() does, and a
 * BoardExchange for each machine if there are several, with virtual seconds in
 * place of real ones.  A pass over a board takes SimCluster::applySeconds, a
 * chunk its part of that.  The same seed gives the same run, bit for bit.
 */
template<typename ElemType>
class BoardSimulation
{
 public:
  using WorkerType = BoardWorker<ElemType>;
  using ExchangeType = BoardExchange<ElemType>;
  //! Makes the worker of a rank.
  using MakeType = std::function<std::unique_ptr<WorkerType>(Board<ElemType>&,
      size_t rank)>;

  /**
   * @param size Of each board.
   * @param start The model that all begin with.
   * @param links Which ranks share a board, and how boards are connected.
   * @param beside Does a machine exchange beside computing, or only while its
   *     first rank does not compute?
   */
  BoardSimulation(BoardSize size,
                  const SimCluster& machine,
                  const ElemType* start,
                  const MakeType& make,
                  const BoardLinks& links,
                  const bool beside = true) :
      machine(machine),
      beside(beside),
      random(Mix(machine.seed, 1)),
      links(links),
      network(clock, Hosts(), machine.window,
          machine.machineBytesPerSecond, Mix(machine.seed, 2),
          [this](const size_t host) { Arrived(host); }, machine.vectorBytes),
      seats(size.ranks)
  {
    size.outgoing = (links.Machines() > 1);
    for (size_t i = 0; i < links.Machines(); ++i)
    {
      hosts.emplace_back(size);
      std::copy(start, start + size.elements, hosts[i].board.Model());
    }
    for (size_t i = 0; i < seats.size(); ++i)
    {
      Host& host = hosts[links.Of(i)];
      host.ranks.push_back(i);
      seats[i].worker = make(host.board, i);
    }
    for (size_t i = 0; i < hosts.size() && size.outgoing; ++i)
      Connect(i);
  }

  //! From that time on a rank does nothing more.  Call before Run().
  void Halt(const size_t rank, const double when)
  {
    clock.After(when, [this, rank]()
    {
      seats[rank].halted = true;
      if (Carries(rank))
        hosts[links.Of(rank)].halted = true;
    });
  }

  //! See Simulation::Run().
  bool Run(const std::uint64_t maxEvents = 100000000,
           const double until = std::numeric_limits<double>::infinity())
  {
    for (size_t i = 0; i < seats.size(); ++i)
    {
      seats[i].worker->Participant().Start();
      clock.After(0, [this, i]() { Act(i); });
    }
    for (size_t i = 0; i < hosts.size() && beside; ++i)
      clock.After(0, [this, i]() { Tend(i); });
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
    for (const Host& host : hosts)
      all = all && host.over;
    if (!all && !halted)
      throw std::runtime_error("dasgd: a simulation is stuck:" + State());
    return all;
  }

  const WorkerType& Worker(const size_t rank) const
  { return *seats[rank].worker; }
  WorkerType& Worker(const size_t rank) { return *seats[rank].worker; }
  //! Has a rank got to the end?
  bool Left(const size_t rank) const { return seats[rank].left; }

  //! What happened on a rank, with what it exchanged for its machine.
  RankReport Counts(const size_t rank) const
  {
    RankReport counts = seats[rank].worker->Participant().Counts();
    if (!Carries(rank))
      return counts;
    const Host& host = hosts[links.Of(rank)];
    const size_t rounding = machine.format.Vectors(sizeof(ElemType));
    static_cast<Traffic&>(counts) = host.traffic;
    counts.vectorBound += ExchangeType::Vectors(*host.routes, machine.window) +
        rounding;
    counts.peakVectors += host.exchange->PeakVectors() + rounding +
        machine.window * host.exchange->Endpoint().ReceiveFrom().size();
    return counts;
  }

  //! Frames that a rank has sent to other machines.
  std::uint64_t SentAway(const size_t rank) const
  { return Carries(rank) ? hosts[links.Of(rank)].port->SentAway() : 0; }

  //! Machines that the one of this rank sends to.
  size_t Neighbours(const size_t rank) const
  {
    return Carries(rank) ? hosts[links.Of(rank)].exchange->Endpoint().SendTo()
        .size() : 0;
  }

  //! Virtual seconds.
  double Seconds() const { return clock.Now(); }
  //! A number that stands for all that happened, and in which order.
  std::uint64_t Fingerprint() const { return fingerprint; }

 private:
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

  //! A machine: its board, and what it exchanges with others.
  struct Host
  {
    explicit Host(const BoardSize& size) :
        memory(std::calloc(Board<ElemType>::Bytes(size) + alignment, 1)),
        board(size, Aligned(memory.get()))
    { }

    struct Free
    {
      void operator()(void* bytes) const { std::free(bytes); }
    };

    static constexpr size_t alignment = 128;
    static std::uint8_t* Aligned(void* bytes)
    {
      if (!bytes)
        throw std::bad_alloc();
      const size_t past = size_t(reinterpret_cast<std::uintptr_t>(bytes) %
          alignment);
      return static_cast<std::uint8_t*>(bytes) + (alignment - past);
    }

    //! All zero, and not there before it is used: many facts never come.
    std::unique_ptr<void, Free> memory;
    Board<ElemType> board;
    std::vector<size_t> ranks;
    //! Which of them is first asked whether it is its turn.
    size_t turn = 0;
    Traffic traffic;
    std::unique_ptr<Routes> routes;
    std::unique_ptr<ExchangeType> exchange;
    SimNetwork::Port* port = nullptr;
    //! Is it its turn; is something under way; does it wait for its turn at the
    //! board?
    bool tending = false;
    bool busy = false;
    //! Has it passed over the board since it was its turn?
    bool passed = false;
    bool blocked = false;
    bool over = true;
    bool halted = false;
  };

  //! The machine of each board; on one there may be several.
  std::vector<size_t> Hosts() const
  {
    const std::vector<size_t> machines = machine.Machines(links.All().size());
    std::vector<size_t> hosts;
    for (size_t i = 0; i < links.Machines(); ++i)
      hosts.push_back(machines[links.Carrier(i)]);
    return hosts;
  }

  //! Open the links of a machine.
  void Connect(const size_t index)
  {
    Host& host = hosts[index];
    host.routes = std::make_unique<Routes>(links.Between(), hosts.size(),
        index);
    host.exchange = std::make_unique<ExchangeType>(host.board, *host.routes,
        links.All(), links.Carrier(index), machine.window, host.traffic,
        machine.format);
    Endpoint<ElemType>& endpoint = host.exchange->Endpoint();
    endpoint.SetMachines(Hosts());
    endpoint.LimitBetween(FramesAtATime(double(machine.vectorBytes +
        host.board.Size().elements * sizeof(ElemType)), beside));
    endpoint.Pool().Share(idle);
    std::vector<SimLink> to;
    for (const size_t peer : endpoint.SendTo())
      to.push_back(machine.link(links.Carrier(index), links.Carrier(peer)));
    host.port = &network.Open(index, endpoint.SendTo(), to,
        endpoint.ReceiveFrom(), endpoint.Pool());
    host.port->SetAttentive(beside);
    host.over = false;
  }

  //! Does a rank exchange for its machine?
  bool Carries(const size_t rank) const
  {
    const size_t host = links.Of(rank);
    return hosts[host].exchange && links.Carrier(host) == rank;
  }

  RankReport& Booked(const size_t rank)
  { return seats[rank].worker->Participant().Counts(); }

  //
  // Ranks.
  //

  //! Begin what is next; first of all exchange, if that is a part of it.
  void Act(const size_t rank)
  {
    Host& host = hosts[links.Of(rank)];
    if (!beside && Carries(rank) && !host.over && !seats[rank].halted)
    {
      host.port->SetAttentive(false);
      host.port->Progress();
      host.tending = true;
      host.passed = false;
      Tend(links.Of(rank));
    }
    else
      Go(rank);
  }

  void Go(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    WorkerType& worker = *seat.worker;
    if (worker.Done() && (beside || !Carries(rank) ||
        hosts[links.Of(rank)].over))
    {
      seat.left = true;
      Note(rank, 3);
    }
    else if (worker.MustPass())
      BeginPass(rank);
    else if (HasWork(worker))
    {
      // Nothing else touches the iterate until then.
      const double seconds = machine.computeSeconds[rank] * random.Uniform(
          1 - machine.computeSpread, 1 + machine.computeSpread);
      clock.After(
          seconds, [this, rank, seconds]() { Computed(rank, seconds); });
    }
    else if (worker.MustPass() || worker.Behind())
      BeginPass(rank);
    else
    {
      worker.Participant().Idle(worker);
      if (worker.MustPass())
      {
        BeginPass(rank);
        return;
      }
      // As RunOnBoard() does, it looks again after it has exchanged something.
      Host& host = hosts[links.Of(rank)];
      if (!beside && Carries(rank) && host.passed)
      {
        host.passed = false;
        clock.After(0, [this, rank]() { Act(rank); });
        return;
      }
      seat.resting = true;
      seat.since = clock.Now();
      // In this order: what it notices now wakes it.
      if (!beside && Carries(rank))
        host.port->SetAttentive(true);
    }
  }

  void Computed(const size_t rank, const double seconds)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    Note(rank, 2);
    seat.worker->Evaluate();
    Booked(rank).secondsComputing += seconds;
    if (seat.worker->Due())
      BeginPass(rank);
    else
      clock.After(Stall(), [this, rank]() { Act(rank); });
  }

  //! Wait at the first chunk.
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
    Wake(links.Of(rank));
  }

  void Touch(const size_t rank, const double seconds)
  {
    Seat& seat = seats[rank];
    // A rank that dies inside a post leaves its chunk locked.
    if (seat.halted)
      return;
    Note(rank, 1);
    seat.worker->Advance();
    Booked(rank).secondsExchanging += seconds;
    if (seat.worker->UnderWay())
      Pass(rank);
    else
    {
      clock.After(Stall(), [this, rank]() { Act(rank); });
      Wake(links.Of(rank));
    }
  }

  //! A rank that rests looks what is next.
  void Resume(const size_t rank)
  {
    Seat& seat = seats[rank];
    seat.resting = false;
    Booked(rank).secondsIdle += clock.Now() - seat.since;
    clock.After(0, [this, rank]() { Act(rank); });
  }

  //! Something has changed on a board: whose turn it is goes on, after the time
  //! that its chunk takes.
  void Wake(const size_t index)
  {
    Host& host = hosts[index];
    // Those behind the one that had its turn last come first; the last place is
    // that of the exchange.
    const size_t places = host.ranks.size() + 1;
    for (size_t k = 0, first = host.turn; k < places; ++k)
    {
      const size_t place = (first + k) % places;
      if (place == host.ranks.size())
      {
        WakeExchange(index);
        continue;
      }
      const size_t i = host.ranks[place];
      Seat& seat = seats[i];
      if (seat.halted)
        continue;
      if (seat.blocked && seat.worker->Pass().TryLock())
      {
        host.turn = place + 1;
        seat.blocked = false;
        Booked(i).secondsExchanging += clock.Now() - seat.since;
        const double seconds = ChunkSeconds(host);
        clock.After(seconds + Stall(), [this, i, seconds]()
        { Touch(i, seconds); });
      }
      else if (seat.resting && (seat.worker->Behind() ||
          seat.worker->MustPass()))
        Resume(i);
    }
  }

  void WakeExchange(const size_t index)
  {
    Host& host = hosts[index];
    if (host.blocked && !host.halted && host.exchange->Pass().TryLock())
    {
      host.turn = 0;
      host.blocked = false;
      clock.After(ChunkSeconds(host) + Stall(), [this, index]()
      { TouchForOthers(index); });
    }
    else if (host.exchange && !host.busy)
      Arrived(index);
  }

  double ChunkSeconds(const Host& host) const
  { return machine.applySeconds / double(host.board.Chunks()); }

  //
  // What a machine exchanges with others.
  //

  //! Something has changed for a machine.
  void Arrived(const size_t index)
  {
    if (beside)
      clock.After(0, [this, index]() { Tend(index); });
    else if (seats[links.Carrier(index)].resting)
      Resume(links.Carrier(index));
  }

  //! Send, and then do what is next.
  void Tend(const size_t index)
  {
    Host& host = hosts[index];
    if (host.halted || host.busy || host.over || !(beside || host.tending))
      return;
    ExchangeType& exchange = *host.exchange;
    // There is one pass at a time, as in Exchanging::Tend(): where frames never
    // cease, a rank is to do what is next all the same.
    const bool passed = !beside && host.passed;
    const std::uint64_t away = host.port->SentAway();
    exchange.Send(*host.port);
    const double sending = machine.sendSeconds * double(
        host.port->SentAway() - away);
    if (sending > 0)
      After(index, sending, [this](Host&) { });
    else if (!passed && host.port->HasFrame() && exchange.MayReceive())
    {
      After(index, machine.relaySeconds + Stall(), [this, index](Host& now)
      {
        Note(seats.size() + index, 1);
        now.port->Receive([&now](const std::uint8_t* bytes, size_t size,
            size_t from) { now.exchange->Receive(bytes, size, from); });
      });
    }
    else if (!passed && exchange.Due(*host.port))
    {
      host.busy = true;
      host.passed = true;
      exchange.BeginPass();
      PassForOthers(index);
    }
    else
    {
      host.over = exchange.MayLeave(*host.port);
      host.tending = false;
      if (!beside)
        Go(links.Carrier(index));
    }
  }

  //! Do something after so many seconds, and then what is next.
  template<typename ActionType>
  void After(const size_t index, const double seconds, ActionType&& action)
  {
    hosts[index].busy = true;
    clock.After(seconds, [this, index, action]()
    {
      Host& host = hosts[index];
      if (host.halted)
        return;
      host.busy = false;
      action(host);
      Tend(index);
    });
  }

  void PassForOthers(const size_t index)
  {
    hosts[index].blocked = true;
    Wake(index);
  }

  void TouchForOthers(const size_t index)
  {
    Host& host = hosts[index];
    if (host.halted)
      return;
    Note(seats.size() + index, 2);
    host.exchange->Advance();
    if (host.exchange->UnderWay())
    {
      PassForOthers(index);
      return;
    }
    After(index, Stall(), [](Host&) { });
    Wake(index);
  }

  //! How long a rank stands still, by chance.
  double Stall()
  {
    return (machine.stallChance > 0 && random.Chance(machine.stallChance)) ?
        random.Uniform(0, 2 * machine.stallSeconds) : 0;
  }

  void Note(const size_t who, const std::uint64_t what)
  {
    std::uint64_t bits;
    const double now = clock.Now();
    std::memcpy(&bits, &now, sizeof(bits));
    fingerprint = Mix(fingerprint ^ bits, 4 * who + what);
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
          << ", has applied "
          << seat.worker->Participant().Counts().applied << ";";
    }
    for (size_t i = 0; i < hosts.size() && hosts[i].exchange; ++i)
    {
      const Host& host = hosts[i];
      out << " machine " << i << (host.over ? " is done" : host.blocked ?
          " waits at chunk " + std::to_string(host.exchange->Pass().Chunk()) :
          host.busy ? " exchanges" : " waits") << ";";
    }
    out << " at " << clock.Now() << " s";
    return out.str();
  }

  SimCluster machine;
  bool beside;
  SimClock clock;
  Random random;
  BoardLinks links;
  //! Buffers that no machine uses.
  std::vector<Buffer> idle;
  SimNetwork network;
  std::deque<Host> hosts;
  std::vector<Seat> seats;
  std::uint64_t fingerprint = 0;
};

} // namespace dasgd

#endif
