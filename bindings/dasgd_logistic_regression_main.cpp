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

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized L2-regularized Logistic Regression");

BINDING_SHORT_DESC(
    "L2-regularized logistic regression for two classes, trained by "
    "decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_logistic_regression and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's L2-regularized logistic regression on several processes "
    "at once, without a server and without waiting: each computes gradients on "
    "its part of the points and applies everybody's, and all end with the same "
    "model.  Start it with " + PRINT_PARAM_STRING("ranks") + ", or under "
    "mpirun; without either it is plain SGD."
    "\n\n"
    "As in mlpack_logistic_regression, a model is trained with the points given "
    "by " + PRINT_PARAM_STRING("training") + ", whose labels are either the "
    "last column or given by " + PRINT_PARAM_STRING("labels") + "; each is 0 "
    "or 1.  A model can be read by " + PRINT_PARAM_STRING("input_model") +
    ", to train it further or to use it, and saved by " +
    PRINT_PARAM_STRING("output_model") + ".  With " +
    PRINT_PARAM_STRING("test") + ", the classes of other points are saved to " +
    PRINT_PARAM_STRING("predictions") + " and their probabilities to " +
    PRINT_PARAM_STRING("probabilities") + "; with " +
    PRINT_PARAM_STRING("test_labels") + " and " +
    PRINT_PARAM_STRING("verbose") + ", the accuracy is printed."
    "\n\n"
    "All ranks read the same training data and divide it between them.  With " +
    PRINT_PARAM_STRING("sharded") + " each rank has a file of its own.");

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

PARAM_MATRIX_IN("training", "Points to train with, one in each line.", "t");
PARAM_UROW_IN("labels", "Their labels, each 0 or 1.", "l");
PARAM_DOUBLE_IN("lambda", "Weight of the L2 penalty.", "L",
    0.0);
PARAM_MODEL_IN(LogisticRegression<>, "input_model",
    "Model to use, or to train further.", "m");
PARAM_MODEL_OUT(LogisticRegression<>, "output_model",
    "Where to save the model.", "M");
PARAM_MATRIX_IN("test", "Points to classify.", "T");
PARAM_UROW_IN("test_labels",
    "Labels of the test points, to tell the accuracy.", "");
PARAM_UROW_OUT("predictions",
    "Where to save the predicted class of each test point.", "P");
PARAM_MATRIX_OUT("probabilities",
    "Where to save how likely each class is for each test point.", "p");
PARAM_DOUBLE_IN("decision_boundary",
    "From which probability on a point is taken to be of class 1.", "d", 0.5);
PARAM_FLAG("print_training_accuracy",
    "With verbose, also print the accuracy on the training data.",
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
  dasgd::cli::Together([&]()
  {
    dasgd::cli::CheckRange(responses, 2, data.labelsName, "for more classes "
        "see mlpack_dasgd_softmax_regression");
  });

  // The binding owns a new model from here on.
  LogisticRegression<>* model = params.Has("input_model") ?
      params.Get<LogisticRegression<>*>("input_model") :
      new LogisticRegression<>(0, 0);
  params.Get<LogisticRegression<>*>("output_model") = model;
  const size_t dimensions = params.Has("training") ? points.n_rows :
      model->Parameters().n_elem - 1;
  dasgd::cli::Together([&]()
  {
    if (params.Has("training") && params.Has("input_model"))
    {
      dasgd::cli::CheckDimensions(points.n_rows, data.pointsName,
          model->Parameters().n_elem - 1, "the model, " +
          PRINT_PARAM_STRING("input_model"));
    }
    dasgd::cli::CheckTestDimensions(params, dimensions);
  });

  if (params.Has("training"))
  {
    model->Lambda() = params.Get<double>("lambda");
    if (!params.Has("input_model"))
      model->Parameters().zeros(points.n_rows + 1);
    timers.Start("logistic_regression_optimization");
    dasgd::cli::Train(params, points.n_cols, seed, dasgd::cli::Batch::Sum,
        [&](dasgd::cli::Captured optimizer)
        { model->Train(points, responses, optimizer); });
    timers.Stop("logistic_regression_optimization");
  }

  dasgd::cli::Together([&]()
  {
    if (dasgd::cli::Rank() != 0)
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
    if (!params.Has("test"))
      return;
    const arma::mat& test = params.Get<arma::mat>("test");
    if (params.Has("predictions") || params.Has("test_labels"))
    {
      arma::Row<size_t> predictions;
      model->Classify(test, predictions,
          params.Get<double>("decision_boundary"));
      if (params.Has("test_labels"))
      {
        dasgd::cli::PrintAccuracy(predictions,
            params.Get<arma::Row<size_t>>("test_labels"), { 0, 1 });
      }
      if (params.Has("predictions"))
        params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
    }
    if (params.Has("probabilities"))
    {
      arma::Row<size_t> predictions;
      model->Classify(test, predictions,
          params.Get<arma::mat>("probabilities"));
    }
  });
}
