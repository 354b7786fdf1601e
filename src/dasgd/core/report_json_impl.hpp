/**
 * @file report_json_impl.hpp
 *
 * Implementation of the report as JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_REPORT_JSON_IMPL_HPP
#define DASGD_CORE_REPORT_JSON_IMPL_HPP

// In case it hasn't been included yet.
#include "report_json.hpp"

#include <cmath>
#include <cstdio>
#include <sstream>

namespace dasgd {

namespace report {

DASGD_INLINE std::string JsonNumber(const double value)
{
  if (!std::isfinite(value))
    return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

DASGD_INLINE std::string JsonString(const std::string& value)
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

} // namespace report

DASGD_INLINE std::string Report::Json(
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
      << "  \"topology_choice\": " << JsonString(whyTopology) << ",\n"
      << "  \"wire_format\": " << JsonString(wireFormat) << ",\n"
      << "  \"data\": " << JsonString(ToString(data)) << ",\n"
      << "  \"sharing\": " << JsonString(ToString(sharing)) << ",\n"
      << "  \"overlap\": " << (overlap.used ? "true" : "false") << ",\n"
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
      << "  \"staleness_damping\": " << JsonNumber(damping) << ",\n"
      << "  \"step_factor\": " << JsonNumber(StepFactor()) << ",\n"
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
        << ", \"bytes_between_machines\": " << r.bytesBetween
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

} // namespace dasgd

#endif
