/**
 * @file history_trace.hpp
 *
 * A history in Chrome's trace format, for Perfetto and chrome://tracing.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_HISTORY_TRACE_HPP
#define DASGD_REPORT_HISTORY_TRACE_HPP

#include "../core/config.hpp"
#include "../staleness/history_file.hpp"

#include <iosfwd>
#include <string>

namespace dasgd {

/**
 * Write a trace: one track for each rank with what it did, and an arrow for
 * each frame from where it was sent to where it was applied.
 */
void WriteTrace(const History& history, std::ostream& stream);

//! Write a trace to a file; does nothing if the history is empty.
void SaveTrace(const History& history, const std::string& path);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "history_trace_impl.hpp"
#endif

#endif
