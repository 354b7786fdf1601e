/**
 * @file dasgd_logistic_regression_main.cpp
 *
 * mlpack's logistic regression, trained decentrally.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#undef BINDING_NAME
#define BINDING_NAME dasgd_logistic_regression

#include <mlpack/core/util/mlpack_main.hpp>

#include <mlpack/methods/logistic_regression/logistic_regression.hpp>

#include <data/data_params.hpp>
#include <data/dataset.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>
#include <training/train.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized L2-regularized Logistic Regression");

BINDING_SHORT_DESC(
    "L2-regularized logistic regression for two classes, trained by "
    "decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_logistic_regression and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's L2-regularized logistic regression for two classes on "
    "several processes at once, without a parameter server.  "
    "Each process computes gradients on its part of the points, sends them to "
    "the others without waiting, and applies everybody's; all end with the "
    "same model.  Start processes with " + PRINT_PARAM_STRING("ranks") +
    ", or run the program under mpirun; otherwise it is plain SGD."
    "\n\n"
    "Training data is given by " + PRINT_PARAM_STRING("training_file") + "; the "
    "labels, words or whole numbers, by " + PRINT_PARAM_STRING("labels_file") + " or in a column.  " + PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one, to train it further or to "
    "use it.  " + PRINT_PARAM_STRING("predictions") + " saves the predicted "
    "class of each point in " + PRINT_PARAM_STRING("test_file") + ", and " +
    PRINT_PARAM_STRING("probabilities") + " the probabilities of the classes.  "
    "With " + PRINT_PARAM_STRING("test_labels_file") + " the accuracy and the "
    "confusion matrix are printed."
    "\n\n"
    "All processes read the same training data and divide it among them; "
    "with " + PRINT_PARAM_STRING("sharded") + " each reads its own file.  "
    "Files may be CSV or TSV, with or without a header, ARFF, NumPy's .npy, "
    "Armadillo binaries or IDX files such as MNIST's, also compressed.");

BINDING_EXAMPLE(
    "To train a model with the points in " + PRINT_DATASET("data") +
    " and the labels in " + PRINT_DATASET("labels") + " on two processes, and "
    "save it to " + PRINT_MODEL("lr_model") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_logistic_regression", "training_file", "data.csv", "labels_file",
        "labels.csv", "step_size", 0.1, "epochs", 10, "ranks", 2, "output_model",
        "lr_model") +
    "\n\n"
    "To predict the classes of the points in " + PRINT_DATASET("test") +
    " with it (mlpack_logistic_regression can do so, too):"
    "\n\n" +
    PRINT_CALL("dasgd_logistic_regression", "input_model", "lr_model", "test_file",
        "test_file.csv", "predictions.csv", "predictions"));

BINDING_SEE_ALSO("@logistic_regression", "#logistic_regression");

PARAM_DOUBLE_IN("lambda", "L2 regularization.", "r", 0.0);
PARAM_MODEL_IN(LogisticRegression<>, "input_model",
    "Existing model, to use or to train further.", "m");
PARAM_MODEL_OUT(LogisticRegression<>, "output_model",
    "File to save the model to.", "M");
PARAM_MATRIX_OUT("probabilities",
    "File to save the probabilities of the classes of each test point to.",
    "p");
PARAM_DOUBLE_IN("decision_boundary",
    "Probability from which a point counts as class 1.", "d", 0.5);
PARAM_FLAG("print_training_accuracy",
    "With --verbose, also print the accuracy on the training data.",
    "a");

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  dasgd::cli::CheckClassifier(params);
  ReportIgnoredParam(params, {{ "training_file", false }},
      "print_training_accuracy");
  RequireParamValue<double>(params, "lambda", [](double x) { return x >= 0.0; },
      true, "lambda must be positive or zero");
  RequireParamValue<double>(params, "decision_boundary",
      [](double x) { return x >= 0.0 && x <= 1.0; }, true,
      "decision boundary must be between 0.0 and 1.0");
  const size_t seed = dasgd::cli::Seed(params);
  const bool trains = params.Has("training_file"), tests =
      params.Has("test_file");

  // The binding owns a new model from here on.
  const bool continues = params.Has("input_model");
  LogisticRegression<>* model = continues ?
      params.Get<LogisticRegression<>*>("input_model") :
      new LogisticRegression<>(0, 0);
  params.Get<LogisticRegression<>*>("output_model") = model;
  dasgd::cli::DataNames names;
  dasgd::cli::OnAllRanks([&]()
  {
    if (continues)
      names = dasgd::cli::InputNames(params, model->Parameters());
  });
  dasgd::cli::Dataset data = dasgd::cli::TrainingData(params, names);
  const size_t dimensions = continues ? model->Parameters().n_elem - 1 :
      data.points.n_rows;
  dasgd::cli::Dataset test;
  const auto readTest = [&]()
  { test = dasgd::cli::TestData(params, names, dimensions); };
  if (trains)
  {
    dasgd::cli::NumberLabels(data, names, 2, "for more classes see "
        "mlpack_dasgd_softmax_regression");
    dasgd::cli::OnAllRanks([&]()
    {
      dasgd::cli::CheckDimensions(data.points.n_rows, data.pointsName,
          dimensions, "the model, " + PRINT_PARAM_STRING("input_model"));
    });
  }
  dasgd::cli::OnAllRanks([&]()
  {
    // Only the rank that writes looks at test data.
    if (tests && dasgd::cli::Rank() == 0)
      readTest();
  });

  dasgd::cli::Trained trained;
  if (trains)
  {
    const dasgd::cli::Standardizer standardizer(params, data, names, true);
    model->Lambda() = params.Get<double>("lambda");
    if (!continues)
      model->Parameters().zeros(dimensions + 1);
    arma::rowvec& parameters = model->Parameters();
    arma::mat weights = parameters.tail(dimensions);
    arma::vec constant = parameters.head(1).t();
    const auto assign = [&]()
    { parameters = arma::join_rows(constant.t(), weights); };
    standardizer.Enter(weights, constant);
    assign();
    timers.Start("logistic_regression_optimization");
    trained = dasgd::cli::Train(params, data, seed, dasgd::cli::Batch::Sum,
        standardizer.Scales(), dasgd::cli::ModelTag(parameters),
        [&](dasgd::cli::Captured optimizer)
        { model->Train(data.points, data.labels, optimizer); });
    timers.Stop("logistic_regression_optimization");
    if (params.Has("print_training_accuracy") && dasgd::cli::Writes())
    {
      arma::Row<size_t> predictions;
      model->Classify(data.points, predictions);
      const size_t correct = arma::accu(predictions == data.labels);
      Log::Info << correct << " of " << data.labels.n_elem << " correct on "
          << "training set (" << 100 * double(correct) /
          double(data.labels.n_elem) << ")." << std::endl;
    }
    weights = parameters.tail(dimensions);
    constant = parameters.head(1).t();
    standardizer.Leave(weights, constant);
    assign();
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
      arma::Row<size_t> predictions, likeliest;
      if (params.Has("probabilities"))
      {
        model->Classify(test.points, likeliest,
            params.Get<arma::mat>("probabilities"));
      }
      model->Classify(test.points, predictions,
          params.Get<double>("decision_boundary"));
      accuracy = dasgd::cli::Predicted(params, test, names,
          std::move(predictions), { 0, 1 });
    }
    if (trains)
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
