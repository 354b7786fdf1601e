/**
 * @file fact.hpp
 *
 * What all ranks must learn besides gradients.  Facts travel in the same frames
 * over the same routes, so they arrive exactly once and after every gradient
 * that their origin sent before.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_FACT_HPP
#define DASGD_CORE_FACT_HPP

#include "config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dasgd {

//! Why a run ended.
enum class StopReason : std::uint8_t
{
  //! All the work was done (MaxIterations).
  Budget,
  //! An epoch improved the objective by less than the tolerance.
  Tolerance,
  //! A callback asked to stop.
  Callback,
  //! A gradient or an objective was not finite.
  NonFinite,
  //! Something threw.
  Error,
  //! A signal came (StopSignals).
  Signal
};

const char* ToString(const StopReason reason);

//! A message of one rank to all others.
struct Fact
{
  enum class Kind : std::uint8_t
  {
    //! The origin computes no more; `count` is how many gradients it computed.
    Final,
    //! The origin asks all to stop, for `reason`.
    Stop
  };

  //! Texts are cut to this, so that a frame's size is known up front.
  static constexpr size_t MaxText = 1000;

  Kind kind = Kind::Final;
  std::uint32_t origin = 0;
  //! Final: number of gradients.  Stop: the origin's step.
  std::uint64_t count = 0;
  StopReason reason = StopReason::Budget;
  //! The objective that goes with the reason, if any.
  double value = 0;
  //! What went wrong, if anything did.
  std::string text;
};

//! A text as a fact can have it: one that is too long is cut between
//! characters, not within one, and ends in dots.
std::string FactText(std::string text);

/**
 * Several ranks may stop at once, and all must give the same reason in the end:
 * errors come first, then the lowest rank.
 */
bool Outweighs(const Fact& one, const Fact& other);

/**
 * The reason of all ranks, from what each of them knows.  A rank may ask to
 * stop when others can no longer be told, so ranks may know different reasons.
 *
 * @param known What each rank knows, or null if it knows of none.
 * @return One of them, or null.
 */
const Fact* Strongest(const std::vector<const Fact*>& known);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "fact_impl.hpp"
#endif

#endif
