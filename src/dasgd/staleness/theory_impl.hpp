/**
 * @file theory_impl.hpp
 *
 * Implementation of the formulas of the paper.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_THEORY_IMPL_HPP
#define DASGD_STALENESS_THEORY_IMPL_HPP

// In case it hasn't been included yet.
#include "theory.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dasgd {
namespace theory {

namespace detail {

[[noreturn]] inline void Refuse(const std::string& what,
                                const double value,
                                const char* range)
{
  std::ostringstream message;
  message << "dasgd::theory: " << what << " is " << value << "; give a finite "
      << "number " << range;
  throw std::invalid_argument(message.str());
}

inline double NotNegative(const char* what, const double value)
{
  if (!(value >= 0) || !std::isfinite(value))
    Refuse(what, value, "of at least 0");
  return value;
}

inline double Positive(const char* what, const double value)
{
  if (!(value > 0) || !std::isfinite(value))
    Refuse(what, value, "above 0");
  return value;
}

//! Assumption 3 wants L >= 1.  A function with a smaller L satisfies it with
//! L = 1 too, so that is what a smaller L counts as.
inline double AtLeastOne(const double smoothness)
{
  return std::max(1.0, NotNegative("the smoothness L", smoothness));
}

//! The descent lemma wants steps of at most 1 / (2 L) in any case.  That is the
//! limit for a staleness of 1/2, so less staleness counts as 1/2 wherever the
//! limit enters.  It happens with one rank.
inline double AtLeastHalf(const double staleness)
{
  return std::max(0.5, staleness);
}

inline double LooseMean(const double looseAvg, const double looseMax)
{
  return std::sqrt(NotNegative("the average loose staleness", looseAvg) *
      NotNegative("the maximum loose staleness", looseMax));
}

} // namespace detail

DASGD_INLINE double BoundedStepLimit(const double smoothness, const double sAvg)
{
  return 1 / (4 * detail::AtLeastOne(smoothness) * detail::AtLeastHalf(
      detail::NotNegative("the average staleness", sAvg)));
}

DASGD_INLINE double StepLimit(const double smoothness,
                              const double looseAvg,
                              const double looseMax)
{
  return 1 / (4 * detail::AtLeastOne(smoothness) * detail::AtLeastHalf(
      detail::LooseMean(looseAvg, looseMax)));
}

DASGD_INLINE StalenessPair ExpectedStaleness(const Topology& topology,
                                             const size_t ranks)
{
  topology.Check(ranks);
  if (ranks == 1)
    return { 0, 0, false };
  const bool ring = (topology == Topology::Ring());
  const double most = double(ranks) *
      double(ring ? ranks : topology.Hops(ranks));
  return { (most + 1) / 2, most, ring || topology == Topology::Complete() };
}

DASGD_INLINE double Bound::operator()(const std::uint64_t T) const
{
  const double steps = double(T) + 1;
  const double third = std::cbrt(1 / steps);
  return inverse / steps + root / std::sqrt(steps) + cube * third * third +
      floor;
}

DASGD_INLINE std::optional<std::uint64_t> Bound::Iterations(
    const double epsilon) const
{
  detail::Positive("the error epsilon", epsilon);
  if ((*this)(0) <= epsilon)
    return 0;
  // The bound never falls to its floor; only rounding would take it there.
  std::uint64_t low = 0, high = std::uint64_t(1) << 53;
  if (floor >= epsilon || (*this)(high) > epsilon)
    return std::nullopt;
  while (high - low > 1)
  {
    const std::uint64_t middle = low + (high - low) / 2;
    ((*this)(middle) <= epsilon ? high : low) = middle;
  }
  return high;
}

DASGD_INLINE Bound BoundedFixedStep(const Problem& problem,
                                    const double sAvg,
                                    const double step)
{
  const double L = detail::AtLeastOne(problem.smoothness);
  const double sigma = detail::NotNegative("the noise sigma", problem.noise);
  const double gap = detail::NotNegative("the gap r_0", problem.gap);
  const double eta = detail::Positive("the step", step);
  const double drift = L * eta *
      detail::NotNegative("the average staleness", sAvg) *
      detail::NotNegative("the gradient bound Q", problem.gradientBound);
  Bound bound;
  bound.inverse = 2 * gap / eta;
  bound.floor = 3 * L * eta * sigma * sigma + drift * drift;
  return bound;
}

DASGD_INLINE Bound FixedStep(const Problem& problem, const double step)
{
  const double L = detail::AtLeastOne(problem.smoothness);
  const double sigma = detail::NotNegative("the noise sigma", problem.noise);
  const double gap = detail::NotNegative("the gap r_0", problem.gap);
  const double eta = detail::Positive("the step", step);
  Bound bound;
  bound.inverse = 7 * gap / (3 * eta);
  bound.floor = 14 * L * eta * sigma * sigma / 3;
  return bound;
}

DASGD_INLINE Bound BoundedBestStep(const Problem& problem, const double sAvg)
{
  const double L = detail::AtLeastOne(problem.smoothness);
  const double sigma = detail::NotNegative("the noise sigma", problem.noise);
  const double gap = detail::NotNegative("the gap r_0", problem.gap);
  const double drift = L *
      detail::NotNegative("the average staleness", sAvg) *
      detail::NotNegative("the gradient bound Q", problem.gradientBound);
  const double third = std::cbrt(drift * gap);
  Bound bound;
  bound.root = 2 * sigma * std::sqrt(3 * L * gap);
  bound.cube = 2 * third * third;
  bound.inverse = 4 * L * gap * detail::AtLeastHalf(sAvg);
  return bound;
}

DASGD_INLINE Bound BestStep(const Problem& problem,
                            const double looseAvg,
                            const double looseMax)
{
  const double L = detail::AtLeastOne(problem.smoothness);
  const double sigma = detail::NotNegative("the noise sigma", problem.noise);
  const double gap = detail::NotNegative("the gap r_0", problem.gap);
  Bound bound;
  bound.root = 2 * sigma * std::sqrt(14 * L * gap / 3);
  bound.inverse = 4 * L * gap *
      detail::AtLeastHalf(detail::LooseMean(looseAvg, looseMax));
  return bound;
}

} // namespace theory
} // namespace dasgd

#endif
