/**
 * @file report_text_impl.hpp
 *
 * Implementation of the report as text.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_TEXT_IMPL_HPP
#define DASGD_REPORT_REPORT_TEXT_IMPL_HPP

// In case it hasn't been included yet.
#include "report_text.hpp"

#include "../staleness/manifest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace dasgd {

namespace report {

DASGD_INLINE const char* TooShort()
{
  return "gradients took less time than an exchange, so that they were stale; "
      "take a larger batch, fewer ranks, or a smaller step";
}

DASGD_INLINE std::string Short(const double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

DASGD_INLINE std::string Bytes(const std::uint64_t bytes)
{
  const char* units[] = { "B", "kB", "MB", "GB", "TB" };
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  return Short(value) + " " + units[unit];
}

DASGD_INLINE std::string Columns(
    const std::vector<std::vector<std::string>>& rows)
{
  std::vector<size_t> widths(rows.at(0).size(), 0);
  for (const std::vector<std::string>& row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::ostringstream out;
  for (const std::vector<std::string>& row : rows)
  {
    for (size_t c = 0; c < row.size(); ++c)
      out << (c == 0 ? "" : "  ") << std::setw(int(widths[c])) << row[c];
    out << "\n";
  }
  return out.str();
}

DASGD_INLINE std::string Limit(const Report& report)
{
  const bool stale = report.StalenessAverage() > 0.5;
  std::string text = stale ? "1/(4·L·S_avg" : "1/(2·L";
  text += (report.stepScale == 1) ? ")" : "·batch size)";
  const bool given = (report.smoothnessFrom == "given");
  text += " = " + Short(report.StepLimit()) + " (L " + (given ? "= " : "≈ ") +
      Short(report.smoothness);
  if (!given)
    text += ", " + report.smoothnessFrom;
  if (report.smoothness < 1)
    text += ", counts as 1";
  if (stale)
    text += ", S_avg = " + Short(report.StalenessAverage());
  return text + ")";
}

DASGD_INLINE std::string Histogram(const Report& report)
{
  std::uint64_t sums[StalenessMeter::Buckets] = { }, all = 0;
  size_t last = 0;
  for (const RankReport& rank : report.ranks)
  {
    for (size_t i = 0; i < StalenessMeter::Buckets; ++i)
    {
      sums[i] += rank.staleness.Histogram()[i];
      all += rank.staleness.Histogram()[i];
      if (sums[i] > 0)
        last = std::max(last, i);
    }
  }
  std::string text;
  for (size_t i = 0; i <= last && all > 0; ++i)
  {
    const std::uint64_t low = (i == 0) ? 0 : std::uint64_t(1) << (i - 1);
    const std::uint64_t high = (i == 0) ? 0 : 2 * (low - 1) + 1;
    char part[16];
    std::snprintf(part, sizeof(part), "%.1f %%", 100 * double(sums[i]) /
        double(all));
    text += (i == 0 ? "" : ", ") + std::to_string(low) + (high > low ? "-" +
        std::to_string(high) : "") + ": " + part;
  }
  return text;
}

//! What was run, and what came of it.
inline void PutRun(std::ostream& out, const Report& report)
{
  out << report.algorithm << ", " << report.ranks.size() << " rank"
      << (report.ranks.size() == 1 ? "" : "s") << ", topology "
      << report.topology << (report.whyTopology.empty() ? "" : " (" +
      report.whyTopology + ")") << ", " << ToString(report.data) << " data, "
      << ToString(report.sharing) << " sharing"
      << (report.wireFormat == "exact" ? "" : ", wire format " +
      report.wireFormat) << "\n"
      << "model: " << report.elements << " elements of "
      << report.elementBytes << " bytes\n"
      << (report.threads == 0 ? "" : "BLAS threads for each rank: " +
      std::to_string(report.threads) + "\n")
      << "stopped: " << report.Reason() << "\n"
      << "objective " << Short(report.objective) << ", " << report.Gradients()
      << " gradients, " << report.Points() << " points ("
      << Short(double(report.Points()) / double(std::max<std::uint64_t>(1,
          report.epochPoints))) << " epochs), " << Short(report.seconds)
      << " s, " << Short(double(report.Gradients() - report.gradientsResumed) /
          std::max(report.seconds, 1e-9)) << " gradients/s\n";
}

//! Checkpoints, deaths, and what they cost.
inline void PutSaved(std::ostream& out, const Report& report)
{
  if (report.resumed)
  {
    out << "resumed from " << report.checkpointFile << ": "
        << report.gradientsResumed << " gradients were behind it, of "
        << report.ranksBefore << " rank"
        << (report.ranksBefore == 1 ? "" : "s") << " in "
        << Short(report.secondsBefore) << " s; the seconds and, but for "
        << "staleness, the table below are of what came after\n";
  }
  if (!report.lost.empty())
  {
    out << "died in the run: rank";
    for (size_t i = 0; i < report.lost.size(); ++i)
      out << (i == 0 ? " " : ", ") << report.lost[i];
    out << "; the others went on without " << (report.lost.size() == 1 ? "it" :
        "them") << " after " << report.gradientsBefore << " gradients, "
        << report.gradientsLost << " that not all had were dropped, and ranks "
        << "have new numbers below\n";
  }
  if (!report.checkpointFile.empty())
  {
    out << "checkpoints written to " << report.checkpointFile << ": "
        << report.checkpoints;
    if (!report.checkpointProblem.empty())
      out << "; the last one failed: " << report.checkpointProblem;
    out << "\n";
  }
  if (report.Overrun() > 0)
  {
    out << "points beyond MaxIterations, in flight when it was reached: "
        << report.Overrun() << "\n";
  }
}

//! A row for each rank.
inline void PutRanks(std::ostream& out, const Report& report)
{
  std::vector<std::vector<std::string>> rows = { { "rank", "computed",
      "applied", "points", "compute s", "exchange s", "idle s", "sent",
      "received", "frames", "most/frame", "vectors", "S mean", "S max" } };
  for (size_t i = 0; i < report.ranks.size(); ++i)
  {
    const RankReport& r = report.ranks[i];
    rows.push_back({ std::to_string(i), std::to_string(r.computed),
        std::to_string(r.applied), std::to_string(r.points),
        Short(r.secondsComputing), Short(r.secondsExchanging),
        Short(r.secondsIdle), Bytes(r.bytesSent), Bytes(r.bytesReceived),
        std::to_string(r.framesSent) + "/" + std::to_string(r.framesReceived),
        std::to_string(r.largestFrame), std::to_string(r.peakVectors) + "/" +
        std::to_string(r.vectorBound), Short(r.staleness.Mean()),
        std::to_string(r.staleness.Max()) });
  }
  out << Columns(rows);
}

//! How ranks exchanged, and what they waited for.
inline void PutExchange(std::ostream& out, const Report& report)
{
  std::uint64_t pauses = 0, between = 0, paced = 0, sent = 0;
  double paused = 0;
  for (const RankReport& rank : report.ranks)
  {
    pauses += rank.pauses;
    paced += rank.framesPaced;
    sent += rank.framesSent;
    between += rank.bytesBetween;
    paused += rank.secondsAhead;
  }
  if (between > 0)
  {
    out << "sent between machines: " << Bytes(between) << ", " << Short(
        double(between) / double(std::max<std::uint64_t>(1,
        report.Gradients() - report.gradientsBefore)) /
        double(report.elements * report.elementBytes))
        << " times the model for each gradient\n";
  }
  if (report.overlap.used)
    out << "frames were exchanged while gradients were computed\n";
  else if (!report.overlap.obstacle.empty())
  {
    out << "frames were exchanged between gradients, since "
        << report.overlap.obstacle << "\n";
  }
  if (paced > 0)
  {
    out << Short(100 * double(paced) / double(sent))
        << " % of the frames waited "
        << "for more gradients, so that ranks spend less time on exchanging\n";
  }
  if (pauses > 0)
  {
    out << "ranks paused " << pauses << " times, " << Short(paused) << " s in "
        << "all, for neighbours that were MaxLead() gradients behind\n";
  }
}

//! What was done about late gradients.
inline void PutResponse(std::ostream& out, const Report& report)
{
  std::uint64_t discarded = 0;
  for (const RankReport& rank : report.ranks)
    discarded += rank.discarded;
  const std::string age = " on average, since gradients were " +
      Short(report.Age()) + " updates old";
  if (report.StepFactor() < 1)
  {
    out << "steps were shortened to " << Short(report.StepFactor()) << age
        << "\n";
  }
  if (report.LookAhead() > 0)
  {
    out << "the update policy looked ahead by " << Short(report.LookAhead())
        << " rounds" << age << "\n";
  }
  if (discarded > 0)
  {
    out << "gradients that came too late to be used: " << discarded << " of "
        << report.Gradients() << "\n";
  }
}

//! How late gradients were, and how late the paper expects them to be.
inline void PutStaleness(std::ostream& out, const Report& report)
{
  std::uint64_t measured = 0, skipped = 0;
  for (const RankReport& rank : report.ranks)
  {
    measured += rank.staleness.Measured();
    skipped += rank.staleness.Skipped();
  }
  if (!report.measuresStaleness)
    out << "staleness: none where models are averaged";
  else
  {
    out << "staleness: S_avg " << Short(report.StalenessAverage())
        << ", S_max " << report.StalenessMax();
  }
  const size_t every = Manifest::VersionedEvery((report.boards > 0) ?
      report.boards : report.ranks.size());
  if (report.measuresStaleness && every > 1)
  {
    out << " (of one gradient in " << every << ", since there are more ranks "
        << "than frames have room for)";
  }
  else if (skipped > 0)
  {
    out << " (not measured for " << skipped << " gradients that were folded "
        << "while a peer took none)";
  }
  if (report.ranks.size() > 1 && report.expectedAverage > 0)
  {
    out << "; the paper " << (report.expectedFromPaper ? "expects " :
        "has no figures for this topology, by its argument ")
        << Short(report.expectedAverage) << " and "
        << Short(report.expectedMax);
  }
  if (report.ranks.size() > 1 && measured > 0)
  {
    out << "\n"
        << "how often each |S| was met: " << Histogram(report);
  }
  out << "\n";
  if (report.recorded)
  {
    out << "loose staleness, from the history: average "
        << Short(report.LooseAverage()) << ", maximum " << report.LooseMax()
        << "\n";
  }
}

//! The step size, beside what the theorem allows.
inline void PutStep(std::ostream& out, const Report& report)
{
  const std::string step = "step size " + Short(report.stepSize) +
      (report.autoStep ? " (AutoStep)" : "");
  if (!report.outsideTheorem.empty())
    out << "outside the paper's theorem: " << report.outsideTheorem << "\n";
  else if (!report.Advice().empty())
    out << "the run diverged: " << report.Advice() << "\n";
  else if (report.smoothness > 0)
  {
    out << step << (report.stepSize <= report.StepLimit() ? " keeps to " :
        " exceeds ") << "the theorem's limit " << Limit(report)
        << "\n";
    if (report.recorded)
    {
      out << "and without bounded gradients it "
          << (report.stepSize <= report.LooseStepLimit() ? "keeps to " :
          "exceeds ") << "1/(4·L·√(Ŝ_avg·Ŝ_max)" << (report.stepScale == 1 ?
          "" : "·batch size") << ") = " << Short(report.LooseStepLimit())
          << "\n";
    }
  }
  else if (report.reason != StopReason::NonFinite)
  {
    out << step << "; give Smoothness() to have it compared with the theorem's "
        << "limit\n";
  }
}

//! How far models were apart, and advice.
inline void PutEnd(std::ostream& out, const Report& report)
{
  if (report.ranks.size() > 1 && report.measuresDeviation)
  {
    out << "replicas differed by at most " << Short(report.Deviation())
        << " before " << report.finalModel << " became everyone's\n";
  }
  if (report.PausedLong())
    out << TooShort() << "\n";
  if (report.WaitedLong())
  {
    out << "ranks waited long for the slowest one; "
        << "Sharing() = dasgd::Sharing::Dynamic lets fast ranks do more\n";
  }
}

} // namespace report

DASGD_INLINE std::string Report::Advice() const
{
  if (reason != StopReason::NonFinite || smoothness <= 0 ||
      !outsideTheorem.empty())
    return "";
  const double limit = StepLimit();
  const std::string step = "step " + report::Short(stepSize);
  if (stepSize <= limit)
  {
    return step + " keeps to " + report::Limit(*this) + "; look for points "
        "that are not finite, or for a function that is steeper elsewhere";
  }
  // One digit, rounded down.
  const double unit = std::pow(10, std::floor(std::log10(limit)));
  return step + " exceeds " + report::Limit(*this) + "; try " +
      report::Short(std::floor(limit / unit) * unit);
}

DASGD_INLINE std::ostream& operator<<(std::ostream& stream,
                                      const Report& report)
{
  if (report.ranks.empty())
    return stream << "No run to report on yet.\n";
  std::ostringstream out;
  report::PutRun(out, report);
  report::PutSaved(out, report);
  report::PutRanks(out, report);
  report::PutExchange(out, report);
  report::PutResponse(out, report);
  report::PutStaleness(out, report);
  report::PutStep(out, report);
  report::PutEnd(out, report);
  return stream << out.str();
}

} // namespace dasgd

#endif
