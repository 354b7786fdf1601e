/**
 * @file page.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "page.hpp"

#include <dasgd/files/whole_file.hpp>
#include <data/text.hpp>
#include <page/filled_page.hpp>
#include <page/page_json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace dasgd {
namespace planning {

// Made of plan.js and what is in page/ when the program is built.
extern const unsigned char planPage[];
extern const size_t planPageSize;

namespace {

using study::Json;
using study::PageNumber;

std::string Formatted(const char* format, const double value)
{
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Count(const double value)
{ return Formatted(value < 99.5 ? "%.1f" : "%.0f", value); }

std::string Percent(const double share)
{ return Formatted(share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share); }

//! Columns side by side, numbers to the right.
void PrintColumns(std::ostream& out,
                  const std::vector<std::vector<std::string>>& rows)
{
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows)
  {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
    {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (i < 2 ? row[i] + space : space + row[i]);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

} // namespace

std::string SecondsText(const double seconds)
{
  if (!std::isfinite(seconds))
    return "-";
  if (seconds < 1e-3)
    return Formatted("%.3g us", 1e6 * seconds);
  if (seconds < 1)
    return Formatted("%.3g ms", 1e3 * seconds);
  if (seconds < 120)
    return Formatted("%.3g s", seconds);
  return seconds < 7200 ? Formatted("%.3g min", seconds / 60) :
      Formatted("%.3g h", seconds / 3600);
}

std::string BytesText(const double bytes)
{
  if (bytes < 999.5)
    return Formatted("%.0f B", bytes);
  if (bytes < 999.5e3)
    return Formatted("%.3g kB", bytes / 1e3);
  if (bytes < 999.5e6)
    return Formatted("%.3g MB", bytes / 1e6);
  return Formatted("%.3g GB", bytes / 1e9);
}

void PrintTable(std::ostream& out, const Findings& findings)
{
  std::vector<std::vector<std::string>> rows = { { "", "topology", "ranks",
      "machines", "speed-up", "worth", "gradients/s", "epoch", "S_avg",
      "sent/machine/s", "network", "memory/rank" } };
  for (size_t i = 0; i < findings.rows.size(); ++i)
  {
    const PlanRow& row = findings.rows[i];
    const bool ours = (row.algorithm == "DASGD");
    rows.push_back({ i == findings.best ? "*" : "", row.ranks == 1 ? "-" :
        ours ? row.topology : "all-reduce", std::to_string(row.ranks),
        std::to_string(row.machines), Count(row.speedup),
        ours ? Count(row.worth) : "-", Count(row.gradientsPerSecond),
        SecondsText(row.epochSeconds), ours ? Count(row.staleness) : "-",
        BytesText(row.bytesPerSecond), Percent(row.networkShare),
        BytesText(row.memoryBytes) });
  }
  PrintColumns(out, rows);
  if (findings.learned.empty())
    return;
  out << "\nTime to a test loss of " << study::NumberText(findings.target, 4)
      << ", with real gradients on virtual time:\n";
  rows = { { "", "algorithm", "ranks", "time", "step", "S_avg" } };
  for (const LearnedRow& row : findings.learned)
  {
    rows.push_back({ "", row.algorithm, std::to_string(row.ranks),
        std::isfinite(row.seconds) ? SecondsText(row.seconds) : "not reached",
        std::isfinite(row.seconds) ? study::NumberText(row.step, 4) : "-",
        row.algorithm == "DASGD" ? Count(row.staleness) : "-" });
  }
  PrintColumns(out, rows);
}

void SaveRows(const std::string& path, const Findings& findings)
{
  SaveFile(path, [&](std::ostream& out)
  {
    out << "algorithm,topology,ranks,machines,gradients_per_second,speedup,"
        "worth,epoch_seconds,staleness,bytes_per_second,network_share,"
        "link_bytes_per_second,memory_bytes,neighbours\n";
    for (const PlanRow& row : findings.rows)
    {
      std::vector<std::string> fields = { row.algorithm, row.topology,
          std::to_string(row.ranks), std::to_string(row.machines) };
      for (const double value : { row.gradientsPerSecond, row.speedup,
          row.worth, row.epochSeconds, row.staleness, row.bytesPerSecond,
          row.networkShare, row.linkBytesPerSecond, row.memoryBytes,
          double(row.neighbours) })
      {
        fields.push_back(std::isfinite(value) ? study::NumberText(value, 6) :
            "");
      }
      out << study::CsvRow(fields);
    }
  });
}

void SavePage(const std::string& path, const Findings& findings)
{
  Json data = { { "title", findings.title }, { "advice", findings.advice },
      { "warning", findings.warning },
      { "best", findings.best }, { "rows", Json::array() },
      { "learned", Json::array() }, { "target", findings.learned.empty() ?
      Json() : PageNumber(findings.target) },
      { "settings", study::PageTable(findings.settings) },
      { "versions", study::PageTable(study::Versions()) },
      { "command", findings.command } };
  for (const PlanRow& row : findings.rows)
  {
    data["rows"].push_back({ { "algorithm", row.algorithm },
        { "ranks", row.ranks }, { "machines", row.machines },
        { "topology", row.ranks == 1 ? "" : row.topology },
        { "topology_used", row.topologyUsed },
        { "gradients_per_second", PageNumber(row.gradientsPerSecond) },
        { "speedup", PageNumber(row.speedup) },
        { "worth", PageNumber(row.worth) },
        { "epoch_seconds", PageNumber(row.epochSeconds) },
        { "staleness", PageNumber(row.staleness) },
        { "bytes_per_second", PageNumber(row.bytesPerSecond) },
        { "link_bytes_per_second", PageNumber(row.linkBytesPerSecond) },
        { "network_share", PageNumber(row.networkShare) },
        { "memory_bytes", PageNumber(row.memoryBytes) },
        { "neighbours", row.neighbours } });
  }
  for (const LearnedRow& row : findings.learned)
  {
    data["learned"].push_back({ { "algorithm", row.algorithm },
        { "ranks", row.ranks }, { "topology", row.topology },
        { "seconds", PageNumber(row.seconds) },
        { "step_size", PageNumber(row.step) },
        { "staleness", PageNumber(row.staleness) } });
  }
  study::SaveFilledPage(path, std::string(reinterpret_cast<const char*>(
      planPage), planPageSize), data.dump(1, ' ', false,
      Json::error_handler_t::replace));
}

} // namespace planning
} // namespace dasgd
