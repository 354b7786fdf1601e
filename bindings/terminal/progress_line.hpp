/**
 * @file progress_line.hpp
 *
 * Progress of a training, in one line on the terminal.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_PROGRESS_LINE_HPP
#define DASGD_BINDINGS_TERMINAL_PROGRESS_LINE_HPP

#include <dasgd/ensmallen/callbacks.hpp>

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

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
               const double scale = 1);

  ~ProgressLine();

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
    if (++steps == 1)
      begun = Clock::now();
    ++epochSteps;
    if (show && Due())
      Print(Staleness(optimizer));
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool BeginEpoch(OptimizerType&, FunctionType&, MatType&, const size_t number,
                  const double)
  {
    epoch = number;
    if (steps == 0)
      before = (number - 1) * epochPoints; // Of a training that is resumed.
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType& optimizer, FunctionType&, MatType&,
                const size_t, const double objective)
  {
    lossBefore = loss;
    loss = scale * objective;
    ++epochs;
    sum = 0;
    epochSteps = 0;
    if (show)
      Print(Staleness(optimizer));
    return flatAfter > 0 && epochs >= flatAfter && LastGain() < 0.01;
  }

  //! Stop when an epoch lowers the loss by less than 1 %, after so many epochs.
  void StopWhenFlat(const size_t fewestEpochs) { flatAfter = fewestEpochs; }

  //! By which part of it the last epoch has lowered the loss; not a number if
  //! there were less than two.
  double LastGain() const
  {
    return epochs < 2 ? std::numeric_limits<double>::quiet_NaN() :
        (lossBefore - loss) / std::abs(lossBefore);
  }

  //! The loss of the last whole epoch, for each point; not a number if there
  //! was none.
  double MeanLoss() const
  {
    return epochs == 0 ? std::numeric_limits<double>::quiet_NaN() : loss;
  }

  //! The line, without a line break, in at most so many columns.
  std::string Text(const double staleness, const size_t columns) const;

 private:
  using Clock = std::chrono::steady_clock;

  template<typename OptimizerType>
  static double Staleness(OptimizerType& optimizer)
  { return optimizer.Live() ? optimizer.Live()->staleness.Mean() : 0; }

  //! Is it time to print?
  bool Due();

  void Print(const double staleness);

  //! Let whoever prints next know whether the line has a line break yet.
  static void SetShown(const bool shown);

  bool show;
  size_t epochPoints;
  size_t points;
  size_t batchSize;
  double scale;
  Clock::time_point start;
  //! When the first step was made.
  Clock::time_point begun;
  Clock::time_point printed;
  size_t width = 0;
  size_t epoch = 1;
  size_t before = 0;
  size_t steps = 0;
  size_t epochSteps = 0;
  double sum = 0;
  double loss = 0;
  double lossBefore = 0;
  size_t epochs = 0;
  size_t flatAfter = 0;
};

} // namespace cli

//! It counts gradients and points of all ranks.
template<>
struct SeesAllRanks<cli::ProgressLine> : std::true_type { };
template<>
struct LeavesIterate<cli::ProgressLine> : std::true_type { };

} // namespace dasgd

#endif
