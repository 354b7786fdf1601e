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

#include "dasgd/core/fact_impl.hpp"
#include "dasgd/core/history_file_impl.hpp"
#include "dasgd/core/history_impl.hpp"
#include "dasgd/core/loose_staleness_impl.hpp"
#include "dasgd/core/mixing_impl.hpp"
#include "dasgd/core/part_files_impl.hpp"
#include "dasgd/core/progress_impl.hpp"
#include "dasgd/core/routes_impl.hpp"
#include "dasgd/core/stop_signals_impl.hpp"
#include "dasgd/core/theory_impl.hpp"
#include "dasgd/core/topology/shape_impl.hpp"
#include "dasgd/core/topology_impl.hpp"
#include "dasgd/core/whole_file_impl.hpp"
#include "dasgd/core/work_impl.hpp"
#include "dasgd/plan/plan_impl.hpp"
#include "dasgd/protocol/board_log_impl.hpp"
#include "dasgd/protocol/endpoint.hpp"
#include "dasgd/report/history_trace_impl.hpp"
#include "dasgd/report/report_impl.hpp"
#include "dasgd/report/report_json_impl.hpp"
#include "dasgd/report/report_text_impl.hpp"
#include "dasgd/run/run_state.hpp"
#include "dasgd/transport/sim_network_impl.hpp"
#include "dasgd/wire/buffer_impl.hpp"
#include "dasgd/wire/byte_archive_impl.hpp"
#include "dasgd/wire/checkpoint_file_impl.hpp"
#include "dasgd/wire/checkpoint_impl.hpp"
#include "dasgd/wire/checkpoint_lock_impl.hpp"
#include "dasgd/wire/checkpoint_writer_impl.hpp"
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
