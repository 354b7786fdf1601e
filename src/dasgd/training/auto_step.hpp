/**
 * @file auto_step.hpp
 *
 * The step that the theorem allows, before a run; and the smoothness that one
 * should have known, after a run that diverged.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_AUTO_STEP_HPP
#define DASGD_TRAINING_AUTO_STEP_HPP

#include "../report/report.hpp"
#include "../staleness/theory.hpp"
#include "../run/work.hpp"
#include "common_settings.hpp"
#include "../core/guard.hpp"
#include "handshake.hpp"
#include "training_source.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

namespace dasgd {

/**
 * The StepSize() that AutoStep stands for.
 *
 * @param scale What a step of 1 is to the mean over points.
 */
inline double AutoStepSize(const Topology& topology,
                           const size_t ranks,
                           const double smoothness,
                           const double scale)
{
  const theory::StalenessPair expected = theory::ExpectedStaleness(
      topology, ranks);
  return theory::StepLimit(smoothness, 2 * expected.average,
      2 * expected.max) / scale;
}

//! How closely AutoStep looks.
inline SmoothnessOptions AutoStepOptions()
{
  SmoothnessOptions options;
  options.iterations = 30;
  options.tolerance = 0.01;
  return options;
}

//! After a run that diverged a rough answer will do, and soon.
inline SmoothnessOptions AdviceOptions()
{
  SmoothnessOptions options;
  options.points = 256;
  options.iterations = 10;
  options.tolerance = 0.03;
  return options;
}

/**
 * Set the step that AutoStep stands for.  Collective; throws on all ranks if
 * the function throws on one.
 *
 * @param caller Named in messages.
 * @return The smoothness: that of the settings, or an estimate.
 */
template<typename ElemType>
double ChooseStep(const MpiCommunicator& comm,
                  const std::string& caller,
                  CommonSettings& settings,
                  const Topology& topology,
                  TrainingSource<ElemType>& source)
{
  double smoothness = settings.Smoothness();
  if (smoothness == 0)
  {
    // One rank knows as well as all if all have the same data.
    double mine = 0;
    std::exception_ptr exception;
    if (comm.Rank() == 0 || settings.Data() == Data::Sharded)
    {
      Guard(exception, [&]()
      { mine = source.EstimateSmoothness(AutoStepOptions()); });
    }
    Handshake handshake;
    handshake.Problem(ExceptionText(exception));
    handshake.Agree(comm, caller);
    for (const double other : comm.Gather(mine))
      smoothness = std::max(smoothness, other);
  }
  settings.StepSize() = AutoStepSize(topology, comm.Size(), smoothness,
      source.Steps().Scale(settings.BatchSize()));
  return smoothness;
}

//! If a run diverged and there is something to say about its step, say so.
inline void PrintAdvice(const Report& report)
{
  if (!report.Advice().empty())
  {
    std::cerr << report.algorithm << " diverged on rank " << report.stopRank
        << " at step " << report.stopStep << ": " << report.Advice() << "."
        << std::endl;
  }
  if (report.PausedLong())
  {
    std::cerr << report.algorithm << ": " << report::TooShort() << " (S_avg "
        << report::Short(report.StalenessAverage()) << ", S_max "
        << report.StalenessMax() << ")." << std::endl;
  }
}

/**
 * The smoothness at the start of a run that diverged, or 0.  Collective.
 *
 * @param start Where the run began, on rank 0; empty if that was not kept.
 */
template<typename ElemType>
double SmoothnessAt(const MpiCommunicator& comm,
                    TrainingSource<ElemType>& source,
                    const std::vector<ElemType>& start)
{
  double smoothness = 0;
  std::exception_ptr exception;
  if (!start.empty())
  {
    Guard(exception, [&]()
    {
      // In place, as always; and what the run left is what the user gets.
      ElemType* const iterate = source.Iterate();
      const std::vector<ElemType> left(iterate, iterate + source.Elements());
      std::copy(start.begin(), start.end(), iterate);
      Guard(exception, [&]()
      { smoothness = source.EstimateSmoothness(AdviceOptions()); });
      std::copy(left.begin(), left.end(), source.Iterate());
    });
  }
  comm.Broadcast(&smoothness, sizeof(smoothness));
  return smoothness;
}

} // namespace dasgd

#endif
