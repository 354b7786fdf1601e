/**
 * @file theory.hpp
 *
 * What the paper promises: step sizes, staleness to expect, bounds on the error
 * and the iterations that they amount to.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_THEORY_HPP
#define DASGD_STALENESS_THEORY_HPP

#include "../core/config.hpp"
#include "../topology/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

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

//! The largest step of (11): 1 / (4 L S_avg), and at most 1 / (2 L).
double BoundedStepLimit(const double smoothness, const double sAvg);

//! The largest step of (12): 1 / (4 L sqrt(looseAvg looseMax)), and at
//! most 1 / (2 L).
double StepLimit(const double smoothness,
                 const double looseAvg,
                 const double looseMax);

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
StalenessPair ExpectedStaleness(const Topology& topology,
                                const size_t ranks);

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

  double operator()(const std::uint64_t T) const;

  //! The iterations that Theorem 1 promises: the smallest T with a bound of at
  //! most epsilon.  Empty if there is none, or none up to 2^53.
  std::optional<std::uint64_t> Iterations(const double epsilon) const;
};

/**
 * For a fixed step, from the proof of (11) before it uses Lemma 17:
 * 2 r_0 / (eta (T + 1)) + 3 L eta sigma^2 + L^2 S_avg^2 eta^2 Q^2.  Holds for
 * steps up to BoundedStepLimit().  The fixed-step forms are the ones to check
 * runs against.  (Its residual lemma puts S_avg^2 for the mean of |S|^2, which
 * is more if staleness varies.)
 */
Bound BoundedFixedStep(const Problem& problem,
                       const double sAvg,
                       const double step);

/**
 * For a fixed step, from the proof of (12) before it uses Lemma 17:
 * 7 r_0 / (3 eta (T + 1)) + 14 / 3 L eta sigma^2.  Holds for steps up to
 * StepLimit(), which is where staleness comes in.
 */
Bound FixedStep(const Problem& problem, const double step);

/**
 * For the best step for each T, as printed at the end of the proof of
 * (11): 2 (3 L sigma^2 r_0 / (T + 1))^(1/2) +
 * 2 (L^2 S_avg^2 Q^2)^(1/3) (r_0 / (T + 1))^(2/3) + 4 L r_0 S_avg / (T + 1).
 * The fixed-step form begins with 2 r_0, so Lemma 17 would give 2 r_0 in the
 * place of r_0 all through; the paper prints it without the 2.  S_avg in the
 * last term comes from the step limit and counts as at least 1/2.
 */
Bound BoundedBestStep(const Problem& problem, const double sAvg);

/**
 * For the best step for each T, as printed at the end of the proof of
 * (12): 2 (14 L sigma^2 r_0 / (3 (T + 1)))^(1/2) +
 * 4 L r_0 sqrt(looseAvg looseMax) / (T + 1).  Here Lemma 17 would give 7/3 r_0
 * in the place of r_0.  The last root counts as at least 1/2.
 */
Bound BestStep(const Problem& problem,
               const double looseAvg,
               const double looseMax);

} // namespace theory
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "theory_impl.hpp"
#endif

#endif
