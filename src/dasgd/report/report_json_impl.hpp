/**
 * @file report_json_impl.hpp
 *
 * Implementation of the report as JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_JSON_IMPL_HPP
#define DASGD_REPORT_REPORT_JSON_IMPL_HPP

// In case it hasn't been included yet.
#include "report_json.hpp"

#include "json_writer.hpp"

#include <sstream>

namespace dasgd {

namespace report {

//! One value, without the line that it may take in an object.
template<typename ValueType>
std::string JsonValue(const ValueType& value)
{
  std::ostringstream out;
  JsonWriter<false>(out).Value(value);
  return out.str();
}

DASGD_INLINE std::string JsonNumber(const double value)
{
  return JsonValue(value);
}

DASGD_INLINE std::string JsonString(const std::string& value)
{
  return JsonValue(value);
}

//! Where a run's gradients went, and how late they came.
DASGD_INLINE void WriteStaleness(const Report& report, JsonWriter<true>& out)
{
  out.Field("gradients", report.Gradients());
  out.Field("points", report.Points());
  out.Field("overrun", report.Overrun());
  out.Field("staleness_avg", report.StalenessAverage());
  out.Field("staleness_max", report.StalenessMax());
  out.Field("expected_staleness_avg", report.expectedAverage);
  out.Field("expected_staleness_max", report.expectedMax);
  out.Field("expected_from_paper", report.expectedFromPaper);
  out.Name("loose_staleness_avg");
  out.ValueIf(report.recorded, report.LooseAverage());
  out.Name("loose_staleness_max");
  out.ValueIf(report.recorded, report.LooseMax());
}

//! The step, and what theory says of it.
DASGD_INLINE void WriteStep(const Report& report, JsonWriter<true>& out)
{
  out.Name("blas_threads");
  out.ValueIf(report.threads > 0, report.threads);
  out.Field("step_size", report.stepSize);
  out.Field("staleness_damping", report.damping);
  out.Field("step_factor", report.StepFactor());
  out.Field("look_ahead", report.LookAhead());
  out.Field("auto_step", report.autoStep);
  out.Name("smoothness");
  out.ValueIf(report.smoothness > 0, report.smoothness);
  out.Field("smoothness_from", report.smoothnessFrom);
  out.Name("step_limit");
  out.ValueIf(report.StepLimit() > 0, report.StepLimit());
  out.Name("loose_step_limit");
  out.ValueIf(report.LooseStepLimit() > 0, report.LooseStepLimit());
  out.Field("advice", report.Advice());
}

//! What was saved, resumed and lost.
DASGD_INLINE void WriteCheckpoints(const Report& report, JsonWriter<true>& out)
{
  out.Field("checkpoint_file", report.checkpointFile);
  out.Field("checkpoints", report.checkpoints);
  out.Field("checkpoint_problem", report.checkpointProblem);
  out.Field("resumed", report.resumed);
  out.Field("resumes", report.resumes);
  out.Field("ranks_before", report.ranksBefore);
  out.Field("gradients_resumed", report.gradientsResumed);
  out.Field("gradients_before", report.gradientsBefore);
  out.Field("points_before", report.pointsBefore);
  out.Field("seconds_before", report.secondsBefore);
  out.Name("lost_ranks");
  out.Values(report.lost.begin(), report.lost.end());
  out.Field("gradients_lost", report.gradientsLost);
}

//! A rank, as an object.
DASGD_INLINE void WriteRank(const size_t rank, const RankReport& r,
                            const bool recorded, JsonWriter<true>& out)
{
  out.BeginObject();
  out.Field("rank", rank);
  out.Field("computed", r.computed);
  out.Field("applied", r.applied);
  out.Field("discarded", r.discarded);
  out.Field("points", r.points);
  out.Field("seconds_computing", r.secondsComputing);
  out.Field("seconds_exchanging", r.secondsExchanging);
  out.Field("seconds_idle", r.secondsIdle);
  out.Field("pauses", r.pauses);
  out.Field("seconds_ahead", r.secondsAhead);
  out.Field("frames_sent", r.framesSent);
  out.Field("frames_received", r.framesReceived);
  out.Field("bytes_sent", r.bytesSent);
  out.Field("bytes_received", r.bytesReceived);
  out.Field("bytes_between_machines", r.bytesBetween);
  out.Field("frames_paced", r.framesPaced);
  out.Field("largest_frame", r.largestFrame);
  out.Field("peak_vectors", r.peakVectors);
  out.Field("vector_bound", r.vectorBound);
  out.Field("deviation", r.deviation);
  out.Field("staleness_mean", r.staleness.Mean());
  out.Field("staleness_max", r.staleness.Max());
  out.Field("staleness_measured", r.staleness.Measured());
  out.Field("staleness_skipped", r.staleness.Skipped());
  if (recorded)
  {
    out.Field("loose_staleness_mean", r.looseStaleness.Mean());
    out.Field("loose_staleness_max", r.looseStaleness.Max());
  }
  WriteHistogram(r.staleness.Histogram(), out);
  out.EndObject();
}

} // namespace report

DASGD_INLINE std::string Report::Json(
    const std::vector<std::pair<std::string, std::string>>& more) const
{
  std::ostringstream text;
  report::JsonWriter<true> out(text);
  out.BeginObject();
  for (const auto& field : more)
  {
    out.Name(field.first);
    out.Raw(field.second);
  }
  out.Field("algorithm", algorithm);
  out.Field("ranks", ranks.size());
  out.Field("topology", topology);
  out.Field("topology_choice", whyTopology);
  out.Field("wire_format", wireFormat);
  out.Field("data", ToString(data));
  out.Field("sharing", ToString(sharing));
  out.Field("overlap", overlap.used);
  out.Field("elements", elements);
  out.Field("element_bytes", elementBytes);
  out.Field("epoch_points", epochPoints);
  out.Field("max_iterations", maxIterations);
  out.Field("seconds", seconds);
  out.Field("objective", objective);
  report::WriteStaleness(*this, out);
  report::WriteStep(*this, out);
  out.Field("deviation", Deviation());
  out.Field("stopped", Reason());
  out.Field("outside_theorem", outsideTheorem);
  report::WriteCheckpoints(*this, out);
  out.Name("per_rank");
  out.BeginArray();
  for (size_t i = 0; i < ranks.size(); ++i)
    report::WriteRank(i, ranks[i], recorded, out);
  out.EndArray();
  out.EndObject();
  text << "\n";
  return text.str();
}

} // namespace dasgd

#endif
