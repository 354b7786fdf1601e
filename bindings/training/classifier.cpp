/**
 * @file classifier.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "classifier.hpp"

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/param_checks.hpp>
#include <terminal/params.hpp>

#include <dasgd/transport/mpi_communicator.hpp>

namespace dasgd {
namespace cli {

void CheckClassifier(mlpack::util::Params& params)
{
  using namespace mlpack::util;
  const bool trains = params.Has("training_file");
  RequireAtLeastOnePassed(params, { "training_file", "input_model" }, true);
  RequireAtLeastOnePassed(params, { "training_file", "test_file" }, false,
      "there is nothing to do");
  if (trains)
  {
    RequireAtLeastOnePassed(params, { "output_model" }, false,
        "trained model will not be saved");
  }
  for (const std::string name : { "labels_file", "standardize" })
    ReportIgnoredParam(params, {{ "training_file", false }}, name);
  for (const std::string name : { "test_labels_file", "predictions",
      "probabilities" })
    ReportIgnoredParam(params, {{ "test_file", false }}, name);
}

void AgreeOnDimensions(const size_t dimensions, const std::string& name)
{
  if (Ranks() == 1)
    return;
  const std::vector<std::uint64_t> all = MpiCommunicator(MPI_COMM_WORLD).Gather(
      std::uint64_t(dimensions));
  for (size_t i = 1; i < all.size(); ++i)
  {
    if (all[i] != all[0])
    {
      throw std::invalid_argument("The points in " + name + " have " +
          std::to_string(all[0]) + " dimensions on rank 0, but " +
          std::to_string(all[i]) + " on rank " + std::to_string(i) + "!");
    }
  }
}

void CheckDimensions(const size_t points,
                     const std::string& name,
                     const size_t trained,
                     const std::string& model)
{
  if (points == trained)
    return;
  throw std::invalid_argument("Dimensionality of " + name + " (" +
      std::to_string(points) + ") must be the same as that of " + model + " (" +
      std::to_string(trained) + ")!");
}

std::set<size_t> FirstNumbers(const size_t count)
{
  std::set<size_t> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.insert(numbers.end(), i);
  return numbers;
}

} // namespace cli
} // namespace dasgd
