/**
 * @file termination.hpp
 *
 * Final counts and reasons to stop: when is a run over, and why?
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_TERMINATION_HPP
#define DASGD_PROTOCOL_TERMINATION_HPP

#include "../core/fact.hpp"
#include "../staleness/manifest.hpp"
#include "../wire/frame.hpp"

namespace dasgd {

/**
 * What one rank knows of the end of a run.  Every rank broadcasts its final
 * count once; a rank that wants all to stop broadcasts why.  Facts follow the
 * gradients of their origin, so a final count arrives after everything that it
 * counts.
 */
class Termination
{
 public:
  explicit Termination(const size_t ranks) :
      finalKnown(ranks, false), finalsMissing(ranks) { }

  /**
   * A fact is known here: it was received, or it is this rank's own.
   *
   * @param version Gradients of each origin that are here.
   */
  void Receive(const Fact& fact, const VersionVector& version)
  {
    if (fact.kind == Fact::Kind::Stop)
    {
      // A late one may not reach all; they agree when they meet at the end.
      if (!stopped || Outweighs(fact, stop))
        stop = fact;
      stopped = true;
      return;
    }
    if (finalKnown[fact.origin] || fact.count != version[fact.origin])
    {
      throw WireError("rank " + std::to_string(fact.origin) + " has computed " +
          std::to_string(fact.count) + " gradients, of which " +
          std::to_string(version[fact.origin]) + " have arrived");
    }
    finalKnown[fact.origin] = true;
    --finalsMissing;
  }

  //! Ranks that may still compute.
  size_t FinalsMissing() const { return finalsMissing; }
  //! Has this rank told that it computes no more?
  bool IsFinal(const size_t rank) const { return finalKnown[rank]; }

  //! Why the run ends, as far as this rank knows; null before that.
  const Fact* Stop() const { return stopped ? &stop : nullptr; }

 private:
  std::vector<bool> finalKnown;
  size_t finalsMissing;
  bool stopped = false;
  Fact stop;
};

} // namespace dasgd

#endif
