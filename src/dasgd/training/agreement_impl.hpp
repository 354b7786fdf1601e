/**
 * @file agreement_impl.hpp
 *
 * Implementation of what all ranks compare, share and agree on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_AGREEMENT_IMPL_HPP
#define DASGD_TRAINING_AGREEMENT_IMPL_HPP

// In case it hasn't been included yet.
#include "agreement.hpp"

#include "../wire/frame_header.hpp"
#include "../core/guard.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>

namespace dasgd {

DASGD_INLINE std::string NumberText(const double number)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", number);
  return text;
}

DASGD_INLINE void RequireCommon(const CommonSettings& settings,
                                const std::string& name,
                                const size_t rows,
                                const size_t cols,
                                const size_t points,
                                Handshake& handshake)
{
  const std::uint16_t one = 1;
  handshake.Require("the algorithm and its version", name + " " +
      std::to_string(FrameHeader::Version) +
      (*reinterpret_cast<const std::uint8_t*>(&one) ? " little-endian" :
      " big-endian"), "run the same build of the program on every rank");
  handshake.Require("the rows of the iterate", rows);
  handshake.Require("the columns of the iterate", cols);
  const auto requireChosen = [&](const char* what,
                                 const double value,
                                 const char* automatic)
  {
    if (value == Automatic)
      handshake.Require(what, std::string(automatic));
    else
      handshake.Require(what, value);
  };
  requireChosen("StepSize()", settings.StepSize(), "AutoStep");
  handshake.Require("BatchSize()", settings.BatchSize());
  handshake.Require("MaxIterations()", settings.MaxIterations());
  handshake.Require("Tolerance()", settings.Tolerance());
  handshake.Require("Shuffle()", settings.Shuffle());
  handshake.Require("ExactObjective()", settings.ExactObjective());
  handshake.Require("Topology()", settings.Topology().Name());
  handshake.Require("Data()", std::string(ToString(settings.Data())));
  handshake.Require("Sharing()", std::string(ToString(settings.Sharing())));
  handshake.Require("Seed()", settings.Seed());
  handshake.Require("Window()", settings.Window());
  handshake.Require("MaxLead()", settings.MaxLead());
  handshake.Require("ExchangeShare()", settings.ExchangeShare());
  requireChosen("StalenessDamping()", settings.StalenessDamping(),
      "Automatic");
  requireChosen("LookAhead()", settings.LookAhead(), "Automatic");
  handshake.Require("WireFormat()", settings.WireFormat().Name());
  handshake.Require("Smoothness()", settings.Smoothness());
  handshake.Require("RecordHistory()", settings.RecordHistory());
  handshake.Require("ResetPolicy()", settings.ResetPolicy());
  if (settings.Data() == Data::Replicated)
  {
    handshake.Require("the number of points", std::to_string(points), "give "
        "every rank the same data, or set Data() = dasgd::Data::Sharded if "
        "every rank has points of its own");
  }
}

DASGD_INLINE Agreed FinishHandshake(const MpiCommunicator& comm,
                                    const CommonSettings& settings,
                                    const std::string& name,
                                    const size_t points,
                                    Handshake& handshake)
{
  handshake.Agree(comm, name + "::Optimize()");

  Agreed agreed;
  for (const std::uint64_t held : comm.Gather(std::uint64_t(points)))
    agreed.points.push_back(size_t(held));
  agreed.seed = settings.Seed();
  return agreed;
}

DASGD_INLINE void CompareData(const MpiCommunicator& comm,
                              const Fingerprint& mine,
                              const std::string& name)
{
  std::vector<Fingerprint> all(comm.Size());
  const std::vector<std::string> texts = comm.Gather(std::string(
      reinterpret_cast<const char*>(&mine), sizeof(mine)));
  for (size_t i = 0; i < comm.Size(); ++i)
  {
    std::memcpy(&all[i], texts[i].data(), sizeof(Fingerprint));
    const size_t place = all[0].Difference(all[i]);
    if (place == Fingerprint::Places)
      continue;
    const char* const where[] = { "first", "middle", "last" };
    throw std::invalid_argument(name + "::Optimize(): ranks 0 and " +
        std::to_string(i) + " hold different data: the objective of the " +
        where[place] + " points is " + NumberText(all[0].objectives[place]) +
        " and " + NumberText(all[i].objectives[place]) + "; give every rank "
        "the same data in the same order (seed random splits alike), or set "
        "Data() = dasgd::Data::Sharded if every rank has points of its own.");
  }
}

DASGD_INLINE void AgreeOnStop(const MpiCommunicator& comm, Outcome& outcome)
{
  if (comm.Size() == 1)
    return;
  struct Known
  {
    bool stopped;
    StopReason reason;
    std::uint32_t origin;
    std::uint64_t count;
    double value;
  };
  const Known mine{ outcome.stopped, outcome.stop.reason, outcome.stop.origin,
      outcome.stop.count, outcome.stop.value };
  std::vector<Fact> facts(comm.Size());
  std::vector<const Fact*> known;
  for (const std::string& text : comm.Gather(std::string(
      reinterpret_cast<const char*>(&mine), sizeof(mine)) +
      outcome.stop.text.substr(0, Fact::MaxText)))
  {
    Known their;
    std::memcpy(&their, text.data(), sizeof(their));
    Fact& fact = facts[known.size()];
    fact.kind = Fact::Kind::Stop;
    fact.reason = their.reason;
    fact.origin = their.origin;
    fact.count = their.count;
    fact.value = their.value;
    fact.text = text.substr(sizeof(their));
    known.push_back(their.stopped ? &fact : nullptr);
  }
  const Fact* const strongest = Strongest(known);
  outcome.stopped = (strongest != nullptr);
  if (strongest)
    outcome.stop = *strongest;
}

DASGD_INLINE void ShareCheckpoint(const MpiCommunicator& comm,
                                  const std::string& name,
                                  std::vector<std::uint8_t>& bytes)
{
  if (comm.Size() == 1)
    return;
  std::uint64_t count = bytes.size();
  comm.Broadcast(&count, sizeof(count));
  if (count == 0)
    return;
  // There may be too little memory for it on one rank only.
  std::exception_ptr unready;
  Guard(unready, [&]() { bytes.resize(size_t(count)); });
  Handshake handshake;
  handshake.Problem(ExceptionText(unready));
  handshake.Agree(comm, name + "::Optimize(), resuming from a checkpoint");
  comm.Broadcast(bytes.data(), bytes.size());
}

DASGD_INLINE Topology PlaceTopology(const MpiCommunicator& comm,
                                    const std::vector<size_t>& machines,
                                    const std::string& name,
                                    const Topology& chosen)
{
  Topology topology = chosen.On(machines);
  if (comm.Size() == comm.ParentSize())
    return topology;
  try
  {
    topology.Check(comm.Size());
  }
  catch (const std::exception& e)
  {
    topology = Topology::Auto().On(machines); // It fits any number of ranks.
    if (comm.Rank() == 0)
    {
      // What follows is advice for a job that is about to start.
      const std::string text = e.what();
      std::cerr << name << ": " << text.substr(0,
          text.find(';')) << ", since " << mpi::DiedText(comm.Lost(),
          comm.ParentSize()) << "; " << topology.Name()
          << " takes its place." << std::endl;
    }
  }
  return topology;
}

} // namespace dasgd

#endif
