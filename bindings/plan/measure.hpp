/**
 * @file measure.hpp
 *
 * What plans are made from, measured on this machine.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PLAN_MEASURE_HPP
#define DASGD_BINDINGS_PLAN_MEASURE_HPP

#include <problems/task.hpp>

#include <dasgd/simulation/plan.hpp>

namespace dasgd {
namespace planning {

//! The number of elements, and how long a gradient takes.
void MeasureGradient(study::Task& task, PlanModel& model);

//! How long it takes to apply a frame, to pass over a shared model, and to copy
//! a frame to or from the network.
void MeasureFrames(PlanModel& model);

//! What a gradient costs besides, whatever the model is: two ranks that share a
//! small one, as threads of this process.
void MeasureSteps(PlanModel& model);

} // namespace planning
} // namespace dasgd

#endif
