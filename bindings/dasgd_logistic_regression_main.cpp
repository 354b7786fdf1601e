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

#include <common/classifier.hpp>
#include <common/optimizer_params.hpp>
#include <common/train.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>

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
    "Training data is given by " + PRINT_PARAM_STRING("training") + "; the "
    "labels, 0 or 1, by " + PRINT_PARAM_STRING("labels") + " or in the last "
    "column.  " + PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one, to train it further or to "
    "use it.  " + PRINT_PARAM_STRING("predictions") + " saves the predicted "
    "class of each point in " + PRINT_PARAM_STRING("test") + ", and " +
    PRINT_PARAM_STRING("probabilities") + " the probabilities of the classes.  "
    "With " + PRINT_PARAM_STRING("test_labels") + " the accuracy and the "
    "confusion matrix are printed."
    "\n\n"
    "All processes read the same training data and divide it among them; "
    "with " + PRINT_PARAM_STRING("sharded") + " each reads its own file.  "
    "Files may be "
    "CSV, TSV, ARFF, Armadillo binaries or IDX files such as MNIST's, also "
    "compressed.");

BINDING_EXAMPLE(
    "To train a model with the points in " + PRINT_DATASET("data") +
    " and the labels in " + PRINT_DATASET("labels") + " on two processes, and "
    "save it to " + PRINT_MODEL("lr_model") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_logistic_regression", "training", "data", "labels",
        "labels", "step_size", 0.1, "epochs", 10, "ranks", 2, "output_model",
        "lr_model") +
    "\n\n"
    "To predict the classes of the points in " + PRINT_DATASET("test") +
    " with it (mlpack_logistic_regression can do so, too):"
    "\n\n" +
    PRINT_CALL("dasgd_logistic_regression", "input_model", "lr_model", "test",
        "test", "predictions", "predictions"));

BINDING_SEE_ALSO("@logistic_regression", "#logistic_regression");

PARAM_MATRIX_IN("training", "Training data, one point per line.", "t");
PARAM_UROW_IN("labels", "Labels of the training data, 0 or 1.", "l");
PARAM_DOUBLE_IN("lambda", "L2 regularization.", "L",
    0.0);
PARAM_MODEL_IN(LogisticRegression<>, "input_model",
    "Existing model, to use or to train further.", "m");
PARAM_MODEL_OUT(LogisticRegression<>, "output_model",
    "File to save the model to.", "M");
PARAM_MATRIX_IN("test", "Points to classify.", "T");
PARAM_UROW_IN("test_labels",
    "Labels of the test points; prints the accuracy.", "");
PARAM_UROW_OUT("predictions",
    "File to save the predicted class of each test point to.", "P");
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
  ReportIgnoredParam(params, {{ "training", false }},
      "print_training_accuracy");
  ReportIgnoredParam(params, {{ "test", false }}, "test_labels");
  RequireParamValue<double>(params, "lambda", [](double x) { return x >= 0.0; },
      true, "lambda must be positive or zero");
  RequireParamValue<double>(params, "decision_boundary",
      [](double x) { return x >= 0.0 && x <= 1.0; }, true,
      "decision boundary must be between 0.0 and 1.0");
  const size_t seed = dasgd::cli::Seed(params);
  const dasgd::cli::LabelledPoints data = dasgd::cli::TrainingData(params);
  const arma::mat& points = data.points;
  const arma::Row<size_t>& responses = data.labels;
  dasgd::cli::OnAllRanks([&]()
  {
    dasgd::cli::CheckRange(responses, 2, data.labelsName, "for more classes "
        "see mlpack_dasgd_softmax_regression");
  });
  if (params.Has("training"))
    dasgd::cli::RequireClasses(responses, data.labelsName);

  // The binding owns a new model from here on.
  LogisticRegression<>* model = params.Has("input_model") ?
      params.Get<LogisticRegression<>*>("input_model") :
      new LogisticRegression<>(0, 0);
  params.Get<LogisticRegression<>*>("output_model") = model;
  const size_t dimensions = params.Has("training") ? points.n_rows :
      model->Parameters().n_elem - 1;
  dasgd::cli::OnAllRanks([&]()
  {
    if (params.Has("training") && params.Has("input_model"))
    {
      dasgd::cli::CheckDimensions(points.n_rows, data.pointsName,
          model->Parameters().n_elem - 1, "the model, " +
          PRINT_PARAM_STRING("input_model"));
    }
    dasgd::cli::CheckTestDimensions(params, dimensions);
  });

  dasgd::cli::Trained trained;
  if (params.Has("training"))
  {
    model->Lambda() = params.Get<double>("lambda");
    if (!params.Has("input_model"))
      model->Parameters().zeros(points.n_rows + 1);
    dasgd::cli::Tags tags = dasgd::cli::DataTags(params, points, responses);
    dasgd::cli::Append(tags, dasgd::cli::ModelTag(model->Parameters()));
    timers.Start("logistic_regression_optimization");
    trained = dasgd::cli::Train(params, points.n_cols, seed,
        dasgd::cli::Batch::Sum, tags,
        [&](dasgd::cli::Captured optimizer)
        { model->Train(points, responses, optimizer); });
    timers.Stop("logistic_regression_optimization");
  }

  dasgd::cli::OnAllRanks([&]()
  {
    if (!dasgd::cli::Writes())
      return;
    if (params.Has("training") && params.Has("print_training_accuracy"))
    {
      arma::Row<size_t> predictions;
      model->Classify(points, predictions);
      const size_t correct = arma::accu(predictions == responses);
      Log::Info << correct << " of " << responses.n_elem << " correct on "
          << "training set (" << 100 * double(correct) /
          double(responses.n_elem) << ")." << std::endl;
    }
    double accuracy = arma::datum::nan;
    if (params.Has("test"))
    {
      const arma::mat& test = params.Get<arma::mat>("test");
      arma::Row<size_t> predictions, likeliest;
      if (params.Has("probabilities"))
      {
        model->Classify(test, likeliest,
            params.Get<arma::mat>("probabilities"));
      }
      model->Classify(test, predictions,
          params.Get<double>("decision_boundary"));
      accuracy = dasgd::cli::PrintAccuracy(params, predictions, { 0, 1 });
      if (params.Has("predictions"))
        params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
    }
    if (params.Has("training"))
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
