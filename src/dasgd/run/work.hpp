/**
 * @file work.hpp
 *
 * Who visits which points: divides the work of one ens::SGD over the ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_WORK_HPP
#define DASGD_RUN_WORK_HPP

#include "../core/config.hpp"

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
       size_t rank,
       Data data,
       Sharing sharing,
       size_t batchSize,
       size_t maxIterations,
       std::uint64_t before = 0);

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
  Batch Next(std::uint64_t known);

  /**
   * Go to where a rank with the same part of the same work is that has visited
   * so many points.
   */
  void Walk(std::uint64_t points);

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
  void StartEpoch(std::uint64_t next);

  /**
   * An epoch that is cut short, by the end of the run or by what was visited
   * before: every slice in proportion, in whole batches, such that the parts
   * add up to what is left.
   *
   * @return Points in all slices before the given one.
   */
  std::uint64_t ShortEnd(size_t slice, std::uint64_t left) const;

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

#ifndef DASGD_COMPILED
#include "work_impl.hpp"
#endif

#endif
