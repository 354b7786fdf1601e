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
#include <data/labels.hpp>
#include <training/classifier.hpp>
#include <training/confusion.hpp>
#include <training/optimizer_params.hpp>

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
    "server.  " + ProcessesText() + LabelsText() + "The number of classes is "
    "that of distinct labels, unless " +
    PRINT_PARAM_STRING("number_of_classes") + " is given.  " +
    PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one to use.  " +
    FilesText("probabilities"));

BINDING_EXAMPLE(ExampleText("softmax_regression", "dataset", "test_points",
    "sr_model"));

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

//! mlpack's softmax regression.
class SoftmaxClassifier : public dasgd::cli::Classifier
{
 public:
  explicit SoftmaxClassifier(util::Params& params) :
      params(params),
      intercept(!params.Has("no_intercept")),
      model(params.Has("input_model") ?
          params.Get<SoftmaxRegression<>*>("input_model") : nullptr)
  { }

  void Prepare(dasgd::cli::Dataset& data, dasgd::cli::DataNames& names) override
  {
    if (params.Has("training_file"))
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
  }

  size_t Dimensions() const override { return model->FeatureSize(); }
  std::string Origin() const override { return "the model"; }
  arma::mat& Parameters() override { return model->Parameters(); }
  std::set<size_t> Classes() const override
  { return dasgd::cli::FirstNumbers(model->NumClasses()); }
  dasgd::cli::Batch Loss() const override { return dasgd::cli::Batch::Mean; }
  bool Intercept() const override { return intercept; }

  void ChangeWeights(
      const std::function<void(arma::mat&, arma::vec&)>& change) override
  {
    arma::mat& parameters = model->Parameters();
    arma::mat weights = parameters.tail_cols(model->FeatureSize());
    arma::vec constant(parameters.n_rows, arma::fill::zeros);
    if (intercept)
      constant = parameters.col(0);
    change(weights, constant);
    parameters.tail_cols(model->FeatureSize()) = weights;
    if (intercept)
      parameters.col(0) = constant;
  }

  void Train(dasgd::cli::Dataset& data, dasgd::cli::Captured optimizer) override
  {
    model->Train(data.points, data.labels, model->NumClasses(), optimizer,
        params.Get<double>("lambda"), intercept);
  }

  arma::Row<size_t> Classify(const arma::mat& points, arma::mat& scores)
      override
  {
    arma::Row<size_t> predictions;
    model->Classify(points, predictions, scores);
    return predictions;
  }

 private:
  util::Params& params;
  bool intercept;
  SoftmaxRegression<>* model;
};

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
  SoftmaxClassifier model(params);
  dasgd::cli::RunClassifier(params, timers, model, seed, "softmax_regression");
}
