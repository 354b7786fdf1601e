/**
 * @file local_functions.hpp
 *
 * Functions that a model file defines itself, as some exporters write layers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_LOCAL_FUNCTIONS_HPP
#define DASGD_ONNX_MODEL_LOCAL_FUNCTIONS_HPP

#include "proto.hpp"

namespace dasgd {
namespace graph {

//! Put the nodes of a model's own functions where the functions are used.
void InlineFunctions(pb::ModelProto& model);

} // namespace graph
} // namespace dasgd

#endif
