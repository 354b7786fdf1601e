/**
 * @file nodes.hpp
 *
 * The nodes of a model, for tables.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_NODES_HPP
#define DASGD_ONNX_NODES_HPP

#include "model/model.hpp"
#include "onnx_function.hpp"
#include "model/shapes.hpp"

#include <map>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

//! Those that a point passes.
//! @param shapes For a batch of two points; what is not known is left empty.
inline std::vector<OnnxNode> ListNodes(const Model& model,
                                       const Shapes& shapes)
{
  std::vector<OnnxNode> nodes;
  std::map<std::string, size_t> unused;
  for (const Parameter& p : model.Parameters())
    unused[p.name] = p.elements;
  for (const pb::NodeProto& node : model.Graph().node())
  {
    const std::string& output = node.output(0);
    if (!model.Varies(output))
      continue;
    OnnxNode line{ node.name().empty() ? output : node.name(), node.op_type(),
        { }, 0 };
    const auto found = shapes.dims.find(output);
    if (found != shapes.dims.end())
      line.dims = found->second;
    if (!line.dims.empty() && line.dims[0] == 2)
      line.dims[0] = 1;
    for (const std::string& name : node.input())
    {
      line.parameters += unused[name];
      unused[name] = 0;
    }
    nodes.push_back(line);
  }
  return nodes;
}

} // namespace graph
} // namespace dasgd

#endif
