/**
 * @file report.hpp
 *
 * What happened in a run: a value that prints as a table and as JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_HPP
#define DASGD_REPORT_REPORT_HPP

#include "../core/config.hpp"
#include "../core/fact.hpp"
#include "../core/overlap.hpp"
#include "rank_report.hpp"
#include "../run/work.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
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
  //! Models that ranks shared, one for each machine; 0 if each had its own.
  size_t boards = 0;
  //! What it was chosen by, if it is not the user's choice.
  std::string whyTopology;
  //! Whose model is everyone's in the end.
  std::string finalModel = "rank 0's model";
  //! Would ranks wait less if fast ones did more?
  bool dynamicHelps = true;
  //! Are gradients applied, so that they have a staleness?
  bool measuresStaleness = true;
  //! Is it known how far models were from that?
  bool measuresDeviation = true;
  //! How updates were written on the wire.
  std::string wireFormat = "exact";
  dasgd::Data data = dasgd::Data::Replicated;
  dasgd::Sharing sharing = dasgd::Sharing::Static;
  //! Was there an exchange while gradients were computed?
  OverlapChoice overlap;
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
  //! The signal that asked to stop, or 0.
  int stopSignal = 0;

  //! Where checkpoints were kept, if they were, how many were written, and why
  //! the last one was not.
  std::string checkpointFile;
  std::uint64_t checkpoints = 0;
  std::string checkpointProblem;
  //! What a run that was resumed had behind it: how often it had been already,
  //! how many ranks there were last, and what they had done.
  bool resumed = false;
  std::uint64_t resumes = 0;
  std::uint64_t ranksBefore = 0;
  std::uint64_t gradientsResumed = 0;
  double secondsBefore = 0;
  //! Gradients and points that are not in `ranks`, since they were before a
  //! resume or the death of a rank.
  std::uint64_t gradientsBefore = 0;
  std::uint64_t pointsBefore = 0;

  //! Ranks that died in the run, by their numbers at its start; those that were
  //! left have new ones.
  std::vector<std::uint64_t> lost;
  //! Gradients of ranks that were left, as well as of those that died, which
  //! some rank had applied and which all did without after that.
  std::uint64_t gradientsLost = 0;

  //! Threads that each rank has for linear algebra; 0 if that is not known.
  std::uint64_t threads = 0;

  //! StepSize() at the start, and whether that was AutoStep's choice.
  double stepSize = 0;
  bool autoStep = false;
  //! What a step of 1 is to the mean over points: 1, or the size of a batch
  //! where ensmallen's steps are along the sum over the batch.
  double stepScale = 1;
  //! Steps were multiplied by this divided by 1 + S, where that is below 1, for
  //! a staleness of S (0: they were not).
  double damping = 0;
  //! Smoothness L of the mean over points (0: not known), and how it is known.
  double smoothness = 0;
  std::string smoothnessFrom;
  //! Staleness to expect of this topology, and whether the paper says so.
  double expectedAverage = 0;
  double expectedMax = 0;
  bool expectedFromPaper = false;
  //! Was the history recorded, and with it the loose staleness?
  bool recorded = false;
  //! Why the paper's theorem does not cover the run; empty if it does.
  std::string outsideTheorem;

  //! Gradients of all ranks together, with those before a resume.
  std::uint64_t Gradients() const;
  //! Points visited by all ranks together, with those before a resume.
  std::uint64_t Points() const;
  //! Points visited beyond maxIterations (Sharing::Dynamic; 0 otherwise).
  std::uint64_t Overrun() const;
  //! Definition 2 of the paper: the largest mean over ranks, and the largest.
  double StalenessAverage() const;
  std::uint64_t StalenessMax() const;
  //! The same of the loose version; 0 unless the history was recorded.
  double LooseAverage() const;
  std::uint64_t LooseMax() const;
  //! The largest StepSize() that the theorem allows for the staleness of this
  //! run, with and without bounded gradients; 0 if L is not known, and the
  //! second if the history was not recorded.
  double StepLimit() const;
  double LooseStepLimit() const;
  //! After a run that diverged: how the step compares with the limit, and what
  //! to try.  Empty otherwise.
  std::string Advice() const;
  //! What staleness left of steps, on average; 1 if it left them as they were.
  double StepFactor() const;
  //! By how many rounds momentum looked ahead, on average; 0 if it did not.
  double LookAhead() const;
  //! How old gradients of other ranks were on average, in updates.
  double Age() const;
  //! Largest difference between replicas before the last copy.
  double Deviation() const;
  //! Did ranks wait for the slowest for much of the time?
  bool WaitedLong() const;

  //! Did ranks pause for more than a tenth of the time because neighbours were
  //! too far behind?
  bool PausedLong() const;
  //! In one line: why the run stopped.
  std::string Reason() const;

  /**
   * The report as a JSON object.
   *
   * @param more Fields to begin with: names, and values as JSON has them.
   */
  std::string Json(const std::vector<std::pair<std::string, std::string>>&
      more = {}) const;
};

//! Print the report as a table.
std::ostream& operator<<(std::ostream& stream, const Report& report);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "report_impl.hpp"
#endif

// After the class, which they are about.
#include "report_json.hpp"
#include "report_text.hpp"

#endif
