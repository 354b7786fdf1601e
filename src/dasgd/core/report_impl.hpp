/**
 * @file report_impl.hpp
 *
 * Implementation of the report.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_REPORT_IMPL_HPP
#define DASGD_CORE_REPORT_IMPL_HPP

// In case it hasn't been included yet.
#include "report.hpp"
#include "theory.hpp"

#include <cmath>
#include <cstdio>
#include <iomanip>
#include <sstream>

namespace dasgd {

inline std::uint64_t Report::Gradients() const
{
  std::uint64_t sum = gradientsBefore;
  for (const RankReport& rank : ranks)
    sum += rank.computed;
  return sum;
}

inline std::uint64_t Report::Points() const
{
  std::uint64_t sum = pointsBefore;
  for (const RankReport& rank : ranks)
    sum += rank.points;
  return sum;
}

inline std::uint64_t Report::Overrun() const
{
  const std::uint64_t points = Points();
  const std::uint64_t due = std::max(maxIterations, pointsBefore);
  return (maxIterations != 0 && points > due) ? points - due : 0;
}

inline double Report::StalenessAverage() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.staleness.Mean());
  return largest;
}

inline std::uint64_t Report::StalenessMax() const
{
  std::uint64_t largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.staleness.Max());
  return largest;
}

inline double Report::LooseAverage() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.looseStaleness.Mean());
  return largest;
}

inline std::uint64_t Report::LooseMax() const
{
  std::uint64_t largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.looseStaleness.Max());
  return largest;
}

inline double Report::StepLimit() const
{
  return (smoothness > 0 && outsideTheorem.empty()) ?
      theory::BoundedStepLimit(smoothness, StalenessAverage()) / stepScale : 0;
}

inline double Report::LooseStepLimit() const
{
  return (smoothness > 0 && recorded && outsideTheorem.empty()) ?
      theory::StepLimit(smoothness, LooseAverage(), double(LooseMax())) /
      stepScale : 0;
}

inline double Report::Deviation() const
{
  double largest = 0;
  for (const RankReport& rank : ranks)
    largest = std::max(largest, rank.deviation);
  return largest;
}

inline bool Report::WaitedLong() const
{
  double idle = 0;
  for (const RankReport& rank : ranks)
    idle += rank.secondsIdle - rank.secondsAhead;
  return ranks.size() > 1 && sharing == dasgd::Sharing::Static &&
      dynamicHelps && seconds > 1 &&
      idle > 0.2 * seconds * double(ranks.size());
}

inline bool Report::PausedLong() const
{
  double paused = 0;
  for (const RankReport& rank : ranks)
    paused += rank.secondsAhead;
  return seconds > 0.1 && paused > 0.1 * seconds * double(ranks.size());
}

inline std::string Report::Reason() const
{
  std::string text = ToString(reason);
  if (reason != StopReason::Budget)
  {
    text += " (rank " + std::to_string(stopRank) + ", step " +
        std::to_string(stopStep) + ")";
    if (!stopText.empty())
      text += ": " + stopText;
  }
  return text;
}

namespace report {

//! What is to be done about gradients that are not worth an exchange.
inline const char* TooShort()
{
  return "gradients took less time than an exchange, so that they were stale; "
      "take a larger batch, fewer ranks, or a smaller step";
}

//! A number in as few characters as say enough.
inline std::string Short(const double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

inline std::string Bytes(const std::uint64_t bytes)
{
  const char* units[] = { "B", "kB", "MB", "GB", "TB" };
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  return Short(value) + " " + units[unit];
}

//! Rows of equally many cells, one under the other, to the right.
inline std::string Columns(const std::vector<std::vector<std::string>>& rows)
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

//! JSON knows no infinity and no NaN.
inline std::string JsonNumber(const double value)
{
  if (!std::isfinite(value))
    return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

inline std::string JsonString(const std::string& value)
{
  std::string text = "\"";
  for (const char c : value)
  {
    if (c == '"' || c == '\\')
      text += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
    {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", unsigned(c));
      text += code;
    }
    else
      text += c;
  }
  return text + "\"";
}

//! The formula of the first step limit, its value and what went into it.
inline std::string Limit(const Report& report)
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

//! How often each staleness was met, over all ranks, in powers of two.
inline std::string Histogram(const Report& report)
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

} // namespace report

inline std::string Report::Advice() const
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

inline std::string Report::Json(
    const std::vector<std::pair<std::string, std::string>>& more) const
{
  using report::JsonNumber;
  using report::JsonString;
  std::ostringstream out;
  out << "{\n";
  for (const auto& field : more)
    out << "  " << JsonString(field.first) << ": " << field.second << ",\n";
  out << "  \"algorithm\": " << JsonString(algorithm) << ",\n"
      << "  \"ranks\": " << ranks.size() << ",\n"
      << "  \"topology\": " << JsonString(topology) << ",\n"
      << "  \"wire_format\": " << JsonString(wireFormat) << ",\n"
      << "  \"data\": " << JsonString(ToString(data)) << ",\n"
      << "  \"sharing\": " << JsonString(ToString(sharing)) << ",\n"
      << "  \"elements\": " << elements << ",\n"
      << "  \"element_bytes\": " << elementBytes << ",\n"
      << "  \"epoch_points\": " << epochPoints << ",\n"
      << "  \"max_iterations\": " << maxIterations << ",\n"
      << "  \"seconds\": " << JsonNumber(seconds) << ",\n"
      << "  \"objective\": " << JsonNumber(objective) << ",\n"
      << "  \"gradients\": " << Gradients() << ",\n"
      << "  \"points\": " << Points() << ",\n"
      << "  \"overrun\": " << Overrun() << ",\n"
      << "  \"staleness_avg\": " << JsonNumber(StalenessAverage()) << ",\n"
      << "  \"staleness_max\": " << StalenessMax() << ",\n"
      << "  \"expected_staleness_avg\": " << JsonNumber(expectedAverage)
      << ",\n"
      << "  \"expected_staleness_max\": " << JsonNumber(expectedMax) << ",\n"
      << "  \"expected_from_paper\": " << (expectedFromPaper ? "true" : "false")
      << ",\n"
      << "  \"loose_staleness_avg\": "
      << (recorded ? JsonNumber(LooseAverage()) : "null") << ",\n"
      << "  \"loose_staleness_max\": "
      << (recorded ? std::to_string(LooseMax()) : "null") << ",\n"
      << "  \"blas_threads\": "
      << (threads > 0 ? std::to_string(threads) : "null") << ",\n"
      << "  \"step_size\": " << JsonNumber(stepSize) << ",\n"
      << "  \"auto_step\": " << (autoStep ? "true" : "false") << ",\n"
      << "  \"smoothness\": "
      << (smoothness > 0 ? JsonNumber(smoothness) : "null") << ",\n"
      << "  \"smoothness_from\": " << JsonString(smoothnessFrom) << ",\n"
      << "  \"step_limit\": "
      << (StepLimit() > 0 ? JsonNumber(StepLimit()) : "null") << ",\n"
      << "  \"loose_step_limit\": "
      << (LooseStepLimit() > 0 ? JsonNumber(LooseStepLimit()) : "null")
      << ",\n"
      << "  \"advice\": " << JsonString(Advice()) << ",\n"
      << "  \"deviation\": " << JsonNumber(Deviation()) << ",\n"
      << "  \"stopped\": " << JsonString(Reason()) << ",\n"
      << "  \"outside_theorem\": " << JsonString(outsideTheorem) << ",\n"
      << "  \"checkpoint_file\": " << JsonString(checkpointFile) << ",\n"
      << "  \"checkpoints\": " << checkpoints << ",\n"
      << "  \"checkpoint_problem\": " << JsonString(checkpointProblem)
      << ",\n"
      << "  \"resumed\": " << (resumed ? "true" : "false") << ",\n"
      << "  \"resumes\": " << resumes << ",\n"
      << "  \"ranks_before\": " << ranksBefore << ",\n"
      << "  \"gradients_resumed\": " << gradientsResumed << ",\n"
      << "  \"gradients_before\": " << gradientsBefore << ",\n"
      << "  \"points_before\": " << pointsBefore << ",\n"
      << "  \"seconds_before\": " << JsonNumber(secondsBefore) << ",\n"
      << "  \"lost_ranks\": [";
  for (size_t i = 0; i < lost.size(); ++i)
    out << (i == 0 ? "" : ", ") << lost[i];
  out << "],\n"
      << "  \"gradients_lost\": " << gradientsLost << ",\n"
      << "  \"per_rank\": [";
  for (size_t i = 0; i < ranks.size(); ++i)
  {
    const RankReport& r = ranks[i];
    out << (i == 0 ? "\n" : ",\n")
        << "    {\"rank\": " << i
        << ", \"computed\": " << r.computed
        << ", \"applied\": " << r.applied
        << ", \"discarded\": " << r.discarded
        << ", \"points\": " << r.points
        << ", \"seconds_computing\": " << JsonNumber(r.secondsComputing)
        << ", \"seconds_exchanging\": " << JsonNumber(r.secondsExchanging)
        << ", \"seconds_idle\": " << JsonNumber(r.secondsIdle)
        << ", \"pauses\": " << r.pauses
        << ", \"seconds_ahead\": " << JsonNumber(r.secondsAhead)
        << ", \"frames_sent\": " << r.framesSent
        << ", \"frames_received\": " << r.framesReceived
        << ", \"bytes_sent\": " << r.bytesSent
        << ", \"bytes_received\": " << r.bytesReceived
        << ", \"largest_frame\": " << r.largestFrame
        << ", \"peak_vectors\": " << r.peakVectors
        << ", \"vector_bound\": " << r.vectorBound
        << ", \"deviation\": " << JsonNumber(r.deviation)
        << ", \"staleness_mean\": " << JsonNumber(r.staleness.Mean())
        << ", \"staleness_max\": " << r.staleness.Max()
        << ", \"staleness_measured\": " << r.staleness.Measured()
        << ", \"staleness_skipped\": " << r.staleness.Skipped();
    if (recorded)
    {
      out << ", \"loose_staleness_mean\": "
          << JsonNumber(r.looseStaleness.Mean())
          << ", \"loose_staleness_max\": " << r.looseStaleness.Max();
    }
    // Counts of |S| = 0, 1, 2-3, 4-7, ...
    out << ", \"staleness_histogram\": [";
    size_t buckets = StalenessMeter::Buckets;
    while (buckets > 1 && r.staleness.Histogram()[buckets - 1] == 0)
      --buckets;
    for (size_t k = 0; k < buckets; ++k)
      out << (k == 0 ? "" : ", ") << r.staleness.Histogram()[k];
    out << "]}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

inline std::ostream& operator<<(std::ostream& stream, const Report& report)
{
  using report::Bytes;
  using report::Short;
  std::ostringstream out;
  if (report.ranks.empty())
    return stream << "No run to report on yet.\n";

  out << report.algorithm << ", " << report.ranks.size() << " rank"
      << (report.ranks.size() == 1 ? "" : "s") << ", topology "
      << report.topology << ", " << ToString(report.data) << " data, "
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
  if (report.resumed)
  {
    out << "resumed from " << report.checkpointFile << ": "
        << report.gradientsResumed << " gradients were behind it, of "
        << report.ranksBefore << " rank"
        << (report.ranksBefore == 1 ? "" : "s") << " in "
        << Short(report.secondsBefore) << " s; the seconds and, but for staleness, "
        << "the table below are of what came after\n";
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

  std::vector<std::vector<std::string>> rows = { { "rank", "computed",
      "applied", "points", "compute s", "exchange s", "idle s", "sent",
      "received", "frames", "most/frame", "vectors", "S mean", "S max" } };
  std::uint64_t skipped = 0;
  for (size_t i = 0; i < report.ranks.size(); ++i)
  {
    const RankReport& r = report.ranks[i];
    skipped += r.staleness.Skipped();
    rows.push_back({ std::to_string(i), std::to_string(r.computed),
        std::to_string(r.applied), std::to_string(r.points),
        Short(r.secondsComputing), Short(r.secondsExchanging),
        Short(r.secondsIdle), Bytes(r.bytesSent), Bytes(r.bytesReceived),
        std::to_string(r.framesSent) + "/" + std::to_string(r.framesReceived),
        std::to_string(r.largestFrame), std::to_string(r.peakVectors) + "/" +
        std::to_string(r.vectorBound), Short(r.staleness.Mean()),
        std::to_string(r.staleness.Max()) });
  }
  out << report::Columns(rows);

  std::uint64_t measured = 0, discarded = 0, pauses = 0;
  double paused = 0;
  for (const RankReport& rank : report.ranks)
  {
    measured += rank.staleness.Measured();
    discarded += rank.discarded;
    pauses += rank.pauses;
    paused += rank.secondsAhead;
  }
  if (pauses > 0)
  {
    out << "ranks paused " << pauses << " times, " << Short(paused) << " s in "
        << "all, for neighbours that were MaxLead() gradients behind\n";
  }
  if (discarded > 0)
  {
    out << "gradients that came too late to be used: " << discarded << " of "
        << report.Gradients() << "\n";
  }
  if (!report.measuresStaleness)
    out << "staleness: none where models are averaged";
  else
  {
    out << "staleness: S_avg " << Short(report.StalenessAverage())
        << ", S_max " << report.StalenessMax();
  }
  if (skipped > 0)
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
        << "how often each |S| was met: " << report::Histogram(report);
  }
  out << "\n";
  if (report.recorded)
  {
    out << "loose staleness, from the history: average "
        << Short(report.LooseAverage()) << ", maximum " << report.LooseMax()
        << "\n";
  }
  const std::string step = "step size " + Short(report.stepSize) +
      (report.autoStep ? " (AutoStep)" : "");
  if (!report.outsideTheorem.empty())
    out << "outside the paper's theorem: " << report.outsideTheorem << "\n";
  else if (!report.Advice().empty())
    out << "the run diverged: " << report.Advice() << "\n";
  else if (report.smoothness > 0)
  {
    out << step << (report.stepSize <= report.StepLimit() ? " keeps to " :
        " exceeds ") << "the theorem's limit " << report::Limit(report)
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
  if (report.ranks.size() > 1 && report.measuresDeviation)
  {
    out << "replicas differed by at most " << Short(report.Deviation())
        << " before " << report.finalModel << " became everyone's\n";
  }
  if (report.PausedLong())
    out << report::TooShort() << "\n";
  if (report.WaitedLong())
  {
    out << "ranks waited long for the slowest one; "
        << "Sharing() = dasgd::Sharing::Dynamic lets fast ranks do more\n";
  }
  return stream << out.str();
}

} // namespace dasgd

#endif
