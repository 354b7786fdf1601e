/**
 * @file dasgd.hpp
 *
 * Include this to use dasgd.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_HPP
#define DASGD_HPP

#include "dasgd/version.hpp"
#include "dasgd/core/history_trace.hpp"
#include "dasgd/optimizer/dasgd.hpp"
#include "dasgd/transport/mpi_root_stream.hpp"

#endif
