/**
 * @file work_impl.hpp
 *
 * Implementation of the division of work.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_WORK_IMPL_HPP
#define DASGD_RUN_WORK_IMPL_HPP

// In case it hasn't been included yet.
#include "work.hpp"

namespace dasgd {

DASGD_INLINE Work::Work(const std::vector<size_t>& points,
                        const size_t rank,
                        const Data data,
                        const Sharing sharing,
                        const size_t batchSize,
                        const size_t maxIterations,
                        const std::uint64_t before) :
    rank(rank),
    ranks(points.size()),
    data(data),
    sharing(sharing),
    batchSize(batchSize),
    maxIterations(maxIterations),
    before(before),
    held(points[rank])
{
  // Slice i of the epoch is [begins[i], begins[i + 1]).  Slices of replicated
  // data are cut between batches, so that the batches of an epoch are those
  // of ens::SGD: with a short one in each slice, steps that are divided by
  // the size of the batch would differ.
  unit = ((held + batchSize - 1) / batchSize >= ranks) ? batchSize : 1;
  begins.assign(ranks + 1, 0);
  for (size_t i = 1; i <= ranks; ++i)
  {
    begins[i] = (data == Data::Sharded) ? begins[i - 1] + points[i - 1] :
        std::min<std::uint64_t>(held, Part(i, Units(held), ranks) * unit);
  }
  cursor = (data == Data::Sharded) ? 0 : begins[rank];
  firstEpoch = before / EpochPoints();
  StartEpoch(firstEpoch);
}

DASGD_INLINE Batch Work::Next(const std::uint64_t known)
{
  Batch batch;
  batch.begin = cursor;
  batch.size = std::min(batchSize, held - cursor);
  if (sharing == Sharing::Static)
  {
    batch.size = std::min<size_t>(batch.size, leftInEpoch);
    batch.epoch = epoch + 1;
  }
  else
  {
    if (maxIterations != 0)
      batch.size = size_t(std::min<std::uint64_t>(batch.size,
          maxIterations - known));
    batch.epoch = known / EpochPoints() + 1;
  }

  cursor = (cursor + batch.size) % held;
  walked += batch.size;
  if (sharing == Sharing::Static)
  {
    leftInEpoch -= batch.size;
    if (leftInEpoch == 0)
      StartEpoch(epoch + 1);
  }
  return batch;
}

DASGD_INLINE void Work::Walk(std::uint64_t points)
{
  if (sharing == Sharing::Dynamic)
  {
    cursor = size_t((cursor + points) % held);
    walked += points;
    return;
  }
  const auto skip = [&](const std::uint64_t epochs)
  {
    for (std::uint64_t i = 0; i < epochs && leftInEpoch > 0 &&
        points >= leftInEpoch; ++i)
    {
      cursor = size_t((cursor + leftInEpoch) % held);
      walked += leftInEpoch;
      points -= leftInEpoch;
      StartEpoch(epoch + 1);
    }
  };
  // The epoch that had begun before; then passes over all points, many at
  // once; then the rest, of which the last epoch may be shorter than it was:
  // what was visited beyond its end has been.
  skip(1);
  const std::uint64_t pass = (data == Data::Sharded) ? 1 : ranks;
  const std::uint64_t whole = (maxIterations == 0) ?
      std::numeric_limits<std::uint64_t>::max() : maxIterations /
      EpochPoints();
  if (leftInEpoch > 0 && whole > epoch)
  {
    const std::uint64_t passes = std::min<std::uint64_t>(points / held,
        (whole - epoch) / pass);
    walked += passes * held;
    points -= passes * held;
    StartEpoch(epoch + passes * pass);
  }
  skip(2 * pass + 2);
  points = std::min(points, leftInEpoch);
  cursor = size_t((cursor + points) % held);
  walked += points;
  leftInEpoch -= points;
}

DASGD_INLINE void Work::StartEpoch(const std::uint64_t next)
{
  epoch = next;
  const size_t slice = (data == Data::Sharded) ? rank :
      size_t((rank + epoch) % ranks);
  const std::uint64_t all = EpochPoints();
  const std::uint64_t done = std::max(epoch * all, before);
  const std::uint64_t end = (maxIterations == 0) ? (epoch + 1) * all :
      std::min<std::uint64_t>((epoch + 1) * all, maxIterations);
  const std::uint64_t left = (done < end) ? end - done : 0;
  const std::uint64_t whole = begins[slice + 1] - begins[slice];
  leftInEpoch = (left == all) ? whole :
      ShortEnd(slice + 1, left) - ShortEnd(slice, left);
  if (data == Data::Replicated && sharing == Sharing::Static)
    cursor = size_t(begins[slice]);
  // What is left out of an epoch that had begun before counts as passed;
  // where epochs are not divided, a rank leaves nothing out.
  if (sharing == Sharing::Static && done > epoch * all)
    skipped = whole - std::min(whole, leftInEpoch);
  // A slice may have no part in it.
  if (leftInEpoch == 0 && left > 0)
    StartEpoch(epoch + 1);
}

DASGD_INLINE std::uint64_t Work::ShortEnd(const size_t slice,
                                          const std::uint64_t left) const
{
  if (data == Data::Sharded)
    return Part(begins[slice], left, EpochPoints());
  // Rounded up, so that the last slice, whose last batch may be a short one,
  // is not asked for more than it has.
  const std::uint64_t all = Units(EpochPoints());
  const std::uint64_t batches = Part(Units(begins[slice]), Units(left), all,
      all - 1);
  return std::min(left, batches * unit);
}

} // namespace dasgd

#endif
