/**
 * @file loose_staleness.hpp
 *
 * Both stalenesses of Definition 1, exactly, from the history of a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_LOOSE_STALENESS_HPP
#define DASGD_STALENESS_LOOSE_STALENESS_HPP

#include "../core/config.hpp"
#include "history.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dasgd {

/**
 * Goes through what each rank applied, in its order, and measures every
 * gradient.  The loose staleness needs the version vectors that gradients were
 * computed at, also of gradients that the applying rank has not yet received:
 * that is why it takes a history.
 *
 * Needs a version vector for each gradient of the run: 8 n bytes each.
 */
class HistoryStaleness
{
 public:
  //! Of one rank: |S| and the loose version, over all gradients it applied.
  struct Meters
  {
    StalenessMeter tight;
    StalenessMeter loose;
  };

  explicit HistoryStaleness(const History& history);

  const std::vector<Meters>& Ranks() const { return meters; }

  //! The version vector that a gradient (counted from 1) was computed at.
  const std::uint64_t* ComputedAt(const size_t origin,
                                  const std::uint64_t gradient) const
  { return versions[origin].data() + size_t(gradient - 1) * ranks; }

  /**
   * The size of the loose staleness of a gradient at a model.
   *
   * By its recursion, it is the union of the symmetric differences between the
   * model's set and the sets of a closure: that of the gradient, and with each
   * set in the closure those at which the gradients were computed that the
   * model lacks.  Sets are prefixes per origin, so for each origin the union
   * reaches from the lowest to the highest count in the closure or the model.
   */
  std::uint64_t Loose(const VersionVector& model,
                      const std::uint64_t* computed);

  //! Calls action(origin, first, count) for all that a rank applied, in order.
  template<typename ActionType>
  static void Walk(const RankHistory& history,
                   const size_t rank,
                   ActionType&& action)
  {
    std::uint64_t own = 0;
    for (const HistoryEvent& event : history.Events())
    {
      if (event.kind == HistoryEvent::Kind::Compute)
        action(rank, ++own, std::uint64_t(1));
      for (size_t i = event.firstRange; i < event.lastRange; ++i)
      {
        const GradientRange& range = history.Ranges()[i];
        action(size_t(range.origin), range.first, range.count);
      }
    }
  }

 private:
  void Measure(const RankHistory& history, const size_t rank);

  size_t ranks;
  //! Per origin, the version vectors of its gradients, one after the other.
  std::vector<std::vector<std::uint64_t>> versions;
  std::vector<Meters> meters;
  //! Scratch: the closure, and how far each origin has been looked at.
  VersionVector lo;
  VersionVector hi;
  VersionVector seen;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "loose_staleness_impl.hpp"
#endif

#endif
