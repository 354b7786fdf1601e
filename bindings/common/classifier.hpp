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

#include "confusion.hpp"
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

//! Points with a label each, and where they come from, for messages.
struct LabelledPoints
{
  arma::mat points;
  arma::Row<size_t> labels;
  std::string pointsName;
  std::string labelsName;
};

/**
 * The points to train with, if any, and their labels, which may be the last
 * column of the points.  All ranks must call it: what is wrong with the data of
 * one, all throw.  Test labels are counted, too.
 */
inline LabelledPoints TrainingData(mlpack::util::Params& params)
{
  LabelledPoints data;
  data.pointsName = PRINT_PARAM_STRING("training");
  data.labelsName = params.Has("labels") ? PRINT_PARAM_STRING("labels") :
      data.pointsName;
  Together([&]()
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
      CheckFinite(params.Get<arma::mat>("test"), PRINT_PARAM_STRING("test"));
    if (params.Has("test") && params.Has("test_labels"))
    {
      CheckCount(PRINT_PARAM_STRING("test"),
          params.Get<arma::mat>("test").n_cols,
          PRINT_PARAM_STRING("test_labels"),
          params.Get<arma::Row<size_t>>("test_labels").n_elem);
    }
  });
  AgreeOnDimensions(data.points.n_rows, data.pointsName);
  return data;
}

/**
 * Points must have the dimensions of those that a model is for.
 *
 * @param name The parameter of the points.
 * @param model Where the model comes from: data, a file or a description.
 */
inline void CheckDimensions(const size_t points,
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

//! Points to classify must have the dimensions of the model.
inline void CheckTestDimensions(mlpack::util::Params& params,
                                const size_t trained)
{
  if (!params.Has("test"))
    return;
  CheckDimensions(params.Get<arma::mat>("test").n_rows,
      PRINT_PARAM_STRING("test"), trained, params.Has("training") ?
      "the training data, " + PRINT_PARAM_STRING("training") :
      "the model, " + PRINT_PARAM_STRING("input_model"));
}

//! The numbers from 0 on, so many.
inline std::set<size_t> FirstNumbers(const size_t count)
{
  std::set<size_t> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.insert(numbers.end(), i);
  return numbers;
}

/**
 * With labels of the test points, print how many predictions are right.
 *
 * @return The part that is, from 0 to 1; not a number without labels.
 */
inline double PrintAccuracy(mlpack::util::Params& params,
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

#endif
