/**
 * @file external_data.hpp
 *
 * Initializers whose values are in files beside the model ("external data").
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_EXTERNAL_DATA_HPP
#define DASGD_ONNX_MODEL_EXTERNAL_DATA_HPP

#include "proto.hpp"

#include <string>

namespace dasgd {
namespace graph {

//! The folder that a file is in.
std::string FolderOf(const std::string& path);

/**
 * Read values that are in other files into the graph.
 *
 * @param folder Where the model is; files outside of it are refused.
 */
void ReadExternalData(pb::GraphProto& graph, const std::string& folder);

} // namespace graph
} // namespace dasgd

#endif
