/**
 * @file learn.hpp
 *
 * Time to a target loss on machines that are only described: real gradients on
 * virtual time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PLAN_LEARN_HPP
#define DASGD_BINDINGS_PLAN_LEARN_HPP

#include <problems/task.hpp>

#include <dasgd/simulation/plan.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dasgd {
namespace planning {

//! What to learn, and how.
struct LearnSettings
{
  //! Makes a task: one to train, and one to judge.
  std::function<std::unique_ptr<study::Task>()> task;
  const study::LabelledSet* test = nullptr;
  PlanModel model;
  PlanCluster cluster;
  //! Along the mean gradient of a batch; each is tried.
  std::vector<double> steps;
  //! The loss to reach; not a number: what one rank has after two epochs.
  double target = 0;
  size_t seed = 1;
};

//! The best of the steps for one algorithm.
struct LearnedRow
{
  std::string algorithm;
  size_t ranks = 1;
  std::string topology;
  //! Virtual seconds to the target; infinite if it was not reached.
  double seconds = 0;
  double step = 0;
  double staleness = 0;
};

//! The target: as it was given, or else what one rank gets.
double LearnTarget(const LearnSettings& settings);

//! @param algorithm DASGD or AllreduceSGD.
LearnedRow Learn(const LearnSettings& settings,
                 const std::string& algorithm,
                 const std::string& topology,
                 const size_t ranks);

/**
 * What was learned says more than what gradients are usually worth: a sentence
 * on the fewest ranks of DASGD that are nearly as fast as any.
 *
 * @param ranks Set to their number, unless none of them got to the target.
 */
std::string LearnedAdvice(const std::vector<LearnedRow>& rows, size_t& ranks);

} // namespace planning
} // namespace dasgd

#endif
