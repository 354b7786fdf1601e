/**
 * @file baselines.hpp
 *
 * The optimizers that DASGD is compared with.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_BASELINES_HPP
#define DASGD_BASELINES_BASELINES_HPP

#include "adpsgd.hpp"
#include "allreduce_sgd.hpp"
#include "diloco.hpp"
#include "dpsgd.hpp"
#include "local_sgd.hpp"
#include "parameter_server_sgd.hpp"
#include "swift.hpp"

#endif
