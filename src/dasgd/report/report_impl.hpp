/**
 * @file report_impl.hpp
 *
 * Implementation of the figures of a report.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_IMPL_HPP
#define DASGD_REPORT_REPORT_IMPL_HPP

// In case it hasn't been included yet.
#include "report.hpp"

#include "../staleness/theory.hpp"

#include <algorithm>

namespace dasgd {

DASGD_INLINE std::uint64_t Report::Gradients() const
{
  std::uint64_t sum = gradientsBefore;
  for (const RankReport& rank : ranks)
    sum += rank.computed;
  return sum;
}

DASGD_INLINE std::uint64_t Report::Points() const
{
  std::uint64_t sum = pointsBefore;
  for (const RankReport& rank : ranks)
    sum += rank.points;
  return sum;
}

DASGD_INLINE std::uint64_t Report::Overrun() const
{
  const std::uint64_t points = Points();
  const std::uint64_t due = std::max(maxIterations, pointsBefore);
  return (maxIterations != 0 && points > due) ? points - due : 0;
}

DASGD_INLINE double Report::StalenessAverage() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.staleness.Mean());
  return largest;
}

DASGD_INLINE std::uint64_t Report::StalenessMax() const
{
  std::uint64_t largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.staleness.Max());
  return largest;
}

DASGD_INLINE double Report::LooseAverage() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.looseStaleness.Mean());
  return largest;
}

DASGD_INLINE std::uint64_t Report::LooseMax() const
{
  std::uint64_t largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.looseStaleness.Max());
  return largest;
}

DASGD_INLINE double Report::StepLimit() const
{
  return (smoothness > 0 && outsideTheorem.empty()) ?
      theory::BoundedStepLimit(smoothness, StalenessAverage()) / stepScale : 0;
}

DASGD_INLINE double Report::LooseStepLimit() const
{
  return (smoothness > 0 && recorded && outsideTheorem.empty()) ?
      theory::StepLimit(smoothness, LooseAverage(), double(LooseMax())) /
      stepScale : 0;
}

DASGD_INLINE double Report::StepFactor() const
{
  double factors = 0;
  std::uint64_t steps = 0;
  for (const RankReport& rank : ranks)
  {
    factors += rank.stepFactors;
    steps += rank.computed;
  }
  return (damping > 0 && steps > 0) ? factors / double(steps) : 1;
}

DASGD_INLINE double Report::LookAhead() const
{
  double rounds = 0;
  std::uint64_t steps = 0;
  for (const RankReport& rank : ranks)
  {
    rounds += rank.lookAheads;
    steps += rank.computed;
  }
  return (steps > 0) ? rounds / double(steps) : 0;
}

DASGD_INLINE double Report::Age() const
{
  std::uint64_t sum = 0, measured = 0;
  for (const RankReport& rank : ranks)
  {
    sum += rank.othersStaleness;
    measured += rank.othersMeasured;
  }
  return (measured > 0) ? double(sum) / double(measured) : 0;
}

DASGD_INLINE double Report::Deviation() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.deviation);
  return largest;
}

DASGD_INLINE bool Report::WaitedLong() const
{
  double idle = 0;
  for (const RankReport& rank : ranks)
    idle += rank.secondsIdle - rank.secondsAhead;
  return ranks.size() > 1 && sharing == dasgd::Sharing::Static &&
      dynamicHelps && seconds > 1 &&
      idle > 0.2 * seconds * double(ranks.size());
}

DASGD_INLINE bool Report::PausedLong() const
{
  double paused = 0;
  for (const RankReport& rank : ranks)
    paused += rank.secondsAhead;
  return seconds > 0.1 && paused > 0.1 * seconds * double(ranks.size());
}

DASGD_INLINE std::string Report::Reason() const
{
  std::string text = ToString(reason);
  if (reason != StopReason::Budget)
  {
    text += " (rank " + std::to_string(stopRank) + ", step " +
        std::to_string(stopStep) + ")";
    if (!stopText.empty())
      text += ": " + stopText;
  }
  return text;
}

} // namespace dasgd

#endif
