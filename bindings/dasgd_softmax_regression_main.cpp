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
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>

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
    "Training data is given by " + PRINT_PARAM_STRING("training") + "; the "
    "labels, numbered from 0, by " + PRINT_PARAM_STRING("labels") + " or in "
    "the last column.  The number of classes is that of distinct labels, "
    "unless " + PRINT_PARAM_STRING("number_of_classes") + " is given.  " +
    PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one to use.  " +
    PRINT_PARAM_STRING("predictions") + " saves the predicted class of each "
    "point in " + PRINT_PARAM_STRING("test") + ", and " +
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

PARAM_MATRIX_IN("training", "Training data, one point per line.", "t");
PARAM_UROW_IN("labels", "Labels of the training data, from 0.", "l");
PARAM_MODEL_IN(SoftmaxRegression<>, "input_model", "Existing model to use.",
    "m");
PARAM_MODEL_OUT(SoftmaxRegression<>, "output_model",
    "File to save the model to.", "M");
PARAM_MATRIX_IN("test", "Points to classify.", "T");
PARAM_UROW_OUT("predictions",
    "File to save the predicted class of each test point to.", "p");
PARAM_MATRIX_OUT("probabilities",
    "File to save the probabilities of the classes of each test point to.",
    "P");
PARAM_UROW_IN("test_labels",
    "Labels of the test points; prints the accuracy.", "L");
PARAM_INT_IN("number_of_classes",
    "Number of classes; 0 counts the distinct labels.", "c", 0);
PARAM_DOUBLE_IN("lambda", "L2 regularization.", "r", 0.0001);
PARAM_FLAG("no_intercept", "Train without an intercept.", "N");

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
    const size_t counted = dasgd::cli::RequireClasses(labels,
        data.labelsName).size();
    const size_t given = size_t(params.Get<int>("number_of_classes"));
    const size_t classes = (given == 0) ? counted : given;
    dasgd::cli::OnAllRanks([&]()
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

  dasgd::cli::Trained trained;
  if (params.Has("training"))
  {
    timers.Start("softmax_regression_optimization");
    trained = dasgd::cli::Train(params, points.n_cols, seed,
        dasgd::cli::Batch::Mean, dasgd::cli::DataTags(params, points, labels),
        [&](dasgd::cli::Captured optimizer)
        {
          model->Train(points, labels, model->NumClasses(), optimizer,
              params.Get<double>("lambda"), !params.Has("no_intercept"));
        });
    timers.Stop("softmax_regression_optimization");
  }

  dasgd::cli::OnAllRanks([&]()
  {
    if (!dasgd::cli::Writes())
      return;
    double accuracy = arma::datum::nan;
    if (params.Has("test"))
    {
      arma::Row<size_t> predictions;
      arma::mat probabilities;
      model->Classify(params.Get<arma::mat>("test"), predictions,
          probabilities);
      accuracy = dasgd::cli::PrintAccuracy(params, predictions,
          dasgd::cli::FirstNumbers(model->NumClasses()));
      if (params.Has("predictions"))
        params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
      if (params.Has("probabilities"))
        params.Get<arma::mat>("probabilities") = std::move(probabilities);
    }
    if (params.Has("training"))
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
