/**
 * @file dasgd_core.cpp
 *
 * Compiles what dasgd's layers `core`, `run`, `wire`, `report` and `protocol`
 * define that is not a template, plans and the simulated network; needs neither
 * MPI nor ensmallen.  See dasgd/core/config.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_COMPILED
#define DASGD_COMPILED
#endif

#include "dasgd/checkpoint/checkpoint_file_impl.hpp"
#include "dasgd/checkpoint/checkpoint_impl.hpp"
#include "dasgd/checkpoint/checkpoint_lock_impl.hpp"
#include "dasgd/checkpoint/checkpoint_writer_impl.hpp"
#include "dasgd/core/fact_impl.hpp"
#include "dasgd/core/stop_signals_impl.hpp"
#include "dasgd/files/part_files_impl.hpp"
#include "dasgd/files/whole_file_impl.hpp"
#include "dasgd/protocol/board_log_impl.hpp"
#include "dasgd/protocol/endpoint.hpp"
#include "dasgd/report/history_trace_impl.hpp"
#include "dasgd/report/report_impl.hpp"
#include "dasgd/report/report_json_impl.hpp"
#include "dasgd/report/report_text_impl.hpp"
#include "dasgd/run/progress_impl.hpp"
#include "dasgd/run/run_state.hpp"
#include "dasgd/run/work_impl.hpp"
#include "dasgd/simulation/plan_impl.hpp"
#include "dasgd/simulation/sim_network_impl.hpp"
#include "dasgd/staleness/history_file_impl.hpp"
#include "dasgd/staleness/history_impl.hpp"
#include "dasgd/staleness/loose_staleness_impl.hpp"
#include "dasgd/staleness/theory_impl.hpp"
#include "dasgd/topology/mixing_impl.hpp"
#include "dasgd/topology/routes_impl.hpp"
#include "dasgd/topology/shape_impl.hpp"
#include "dasgd/topology/topology_impl.hpp"
#include "dasgd/wire/buffer_impl.hpp"
#include "dasgd/wire/byte_archive_impl.hpp"
#include "dasgd/wire/format_impl.hpp"
#include "dasgd/wire/frame_header_impl.hpp"
#include "dasgd/wire/frame_impl.hpp"
#include "dasgd/wire/manifest_archive_impl.hpp"

namespace dasgd {

template class RunState<double>;
template class RunState<float>;
template class Endpoint<double>;
template class Endpoint<float>;

} // namespace dasgd
