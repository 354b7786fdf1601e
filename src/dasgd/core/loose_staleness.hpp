/**
 * @file loose_staleness.hpp
 *
 * Both stalenesses of Definition 1, exactly, from the history of a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_LOOSE_STALENESS_HPP
#define DASGD_CORE_LOOSE_STALENESS_HPP

#include "history.hpp"

#include <stdexcept>
#include <string>

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

  explicit HistoryStaleness(const History& history) :
      ranks(history.size()), versions(ranks), meters(ranks),
      lo(ranks), hi(ranks)
  {
    for (size_t rank = 0; rank < ranks; ++rank)
    {
      versions[rank].reserve(size_t(history[rank].Computed()) * ranks);
      VersionVector version(ranks, 0);
      Walk(history[rank], rank, [&](const size_t origin, const std::uint64_t,
          const std::uint64_t count)
      {
        if (origin == rank)
        {
          versions[rank].insert(versions[rank].end(), version.begin(),
              version.end());
        }
        version[origin] += count;
      });
    }
    for (size_t rank = 0; rank < ranks; ++rank)
      Measure(history[rank], rank);
  }

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
  std::uint64_t Loose(const VersionVector& model, const std::uint64_t* computed)
  {
    std::copy(computed, computed + ranks, lo.begin());
    std::copy(computed, computed + ranks, hi.begin());
    // Of the gradients of one origin the first was computed at the least and
    // the last at the greatest vector, so only these two need be looked at.
    bool grown = true;
    seen.assign(ranks, 0);
    while (grown)
    {
      grown = false;
      for (size_t i = 0; i < ranks; ++i)
      {
        if (hi[i] <= std::max(model[i], seen[i]))
          continue;
        grown = true;
        const std::uint64_t* first = ComputedAt(i, model[i] + 1);
        const std::uint64_t* last = ComputedAt(i, hi[i]);
        seen[i] = hi[i];
        for (size_t k = 0; k < ranks; ++k)
        {
          lo[k] = std::min(lo[k], first[k]);
          hi[k] = std::max(hi[k], last[k]);
        }
      }
    }
    std::uint64_t size = 0;
    for (size_t i = 0; i < ranks; ++i)
      size += std::max(model[i], hi[i]) - std::min(model[i], lo[i]);
    return size;
  }

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
  void Measure(const RankHistory& history, const size_t rank)
  {
    VersionVector model(ranks, 0);
    Walk(history, rank, [&](const size_t origin, const std::uint64_t first,
        const std::uint64_t count)
    {
      for (std::uint64_t k = 0; k < count; ++k)
      {
        const std::uint64_t* computed = ComputedAt(origin, first + k);
        meters[rank].tight.Add(Staleness(model.data(), computed, ranks));
        meters[rank].loose.Add(Loose(model, computed));
        ++model[origin];
      }
    });
  }

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

#endif
