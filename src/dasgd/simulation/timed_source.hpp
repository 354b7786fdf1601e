/**
 * @file timed_source.hpp
 *
 * A source of gradients that has none: for simulations in which only times
 * matter.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_SIMULATION_TIMED_SOURCE_HPP
#define DASGD_SIMULATION_TIMED_SOURCE_HPP

#include "../run/gradient_source.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace dasgd {

//! A model of few elements, whose gradient is always 0.
class TimedSource : public GradientSource<double>
{
 public:
  /**
   * @param elements At least one; a board has as many chunks.
   * @param computed Called with the rank after each gradient.
   */
  TimedSource(const size_t rank,
              const size_t elements,
              const std::function<void(size_t)>& computed) :
      rank(rank), computed(computed), iterate(elements, 0.0),
      gradient(elements, 0.0) { }

  double* Iterate() override { return iterate.data(); }
  double* Gradient() override { return gradient.data(); }
  size_t Elements() const override { return iterate.size(); }

  bool Evaluate(const Batch&, double& objective) override
  {
    objective = 0;
    computed(rank);
    return false;
  }

  bool TakeStep(size_t,
                const StepScale&,
                double* out,
                double*,
                const double*& update)
      override
  {
    if (out)
      std::fill(out, out + gradient.size(), 0.0);
    update = out ? out : gradient.data();
    return true;
  }

  bool FormUpdate(size_t,
                  const StepScale&,
                  const double*& update,
                  double& factor) override
  {
    update = gradient.data();
    factor = 0;
    return true;
  }

  bool Step(double, double) override { return true; }

  void ShuffleTo(std::uint64_t) override { }
  void ShuffleOnce() override { }
  bool Begin(std::uint64_t) override { return false; }
  bool Applied(const ManifestEntry&, double, std::uint64_t) override
  { return false; }
  bool StepTaken() override { return false; }
  bool EndEpoch(std::uint64_t, double, std::uint64_t, size_t) override
  { return false; }
  bool BeginEpoch(std::uint64_t, double) override { return false; }
  void Diverged(std::uint64_t, const char*, double) override { }
  void Converged(double) override { }
  void BetweenSteps() override { }
  int Signal() override { return 0; }

 private:
  size_t rank;
  const std::function<void(size_t)>& computed;
  std::vector<double> iterate;
  std::vector<double> gradient;
};

} // namespace dasgd

#endif
