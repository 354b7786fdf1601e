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
#include <ranks/ranks.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized L2-regularized Logistic Regression");

BINDING_SHORT_DESC(
    "L2-regularized logistic regression for two classes, trained by "
    "decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_logistic_regression and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's L2-regularized logistic regression for two classes on "
    "several processes at once, without a parameter server.  " +
    ProcessesText() + LabelsText() + PRINT_PARAM_STRING("output_model") +
    " saves the model; " + PRINT_PARAM_STRING("input_model") + " loads one, to "
    "train it further or to use it.  " + FilesText("probabilities"));

BINDING_EXAMPLE(ExampleText("logistic_regression", "data", "test",
    "lr_model"));

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

//! mlpack's logistic regression.
class LogisticClassifier : public dasgd::cli::Classifier
{
 public:
  explicit LogisticClassifier(util::Params& params) :
      params(params),
      continues(params.Has("input_model")),
      model(continues ? params.Get<LogisticRegression<>*>("input_model") :
          new LogisticRegression<>(0, 0)),
      dimensions(continues ? model->Parameters().n_elem - 1 : 0)
  {
    // The binding owns a new model from here on.
    params.Get<LogisticRegression<>*>("output_model") = model;
  }

  void Prepare(dasgd::cli::Dataset& data, dasgd::cli::DataNames& names) override
  {
    if (!params.Has("training_file"))
      return;
    dasgd::cli::NumberLabels(data, names, 2, "for more classes see "
        "mlpack_dasgd_softmax_regression");
    if (continues)
      return;
    dimensions = data.points.n_rows;
    model->Parameters().zeros(dimensions + 1);
  }

  size_t Dimensions() const override { return dimensions; }
  std::string Origin() const override
  { return "the model, " + PRINT_PARAM_STRING("input_model"); }
  arma::mat& Parameters() override { return model->Parameters(); }
  std::set<size_t> Classes() const override { return { 0, 1 }; }
  dasgd::cli::Batch Loss() const override { return dasgd::cli::Batch::Sum; }
  dasgd::cli::Tags CheckpointTags(const bool /* continues */) override
  { return dasgd::cli::ModelTag(model->Parameters()); }

  void ChangeWeights(
      const std::function<void(arma::mat&, arma::vec&)>& change) override
  {
    arma::rowvec& parameters = model->Parameters();
    arma::mat weights = parameters.tail(dimensions);
    arma::vec constant = parameters.head(1).t();
    change(weights, constant);
    parameters = arma::join_rows(constant.t(), weights);
  }

  void Train(dasgd::cli::Dataset& data, dasgd::cli::Captured optimizer) override
  {
    model->Lambda() = params.Get<double>("lambda");
    model->Train(data.points, data.labels, optimizer);
  }

  void Report(const dasgd::cli::Dataset& data) override
  {
    if (!params.Has("print_training_accuracy") || !dasgd::cli::Writes())
      return;
    arma::Row<size_t> predictions;
    model->Classify(data.points, predictions);
    const size_t correct = arma::accu(predictions == data.labels);
    Log::Info << correct << " of " << data.labels.n_elem << " correct on "
        << "training set (" << 100 * double(correct) /
        double(data.labels.n_elem) << ")." << std::endl;
  }

  arma::Row<size_t> Classify(const arma::mat& points, arma::mat& scores)
      override
  {
    arma::Row<size_t> predictions;
    if (params.Has("probabilities"))
      model->Classify(points, predictions, scores);
    model->Classify(points, predictions,
        params.Get<double>("decision_boundary"));
    return predictions;
  }

 private:
  util::Params& params;
  bool continues;
  LogisticRegression<>* model;
  size_t dimensions;
};

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
  LogisticClassifier model(params);
  dasgd::cli::RunClassifier(params, timers, model, seed,
      "logistic_regression");
}
