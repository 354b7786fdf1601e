/**
 * @file check.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "check.hpp"

#include "external_data.hpp"
#include "model.hpp"
#include "operators.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dasgd {

OnnxReport CheckOnnxModel(const std::string& modelFile,
                          const OnnxOptions& options)
{
  OnnxReport report;
  try
  {
    std::ifstream file(modelFile, std::ios::binary);
    std::ostringstream bytes;
    if (!file || !(bytes << file.rdbuf()))
      throw std::runtime_error("Cannot read '" + modelFile + "'");
    const graph::Model model(bytes.str(), graph::pb::TensorProto::FLOAT,
        options.frozen, { options.output, false },
        graph::FolderOf(modelFile));
    for (const graph::Parameter& p : model.Parameters())
      report.parameters.push_back({ p.name, p.dims, p.offset, p.elements });
    for (const graph::pb::NodeProto& node : model.Graph().node())
    {
      if (!model.Varies(node.output(0)))
        continue;
      report.nodes.push_back({ node.name().empty() ? node.output(0) :
          node.name(), node.op_type(), { }, 0 });
      try
      {
        graph::OperatorOf(node);
      }
      catch (const std::exception& e)
      {
        report.problems.push_back(e.what());
      }
    }
  }
  catch (const std::exception& e)
  {
    report.problems.push_back(e.what());
  }
  return report;
}

} // namespace dasgd
