/**
 * @file rank_report.hpp
 *
 * What one rank did during a run.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_RANK_REPORT_HPP
#define DASGD_REPORT_RANK_REPORT_HPP

#include "../staleness/staleness.hpp"

namespace dasgd {

//! What one rank has sent and received.
struct Traffic
{
  std::uint64_t framesSent = 0;
  std::uint64_t framesReceived = 0;
  std::uint64_t bytesSent = 0;
  std::uint64_t bytesReceived = 0;
  //! Of the bytes sent, those to ranks on other machines.
  std::uint64_t bytesBetween = 0;
  //! Of the frames sent, those that waited for more gradients although there
  //! was room for them.
  std::uint64_t framesPaced = 0;
  //! Most gradients that came in one frame.
  std::uint64_t largestFrame = 0;
};

//! Counts and times of one rank; a plain value.
struct RankReport : Traffic
{
  //! Gradients computed here, and applied here (from all ranks).
  std::uint64_t computed = 0;
  std::uint64_t applied = 0;
  //! Of those applied, how many came too late to be used (a server's choice).
  std::uint64_t discarded = 0;
  //! Points visited here.
  std::uint64_t points = 0;
  double secondsComputing = 0;
  //! Seconds spent on receiving, applying, relaying and sending.
  double secondsExchanging = 0;
  //! Seconds with nothing to do: waiting for the others to finish, or for
  //! neighbours that were too far behind.
  double secondsIdle = 0;
  //! How often this rank paused for such neighbours, and for how long.
  std::uint64_t pauses = 0;
  double secondsAhead = 0;
  //! Staleness of the gradients of others that were applied in this run: of how
  //! many it is known, and what it is in all.
  std::uint64_t othersMeasured = 0;
  std::uint64_t othersStaleness = 0;
  //! Of each own gradient, what staleness left of its step, and by how many
  //! rounds it looked ahead; in all.
  double stepFactors = 0;
  double lookAheads = 0;
  //! Vectors held besides iterate and gradient: at most, and what bounds them.
  std::uint64_t peakVectors = 0;
  std::uint64_t vectorBound = 0;
  //! Largest difference to rank 0's iterate before it was copied to all.
  double deviation = 0;
  StalenessMeter staleness;
  //! The loose version, if the history was recorded.
  StalenessMeter looseStaleness;
};

} // namespace dasgd

#endif
