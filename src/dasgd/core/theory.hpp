/**
 * @file theory.hpp
 *
 * What the paper promises: step sizes, staleness to expect, bounds on the error
 * and the iterations that they amount to.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_THEORY_HPP
#define DASGD_CORE_THEORY_HPP

#include "topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dasgd {

/**
 * Theorem 1 has two cases.  Functions that begin with `Bounded` are about the
 * first, equation (11): gradients are bounded (Assumption 4), and S_avg
 * counts.  The others are about the second, equation (12), without that
 * assumption; there the loose staleness counts, by its average and maximum.
 * Lemma 17 is that of Koloskova et al. (2020), which the proofs end with.
 *
 * The error is always Psi_T = 1 / (T + 1) * sum over t = 0..T of
 * ||grad f(x^t)||^2, in expectation.  Arguments that are negative or not finite
 * throw std::invalid_argument; steps and errors must not be 0 either.
 */
namespace theory {

//! What is known of the function.  Whatever is not given stays infinite, and
//! asking for a bound that depends on it is an error.
struct Problem
{
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  //! L of Assumption 3; see EstimateSmoothness().
  double smoothness = unknown;
  //! sigma (not its square) of Assumption 1: the noise of one gradient.
  double noise = unknown;
  //! r_0 = f(x^0) - f^*.
  double gap = unknown;
  //! Q of Assumption 4.  Only the `Bounded` functions look at it.
  double gradientBound = unknown;
};

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

//! The largest step of (11): 1 / (4 L S_avg), and at most 1 / (2 L).
inline double BoundedStepLimit(const double smoothness, const double sAvg)
{
  return 1 / (4 * detail::AtLeastOne(smoothness) * detail::AtLeastHalf(
      detail::NotNegative("the average staleness", sAvg)));
}

//! The largest step of (12): 1 / (4 L sqrt(looseAvg looseMax)), and at
//! most 1 / (2 L).
inline double StepLimit(const double smoothness,
                        const double looseAvg,
                        const double looseMax)
{
  return 1 / (4 * detail::AtLeastOne(smoothness) * detail::AtLeastHalf(
      detail::LooseMean(looseAvg, looseMax)));
}

//! S_avg and S_max to expect before a run.
struct StalenessPair
{
  double average;
  double max;
  //! Does the paper say so?  Otherwise it is our reading of its argument.
  bool fromPaper;
};

/**
 * Staleness to expect of ranks that are equally fast, if messages take less
 * time than gradients (Discussion, "Network topology").  The paper has
 * (n + 1) / 2 and n for the complete topology, and (n^2 + 1) / 2 and n^2 for
 * the ring, where a message takes up to n times as long.  In between we put the
 * most hops h of any route for that factor: (n h + 1) / 2 and n h.  (Our ring
 * goes both ways and takes only n / 2 hops; the paper's numbers stand.)
 *
 * For one rank it is 0, whatever the formula says: a gradient is applied to the
 * very model that it was computed at.
 *
 * @throws std::invalid_argument if the topology does not fit.
 */
inline StalenessPair ExpectedStaleness(const Topology& topology,
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

/**
 * An upper bound on Psi_T, as a function of T:
 * inverse / (T + 1) + root / (T + 1)^(1/2) + cube / (T + 1)^(2/3) + floor.
 */
struct Bound
{
  double inverse = 0;
  double root = 0;
  double cube = 0;
  //! What noise (and with bounded gradients drift) leaves for ever.
  double floor = 0;

  double operator()(const std::uint64_t T) const
  {
    const double steps = double(T) + 1;
    const double third = std::cbrt(1 / steps);
    return inverse / steps + root / std::sqrt(steps) + cube * third * third +
        floor;
  }

  //! The iterations that Theorem 1 promises: the smallest T with a bound of at
  //! most epsilon.  Empty if there is none, or none up to 2^53.
  std::optional<std::uint64_t> Iterations(const double epsilon) const
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
};

/**
 * For a fixed step, from the proof of (11) before it uses Lemma 17:
 * 2 r_0 / (eta (T + 1)) + 3 L eta sigma^2 + L^2 S_avg^2 eta^2 Q^2.  Holds for
 * steps up to BoundedStepLimit().  The fixed-step forms are the ones to check
 * runs against.  (Its residual lemma puts S_avg^2 for the mean of |S|^2, which
 * is more if staleness varies.)
 */
inline Bound BoundedFixedStep(const Problem& problem,
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

/**
 * For a fixed step, from the proof of (12) before it uses Lemma 17:
 * 7 r_0 / (3 eta (T + 1)) + 14 / 3 L eta sigma^2.  Holds for steps up to
 * StepLimit(), which is where staleness comes in.
 */
inline Bound FixedStep(const Problem& problem, const double step)
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

/**
 * For the best step for each T, as printed at the end of the proof of
 * (11): 2 (3 L sigma^2 r_0 / (T + 1))^(1/2) +
 * 2 (L^2 S_avg^2 Q^2)^(1/3) (r_0 / (T + 1))^(2/3) + 4 L r_0 S_avg / (T + 1).
 * The fixed-step form begins with 2 r_0, so Lemma 17 would give 2 r_0 in the
 * place of r_0 all through; the paper prints it without the 2.  S_avg in the
 * last term comes from the step limit and counts as at least 1/2.
 */
inline Bound BoundedBestStep(const Problem& problem, const double sAvg)
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

/**
 * For the best step for each T, as printed at the end of the proof of
 * (12): 2 (14 L sigma^2 r_0 / (3 (T + 1)))^(1/2) +
 * 4 L r_0 sqrt(looseAvg looseMax) / (T + 1).  Here Lemma 17 would give 7/3 r_0
 * in the place of r_0.  The last root counts as at least 1/2.
 */
inline Bound BestStep(const Problem& problem,
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
