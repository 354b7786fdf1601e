/**
 * @file report.hpp
 *
 * What happened in a run: a value that prints as a table and as JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_REPORT_HPP
#define DASGD_CORE_REPORT_HPP

#include "fact.hpp"
#include "rank_report.hpp"
#include "work.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace dasgd {

//! The account of one call of Optimize(), the same on every rank.
class Report
{
 public:
  //! One entry for each rank; empty before the first run.
  std::vector<RankReport> ranks;
  std::string algorithm;
  std::string topology;
  dasgd::Data data = dasgd::Data::Replicated;
  dasgd::Sharing sharing = dasgd::Sharing::Static;
  //! Elements of the model, and bytes of each.
  std::uint64_t elements = 0;
  std::uint64_t elementBytes = 0;
  //! Points in one epoch, and points asked for (0: no limit).
  std::uint64_t epochPoints = 0;
  std::uint64_t maxIterations = 0;
  //! From the handshake to the last copy, on the slowest rank.
  double seconds = 0;
  //! What Optimize() returned.
  double objective = 0;
  StopReason reason = StopReason::Budget;
  //! Which rank stopped the run, at which step, and what it said; if any did.
  std::uint32_t stopRank = 0;
  std::uint64_t stopStep = 0;
  std::string stopText;
  //! Why the paper's theorem does not cover the run; empty if it does.
  std::string outsideTheorem;

  //! Gradients computed by all ranks together.
  std::uint64_t Gradients() const;
  //! Points visited by all ranks together.
  std::uint64_t Points() const;
  //! Points visited beyond maxIterations (Sharing::Dynamic; 0 otherwise).
  std::uint64_t Overrun() const;
  //! Definition 2 of the paper: the largest mean over ranks, and the largest.
  double StalenessAverage() const;
  std::uint64_t StalenessMax() const;
  //! Largest difference between replicas before the last copy.
  double Deviation() const;
  //! Did ranks wait for the slowest for much of the time?
  bool WaitedLong() const;
  //! In one line: why the run stopped.
  std::string Reason() const;

  //! The report as a JSON object.
  std::string Json() const;
};

//! Print the report as a table.
std::ostream& operator<<(std::ostream& stream, const Report& report);

} // namespace dasgd

#include "report_impl.hpp"

#endif
