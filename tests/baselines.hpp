/**
 * @file baselines.hpp
 *
 * What the algorithms that DASGD is compared with promise, as checks on
 * finished runs, the same for the simulator and for MPI.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_BASELINES_HPP
#define DASGD_TESTS_BASELINES_HPP

#include "conformance.hpp"

#include <dasgd/baselines/adpsgd.hpp>
#include <dasgd/baselines/dpsgd.hpp>
#include <dasgd/baselines/parameter_server_sgd.hpp>
#include <dasgd/baselines/swift.hpp>

namespace conformance {

//! Make a random case one that the algorithm can run.
template<typename TraitsType>
void Suit(Case& script, const std::uint64_t seed)
{
  script.format = "exact";
  if (!std::is_same<TraitsType, ServerTraits>::value)
    return;
  if (script.ranks == 1)
    script.ranks = 2;
  script.topology = "complete";
  script.served = true;
  script.server = (seed % 3 == 0) ? seed % script.ranks : 0;
  script.points = std::max(script.points, script.ranks);
  // The server computes nothing, so nothing of that kind happens to it.
  script.eventRank %= script.ranks;
  if (script.eventRank == script.server &&
      (script.event == Event::Throw || script.event == Event::NonFinite))
    script.eventRank = (script.server + 1) % script.ranks;
}

template<typename OptionsType>
void Vary(OptionsType&, const Case&, std::uint64_t) { }
inline void Vary(SwiftTraits::Options& options, const Case&,
                 const std::uint64_t seed)
{ options.Period() = 1 + seed % 3; }
inline void Vary(ServerOptions& options, const Case& script, std::uint64_t)
{ options.ServerRank() = script.server; }

//! The mean over ranks, times their number, must be the sum of all updates.
inline std::string BrokenMean(const Case& script,
                              const std::vector<Ending>& ends)
{
  // A rank that has thrown takes no more steps; that run is lost anyway.
  for (const Ending& end : ends)
    if (end.threw)
      return "";
  const std::vector<double> expected = SumOfUpdates(script, ends);
  for (size_t i = 0; i < script.elements; ++i)
  {
    double sum = 0, scale = 1;
    for (const Ending& end : ends)
    {
      sum += end.iterate[i];
      scale = std::max(scale, std::abs(end.iterate[i]));
    }
    if (!(std::abs(sum - expected[i]) <= 1e-9 * scale * double(script.ranks)))
    {
      std::ostringstream out;
      out.precision(17);
      out << "element " << i << " of all models sums up to " << sum
          << " instead of " << expected[i] << "\n";
      return out.str();
    }
  }
  return "";
}

//! What is wrong with a run, beside what is for all algorithms.
template<typename TraitsType>
std::string BrokenBaseline(const Case& script, const std::vector<Ending>& ends)
{
  std::string out = Broken(script, ends, false);
  if constexpr (std::is_same<TraitsType, DpsgdTraits>::value ||
                std::is_same<TraitsType, AdpsgdTraits>::value)
    out += BrokenMean(script, ends);
  if constexpr (std::is_same<TraitsType, SwiftTraits>::value)
  {
    // All start at zero and all weights are positive: no model can be beyond
    // the sum of all updates on one side.
    std::vector<double> low(script.elements, 0), high(script.elements, 0);
    for (size_t o = 0; o < script.ranks; ++o)
    {
      for (std::uint64_t s = 1; s <= ends[o].counts.computed; ++s)
      {
        for (size_t i = 0; i < script.elements; ++i)
        {
          const double update = UpdateElement(o, s, i);
          low[i] -= std::max(update, 0.0);
          high[i] -= std::min(update, 0.0);
        }
      }
    }
    for (const Ending& end : ends)
      for (size_t i = 0; i < script.elements; ++i)
        if (!(end.iterate[i] >= low[i] - 1 && end.iterate[i] <= high[i] + 1))
          out += "a model is beyond all updates\n";
  }
  if constexpr (std::is_same<TraitsType, ServerTraits>::value)
  {
    const Ending& server = ends[script.server];
    // What the server's own callbacks throw keeps it from going on.
    if (!server.threw && server.iterate != SumOfUpdates(script, ends))
      out += "the server's model is not the sum of all updates\n";
    if (server.counts.computed != 0)
      out += "the server has computed\n";
    if (server.counts.staleness.Measured() != server.counts.applied)
      out += "the server has not measured the staleness of all gradients\n";
  }
  return out;
}

} // namespace conformance

#endif
