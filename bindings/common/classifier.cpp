/**
 * @file classifier.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "classifier.hpp"
#include "param_checks.hpp"
#include "params.hpp"

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>

#include <dasgd/transport/mpi_communicator.hpp>

#include <algorithm>

namespace dasgd {
namespace cli {

void CheckClassifier(mlpack::util::Params& params)
{
  using namespace mlpack::util;
  RequireAtLeastOnePassed(params, { "training", "input_model" }, true);
  if (params.Has("training"))
  {
    RequireAtLeastOnePassed(params, { "output_model" }, false,
        "trained model will not be saved");
  }
  RequireAtLeastOnePassed(params, { "output_model", "predictions",
      "probabilities" }, false, "no output will be saved");
  ReportIgnoredParam(params, {{ "test", false }}, "predictions");
  ReportIgnoredParam(params, {{ "test", false }}, "probabilities");
  ReportIgnoredParam(params, {{ "training", false }}, "labels");
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

LabelledPoints TrainingData(mlpack::util::Params& params)
{
  LabelledPoints data;
  data.pointsName = OptionText(params, "training");
  data.labelsName = params.Has("labels") ? OptionText(params, "labels") :
      data.pointsName;
  OnAllRanks([&]()
  {
    if (params.Has("training"))
    {
      data.points = std::move(params.Get<arma::mat>("training"));
      if (params.Has("labels"))
      {
        data.labels = std::move(params.Get<arma::Row<size_t>>("labels"));
        CheckCount(data.pointsName, data.points.n_cols, data.labelsName,
            data.labels.n_elem);
      }
      else
        data.labels = TakeLabels(data.points, data.pointsName);
      CheckFinite(data.points, data.pointsName);
    }
    if (params.Has("test"))
      CheckFinite(params.Get<arma::mat>("test"), OptionText(params, "test"));
    if (params.Has("test") && params.Has("test_labels"))
    {
      CheckCount(OptionText(params, "test"),
          params.Get<arma::mat>("test").n_cols,
          OptionText(params, "test_labels"),
          params.Get<arma::Row<size_t>>("test_labels").n_elem);
    }
  });
  AgreeOnDimensions(data.points.n_rows, data.pointsName);
  return data;
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

void CheckTestDimensions(mlpack::util::Params& params,
                         const size_t trained)
{
  if (!params.Has("test"))
    return;
  CheckDimensions(params.Get<arma::mat>("test").n_rows,
      OptionText(params, "test"), trained, params.Has("training") ?
      "the training data, " + OptionText(params, "training") :
      "the model, " + OptionText(params, "input_model"));
}

std::set<size_t> FirstNumbers(const size_t count)
{
  std::set<size_t> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.insert(numbers.end(), i);
  return numbers;
}

double PrintAccuracy(mlpack::util::Params& params,
                     const arma::Row<size_t>& predictions,
                     const std::set<size_t>& classes)
{
  if (!params.Has("test_labels"))
    return arma::datum::nan;
  const auto& labels = params.Get<arma::Row<size_t>>("test_labels");
  const size_t unknown = size_t(std::count_if(labels.begin(), labels.end(),
      [&](const size_t label) { return classes.count(label) == 0; }));
  if (unknown > 0)
  {
    mlpack::Log::Warn << unknown << " of " << labels.n_elem << " labels in "
        << "'--test_labels_file' are none that the model was trained with, and "
        << "count as errors; are they numbered as those to train with?"
        << std::endl;
  }
  std::cout << ConfusionText(predictions, labels, classes) << std::flush;
  return Accuracy(predictions, labels);
}

} // namespace cli
} // namespace dasgd
