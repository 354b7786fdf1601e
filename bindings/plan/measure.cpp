/**
 * @file measure.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "measure.hpp"

#include <dasgd/core/vector_ops.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace dasgd {
namespace planning {

namespace {

using Clock = std::chrono::steady_clock;

//! Do something again and again for a while: the seconds of each time, sorted.
template<typename ActionType>
std::vector<double> Repeat(const double seconds, ActionType&& action)
{
  std::vector<double> times;
  action(); // Caches are cold and threads not started.
  double sum = 0;
  while (sum < seconds || times.size() < 5)
  {
    const Clock::time_point begin = Clock::now();
    action();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin)
        .count());
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  return times;
}

double Median(const std::vector<double>& sorted)
{ return sorted[sorted.size() / 2]; }

} // namespace

void MeasureGradient(study::Task& task, PlanModel& model)
{
  task.Train([&](study::Separable& function, arma::mat& iterate)
  {
    model.elements = iterate.n_elem;
    arma::mat gradient(iterate.n_rows, iterate.n_cols);
    const size_t points = function.NumFunctions();
    const size_t batch = std::min(model.batchSize, points);
    size_t begin = 0;
    const std::vector<double> times = Repeat(1.0, [&]()
    {
      (void) function.EvaluateWithGradient(iterate, begin, gradient, batch);
      begin = (begin + 2 * batch <= points) ? begin + batch : 0;
    });
    model.gradientSeconds = Median(times);
    // What half of them are within; other programs take their time, too.
    const double quarter = times[times.size() * 3 / 4] -
        times[times.size() / 4];
    model.gradientSpread = std::min(0.5, quarter / model.gradientSeconds);
  });
}

void MeasureFrames(PlanModel& model)
{
  // Several, so that they are as cold as when they arrive.
  const size_t count = 4;
  std::vector<double> iterate(model.elements);
  std::vector<std::vector<double>> frames(count, iterate);
  size_t next = 0;
  model.applySeconds = Median(Repeat(0.1, [&]()
  {
    Subtract(iterate.data(), frames[next].data(), model.elements);
    next = (next + 1) % count;
  }));
  const double copy = Median(Repeat(0.1, [&]()
  {
    std::memcpy(frames[next].data(), frames[(next + 1) % count].data(),
        model.elements * sizeof(double));
    next = (next + 1) % count;
  }));
  // The kernel copies each byte once, and takes about as long for the rest; and
  // there are a few system calls.
  model.messageSeconds = 10e-6 + 2 * copy;
}

} // namespace planning
} // namespace dasgd
