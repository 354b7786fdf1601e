/**
 * @file slowed.hpp
 *
 * The function that all optimizers of a study minimize; on a slow rank its
 * gradients take several times as long.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_SLOWED_HPP
#define DASGD_BINDINGS_STUDY_SLOWED_HPP

#include <problems/task.hpp>

#include <chrono>
#include <thread>

namespace dasgd {
namespace study {

/**
 * Do something, and wait afterwards such that it takes several times as long:
 * as if this were a slower machine, which would not use our cores.
 */
template<typename ActionType>
void Slowly(const double factor, ActionType&& action)
{
  using Clock = std::chrono::steady_clock;
  if (factor <= 1)
  {
    action();
    return;
  }
  const Clock::time_point start = Clock::now();
  action();
  const Clock::time_point done = Clock::now();
  const Clock::time_point end = done +
      std::chrono::duration_cast<Clock::duration>((factor - 1) *
      (done - start));
  // Sleep only while there is time, since a sleep may last longer than asked
  // for.
  constexpr std::chrono::microseconds margin(200);
  if (end - done > margin)
    std::this_thread::sleep_until(end - margin);
  while (Clock::now() < end)
    continue;
}

//! Passes everything on; gradients take several times as long.
class Slowed
{
 public:
  //! @param factor How many times as long a gradient shall take.
  Slowed(Separable& inner, const double factor) :
      inner(&inner), factor(factor) { }

  size_t NumFunctions() const { return inner->NumFunctions(); }
  void Shuffle() { inner->Shuffle(); }

  double Evaluate(const arma::mat& iterate,
                  const size_t begin,
                  const size_t size)
  { return inner->Evaluate(iterate, begin, size); }

  void Gradient(const arma::mat& iterate,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  { (void) EvaluateWithGradient(iterate, begin, gradient, size); }

  double EvaluateWithGradient(const arma::mat& iterate,
                              const size_t begin,
                              arma::mat& gradient,
                              const size_t size)
  {
    double objective = 0;
    Slowly(factor, [&]()
    {
      objective = inner->EvaluateWithGradient(iterate, begin, gradient, size);
    });
    return objective;
  }

 private:
  Separable* inner;
  double factor;
};

} // namespace study
} // namespace dasgd

#endif
