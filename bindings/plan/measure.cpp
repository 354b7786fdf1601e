/**
 * @file measure.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "measure.hpp"

#include <dasgd/dasgd/board_run.hpp>
#include <dasgd/core/vector_ops.hpp>
#include <dasgd/simulation/timed_run.hpp>
#include <launcher/launch.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <limits>
#include <numeric>
#include <thread>

namespace dasgd {
namespace planning {

namespace {

using Clock = std::chrono::steady_clock;
using plan::TimedRanks;

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

double Since(const Clock::time_point& begin)
{ return std::chrono::duration<double>(Clock::now() - begin).count(); }

//! Processor seconds of this thread: what other programs take is not in it.
double ThreadSeconds()
{
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

//! How a thread that plays a rank waits.
struct ThreadWait
{
  void Glance() { }
  void Begin() { }
  void Pause() { std::this_thread::yield(); }
  void Idle() { std::this_thread::yield(); }
  template<typename PassType>
  void Turn(PassType&) { std::this_thread::yield(); }
};

//! Ranks of this process that share a small model.
class SmallBoard
{
 public:
  //! @param gradientSeconds That a rank is busy with each gradient.
  SmallBoard(const size_t ranks,
             const size_t gradients,
             const double gradientSeconds) :
      size(BoardSize::Of(64, ranks)),
      note([gradientSeconds](size_t)
      {
        const double begin = (gradientSeconds > 0) ? ThreadSeconds() : 0;
        while (gradientSeconds > 0 &&
            ThreadSeconds() - begin < gradientSeconds) { }
      }),
      all(ranks, size.elements, ranks * gradients, 1, note),
      memory(Board<double>::Bytes(size) / sizeof(Line) + 1)
  {
    for (size_t i = 0; i < ranks; ++i)
    {
      boards.emplace_back(size, memory.front().bytes);
      workers.emplace_back(boards.back(), all[i]);
    }
  }

  //! Processor seconds that all of it takes, each rank in a thread of its own.
  double Beside()
  {
    std::vector<double> seconds(workers.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < workers.size(); ++i)
    {
      threads.emplace_back([this, i, &seconds]()
      {
        const double begin = ThreadSeconds();
        ThreadWait wait;
        RunOnBoard(workers[i], wait, NoExchange());
        seconds[i] = ThreadSeconds() - begin;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  }

  //! The same if they take turns, for so many gradients of each.
  double InTurn(const size_t gradients)
  {
    for (BoardWorker<double>& worker : workers)
      worker.Participant().Start();
    const Clock::time_point begin = Clock::now();
    for (size_t k = 0; k < gradients; ++k)
    {
      for (BoardWorker<double>& worker : workers)
      {
        worker.Evaluate();
        worker.BeginPass();
        while (worker.UnderWay())
          worker.Advance();
      }
    }
    return Since(begin);
  }

 private:
  struct alignas(128) Line
  {
    std::uint8_t bytes[128] = { };
  };

  BoardSize size;
  std::function<void(size_t)> note;
  TimedRanks all;
  std::vector<Line> memory;
  std::deque<Board<double>> boards;
  std::deque<BoardWorker<double>> workers;
};

//! The least of a few: others can only make it more.
template<typename ActionType>
double LeastOf(const size_t count, ActionType&& action)
{
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i)
    least = std::min(least, action());
  return std::max(0.0, least);
}

//! Seconds of a gradient that takes none, if ranks take turns.
double InTurnSeconds(const size_t ranks)
{
  constexpr size_t gradients = 1000;
  return LeastOf(5, [&]()
  {
    return SmallBoard(ranks, gradients + 1, 0).InTurn(gradients) /
        double(ranks * gradients);
  });
}

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
  model.passSeconds = Median(Repeat(0.1, [&]()
  {
    SubtractAndCopy(frames[0].data(), iterate.data(), frames[1 + next % 2]
        .data(), 1.0, model.elements);
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

void MeasureSteps(PlanModel& model)
{
  const double two = InTurnSeconds(2);
  model.rankSeconds = std::max(0.0, (InTurnSeconds(8) - two) / 6);
  model.stepSeconds = two;
  if (cli::Cores() < 2)
    return;
  // Ranks on cores of their own wait for each other's caches, the more often
  // the shorter gradients are.
  const double gradient = std::min(50e-6, model.gradientSeconds);
  const size_t gradients = std::max<size_t>(200, size_t(5e-3 / gradient));
  model.stepSeconds = LeastOf(10, [&]()
  {
    return SmallBoard(2, gradients, gradient).Beside() /
        double(2 * gradients) - gradient;
  });
}

} // namespace planning
} // namespace dasgd
