/**
 * @file progress_line.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "progress_line.hpp"
#include "terminal.hpp"

#include <ranks/job_channel.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace dasgd {
namespace cli {

namespace {

std::string Format(const char* form, const double value)
{
  char text[400]; // The largest numbers have 309 digits.
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

} // namespace

ProgressLine::ProgressLine(const bool show,
                           const size_t epochPoints,
                           const size_t points,
                           const size_t batchSize,
                           const double scale) :
    show(show), epochPoints(epochPoints), points(points),
    batchSize(batchSize), scale(scale), start(Clock::now()), printed(start)
{
}

ProgressLine::~ProgressLine()
{
  if (!ProgressShown())
    return;
  std::fputc('\n', stderr);
  SetShown(false);
}

bool ProgressLine::Due()
{
  const Clock::time_point now = Clock::now();
  if (now - printed < std::chrono::milliseconds(250))
    return false;
  printed = now;
  return true;
}

std::string ProgressLine::Text(const double staleness,
                               const size_t columns) const
{
  const double seconds = std::chrono::duration<double>(
      Clock::now() - start).count();
  const double done = double(steps * batchSize);
  const double now = epochSteps ? sum / double(epochSteps * batchSize) : loss;
  std::string first = "epoch " + std::to_string(epoch);
  if (points > 0 && epochPoints > 0)
    first += "/" + std::to_string((points + epochPoints - 1) / epochPoints);
  // In the order of the line; those with smaller numbers are left out first.
  std::vector<std::pair<size_t, std::string>> parts = {
      { 2, Format("  loss %.4f", now) },
      { 1, Format("  %.0f gradients/s", double(steps) /
          std::max(seconds, 1e-9)) },
      { 0, Format("  staleness %.1f", staleness) } };
  // The first step waits for much that the others do not.
  const double since = std::chrono::duration<double>(Clock::now() -
      begun).count();
  const double all = double(points) - double(before);
  if (points > 0 && steps > 1 && (since > 1 || 10 * done > all))
  {
    const double left = std::max(0.0, all - done) * since /
        (double(steps - 1) * double(batchSize));
    const int minutes = int(std::min(left / 60, 1e6));
    char text[64];
    if (minutes < 60)
      std::snprintf(text, sizeof(text), "  %d:%02d left", minutes, int(left) %
          60);
    else
      std::snprintf(text, sizeof(text), "  %d:%02d h left", minutes / 60,
          minutes % 60);
    parts.push_back({ 3, text });
  }
  for (size_t least = 0; ; ++least)
  {
    std::string line = first;
    for (const auto& part : parts)
    {
      if (part.first >= least)
        line += part.second;
    }
    if (line.size() <= columns || least > 3)
      return line.substr(0, columns);
  }
}

void ProgressLine::Print(const double staleness)
{
  // In the last column some terminals begin a new line.
  const size_t columns = std::max<size_t>(TerminalColumns(), 2) - 1;
  std::string line = Text(staleness, columns);
  const size_t length = line.size();
  // Overwrite what a longer line has left.
  if (length < width && ProgressShown())
    line.append(std::min(width, columns) - std::min(length, columns), ' ');
  if (!ProgressShown())
    SetShown(true);
  width = length;
  std::fputs(("\r" + line).c_str(), stderr);
  std::fflush(stderr);
}

void ProgressLine::SetShown(const bool shown)
{
  ProgressShown() = shown;
  JobChannel::Get().Send(RankMessage::ProgressLine, shown);
}

} // namespace cli
} // namespace dasgd
