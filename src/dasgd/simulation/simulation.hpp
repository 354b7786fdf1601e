/**
 * @file simulation.hpp
 *
 * All ranks of a run in one process, on virtual time, from one seed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_SIMULATION_HPP
#define DASGD_SIMULATION_SIMULATION_HPP

#include "../core/random.hpp"
#include "../algorithms/driver.hpp"
#include "sim_cluster.hpp"

#include <functional>
#include <memory>
#include <sstream>

namespace dasgd {

/**
 * Drives one worker for each rank as Run() does, with virtual seconds in place
 * of real ones.  The same seed gives the same run, bit for bit.
 *
 * @tparam WorkerTypeIn See WorkerDefaults.
 */
template<typename ElemType, typename WorkerTypeIn>
class Simulation
{
 public:
  using WorkerType = WorkerTypeIn;
  //! Makes the worker of a rank from its routes.
  using MakeType = std::function<std::unique_ptr<WorkerType>(const Routes&)>;

  /**
   * @param ranks How many there are.
   * @param make Makes the worker of each.
   */
  Simulation(const Topology& topology,
             const size_t ranks,
             const SimCluster& machine,
             const MakeType& make) :
      machine(machine),
      random(Mix(machine.seed, 1)),
      network(clock, machine.Machines(ranks), machine.window,
          machine.machineBytesPerSecond, Mix(machine.seed, 2),
          [this](const size_t rank) { Resume(rank); }, machine.vectorBytes),
      seats(ranks)
  {
    for (size_t i = 0; i < ranks; ++i)
    {
      Seat& seat = seats[i];
      seat.routes = std::make_unique<Routes>(topology, ranks, i);
      seat.worker = make(*seat.routes);
      seat.driver = std::make_unique<Driver<WorkerType>>(*seat.worker);
      Endpoint<ElemType>& endpoint = seat.worker->Participant().Endpoint();
      endpoint.Pool().Share(idle);
      endpoint.SetMachines(machine.Machines(ranks));
      std::vector<SimLink> links;
      for (const size_t peer : endpoint.SendTo())
        links.push_back(machine.link(i, peer));
      seat.port = &network.Open(i, endpoint.SendTo(), links,
          endpoint.ReceiveFrom(), endpoint.Pool());
    }
  }

  /**
   * From that time on a rank does nothing more: it dies, or it learns that
   * another one has died.  What it has sent still arrives.  Call before Run().
   */
  void Halt(const size_t rank, const double when)
  {
    clock.After(when, [this, rank]() { seats[rank].halted = true; });
  }

