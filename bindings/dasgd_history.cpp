/**
 * @file dasgd_history.cpp
 *
 * Reads a recorded history and prints what each rank did and how stale the
 * gradients were that it applied, as a table or as JSON; writes a trace of it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/staleness/loose_staleness.hpp>
#include <dasgd/report/history_trace.hpp>
#include <dasgd/report/json_writer.hpp>
#include <dasgd/report/report.hpp>
#include <dasgd/version.hpp>

#include <CLI/CLI.hpp>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>

namespace {

using dasgd::HistoryEvent;
using dasgd::RankReport;
using dasgd::StalenessMeter;
using dasgd::report::Bytes;
using dasgd::report::Short;

//! What a history tells of a run.
struct Summary
{
  //! As far as a history knows: counts, times and staleness.
  dasgd::Report report;
  //! Per rank, what the report does not tell apart.
  std::vector<double> secondsApplying;
  std::vector<double> secondsSending;
};

Summary Summarize(const dasgd::History& history)
{
  Summary summary;
  summary.report.ranks.resize(history.size());
  summary.report.recorded = true;
  summary.secondsApplying.assign(history.size(), 0);
  summary.secondsSending.assign(history.size(), 0);

  const dasgd::HistoryStaleness staleness(history);
  for (size_t i = 0; i < history.size(); ++i)
  {
    RankReport& rank = summary.report.ranks[i];
    for (const HistoryEvent& event : history[i].Events())
    {
      const double seconds = event.end - event.begin;
      switch (event.kind)
      {
        case HistoryEvent::Kind::Compute:
          ++rank.computed;
          rank.secondsComputing += seconds;
          break;
        case HistoryEvent::Kind::Apply:
          ++rank.framesReceived;
          rank.bytesReceived += event.bytes;
          summary.secondsApplying[i] += seconds;
          break;
        case HistoryEvent::Kind::Send:
          ++rank.framesSent;
          rank.bytesSent += event.bytes;
          summary.secondsSending[i] += seconds;
          break;
        case HistoryEvent::Kind::Idle:
          rank.secondsIdle += seconds;
          break;
      }
      summary.report.seconds = std::max(summary.report.seconds, event.end);
    }
    rank.staleness = staleness.Ranks()[i].tight;
    rank.looseStaleness = staleness.Ranks()[i].loose;
    // Every gradient that was applied, a rank's own among them, is measured.
    rank.applied = rank.staleness.Measured();
  }
  return summary;
}

std::string Table(const Summary& summary)
{
  const dasgd::Report& report = summary.report;
  std::ostringstream out;
  out << report.ranks.size() << " rank" << (report.ranks.size() == 1 ? "" : "s")
      << ", " << report.Gradients() << " gradients, " << Short(report.seconds)
      << " s\n";

  std::vector<std::vector<std::string>> rows = { { "rank", "computed",
      "applied", "frames", "sent", "received", "compute s", "apply s", "send s",
      "idle s", "S mean", "S max", "loose mean", "loose max" } };
  for (size_t i = 0; i < report.ranks.size(); ++i)
  {
    const RankReport& r = report.ranks[i];
    rows.push_back({ std::to_string(i), std::to_string(r.computed),
        std::to_string(r.applied), std::to_string(r.framesSent) + "/" +
        std::to_string(r.framesReceived), Bytes(r.bytesSent),
        Bytes(r.bytesReceived), Short(r.secondsComputing),
        Short(summary.secondsApplying[i]), Short(summary.secondsSending[i]),
        Short(r.secondsIdle), Short(r.staleness.Mean()),
        std::to_string(r.staleness.Max()), Short(r.looseStaleness.Mean()),
        std::to_string(r.looseStaleness.Max()) });
  }
  out << dasgd::report::Columns(rows);

  out << "staleness: S_avg " << Short(report.StalenessAverage()) << ", S_max "
      << report.StalenessMax() << "\n"
      << "loose staleness: S_avg " << Short(report.LooseAverage())
      << ", S_max " << report.LooseMax() << "\n";
  if (report.Gradients() > 0)
    out << "how often each |S| was met: " << dasgd::report::Histogram(report)
        << "\n";
  return out.str();
}

//! Names are those of Report::Json() where both tell the same.
std::string Json(const Summary& summary)
{
  const dasgd::Report& report = summary.report;
  std::vector<std::uint64_t> histogram(StalenessMeter::Buckets, 0);
  for (const RankReport& rank : report.ranks)
    for (size_t i = 0; i < histogram.size(); ++i)
      histogram[i] += rank.staleness.Histogram()[i];

  std::ostringstream text;
  dasgd::report::JsonWriter<true> out(text);
  out.BeginObject();
  out.Field("ranks", report.ranks.size());
  out.Field("seconds", report.seconds);
  out.Field("gradients", report.Gradients());
  out.Field("staleness_avg", report.StalenessAverage());
  out.Field("staleness_max", report.StalenessMax());
  out.Field("loose_staleness_avg", report.LooseAverage());
  out.Field("loose_staleness_max", report.LooseMax());
  WriteHistogram(histogram, out);
  out.Name("per_rank");
  out.BeginArray();
  for (size_t i = 0; i < report.ranks.size(); ++i)
  {
    const RankReport& r = report.ranks[i];
    out.BeginObject();
    out.Field("rank", i);
    out.Field("computed", r.computed);
    out.Field("applied", r.applied);
    out.Field("frames_sent", r.framesSent);
    out.Field("frames_received", r.framesReceived);
    out.Field("bytes_sent", r.bytesSent);
    out.Field("bytes_received", r.bytesReceived);
    out.Field("seconds_computing", r.secondsComputing);
    out.Field("seconds_applying", summary.secondsApplying[i]);
    out.Field("seconds_sending", summary.secondsSending[i]);
    out.Field("seconds_idle", r.secondsIdle);
    out.Field("staleness_mean", r.staleness.Mean());
    out.Field("staleness_max", r.staleness.Max());
    out.Field("loose_staleness_mean", r.looseStaleness.Mean());
    out.Field("loose_staleness_max", r.looseStaleness.Max());
    WriteHistogram(r.staleness.Histogram(), out);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
  text << "\n";
  return text.str();
}

//! One line of printable characters, whatever a damaged file holds.
void Complain(std::string text)
{
  const std::string prefix = "dasgd: ";
  if (text.compare(0, prefix.size(), prefix) == 0)
    text.erase(0, prefix.size());
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  std::cerr << "dasgd_history: " << text << std::endl;
}

//! A trace that has been begun goes with the program.
void RemoveTraceOnSignals()
{
  for (const int number : { SIGTERM, SIGINT, SIGHUP })
  {
    std::signal(number, [](const int signal)
    {
      dasgd::PartFiles::Remove();
      std::signal(signal, SIG_DFL);
      raise(signal);
    });
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

//! Print what a history tells, and write a trace of it, if there is to be one.
void Print(const std::string& file,
           const std::string* trace,
           const bool json)
{
  std::error_code none;
  if (std::filesystem::is_directory(file, none))
    throw std::runtime_error("cannot read " + file + ": Is a directory");
  const dasgd::History history = dasgd::LoadHistory(file);
  const Summary summary = Summarize(history);
  if (trace)
  {
    if (std::filesystem::equivalent(file, *trace, none))
    {
      throw std::invalid_argument("the trace would replace the history " +
          file + "; choose another name for the trace");
    }
    dasgd::SaveTrace(history, *trace);
  }
  std::cout << (json ? Json(summary) : Table(summary)) << std::flush;
  if (!std::cout)
    throw std::runtime_error("cannot write to the standard output");
}

} // namespace

//! Exit statuses; the manual page lists them.
enum Status { Fine = 0, Unreadable = 1, Usage = 2 };

int main(int argc, char** argv)
{
  const std::string version = std::to_string(DASGD_VERSION_MAJOR) + "." +
      std::to_string(DASGD_VERSION_MINOR) + "." +
      std::to_string(DASGD_VERSION_PATCH);
  CLI::App app("Print what each rank did in a recorded training with dasgd, "
      "and how stale the gradients were that it applied.", "dasgd_history");
  std::string file, trace;
  bool json = false;
  app.add_option("FILE", file, "A history, as written by SaveHistory()")
      ->required()->type_name("");
  app.add_option("--trace", trace, "Also write a trace for Perfetto or "
      "chrome://tracing")->type_name("OUT.json");
  app.add_flag("--json", json, "Print a JSON object instead of a table");
  app.set_version_flag("-V,--version", "dasgd_history: part of dasgd " +
      version + ".", "Print the version and exit");
  try
  {
    app.parse(argc, argv);
  }
  catch (const CLI::ParseError& e)
  {
    if (e.get_exit_code() == 0)
      return app.exit(e); // It has been asked for help or for the version.
    Complain(std::string(e.what()) + "; --help lists the options");
    return Usage;
  }

  RemoveTraceOnSignals();
  try
  {
    Print(file, app.count("--trace") > 0 ? &trace : nullptr, json);
  }
  catch (const std::bad_alloc&)
  {
    Complain("out of memory: " + file + " is too large for this machine");
    return Unreadable;
  }
  catch (const std::exception& e)
  {
    Complain(e.what());
    return Unreadable;
  }
  return Fine;
}
