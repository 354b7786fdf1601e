/**
 * @file table.hpp
 *
 * Models, what is wrong with them and how good they are, for the screen.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_TABLE_HPP
#define DASGD_BINDINGS_ONNX_TABLE_HPP

#include <dasgd_onnx.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace dasgd {
namespace onnx_program {

//! "32x28x28", from one dimension on.
inline std::string DimsText(const std::vector<std::int64_t>& dims,
                            const size_t first = 0)
{
  std::string text;
  for (size_t i = first; i < dims.size(); ++i)
    text += (i == first ? "" : "x") + std::to_string(dims[i]);
  return text;
}

//! One line for each node that a point passes, and the sum of all weights.
inline std::string NodeTable(const std::vector<OnnxNode>& nodes)
{
  std::vector<std::array<std::string, 4>> rows{ { "node", "operator", "output",
      "weights" } };
  size_t weights = 0;
  for (const OnnxNode& node : nodes)
  {
    // The first dimension is the batch.
    rows.push_back({ node.name, node.operation, DimsText(node.dims, 1),
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

//! A number with so many digits that matter.
inline std::string Short(const double number, const int digits = 4)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.*g", digits, number);
  return text;
}

//! "loss 1.234, perplexity 3.435, accuracy 51.2 %".
//! @param tokens Is the loss that of a token among others?
inline std::string ScoreText(const OnnxScore& score, const bool tokens)
{
  std::string text = "loss " + Short(score.loss);
  if (tokens)
    text += ", perplexity " + Short(std::exp(score.loss));
  if (score.name == "accuracy")
    text += ", accuracy " + Short(100 * score.value) + " %";
  else if (!score.name.empty())
    text += ", " + score.name + " " + Short(score.value);
  return text;
}

//! What a check has found.
inline std::string ReportText(const OnnxReport& report)
{
  std::string text;
  size_t weights = 0;
  for (const OnnxParameter& parameter : report.parameters)
    weights += parameter.elements;
  if (report.problems.empty())
    text += NodeTable(report.nodes) + "\n";
  if (!report.parameters.empty())
    text += "trained would be:\n";
  for (const OnnxParameter& parameter : report.parameters)
  {
    text += "  " + parameter.name + " (" + DimsText(parameter.dims) + ")\n";
  }
  for (const std::string& remark : report.remarks)
    text += "note: " + remark + "\n";
  for (const std::string& problem : report.problems)
    text += "problem: " + problem + "\n";
  return text + (report.problems.empty() ? "This model can be trained: " +
      std::to_string(weights) + " weights.\n" : "This model cannot be trained: "
      + std::to_string(report.problems.size()) + " problem(s).\n");
}

} // namespace onnx_program
} // namespace dasgd

#endif
