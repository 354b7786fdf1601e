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

#include <common/classifier.hpp>
#include <common/optimizer_params.hpp>
#include <common/train.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Softmax Regression");

BINDING_SHORT_DESC(
    "Softmax regression for classification into any number of classes, trained "
    "by decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_softmax_regression and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's softmax regression, the generalization of logistic "
    "regression to several classes, on several processes at once, without a "
    "server and without waiting: each computes gradients on its part of the "
    "points and applies everybody's, and all end with the same model.  Start "
    "it with " + PRINT_PARAM_STRING("ranks") + ", or under mpirun; without "
    "either it is plain SGD."
    "\n\n"
    "As in mlpack_softmax_regression, a model is trained with the points given "
    "by " + PRINT_PARAM_STRING("training") + " and their " +
    PRINT_PARAM_STRING("labels") + " (or the last column), numbered from 0; "
    "there are as many classes as labels differ, or " + PRINT_PARAM_STRING("number_of_classes") +
    ".  The model is saved by " + PRINT_PARAM_STRING("output_model") + " and "
    "read by " + PRINT_PARAM_STRING("input_model") + ".  With " +
    PRINT_PARAM_STRING("test") + ", the classes of other points are saved to " +
    PRINT_PARAM_STRING("predictions") + " and their probabilities to " +
    PRINT_PARAM_STRING("probabilities") + "; with " +
    PRINT_PARAM_STRING("test_labels") + " and " +
    PRINT_PARAM_STRING("verbose") + " the accuracy is printed."
    "\n\n"
    "All ranks read the same training data and divide it between them.  With " +
    PRINT_PARAM_STRING("sharded") + " each rank has a file of its own.");

BINDING_EXAMPLE(
    "To train a model with the points in " + PRINT_DATASET("dataset") +
    " and the labels in " + PRINT_DATASET("labels") + " on two processes, and "
    "save it to " + PRINT_MODEL("sr_model") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_softmax_regression", "training", "dataset", "labels",
        "labels", "step_size", 0.1, "epochs", 10, "ranks", 2, "output_model",
        "sr_model") +
    "\n\n"
    "To predict the classes of the points in " + PRINT_DATASET("test_points") +
    " with it (mlpack_softmax_regression can do so, too):"
    "\n\n" +
    PRINT_CALL("dasgd_softmax_regression", "input_model", "sr_model", "test",
        "test_points", "predictions", "predictions"));

BINDING_SEE_ALSO("@softmax_regression", "#softmax_regression");

PARAM_MATRIX_IN("training", "Points to train with, one in each line.", "t");
PARAM_UROW_IN("labels", "Their labels, from 0 on.", "l");
PARAM_MODEL_IN(SoftmaxRegression<>, "input_model", "Model to use.", "m");
PARAM_MODEL_OUT(SoftmaxRegression<>, "output_model",
    "Where to save the model.", "M");
PARAM_MATRIX_IN("test", "Points to classify.", "T");
PARAM_UROW_OUT("predictions",
    "Where to save the predicted class of each test point.", "p");
PARAM_MATRIX_OUT("probabilities",
    "Where to save how likely each class is for each test point.", "P");
PARAM_UROW_IN("test_labels",
    "Labels of the test points, to tell the accuracy.", "L");
PARAM_INT_IN("number_of_classes",
    "Number of classes; 0 means as many as labels differ.", "c", 0);
PARAM_DOUBLE_IN("lambda", "Weight of the L2 penalty.", "r", 0.0001);
PARAM_FLAG("no_intercept", "Leave the intercept out.", "N");

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  RequireOnlyOnePassed(params, { "input_model", "training" }, true);
  dasgd::cli::CheckClassifier(params);
  for (const std::string name : { "number_of_classes", "lambda",
      "no_intercept" })
    ReportIgnoredParam(params, {{ "training", false }}, name);
  ReportIgnoredParam(params, {{ "test", false }}, "test_labels");
  RequireParamValue<double>(params, "lambda", [](double x) { return x >= 0.0; },
      true, "lambda penalty parameter must be greater than or equal to 0");
  RequireParamValue<int>(params, "number_of_classes",
      [](int x) { return x >= 0 && x != 1; }, true, "number of classes must be "
      "at least 2 (or 0 to count them)");
  const size_t seed = dasgd::cli::Seed(params);
  const dasgd::cli::LabelledPoints data = dasgd::cli::TrainingData(params);
  const arma::mat& points = data.points;
  const arma::Row<size_t>& labels = data.labels;

  SoftmaxRegression<>* model = params.Has("input_model") ?
      params.Get<SoftmaxRegression<>*>("input_model") : nullptr;
  if (params.Has("training"))
  {
    const size_t counted = dasgd::cli::AllLabels(labels).size();
    const size_t given = size_t(params.Get<int>("number_of_classes"));
    const size_t classes = (given == 0) ? counted : given;
    if (classes < 2)
    {
      throw std::invalid_argument("All labels in " + data.labelsName + " are the "
          "same; at least 2 classes are needed!");
    }
    dasgd::cli::Together([&]()
    {
      dasgd::cli::CheckRange(labels, classes, data.labelsName, given == 0 ?
          "number them from 0 on without a gap, or give " +
          PRINT_PARAM_STRING("number_of_classes") : "give a larger " +
          PRINT_PARAM_STRING("number_of_classes"));
    });
    model = new SoftmaxRegression<>(points.n_rows, classes,
        !params.Has("no_intercept"));
  }
  params.Get<SoftmaxRegression<>*>("output_model") = model;
  dasgd::cli::CheckTestDimensions(params, model->FeatureSize());

  if (params.Has("training"))
  {
    timers.Start("softmax_regression_optimization");
    dasgd::cli::Train(params, points.n_cols, seed,
        dasgd::cli::Batch::Mean,
        [&](dasgd::cli::Captured optimizer)
        {
          model->Train(points, labels, model->NumClasses(), optimizer,
              params.Get<double>("lambda"), !params.Has("no_intercept"));
        });
    timers.Stop("softmax_regression_optimization");
  }

  dasgd::cli::Together([&]()
  {
    if (dasgd::cli::Rank() != 0 || !params.Has("test"))
      return;
    arma::Row<size_t> predictions;
    arma::mat probabilities;
    model->Classify(params.Get<arma::mat>("test"), predictions, probabilities);
    if (params.Has("test_labels"))
    {
      const auto& expected = params.Get<arma::Row<size_t>>("test_labels");
      dasgd::cli::PrintAccuracy(predictions, expected, std::set<size_t>(
          expected.begin(), expected.end()));
    }
    if (params.Has("predictions"))
      params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
    if (params.Has("probabilities"))
      params.Get<arma::mat>("probabilities") = std::move(probabilities);
  });
}