  /**
   * Run to the end.
   *
   * @param maxEvents Give up after so many; a run of this library ends.
   * @param until When everything dies, if it does.
   * @return Have all ranks got to the end?
   */
  bool Run(const std::uint64_t maxEvents = 100000000,
           const double until = std::numeric_limits<double>::infinity())
  {
    for (size_t i = 0; i < seats.size(); ++i)
    {
      seats[i].worker->Participant().Start();
      clock.After(0, [this, i]() { Turn(i); });
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
    // Ranks that were not told that another one is dead may wait for it.
    if (!all && !halted)
      throw std::runtime_error("dasgd: a simulation is stuck:" + State());
    return all;
  }

  //! Frames that a rank has sent to other machines.
  std::uint64_t SentAway(const size_t rank) const
  { return seats[rank].port->SentAway(); }

  //! Has a rank got to the end?
  bool Left(const size_t rank) const { return seats[rank].left; }

  const WorkerType& Worker(const size_t rank) const
  { return *seats[rank].worker; }
  WorkerType& Worker(const size_t rank) { return *seats[rank].worker; }
  //! Vectors that a rank held at most besides iterate and gradient.
  size_t PeakVectors(const size_t rank) const
  {
    const WorkerType& worker = *seats[rank].worker;
    return dasgd::PeakVectors(worker) + machine.window *
        worker.Participant().Endpoint().ReceiveFrom().size() +
        machine.format.Vectors(sizeof(ElemType));
  }
  //! Record what happens; call before Run().
  void Record()
  {
    history.assign(seats.size(), RankHistory(seats.size()));
    for (size_t i = 0; i < seats.size(); ++i)
      seats[i].worker->Participant().Endpoint().Record(history[i]);
  }
  //! What was recorded, if anything.
  const dasgd::History& History() const { return history; }

  //! Virtual seconds.
  double Seconds() const { return clock.Now(); }
  //! A number that stands for all that happened, and in which order.
  std::uint64_t Fingerprint() const { return fingerprint; }

 private:
  struct Seat
  {
    std::unique_ptr<Routes> routes;
    std::unique_ptr<WorkerType> worker;
    std::unique_ptr<Driver<WorkerType>> driver;
    SimNetwork::Port* port = nullptr;
    bool waiting = false;
    double waitingSince = 0;
    bool left = false;
    bool halted = false;
  };

  RankReport& Counts(const size_t rank)
  { return seats[rank].worker->Participant().Counts(); }

  //! Send, and then look what is next.
  void Turn(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    seat.driver->Other(clock.Now());
    seat.port->SetAttentive(false);
    seat.port->Progress();
    const std::uint64_t away = seat.port->SentAway();
    seat.driver->Send(*seat.port);
    const double sending = SendSeconds(seat, away);
    if (!history.empty())
      history[rank].Stamp(clock.Now(), clock.Now() + sending);
    if (sending > 0)
    {
      clock.After(sending, [this, rank, sending]()
      {
        seats[rank].driver->Exchanged(clock.Now(), Counts(rank),
            *seats[rank].port, false);
        Counts(rank).secondsExchanging += sending;
        Turned(rank);
      });
      return;
    }
    Turned(rank);
  }

  //! All has been sent.
  void Turned(const size_t rank)
  {
    if (Stalls())
    {
      clock.After(random.Uniform(0, 2 * machine.stallSeconds),
          [this, rank]() { Act(rank); });
      return;
    }
    Act(rank);
  }

  //! Begin what is next.
  void Act(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    if (seat.port->HasFrame() && seat.driver->MayReceive())
    {
      seat.driver->Other(clock.Now());
      clock.After(machine.applySeconds, [this, rank]() { Receive(rank); });
      return;
    }
    const Action action = seat.driver->Choose(clock.Now(), *seat.port);
    if (action == Action::Compute)
    {
      // The gradient belongs to the model of this moment.  Nothing else touches
      // the model until it is applied, so it may as well be computed then.
      const double seconds = GradientSeconds(rank);
      clock.After(seconds, [this, rank, seconds]() { Compute(rank, seconds); });
      return;
    }
    Stamp(rank, 0);
    if (action == Action::Retry)
    {
      Act(rank);
      return;
    }
    if (action == Action::Pause)
      WakeAfterPause(rank);
    // In this order: what it notices now wakes it.
    Sleep(rank, seat.driver->MayLeave(*seat.port));
    seat.port->SetAttentive(true);
  }

  //! A frame has been applied.
  void Receive(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    Note(rank, 1);
    TakeFrame(seat);
    seat.driver->Exchanged(clock.Now(), Counts(rank), *seat.port,
        true);
    Stamp(rank, machine.applySeconds);
    Counts(rank).secondsExchanging += machine.applySeconds;
    Turn(rank);
  }

  //! A gradient has been computed.
  void Compute(const size_t rank, const double seconds)
  {
    Seat& seat = seats[rank];
    if (seat.halted)
      return;
    Note(rank, 2);
    seat.worker->Compute();
    seat.driver->Other(clock.Now() - seconds);
    seat.driver->Computed(clock.Now());
    Stamp(rank, seconds);
    Counts(rank).secondsComputing += seconds;
    Turn(rank);
  }

  //! What it took to send, given how many frames had left the machine before.
  double SendSeconds(const Seat& seat, const std::uint64_t away) const
  { return machine.sendSeconds * double(seat.port->SentAway() - away); }

  static void TakeFrame(Seat& seat)
  {
    seat.port->Receive([&seat](const std::uint8_t* bytes, size_t size,
        size_t from) { seat.worker->Receive(bytes, size, from); });
  }

  bool Stalls()
  { return machine.stallChance > 0 && random.Chance(machine.stallChance); }

  double GradientSeconds(const size_t rank)
  {
    return machine.computeSeconds[rank] * random.Uniform(
        1 - machine.computeSpread, 1 + machine.computeSpread);
  }

  void WakeAfterPause(const size_t rank)
  {
    // A little later, since rounding could make it a little earlier.
    const double left = std::max(seats[rank].driver->PausesUntil() -
        clock.Now(), 0.0);
    clock.After(left + 1e-3 * LeadLimit::patience,
        [this, rank]() { Resume(rank); });
  }

  //! There is nothing to do: leave, or wait.
  void Sleep(const size_t rank, const bool leave)
  {
    Seat& seat = seats[rank];
    seat.left = leave;
    seat.waiting = !leave;
    seat.waitingSince = clock.Now();
    if (leave)
      Note(rank, 3);
  }

  //! Something has changed for a rank: if it waits, let it look.
  void Resume(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (!seat.waiting || seat.halted)
      return;
    seat.waiting = false;
    Counts(rank).secondsIdle += clock.Now() - seat.waitingSince;
    if (!history.empty() && clock.Now() > seat.waitingSince)
      history[rank].Idle(seat.waitingSince, clock.Now());
    clock.After(0, [this, rank]() { Turn(rank); });
  }

  //! What a rank has just noted took so long until now.
  void Stamp(const size_t rank, const double seconds)
  {
    if (!history.empty())
      history[rank].Stamp(clock.Now() - seconds, clock.Now());
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
      out << " rank " << i << (seats[i].left ? " left" : seats[i].halted ?
          " halted" : seats[i].waiting ? " waits" : " works")
          << ", has applied " << seats[i].worker->Participant().Counts()
          .applied << ";";
    }
    out << " at " << clock.Now() << " s";
    return out.str();
  }

  SimCluster machine;
  SimClock clock;
  Random random;
  //! Buffers that no rank uses.
  std::vector<Buffer> idle;
  SimNetwork network;
  std::vector<Seat> seats;
  std::uint64_t fingerprint = 0;
  dasgd::History history;
};

} // namespace dasgd

#endif
