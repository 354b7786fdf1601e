/**
 * @file staleness_response.hpp
 *
 * How steps follow the staleness of gradients.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_STALENESS_RESPONSE_HPP
#define DASGD_DASGD_STALENESS_RESPONSE_HPP

#include "../core/automatic.hpp"
#include "../report/rank_report.hpp"
#include "../run/gradient_source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dasgd {

/**
 * An update acts on a model that has changed by about S others since its
 * gradient was computed.  So that a step that works on one rank works on n, it
 * is multiplied by c / (1 + S) where that is below 1; and momentum looks ahead
 * by 1 + S / (n - 1) rounds, since equal ranks compute n - 1 gradients in each
 * round of their own.
 *
 * S is the running mean of what this rank measures on the gradients of others.
 * For the length of a step, it is at least the number of gradients that have
 * come since the rank's last step: if it stood still for a while, the mean does
 * not know yet.  Looking ahead makes up for the staleness that is usual, and
 * lets c be larger; so a step that is later than usual is shortened in
 * proportion, whatever c is.  The origin of a gradient decides, so all ranks
 * apply the same update.
 */
class StalenessResponse
{
 public:
  //! Steps are left as they are.
  StalenessResponse() : StalenessResponse(0, 0, 1) { }

  /**
   * @param damping c; 0 leaves steps as they are.
   * @param lookAhead Rounds; Automatic to have them follow staleness, 0 for
   *     none.
   */
  StalenessResponse(const double damping,
                    const double lookAhead,
                    const size_t ranks) :
      damping(damping),
      lookAhead(lookAhead),
      others(double(ranks) - 1),
      recent(others),
      usual(others)
  { }

  /**
   * What becomes of the step that is due.
   *
   * @param counts What this rank has applied.
   * @param waiting Gradients of others that have come, but are not applied.
   */
  StepScale Next(const RankReport& counts, const std::uint64_t waiting)
  {
    StepScale scale;
    if (!(others > 0))
      return scale;
    const Counts now{ counts.applied - counts.computed, counts.othersMeasured,
        counts.othersStaleness };
    if (now.measured > last.measured)
    {
      const double mean = double(now.sum - last.sum) /
          double(now.measured - last.measured);
      recent += weight * (mean - recent);
    }
    const double missed = double(std::max(waiting, now.applied - last.applied));
    last = now;
    scale.factor = factor = Factor(missed);
    usual += weight * (missed - usual);
    scale.lookAhead = (lookAhead == Automatic) ? 1 + recent / others :
        lookAhead;
    return scale;
  }

  /**
   * What the step that Next() was about is to be multiplied by besides, now
   * that it is applied: 1, unless more gradients have come meanwhile.
   */
  double Late(const std::uint64_t waiting) const
  { return std::min(1.0, Factor(double(waiting)) / factor); }

 private:
  //! Of the last of its gradients in the mean.
  static constexpr double weight = 0.2;

  //! Of other ranks' gradients.
  struct Counts
  {
    std::uint64_t applied = 0;
    std::uint64_t measured = 0;
    std::uint64_t sum = 0;
  };

  //! By what a step is multiplied that has missed so many gradients.
  double Factor(const double missed) const
  {
    if (!(damping > 0))
      return 1;
    const double mean = std::max(recent, usual);
    return std::min({ 1.0, damping / (1 + std::max(recent, missed)),
        (lookAhead == 0) ? 1.0 : (1 + mean) / (1 + missed) });
  }

  double damping;
  double lookAhead;
  double others;
  //! Running means, of the staleness of others' gradients and of what a step of
  //! this rank has missed.  Before there is any measurement, that of equal
  //! ranks.
  double recent;
  double usual;
  //! What Next() found.
  double factor = 1;
  Counts last;
};

} // namespace dasgd

#endif
