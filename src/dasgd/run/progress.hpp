/**
 * @file progress.hpp
 *
 * What one rank knows of everybody's progress, and the verdict of ensmallen's
 * tolerance rule on it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_RUN_PROGRESS_HPP
#define DASGD_RUN_PROGRESS_HPP

#include "../core/config.hpp"
#include "../staleness/manifest.hpp"
#include "work.hpp"

#include <cmath>
#include <iterator>
#include <map>
#include <type_traits>

namespace dasgd {

/**
 * Collects points and objectives from manifests.  With Sharing::Static an epoch
 * is complete once all ranks' slices are in; its objective is then the same on
 * all ranks, bit for bit, since each origin's part was summed by the origin and
 * the parts are added by rank.  With Sharing::Dynamic an epoch is complete once
 * so many points are known to be visited; its objective is scaled to one epoch.
 */
class Progress
{
 public:
  Progress(size_t ranks, size_t epochPoints, Sharing sharing);

  //! What is known of an epoch that is not complete: points and objectives by
  //! origin, and after them those from before the work was divided.
  struct Epoch
  {
    std::vector<double> objectives;
    std::vector<std::uint64_t> points;
    std::uint64_t total = 0;

    double Objective() const
    { return std::accumulate(objectives.begin(), objectives.end(), 0.0); }
  };

  using Epochs = std::map<std::uint64_t, Epoch>;

  //! So many epochs are kept at most.
  static constexpr size_t maxOpen = 1024;

  //! All that is known, to go on from later.
  struct State
  {
    //! Points that were visited before the work was divided over these ranks.
    std::uint64_t before = 0;
    //! The epoch under way, from 1.
    std::uint64_t current = 1;
    //! Points by origin, and the last epoch that each was heard of in.
    std::vector<std::uint64_t> points;
    std::vector<std::uint64_t> latest;
    Epochs open;

    std::uint64_t Known() const
    { return std::accumulate(points.begin(), points.end(), before); }

    /**
     * The same progress as a start for other ranks.  What is known of the
     * epochs that have begun becomes what is known of one.
     *
     * @param ranks How many there are now.
     * @param oldEpochPoints Points in an epoch till now.
     * @param epochPoints Points in an epoch from now on.
     */
    State Redivide(size_t ranks,
                   std::uint64_t oldEpochPoints,
                   std::uint64_t epochPoints) const;
  };

  State Save() const
  { return State{ before, current, points, latest, open }; }

  //! Go on from what was saved for as many ranks.
  void Restore(const State& state);

  //! A rank computes nothing: nobody need wait to hear of it.
  void Absent(const size_t rank)
  { latest[rank] = std::numeric_limits<std::uint64_t>::max(); }

  /**
   * Take note of an entry of a manifest.
   *
   * @return The objective of the entry's gradients, as far as it can be told
   *     from the origin's running total.
   */
  double Note(const ManifestEntry& entry)
  {
    known += entry.points - points[entry.origin];
    points[entry.origin] = entry.points;
    latest[entry.origin] = std::max(latest[entry.origin], entry.epoch);
    if (entry.epoch < current)
      return 0; // Late in Sharing::Dynamic: that epoch has been judged.
    // A rank that runs far ahead of a peer must not pile up sums for ever; the
    // oldest are those that the peer will complete next.
    if (open.size() >= maxOpen && open.find(entry.epoch) == open.end())
      return 0;

    Epoch& epoch = Open(entry.epoch);
    epoch.total += entry.epochPoints - epoch.points[entry.origin];
    epoch.points[entry.origin] = entry.epochPoints;
    const double gained = entry.epochObjective -
        epoch.objectives[entry.origin];
    epoch.objectives[entry.origin] = entry.epochObjective;
    return gained;
  }

  //! Points known to be visited, by all ranks.
  std::uint64_t Points() const { return known; }

  //! The epoch that is under way, from 1.
  std::uint64_t CurrentEpoch() const { return current; }

  /**
   * Close the next complete epoch, if there is one.
   *
   * @param objective Set to the epoch's objective, summed over its points.
   */
  bool CloseEpoch(double& objective);

  //! Has the epoch under way any points yet?
  bool CurrentStarted() const { return !open.empty(); }

  //! The objective of the epoch under way, as far as it is known.
  double CurrentObjective() const
  { return open.empty() ? 0 : open.begin()->second.Objective(); }

 private:
  //! An epoch that has begun.
  Epoch& Open(std::uint64_t number);

  //! Its memory is kept for the next epoch.
  void Close(const Epochs::iterator epoch)
  { spare.push_back(open.extract(epoch)); }

  size_t ranks;
  std::uint64_t epochPoints;
  Sharing sharing;
  //! Points per origin.
  std::vector<std::uint64_t> points;
  //! The last epoch that each origin was heard of in.
  std::vector<std::uint64_t> latest;
  std::uint64_t before = 0;
  std::uint64_t known = 0;
  std::uint64_t current = 1;
  //! Epochs that are not complete yet.
  Epochs open;
  //! Nodes of the map of closed epochs, for use without an allocation.
  std::vector<Epochs::node_type> spare;
};

/**
 * ensmallen's rule: stop when an epoch changes the objective too little.
 *
 * Ranks compute at the same time.  Where epochs are so short that several are
 * under way at once, two of them may have the same objective only because the
 * second was computed before what the first one changed was known.  There more
 * epochs in a row must have the same objective.
 */
template<typename ElemType>
class ToleranceRule
{
 public:
  explicit ToleranceRule(const double tolerance) : tolerance(tolerance) { }

  /**
   * How many epochs in a row must change the objective too little, given what
   * may be under way.
   *
   * @param gradients Gradients in an epoch.
   * @param underWay Gradients that may be under way between ranks.
   */
  void Expect(const std::uint64_t gradients, const std::uint64_t underWay)
  {
    const ElemType latest = Last();
    recent.assign(size_t(std::max<std::uint64_t>(1, (underWay + gradients - 1) /
        gradients)), Largest());
    Last() = latest;
  }

  //! Judge the objective of the next epoch: is this the end?
  bool Reached(const ElemType objective)
  {
    const bool reached = std::all_of(recent.begin(), recent.end(),
        [&](const ElemType before)
        { return std::abs(before - objective) < tolerance; });
    std::rotate(recent.begin(), recent.begin() + 1, recent.end());
    recent.back() = objective;
    return reached;
  }

  double Tolerance() const { return tolerance; }

  //! The objective of the last epoch that was judged.
  ElemType Last() const { return recent.back(); }
  ElemType& Last() { return recent.back(); }

 private:
  // Larger than any objective, so that the first epoch never ends the run; what
  // ens::SGD has, where a float turns the largest double into infinity.
  static constexpr ElemType Largest()
  {
    return std::is_same<ElemType, double>::value ?
        std::numeric_limits<ElemType>::max() :
        std::numeric_limits<ElemType>::infinity();
  }

  double tolerance;
  //! Objectives of the epochs judged before, the latest at the end.
  std::vector<ElemType> recent = std::vector<ElemType>(1, Largest());
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "progress_impl.hpp"
#endif

#endif
