/**
 * @file classifier.hpp
 *
 * What the programs for classification have in common besides the optimizer:
 * reading training data, and telling how good a model is.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_CLASSIFIER_HPP
#define DASGD_BINDINGS_COMMON_CLASSIFIER_HPP

#include "labels.hpp"

namespace dasgd {
namespace cli {

/**
 * The checks on what was given that mlpack's programs for classification make.
 * Warns if nothing will be saved.
 */
inline void CheckClassifier(mlpack::util::Params& params)
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

/**
 * The points to train with and their labels, which may be the last column of
 * the points.
 *
 * @param pointsName,labelsName The parameters, for messages.
 */
inline void TrainingData(mlpack::util::Params& params,
                         const std::string& pointsName,
                         const std::string& labelsName,
                         arma::mat& points,
                         arma::Row<size_t>& labels)
{
  points = std::move(params.Get<arma::mat>("training"));
  if (params.Has("labels"))
  {
    labels = std::move(params.Get<arma::Row<size_t>>("labels"));
    CheckCount(pointsName, points.n_cols, labelsName, labels.n_elem);
  }
  else
    labels = TakeLabels(points, pointsName);
  CheckFinite(points, pointsName);
}

//! All ranks must have points of as many dimensions.
inline void AgreeOnDimensions(const size_t dimensions, const std::string& name)
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

//! Points to classify must have the dimensions of those that were trained with.
inline void CheckDimensions(const size_t test, const size_t trained)
{
  if (test == trained)
    return;
  throw std::invalid_argument("Test data dimensionality (" +
      std::to_string(test) + ") must be the same as the dimensionality of the "
      "training data (" + std::to_string(trained) + ")!");
}

//! Tell, for each class and for all, how many predictions are right.
inline void PrintAccuracy(const arma::Row<size_t>& predictions,
                          const arma::Row<size_t>& labels,
                          const std::set<size_t>& classes)
{
  using mlpack::Log::Info;
  const auto tell = [](const std::string& of, const size_t right,
                       const size_t points)
  {
    Info << of << " is " << double(right) / double(points) << " (" << right
        << " of " << points << ")." << std::endl;
  };
  for (const size_t label : classes)
  {
    const size_t points = arma::accu(labels == label);
    if (points > 0)
    {
      tell("Accuracy for points with label " + std::to_string(label),
          arma::accu(labels == label && predictions == label), points);
    }
  }
  tell("Total accuracy for all points", arma::accu(predictions == labels),
      labels.n_elem);
}

} // namespace cli
} // namespace dasgd

#endif
