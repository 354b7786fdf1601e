/**
 * @file work.hpp
 *
 * Who visits which points: divides the work of one ens::SGD over the ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_WORK_HPP
#define DASGD_CORE_WORK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace dasgd {

//! Where the data is.
enum class Data : std::uint8_t
{
  //! Every rank holds the whole data set.
  Replicated,
  //! Every rank holds points of its own.
  Sharded
};

//! How the work is divided.
enum class Sharing : std::uint8_t
{
  //! Every rank visits its share, as in one ens::SGD divided by n.
  Static,
  //! Every rank goes on until all together have visited enough points.
  Dynamic
};

inline const char* ToString(const Data data)
{ return data == Data::Replicated ? "replicated" : "sharded"; }

inline const char* ToString(const Sharing sharing)
{ return sharing == Sharing::Static ? "static" : "dynamic"; }

//! The next points to visit.
struct Batch
{
  size_t begin = 0;
  size_t size = 0;
  //! The epoch they count for, from 1.
  std::uint64_t epoch = 0;
};

/**
 * The walk of one rank over its data.  With replicated data all ranks share one
 * order, cut into n slices; a rank starts at its own slice and walks on, slice
 * by slice, around the order.  So in each epoch the ranks visit every point
 * once, and each rank comes past the whole data set in n epochs, after which
 * the order is shuffled: as many shuffles per gradient as in ens::SGD.
 */
class Work
{
 public:
  /**
   * @param points Points that each rank holds (all the same if replicated).
   * @param rank This rank.
   * @param maxIterations Points to visit over all ranks (0: no limit).
   * @param before Points that were visited before, by whomever: the epoch that
   *     they end in is completed first, with a part of every slice.
   */
  Work(const std::vector<size_t>& points,
       const size_t rank,
       const Data data,
       const Sharing sharing,
       const size_t batchSize,
       const size_t maxIterations,
       const std::uint64_t before = 0) :
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

  //! Points in one epoch, over all ranks.
  size_t EpochPoints() const { return begins[ranks]; }

  /**
   * Is there a batch left?
   *
   * @param known Points known to be visited, by all ranks.
   */
  bool Left(const std::uint64_t known) const
  {
    if (sharing == Sharing::Static)
      return leftInEpoch > 0;
    return maxIterations == 0 || known < maxIterations;
  }

  //! Points left for all ranks together, where they are not divided.
  std::uint64_t PointsLeft(const std::uint64_t known) const
  {
    if (sharing == Sharing::Static || maxIterations == 0)
      return std::numeric_limits<std::uint64_t>::max();
    return (known < maxIterations) ? maxIterations - known : 0;
  }

  //! The next batch; call only if there is one left.
  Batch Next(const std::uint64_t known)
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

  /**
   * Go to where a rank with the same part of the same work is that has visited
   * so many points.
   */
  void Walk(std::uint64_t points)
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

  //! Did the last batch end a pass over all the points this rank holds?
  bool PassEnded() const { return walked > 0 && Passed() % held == 0; }
  //! How many passes have ended?
  std::uint64_t Passes() const { return (walked > 0) ? Passed() / held : 0; }

  //! MaxIterations(), as it is counted here.
  size_t Budget() const { return maxIterations; }
  //! Points that were visited before this division of the work.
  std::uint64_t Before() const { return before; }
  //! Epochs, from 0, that had ended by then.
  std::uint64_t EpochsBefore() const { return firstEpoch; }

  //! Points visited by this rank.
  std::uint64_t Walked() const { return walked; }

 private:
  //! How many points does this rank visit in the given epoch (from 0)?
  void StartEpoch(const std::uint64_t next)
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

  /**
   * An epoch that is cut short, by the end of the run or by what was visited
   * before: every slice in proportion, in whole batches, such that the parts
   * add up to what is left.
   *
   * @return Points in all slices before the given one.
   */
  std::uint64_t ShortEnd(const size_t slice, const std::uint64_t left) const
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

  //! How many batches make up so many points?
  std::uint64_t Units(const std::uint64_t points) const
  { return (points + unit - 1) / unit; }

  //! floor((a * b + carry) / c) without overflow in the product.
  static std::uint64_t Part(const std::uint64_t a,
                            const std::uint64_t b,
                            const std::uint64_t c,
                            const std::uint64_t carry = 0)
  {
    __extension__ using Wide = unsigned __int128;
    return std::uint64_t((Wide(a) * b + carry) / c);
  }

  size_t rank;
  size_t ranks;
  Data data;
  Sharing sharing;
  size_t batchSize;
  size_t maxIterations;
  std::uint64_t before;
  std::uint64_t firstEpoch = 0;
  //! Points that this rank holds.
  size_t held;
  //! Slices are multiples of this.
  size_t unit = 1;
  std::vector<std::uint64_t> begins;
  size_t cursor = 0;
  std::uint64_t epoch = 0;
  std::uint64_t leftInEpoch = 0;
  std::uint64_t walked = 0;
  //! Points of the first epoch that others had visited before.
  std::uint64_t skipped = 0;

  std::uint64_t Passed() const { return walked + skipped; }
};

} // namespace dasgd

#endif
