/**
 * @file dasgd_softmax_regression_main.cpp
 *
 * mlpack's softmax regression, trained decentrally.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#undef BINDING_NAME
#define BINDING_NAME dasgd_softmax_regression

#include <mlpack/core/util/mlpack_main.hpp>

#include <mlpack/methods/softmax_regression/softmax_regression.hpp>

#include <data/data_params.hpp>
#include <data/dataset.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>
#include <training/train.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Softmax Regression");

BINDING_SHORT_DESC(
    "Softmax regression for classification into any number of classes, trained "
    "by decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_softmax_regression and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's softmax regression, which generalizes logistic regression "
    "to several classes, on several processes at once, without a parameter "
    "server.  "
    "Each process computes gradients on its part of the points, sends them to "
    "the others without waiting, and applies everybody's; all end with the "
    "same model.  Start processes with " + PRINT_PARAM_STRING("ranks") +
    ", or run the program under mpirun; otherwise it is plain SGD."
    "\n\n"
    "Training data is given by " + PRINT_PARAM_STRING("training_file") + "; the "
    "labels, words or whole numbers, by " + PRINT_PARAM_STRING("labels_file") + " or in a column.  The number of classes is that of distinct labels, "
    "unless " + PRINT_PARAM_STRING("number_of_classes") + " is given.  " +
    PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one to use.  " +
    PRINT_PARAM_STRING("predictions") + " saves the predicted class of each "
    "point in " + PRINT_PARAM_STRING("test_file") + ", and " +
    PRINT_PARAM_STRING("probabilities") + " the probabilities of the classes.  "
    "With " + PRINT_PARAM_STRING("test_labels_file") + " the accuracy and the "
    "confusion matrix are printed."
    "\n\n"
    "All processes read the same training data and divide it among them; "
    "with " + PRINT_PARAM_STRING("sharded") + " each reads its own file.  "
    "Files may be CSV or TSV, with or without a header, ARFF, NumPy's .npy, "
    "Armadillo binaries or IDX files such as MNIST's, also compressed.");

BINDING_EXAMPLE(
    "To train a model with the points in " + PRINT_DATASET("dataset") +
    " and the labels in " + PRINT_DATASET("labels") + " on two processes, and "
    "save it to " + PRINT_MODEL("sr_model") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_softmax_regression", "training_file", "dataset.csv", "labels_file",
        "labels.csv", "step_size", 0.1, "epochs", 10, "ranks", 2, "output_model",
        "sr_model") +
    "\n\n"
    "To predict the classes of the points in " + PRINT_DATASET("test_points") +
    " with it (mlpack_softmax_regression can do so, too):"
    "\n\n" +
    PRINT_CALL("dasgd_softmax_regression", "input_model", "sr_model", "test_file",
        "test_points.csv", "predictions", "predictions"));

BINDING_SEE_ALSO("@softmax_regression", "#softmax_regression");

PARAM_MODEL_IN(SoftmaxRegression<>, "input_model", "Existing model to use.",
    "m");
PARAM_MODEL_OUT(SoftmaxRegression<>, "output_model",
    "File to save the model to.", "M");
PARAM_MATRIX_OUT("probabilities",
    "File to save the probabilities of the classes of each test point to.",
    "p");
PARAM_INT_IN("number_of_classes",
    "Number of classes; 0 counts the distinct labels.", "c", 0);
PARAM_DOUBLE_IN("lambda", "L2 regularization.", "r", 0.0001);
PARAM_FLAG("no_intercept", "Train without an intercept.", "N");

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  RequireOnlyOnePassed(params, { "input_model", "training_file" }, true);
  dasgd::cli::CheckClassifier(params);
  for (const std::string name : { "number_of_classes", "lambda",
      "no_intercept" })
    ReportIgnoredParam(params, {{ "training_file", false }}, name);
  RequireParamValue<double>(params, "lambda", [](double x) { return x >= 0.0; },
      true, "lambda penalty parameter must be greater than or equal to 0");
  RequireParamValue<int>(params, "number_of_classes",
      [](int x) { return x >= 0 && x != 1; }, true, "number of classes must be "
      "at least 2 (or 0 to count them)");
  const size_t seed = dasgd::cli::Seed(params);
  const bool trains = params.Has("training_file"), tests =
      params.Has("test_file"), intercept = !params.Has("no_intercept");

  SoftmaxRegression<>* model = params.Has("input_model") ?
      params.Get<SoftmaxRegression<>*>("input_model") : nullptr;
  dasgd::cli::DataNames names;
  dasgd::cli::OnAllRanks([&]()
  {
    if (model)
      names = dasgd::cli::InputNames(params, model->Parameters());
  });
  dasgd::cli::Dataset data = dasgd::cli::TrainingData(params, names);
  if (trains)
  {
    const size_t given = size_t(params.Get<int>("number_of_classes"));
    dasgd::cli::NumberLabels(data, names, given, "give a larger " +
        PRINT_PARAM_STRING("number_of_classes"));
    const size_t counted = dasgd::cli::RequireClasses(data.labels,
        data.labelsName).size();
    model = new SoftmaxRegression<>(data.points.n_rows, given > 0 ? given :
        std::max(counted, names.classes.size()), intercept);
  }
  params.Get<SoftmaxRegression<>*>("output_model") = model;
  dasgd::cli::Dataset test;
  const auto readTest = [&]()
  { test = dasgd::cli::TestData(params, names, model->FeatureSize()); };
  dasgd::cli::OnAllRanks([&]()
  {
    // Only the rank that writes looks at test data.
    if (tests && dasgd::cli::Rank() == 0)
      readTest();
  });

  dasgd::cli::Trained trained;
  if (trains)
  {
    const dasgd::cli::Standardizer standardizer(params, data, names, intercept);
    timers.Start("softmax_regression_optimization");
    trained = dasgd::cli::Train(params, data, seed, dasgd::cli::Batch::Mean,
        standardizer.Scales(), {},
        [&](dasgd::cli::Captured optimizer)
        {
          model->Train(data.points, data.labels, model->NumClasses(), optimizer,
              params.Get<double>("lambda"), intercept);
        });
    timers.Stop("softmax_regression_optimization");
    arma::mat& parameters = model->Parameters();
    arma::mat weights = parameters.tail_cols(model->FeatureSize());
    arma::vec constant = intercept ? arma::vec(parameters.col(0)) :
        arma::vec(parameters.n_rows, arma::fill::zeros);
    standardizer.Leave(weights, constant);
    parameters.tail_cols(model->FeatureSize()) = weights;
    if (intercept)
      parameters.col(0) = constant;
    dasgd::cli::SaveNames(params, names, parameters);
  }

  dasgd::cli::OnAllRanks([&]()
  {
    if (!dasgd::cli::Writes())
      return;
    double accuracy = arma::datum::nan;
    if (tests)
    {
      if (test.points.empty())
        readTest(); // In place of rank 0.
      arma::Row<size_t> predictions;
      arma::mat probabilities;
      model->Classify(test.points, predictions, probabilities);
      accuracy = dasgd::cli::Predicted(params, test, names,
          std::move(predictions),
          dasgd::cli::FirstNumbers(model->NumClasses()));
      if (params.Has("probabilities"))
        params.Get<arma::mat>("probabilities") = std::move(probabilities);
    }
    if (trains)
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
