/**
 * @file agreement.hpp
 *
 * What all ranks compare, share and agree on before a run and after it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_AGREEMENT_HPP
#define DASGD_OPTIMIZER_AGREEMENT_HPP

#include "../wire/frame.hpp"
#include "describe.hpp"
#include "guard.hpp"
#include "handshake.hpp"
#include "policy_parameters.hpp"
#include "take_fingerprint.hpp"

namespace dasgd {

//! A number in a message.
inline std::string NumberText(const double number)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", number);
  return text;
}

//! What all ranks know of each other after the handshake.
struct Agreed
{
  std::vector<size_t> points;
  std::uint64_t seed = 0;
};

//! Compare with all other ranks; throws on all of them if something is off.
template<typename AlgorithmType,
         typename UpdatePolicyType,
         typename DecayPolicyType,
         typename ElemType>
Agreed ShakeHands(
    const MpiCommunicator& comm,
    const Settings<UpdatePolicyType, DecayPolicyType>& settings,
    const typename AlgorithmType::Options& options,
    const size_t rows,
    const size_t cols,
    const size_t points,
    const std::string& failure,
    ElemType)
{
  const std::uint16_t one = 1;
  Handshake handshake;
  handshake.Require("the algorithm and its version",
      AlgorithmType::Name() + std::string(" ") +
      std::to_string(FrameHeader::Version) +
      (*reinterpret_cast<const std::uint8_t*>(&one) ? " little-endian" :
      " big-endian"), "run the same build of the program on every rank");
  handshake.Require("the element type", TypeName<ElemType>());
  handshake.Require("the rows of the iterate", rows);
  handshake.Require("the columns of the iterate", cols);
  if (settings.UsesAutoStep())
    handshake.Require("StepSize()", std::string("AutoStep"));
  else
    handshake.Require("StepSize()", settings.StepSize());
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
  handshake.Require("WireFormat()", settings.WireFormat().Name());
  handshake.Require("Smoothness()", settings.Smoothness());
  handshake.Require("RecordHistory()", settings.RecordHistory());
  handshake.Require("the update policy", TypeName<UpdatePolicyType>());
  handshake.Require("the decay policy", TypeName<DecayPolicyType>());
  const auto require = [&](const std::string& name, const auto value)
  { handshake.Require(name, value); };
  VisitParameters("UpdatePolicy()", settings.UpdatePolicy(), require);
  VisitParameters("DecayPolicy()", settings.DecayPolicy(), require);
  handshake.Require("ResetPolicy()", settings.ResetPolicy());
  AlgorithmType::Traits::Agree(options, handshake);
  if (settings.Data() == Data::Replicated)
  {
    handshake.Require("the number of points", std::to_string(points), "give "
        "every rank the same data, or set Data() = dasgd::Data::Sharded if "
        "every rank has points of its own");
  }
  handshake.Problem(failure);
  handshake.Problem(Complaint<AlgorithmType>(settings, options, comm.Size(), comm.Rank(),
      rows * cols * sizeof(ElemType), points));
  handshake.Agree(comm, std::string(AlgorithmType::Name()) + "::Optimize()");

  Agreed agreed;
  for (const std::uint64_t held : comm.Gather(std::uint64_t(points)))
    agreed.points.push_back(size_t(held));
  agreed.seed = settings.Seed();
  if (comm.Size() > 1 && settings.Shuffle() && agreed.seed == 0)
  {
    // From rank 0's own random numbers: a program that seeds them gets the same
    // order each time.
    const arma::uvec drawn = arma::randi<arma::uvec>(1,
        arma::distr_param(0, std::numeric_limits<int>::max()));
    agreed.seed = comm.Gather(std::uint64_t(drawn[0])).front();
  }
  return agreed;
}

//! Do all ranks hold the same data?  Throws on all of them if not.
inline void CompareData(const MpiCommunicator& comm,
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
    throw std::invalid_argument(name + "::Optimize(): ranks 0 and " + std::to_string(i) + " hold different "
        "data: the objective of the " + where[place] + " points is " +
        NumberText(all[0].objectives[place]) + " and " +
        NumberText(all[i].objectives[place]) + "; give every rank the same data in "
        "the same order (seed random splits alike), or set Data() = "
        "dasgd::Data::Sharded if every rank has points of its own.");
  }
}

//! Why the run ended becomes the same on all ranks.
inline void AgreeOnStop(const MpiCommunicator& comm, Outcome& outcome)
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

//! Rank 0's bytes become everyone's; throws on all ranks if one cannot have
//! them.
inline void ShareCheckpoint(const MpiCommunicator& comm,
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

//! After deaths a topology may not fit those that are left; another one takes
//! its place.
inline void FitTopology(const MpiCommunicator& comm,
                        const std::string& name,
                        Topology& topology)
{
  if (comm.Size() == comm.ParentSize())
    return;
  try
  {
    topology.Check(comm.Size());
  }
  catch (const std::exception& e)
  {
    topology = "exponential"; // It fits any number of ranks.
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
}

//! Rank 0's iterate becomes everyone's; returns how far this one was off.
template<typename ElemType>
double CopyFromRoot(const MpiCommunicator& comm,
                    ElemType* iterate,
                    const size_t elements)
{
  if (comm.Size() == 1)
    return 0;
  // In pieces, so that no other vector of the model's size is needed.
  constexpr size_t piece = size_t(1) << 16;
  std::vector<ElemType> root(std::min(piece, elements));
  double deviation = 0;
  for (size_t done = 0; done < elements; done += piece)
  {
    const size_t count = std::min(piece, elements - done);
    if (comm.Rank() == 0)
      std::copy(iterate + done, iterate + done + count, root.begin());
    comm.Broadcast(root.data(), count * sizeof(ElemType));
    for (size_t i = 0; i < count; ++i)
    {
      deviation = std::max(deviation,
          std::abs(double(iterate[done + i]) - double(root[i])));
      iterate[done + i] = root[i];
    }
  }
  return deviation;
}

} // namespace dasgd

#endif
