/**
 * @file simulation.hpp
 *
 * All ranks of a run in one process, on virtual time, from one seed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_SIMULATION_HPP
#define DASGD_ALGORITHMS_SIMULATION_HPP

#include "dasgd_worker.hpp"
#include "lead_limit.hpp"
#include "sim_machine.hpp"

#include <sstream>

namespace dasgd {

/**
 * Drives one worker for each rank as Run() does, with virtual seconds in place
 * of real ones.  The same seed gives the same run, bit for bit.
 *
 * @tparam WorkerTypeIn See Courier.
 */
template<typename ElemType,
         typename ProblemType,
         typename WorkerTypeIn = DasgdWorker<ElemType, ProblemType>>
class Simulation
{
 public:
  using WorkerType = WorkerTypeIn;
  //! Makes the worker of a rank from its routes.
  using MakeType = std::function<std::unique_ptr<WorkerType>(const Routes&)>;

  /**
   * @param iterates The model of each rank; all equal at the start.
   * @param elements Elements of each.
   * @param problems The problem of each rank.
   */
  Simulation(const Topology& topology,
             const std::vector<ElemType*>& iterates,
             const size_t elements,
             const std::vector<ProblemType*>& problems,
             const SimMachine& machine) :
      Simulation(topology, problems.size(), machine,
          [&](const Routes& routes)
          {
            return std::make_unique<WorkerType>(routes, machine.window,
                iterates[routes.Rank()], elements, *problems[routes.Rank()],
                machine.format);
          })
  { }

  //! The same with any kind of worker.
  Simulation(const Topology& topology,
             const size_t ranks,
             const SimMachine& machine,
             const MakeType& make) :
      machine(machine),
      random(Mix(machine.seed, 1)),
      network(clock, ranks, machine.window, machine.rankBytesPerSecond,
          Mix(machine.seed, 2),
          [this](const size_t rank) { Wake(rank); }),
      seats(ranks)
  {
    for (size_t i = 0; i < ranks; ++i)
    {
      Seat& seat = seats[i];
      seat.routes = std::make_unique<Routes>(topology, ranks, i);
      seat.worker = make(*seat.routes);
      std::vector<SimLink> links;
      for (const size_t peer : seat.worker->SendTo())
        links.push_back(machine.link(i, peer));
      seat.port = &network.Open(i, seat.worker->SendTo(), links,
          seat.worker->ReceiveFrom(), seat.worker->Pool());
    }
  }

  /**
   * Run to the end.
   *
   * @param maxEvents Give up after so many; a run of this library ends.
   * @param until When everything dies, if it does.
   * @return Was that the end?
   */
  bool Run(const std::uint64_t maxEvents = 100000000,
           const double until = std::numeric_limits<double>::infinity())
  {
    for (size_t i = 0; i < seats.size(); ++i)
    {
      seats[i].limit = LeadLimit(seats[i].worker->MaxLead());
      seats[i].worker->Start();
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
    for (const Seat& seat : seats)
    {
      if (!seat.left)
        throw std::runtime_error("dasgd: a simulation is stuck:" + State());
    }
    return true;
  }

  const WorkerType& Worker(const size_t rank) const
  { return *seats[rank].worker; }
  WorkerType& Worker(const size_t rank) { return *seats[rank].worker; }
  //! Vectors that a rank held at most besides iterate and gradient.
  size_t PeakVectors(const size_t rank) const
  {
    return seats[rank].worker->PeakVectors() +
        machine.window * seats[rank].worker->ReceiveFrom().size() +
        machine.format.Vectors(sizeof(ElemType));
  }
  //! Record what happens; call before Run().
  void Record()
  {
    history.assign(seats.size(), RankHistory(seats.size()));
    for (size_t i = 0; i < seats.size(); ++i)
      seats[i].worker->Record(history[i]);
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
    SimNetwork::Port* port = nullptr;
    LeadLimit limit{ 0 };
    bool waiting = false;
    double waitingSince = 0;
    bool left = false;
  };

  //! What a rank does next: the same choice as in dasgd::Run().
  void Turn(const size_t rank)
  {
    Seat& seat = seats[rank];
    WorkerType& worker = *seat.worker;
    worker.Send(*seat.port);
    Stamp(rank, 0);
    if (machine.stallChance > 0 && random.Chance(machine.stallChance))
    {
      clock.After(random.Uniform(0, 2 * machine.stallSeconds),
          [this, rank]() { Act(rank); });
      return;
    }
    Act(rank);
  }

  void Act(const size_t rank)
  {
    Seat& seat = seats[rank];
    WorkerType& worker = *seat.worker;
    if (seat.port->HasFrame() && !worker.Starved())
    {
      clock.After(machine.applySeconds, [this, rank, &seat, &worker]()
      {
        Note(rank, 1);
        seat.port->Receive([&worker](const std::uint8_t* bytes, size_t size,
            size_t from) { worker.Receive(bytes, size, from); });
        Stamp(rank, machine.applySeconds);
        worker.Counts().secondsExchanging += machine.applySeconds;
        Turn(rank);
      });
      return;
    }
    const bool pauses = seat.limit.Pauses(worker.HasWork() && worker.Ahead(),
        clock.Now(), worker.Counts());
    if (!pauses && worker.HasWork())
    {
      // The gradient belongs to the model of this moment.  Nothing else touches
      // the model until it is applied, so it may as well be computed then.
      const double seconds = machine.computeSeconds[rank] * random.Uniform(
          1 - machine.computeSpread, 1 + machine.computeSpread);
      seat.limit.Begins(clock.Now());
      clock.After(seconds, [this, rank, seconds, &worker]()
      {
        Note(rank, 2);
        worker.Compute();
        Stamp(rank, seconds);
        worker.Counts().secondsComputing += seconds;
        Turn(rank);
      });
    }
    else
    {
      worker.Send(*seat.port);
      Stamp(rank, 0);
      // What was sent may have been what this rank had to wait for.
      if (pauses ? !worker.Ahead() : worker.HasWork())
      {
        Act(rank);
        return;
      }
      if (pauses)
      {
        // A little later, lest rounding makes it a little earlier.
        const double left = std::max(seat.limit.Until() - clock.Now(), 0.0);
        clock.After(left + 1e-3 * LeadLimit::patience,
            [this, rank]() { Wake(rank); });
      }
      seat.left = worker.Done() && seat.port->Delivered();
      seat.waiting = !seat.left;
      seat.waitingSince = clock.Now();
      if (seat.left)
        Note(rank, 3);
    }
  }

  //! Something has changed for a rank: if it waits, let it look.
  void Wake(const size_t rank)
  {
    Seat& seat = seats[rank];
    if (!seat.waiting)
      return;
    seat.waiting = false;
    seat.worker->Counts().secondsIdle += clock.Now() - seat.waitingSince;
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
      out << " rank " << i << (seats[i].left ? " left" :
          seats[i].waiting ? " waits" : " works") << ", has applied "
          << seats[i].worker->Counts().applied << ";";
    }
    out << " at " << clock.Now() << " s";
    return out.str();
  }

  SimMachine machine;
  SimClock clock;
  Random random;
  SimNetwork network;
  std::vector<Seat> seats;
  std::uint64_t fingerprint = 0;
  dasgd::History history;
};

} // namespace dasgd

#endif
