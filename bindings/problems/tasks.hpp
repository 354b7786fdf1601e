/**
 * @file tasks.hpp
 *
 * The problems of a study, trained as mlpack trains them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_TASKS_HPP
#define DASGD_BINDINGS_PROBLEMS_TASKS_HPP

#include "task.hpp"

#include <memory>
#include <string>

namespace dasgd {
namespace study {

//! The task of a problem.
std::unique_ptr<Task> MakeTask(const std::string& problem,
                               const std::string& layers,
                               const DataSet& data);

} // namespace study
} // namespace dasgd

#endif
