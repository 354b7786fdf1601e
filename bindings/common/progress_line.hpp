/**
 * @file progress_line.hpp
 *
 * A line that tells how the training goes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_PROGRESS_LINE_HPP
#define DASGD_BINDINGS_COMMON_PROGRESS_LINE_HPP

#include "ranks.hpp"

#include <dasgd.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace dasgd {
namespace cli {

/**
 * A callback that rewrites one line of standard error a few times a second:
 * epoch, loss, gradients per second, staleness, time left.  Where the terminal
 * is narrow, staleness, gradients per second, loss and time left are left out,
 * in this order.
 */
class ProgressLine
{
 public:
  /**
   * @param show Print anything at all?
   * @param epochPoints Points in an epoch, over all ranks.
   * @param points Points to visit (0: no limit).
   * @param batchSize Points in a gradient.
   * @param scale Factor for objectives, to make them sums over points.
   */
  ProgressLine(const bool show,
               const size_t epochPoints,
               const size_t points,
               const size_t batchSize,
               const double scale = 1) :
      show(show), epochPoints(epochPoints), points(points),
      batchSize(batchSize), scale(scale), start(Clock::now()), printed(start)
  { }

  //! Call something twice a second, whether anything is printed or not.
  void Check(const std::function<void()>& action) { check = action; }

  ~ProgressLine()
  {
    if (!ProgressShown())
      return;
    std::fputc('\n', stderr);
    Shown(false);
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool Evaluate(OptimizerType&, FunctionType&, const MatType&,
                const double objective)
  {
    sum += scale * objective;
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType,
           typename GradType>
  bool EvaluateWithGradient(OptimizerType&, FunctionType&, const MatType&,
                            const double objective, GradType&)
  {
    sum += scale * objective;
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType& optimizer, FunctionType&, MatType&)
  {
    ++steps;
    ++epochSteps;
    if (!show && !check)
      return false;
    const Clock::time_point now = Clock::now();
    if (check && now - checked >= std::chrono::milliseconds(500))
    {
      checked = now;
      check();
    }
    if (!show)
      return false;
    if (now - printed >= std::chrono::milliseconds(250))
    {
      printed = now;
      Print(optimizer.Live() ? optimizer.Live()->staleness.Mean() : 0);
    }
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool BeginEpoch(OptimizerType&, FunctionType&, MatType&, const size_t number,
                  const double)
  {
    epoch = number;
    if (steps == 0)
      before = (number - 1) * epochPoints; // Of a training that goes on.
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType& optimizer, FunctionType&, MatType&,
                const size_t, const double objective)
  {
    loss = scale * objective;
    sum = 0;
    epochSteps = 0;
    if (show)
      Print(optimizer.Live() ? optimizer.Live()->staleness.Mean() : 0);
    return false;
  }

  //! The line, without its end, in at most so many columns.
  std::string Text(const double staleness, const size_t columns) const
  {
    const double seconds = std::chrono::duration<double>(
        Clock::now() - start).count();
    const double done = double(steps * batchSize);
    const double now = epochSteps ? sum / double(epochSteps * batchSize) : loss;
    std::string first = "epoch " + std::to_string(epoch);
    if (points > 0 && epochPoints > 0)
      first += "/" + std::to_string((points + epochPoints - 1) / epochPoints);
    // In the order of the line; a smaller number is dispensed with earlier.
    std::vector<std::pair<size_t, std::string>> parts = {
        { 2, Format("  loss %.4f", now) },
        { 1, Format("  %.0f gradients/s", double(steps) /
            std::max(seconds, 1e-9)) },
        { 0, Format("  staleness %.1f", staleness) } };
    if (points > 0 && done > 0)
    {
      const double left = seconds * std::max(0.0, (double(points) -
          double(before)) / done - 1);
      char text[64];
      std::snprintf(text, sizeof(text), "  %d:%02d left", int(left / 60),
          int(left) % 60);
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

 private:
  using Clock = std::chrono::steady_clock;

  static std::string Format(const char* form, const double value)
  {
    char text[400]; // The largest numbers have 309 digits.
    std::snprintf(text, sizeof(text), form, value);
    return text;
  }

  void Print(const double staleness)
  {
    // In the last column some terminals begin a new line.
    const size_t columns = std::max<size_t>(TerminalColumns(), 2) - 1;
    std::string line = Text(staleness, columns);
    const size_t length = line.size();
    // Wipe out what a longer line has left.
    if (length < width && ProgressShown())
      line.append(std::min(width, columns) - std::min(length, columns), ' ');
    if (!ProgressShown())
      Shown(true);
    width = length;
    std::fputs(("\r" + line).c_str(), stderr);
    std::fflush(stderr);
  }

  //! Let whoever prints next know that the line has no end yet.
  static void Shown(const bool shown)
  {
    ProgressShown() = shown;
    JobChannel::Get().Tell(RankWord::Line, shown);
  }

  bool show;
  size_t epochPoints;
  size_t points;
  size_t batchSize;
  double scale;
  Clock::time_point start;
  Clock::time_point printed;
  std::function<void()> check;
  Clock::time_point checked;
  size_t width = 0;
  size_t epoch = 1;
  size_t before = 0;
  size_t steps = 0;
  size_t epochSteps = 0;
  double sum = 0;
  double loss = 0;
};

} // namespace cli

//! It counts gradients and points of all ranks.
template<>
struct SeesAllRanks<cli::ProgressLine> : std::true_type { };
template<>
struct LeavesIterate<cli::ProgressLine> : std::true_type { };

} // namespace dasgd

#endif
