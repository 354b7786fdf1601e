/**
 * @file dasgd.hpp
 *
 * Include this to use dasgd.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_HPP
#define DASGD_HPP

#include "dasgd/baselines/baselines.hpp"
#include "dasgd/mpi/mpi_root_stream.hpp"
#include "dasgd/optimizer/dasgd.hpp"
#include "dasgd/optimizer/family.hpp"
#include "dasgd/report/history_trace.hpp"
#include "dasgd/version.hpp"

#endif
