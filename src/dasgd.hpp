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
#include "dasgd/report/history_trace.hpp"
#include "dasgd/optimizer/adpsgd.hpp"
#include "dasgd/optimizer/allreduce_sgd.hpp"
#include "dasgd/optimizer/dasgd.hpp"
#include "dasgd/optimizer/diloco.hpp"
#include "dasgd/optimizer/dpsgd.hpp"
#include "dasgd/optimizer/family.hpp"
#include "dasgd/optimizer/local_sgd.hpp"
#include "dasgd/optimizer/parameter_server_sgd.hpp"
#include "dasgd/optimizer/swift.hpp"
#include "dasgd/transport/mpi_root_stream.hpp"

#endif
