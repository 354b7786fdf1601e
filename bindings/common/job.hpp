/**
 * @file job.hpp
 *
 * What a training is of, for its checkpoints and its report.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_JOB_HPP
#define DASGD_BINDINGS_COMMON_JOB_HPP

#include <dasgd.hpp>
#include <dasgd/version.hpp>

#include <mlpack/core.hpp>

#include <set>

namespace dasgd {
namespace cli {

using Tags = std::vector<std::pair<std::string, std::string>>;

inline void Append(Tags& tags, const Tags& more)
{ tags.insert(tags.end(), more.begin(), more.end()); }

//! A check sum as text.
inline std::string SumText(const std::uint64_t sum)
{
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx", (unsigned long long) sum);
  return text;
}

template<typename MatType>
std::uint64_t DataSum(const MatType& data)
{
  return checkpoint::Checksum(reinterpret_cast<const std::uint8_t*>(
      data.memptr()), data.n_elem * sizeof(typename MatType::elem_type));
}

/**
 * The options that a checkpoint is tied to: all but those that say how long to
 * train, on how many ranks, and what to write.
 *
 * @param data Check sums of the data, or of whatever else is not an option.
 */
inline Tags JobTags(mlpack::util::Params& params, const Tags& data)
{
  static const std::set<std::string> free = { "checkpoint_every",
      "checkpoint_file", "decision_boundary", "epochs", "help", "history_file",
      "info", "max_iterations", "print_training_accuracy", "progress", "ranks",
      "report_file", "restart", "restarts", "sharing", "test_file",
      "test_labels_file", "threads", "tolerance", "topology", "trace_file",
      "training_file", "labels_file", "layers_file", "verbose", "version",
      "wire_format" };
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

//! Check sums of what is trained with, where a checkpoint is to know them; with
//! shards every number of ranks has others.
inline Tags DataTags(mlpack::util::Params& params,
                     const arma::mat& points,
                     const arma::Row<size_t>& labels)
{
  if (params.Get<std::string>("checkpoint_file").empty() ||
      params.Has("sharded"))
    return {};
  return { { "the check sum of the points", SumText(DataSum(points)) },
      { "the check sum of the labels", SumText(DataSum(labels)) } };
}

//! The same of the model that it starts from.
template<typename MatType>
Tags ModelTag(const MatType& parameters)
{
  return { { "the check sum of the model to start from",
      SumText(DataSum(parameters)) } };
}

//! The versions of what took part, as a JSON object.
inline std::string VersionsJson()
{
  using report::JsonString;
  const auto number = [](const int major, const int minor, const int patch)
  {
    return std::to_string(major) + "." + std::to_string(minor) + "." +
        std::to_string(patch);
  };
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  std::string library(mpi);
  library = library.substr(0, library.find_first_of(",\n"));
  return "{\"dasgd\": " + JsonString(number(DASGD_VERSION_MAJOR,
      DASGD_VERSION_MINOR, DASGD_VERSION_PATCH)) + ", \"mlpack\": " +
      JsonString(number(MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR,
      MLPACK_VERSION_PATCH)) + ", \"ensmallen\": " + JsonString(number(
      ENS_VERSION_MAJOR, ENS_VERSION_MINOR, ENS_VERSION_PATCH)) +
      ", \"armadillo\": " + JsonString(number(ARMA_VERSION_MAJOR,
      ARMA_VERSION_MINOR, ARMA_VERSION_PATCH)) + ", \"mpi\": " +
      JsonString(library) + "}";
}

} // namespace cli
} // namespace dasgd

#endif
