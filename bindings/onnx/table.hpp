/**
 * @file table.hpp
 *
 * The nodes of a model and their weights as a table.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_TABLE_HPP
#define DASGD_BINDINGS_ONNX_TABLE_HPP

#include <dasgd_onnx.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace dasgd {
namespace onnx_program {

//! One line for each node that a point passes, and the sum of all weights.
inline std::string NodeTable(const OnnxFunction<arma::fmat>& function)
{
  std::vector<std::array<std::string, 4>> rows{ { "node", "operator", "output",
      "weights" } };
  size_t weights = 0;
  for (const OnnxNode& node : function.Nodes())
  {
    std::string dims;
    // The first dimension is the batch.
    for (size_t i = 1; i < node.dims.size(); ++i)
      dims += (i == 1 ? "" : "x") + std::to_string(node.dims[i]);
    rows.push_back({ node.name, node.operation, dims,
        std::to_string(node.parameters) });
    weights += node.parameters;
  }
  rows.push_back({ "all", "", "", std::to_string(weights) });
  std::array<size_t, 4> widths{ };
  for (const auto& row : rows)
  {
    for (size_t i = 0; i < 4; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows)
  {
    for (size_t i = 0; i < 3; ++i)
      text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += std::string(widths[3] - row[3].size(), ' ') + row[3] + "\n";
  }
  return text;
}

} // namespace onnx_program
} // namespace dasgd

#endif
