/**
 * @file loose_staleness_impl.hpp
 *
 * Implementation of HistoryStaleness.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_LOOSE_STALENESS_IMPL_HPP
#define DASGD_STALENESS_LOOSE_STALENESS_IMPL_HPP

// In case it hasn't been included yet.
#include "loose_staleness.hpp"

#include <algorithm>

namespace dasgd {

DASGD_INLINE HistoryStaleness::HistoryStaleness(const History& history) :
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

DASGD_INLINE std::uint64_t HistoryStaleness::Loose(
    const VersionVector& model, const std::uint64_t* computed)
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

DASGD_INLINE void HistoryStaleness::Measure(const RankHistory& history,
                                            const size_t rank)
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

} // namespace dasgd

#endif
