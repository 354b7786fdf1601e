/**
 * @file step_choice.hpp
 *
 * The step size of a run: the user's, or the one that the theorem allows; and
 * the smoothness that one should have known, after a run that diverged.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_STEP_CHOICE_HPP
#define DASGD_TRAINING_STEP_CHOICE_HPP

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

//! The step size that a run begins with, and what is known of the function.
struct StepChoice
{
  StepChoice() = default;

  //! Before AutoStep has chosen, if it is to.
  explicit StepChoice(const CommonSettings& settings) :
      given(settings.StepSize()),
      size(settings.StepSize()),
      automatic(settings.UsesAutoStep()),
      smoothness(settings.Smoothness()),
      smoothnessFrom(settings.Smoothness() > 0 ? "given" : "")
  { }

  //! AutoStep goes by this.
  void Estimated(const double found)
  {
    smoothness = found;
    smoothnessFrom = "estimated at the start";
  }

  //! StepSize() as the user left it.
  double given = 0;
  double size = 0;
  bool automatic = false;
  //! 0 if it is not known.
  double smoothness = 0;
  std::string smoothnessFrom;
};

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
 * The largest of all ranks' estimates of the smoothness.  Collective; throws on
 * all ranks if the function throws on one.
 *
 * @param caller Named in messages.
 */
template<typename ElemType>
double EstimateTogether(const MpiCommunicator& comm,
                        const std::string& caller,
                        const Data data,
                        TrainingSource<ElemType>& source)
{
  // One rank knows as well as all if all have the same data.
  double mine = 0;
  std::exception_ptr exception;
  if (comm.Rank() == 0 || data == Data::Sharded)
  {
    Guard(exception, [&]()
    { mine = source.EstimateSmoothness(AutoStepOptions()); });
  }
  Handshake handshake;
  handshake.Problem(ExceptionText(exception));
  handshake.Agree(comm, caller);
  double smoothness = 0;
  for (const double other : comm.Gather(mine))
    smoothness = std::max(smoothness, other);
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
