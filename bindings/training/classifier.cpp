/**
 * @file classifier.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "classifier.hpp"
#include "confusion.hpp"
#include "model_names.hpp"
#include "standardizer.hpp"

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <terminal/param_checks.hpp>
#include <terminal/params.hpp>

#include <dasgd/mpi/mpi_communicator.hpp>

#include <iostream>

namespace dasgd {
namespace cli {

namespace {

//! Throw unless the points of all ranks have as many dimensions.  Collective.
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

/**
 * Throw unless points have the dimensions of those that a model is for.
 *
 * @param name The parameter of the points.
 * @param model Where the model comes from: data, a file or a description.
 */
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

/**
 * The training data.  Its names are added to those of the model, or must be the
 * same.  Collective; if the data of one rank is wrong, all throw.
 */
Dataset TrainingData(mlpack::util::Params& params, DataNames& names)
{
  Dataset data;
  if (!params.Has("training_file"))
    return data;
  OnAllRanks([&]()
  {
    for (const std::string name : { "training_file", "labels_file" })
    {
      if (params.Has(name))
        (void) FileOf(params, name, true);
    }
  });
  OnAllRanks([&]()
  {
    data = ReadDataset(params, "training_file", "labels_file", names, true);
  });
  AgreeOnDimensions(data.table.values.n_rows, data.pointsName);
  if (names.columns.empty() && !names.ofModel)
  {
    names.labelColumn = data.labelColumn;
    names.labelName = data.labelName;
    names.columns = data.table.columns;
    for (TableColumn& column : names.columns)
      UniteWords(column.words);
  }
  OnAllRanks([&]() { MakePoints(data, names); });
  return data;
}

//! Test data, for a model of so many dimensions.
Dataset TestData(mlpack::util::Params& params,
                 const DataNames& names,
                 Classifier& model)
{
  Dataset data = ReadDataset(params, "test_file", "test_labels_file", names,
      false);
  MakePoints(data, names);
  CheckDimensions(data.points.n_rows, data.pointsName, model.Dimensions(),
      params.Has("training_file") ? "the training data, " +
      OptionText(params, "training_file") : "the model, " +
      OptionText(params, "input_model"));
  NumberTestLabels(data, names);
  model.Scale(data);
  return data;
}

/**
 * With labels of the test points, print how many predictions are right; and
 * hand predictions to the file that is asked for.
 *
 * @param classes What the model may predict.
 * @return The part that is right, from 0 to 1; not a number without labels.
 */
double Predicted(mlpack::util::Params& params,
                 const Dataset& test,
                 const DataNames& names,
                 arma::Row<size_t> predictions,
                 const std::set<size_t>& classes)
{
  double accuracy = arma::datum::nan;
  if (test.labelled)
  {
    const size_t unknown = size_t(std::count_if(test.labels.begin(),
        test.labels.end(), [&](const size_t label)
        { return classes.count(label) == 0; }));
    if (unknown > 0)
    {
      mlpack::Log::Warn << unknown << " of " << test.labels.n_elem
          << " labels in " << test.labelsName << " are none that the model was "
          << "trained with, and count as errors." << std::endl;
    }
    std::vector<std::string> words = names.classes;
    for (const std::string& word : test.words)
    {
      if (!names.classes.empty() && std::count(names.classes.begin(),
          names.classes.end(), word) == 0)
        words.push_back(word);
    }
    std::cout << ConfusionText(predictions, test.labels, classes, words)
        << std::flush;
    accuracy = Accuracy(predictions, test.labels);
  }
  else if (!params.Has("predictions") && !params.Has("probabilities"))
  {
    mlpack::Log::Warn << "The points in " << test.pointsName << " are "
        << "classified, but nothing is done with that; give "
        << OptionText(params, "predictions") << ", or labels." << std::endl;
  }
  if (params.Has("predictions"))
  {
    // mlpack's own front end writes the numbers of classes.
    ValueNames()["predictions"] = names.classes;
    params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
  }
  return accuracy;
}

//! Train the model with standardized points, if that is asked for, such that it
//! is one of points as they are.
Trained TrainClassifier(mlpack::util::Params& params,
                        mlpack::util::Timers& timers,
                        Classifier& model,
                        Dataset& data,
                        const DataNames& names,
                        const size_t seed,
                        const std::string& name)
{
  const bool continues = params.Has("input_model");
  Tags tags = model.CheckpointTags(continues);
  const Standardizer standardizer(params, data, names, model.Intercept());
  if (continues && standardizer.Used())
  {
    model.ChangeWeights([&](arma::mat& weights, arma::vec& intercept)
    { standardizer.Enter(weights, intercept); });
  }
  timers.Start(name + "_optimization");
  Tags all = DataTags(params, data.points, data.labels);
  Append(all, tags);
  const Trained trained = Train(params, data.points.n_cols, seed, model.Loss(),
      all, [&](Captured optimizer) { model.Train(data, optimizer); },
      standardizer.Scales());
  timers.Stop(name + "_optimization");
  model.Report(data);
  if (standardizer.Used())
  {
    model.ChangeWeights([&](arma::mat& weights, arma::vec& intercept)
    { standardizer.Leave(weights, intercept); });
  }
  SaveNames(params, names, model.Parameters());
  return trained;
}

} // namespace

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

void RunClassifier(mlpack::util::Params& params,
                   mlpack::util::Timers& timers,
                   Classifier& model,
                   const size_t seed,
                   const std::string& name)
{
  const bool trains = params.Has("training_file");
  const bool tests = params.Has("test_file");
  DataNames names;
  OnAllRanks([&]()
  {
    if (params.Has("input_model"))
      names = InputNames(params, model.Parameters());
  });
  timers.Start("loading_points");
  Dataset data = TrainingData(params, names);
  model.Scale(data);
  timers.Stop("loading_points");
  model.Prepare(data, names);
  Dataset test;
  OnAllRanks([&]()
  {
    if (trains)
    {
      CheckDimensions(data.points.n_rows, data.pointsName, model.Dimensions(),
          model.Origin());
    }
    // Only the rank that writes looks at test data.
    if (tests && Rank() == 0)
      test = TestData(params, names, model);
  });

  Trained trained;
  if (trains)
    trained = TrainClassifier(params, timers, model, data, names, seed, name);

  OnAllRanks([&]()
  {
    if (!Writes())
      return;
    double accuracy = arma::datum::nan;
    if (tests)
    {
      if (test.points.empty())
        test = TestData(params, names, model); // In place of rank 0.
      timers.Start(name + "_prediction");
      arma::mat scores;
      arma::Row<size_t> predictions = model.Classify(test.points, scores);
      timers.Stop(name + "_prediction");
      accuracy = Predicted(params, test, names, std::move(predictions),
          model.Classes());
      if (params.Has("probabilities"))
        params.Get<arma::mat>("probabilities") = std::move(scores);
    }
    if (trains)
      SaveReports(params, trained, accuracy);
  });
}

} // namespace cli
} // namespace dasgd
