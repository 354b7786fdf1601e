/**
 * @file training_tags.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "training_tags.hpp"

#include <dasgd.hpp>
#include <dasgd/checkpoint/checksum.hpp>
#include <mlpack/core.hpp>

#include <cstdio>
#include <set>

namespace dasgd {
namespace cli {

namespace {

std::string ChecksumText(const void* memory, const size_t bytes)
{
  const std::uint64_t sum = checkpoint::Checksum(
      static_cast<const std::uint8_t*>(memory), bytes);
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx", (unsigned long long) sum);
  return text;
}

template<typename MatType>
std::string ChecksumText(const MatType& data)
{
  return ChecksumText(data.memptr(), data.n_elem *
      sizeof(typename MatType::elem_type));
}

} // namespace

void Append(Tags& tags, const Tags& more)
{ tags.insert(tags.end(), more.begin(), more.end()); }

Tags OptionTags(mlpack::util::Params& params, const Tags& data)
{
  static const std::set<std::string> free = { "checkpoint_every",
      "checkpoint_file", "decision_boundary", "elastic", "epochs",
      "exchange_share", "help", "history_file", "hostfile", "info",
      "look_ahead", "max_iterations", "max_ranks",
      "min_ranks", "model_file", "output_model_file", "overlap",
      "print_training_accuracy",
      "progress", "ranks", "ranks_command", "ranks_file", "report_file",
      "restart", "restarts", "sharing",
      "staleness_damping", "test_file", "test_labels_file", "threads",
      "tolerance", "topology", "trace_file", "training_file", "labels_file",
      "layers_file", "verbose", "version", "wire_format" };
  Tags tags;
  for (auto& entry : params.Parameters())
  {
    const std::string& name = entry.first;
    const std::string& type = entry.second.cppType;
    if (free.count(name) > 0 || !entry.second.input)
      continue;
    const std::string option = "--" + name;
    if (type == "double")
      tags.emplace_back(option, ExactText(params.Get<double>(name)));
    else if (type == "int")
      tags.emplace_back(option, std::to_string(params.Get<int>(name)));
    else if (type == "bool")
      tags.emplace_back(option, params.Has(name) ? "given" : "not given");
    else if (type == "std::string")
      tags.emplace_back(option, "'" + params.Get<std::string>(name) + "'");
  }
  Append(tags, data);
  return tags;
}

Tags DataTags(mlpack::util::Params& params,
              const arma::mat& points,
              const arma::Row<size_t>& labels)
{
  Tags tags = DataTag(params, "points", points.memptr(), points.n_elem *
      sizeof(double));
  Append(tags, DataTag(params, "labels", labels.memptr(), labels.n_elem *
      sizeof(size_t)));
  return tags;
}

Tags DataTag(mlpack::util::Params& params,
             const std::string& what,
             const void* memory,
             const size_t bytes)
{
  if (params.Get<std::string>("checkpoint_file").empty() ||
      params.Has("sharded"))
    return {};
  return { { "the check sum of the " + what, ChecksumText(memory, bytes) } };
}

Tags ModelTag(const arma::mat& parameters)
{
  return { { "the check sum of the model to start from",
      ChecksumText(parameters) } };
}

Tags ModelTag(const arma::fmat& parameters)
{
  return { { "the check sum of the model to start from",
      ChecksumText(parameters) } };
}

} // namespace cli
} // namespace dasgd
