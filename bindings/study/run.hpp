/**
 * @file run.hpp
 *
 * One run of a study, on one of its ranks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_RUN_HPP
#define DASGD_BINDINGS_STUDY_RUN_HPP

#include <data/text.hpp>
#include <problems/task.hpp>

namespace dasgd {
namespace study {

/**
 * Train as the entries say, on all ranks that there are, and write the curve
 * and the result to the files that they name.
 *
 * @param run The run, as the parent has planned it.
 */
void Run(const Entries& run, const DataSet& data, Task& task);

} // namespace study
} // namespace dasgd

#endif
