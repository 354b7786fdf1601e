/**
 * @file dasgd_linear_svm_main.cpp
 *
 * mlpack's linear support vector machine, trained decentrally.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#undef BINDING_NAME
#define BINDING_NAME dasgd_linear_svm

#include <mlpack/core/util/mlpack_main.hpp>

#include <mlpack/methods/linear_svm/linear_svm.hpp>

#include <data/data_params.hpp>
#include <data/labels.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Linear SVM");

BINDING_SHORT_DESC(
    "A linear support vector machine for any number of classes, trained by "
    "decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_linear_svm and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's linear support vector machine on several processes at "
    "once, without a parameter server.  " + ProcessesText() + LabelsText() +
    PRINT_PARAM_STRING("lambda") + " sets the regularization, " +
    PRINT_PARAM_STRING("delta") + " the margin.  " +
    PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one, to train it further or to "
    "use it.  " + FilesText("scores"));

BINDING_EXAMPLE(ExampleText("linear_svm", "data", "test", "lsvm_model"));

BINDING_SEE_ALSO("@linear_svm", "#linear_svm");

//! What mlpack_linear_svm saves: labels may be any numbers, so the model comes
//! with the label of each class.
class LinearSVMModel
{
 public:
  arma::Col<size_t> mappings;
  LinearSVM<> svm;

  template<typename Archive>
  void serialize(Archive& ar, const uint32_t /* version */)
  {
    ar(CEREAL_NVP(mappings));
    ar(CEREAL_NVP(svm));
  }
};

PARAM_DOUBLE_IN("lambda", "L2 regularization.", "r",
    0.0001);
PARAM_DOUBLE_IN("delta",
    "Margin between the correct class and the others.", "d", 1.0);
PARAM_INT_IN("num_classes",
    "Number of classes; 0 counts the distinct labels.", "c", 0);
PARAM_FLAG("no_intercept", "Train without an intercept.", "N");
PARAM_MODEL_IN(LinearSVMModel, "input_model",
    "Existing model, to use or to train further.",
    "m");
PARAM_MODEL_OUT(LinearSVMModel, "output_model",
    "File to save the model to.", "M");
PARAM_MATRIX_OUT("probabilities",
    "File to save the scores of the classes of each test point to.", "p");

//! mlpack's linear SVM.
class SvmClassifier : public dasgd::cli::Classifier
{
 public:
  explicit SvmClassifier(util::Params& params) :
      params(params),
      continues(params.Has("input_model")),
      intercept(!params.Has("no_intercept")),
      model(continues ? params.Get<LinearSVMModel*>("input_model") :
          new LinearSVMModel())
  {
    // The binding owns a new model from here on.
    params.Get<LinearSVMModel*>("output_model") = model;
    const size_t rows = Parameters().n_rows;
    dimensions = rows - (model->svm.FitIntercept() && rows > 0 ? 1 : 0);
  }

  void Prepare(dasgd::cli::Dataset& data, dasgd::cli::DataNames& names) override
  {
    if (!params.Has("training_file"))
      return;
    // Any whole numbers: the model comes with them.
    dasgd::cli::NumberLabels(data, names, size_t(-1), "");
    // Numbered in their order, alike on all ranks.
    const std::set<size_t> known = dasgd::cli::RequireClasses(data.labels,
        data.labelsName);
    const size_t given = size_t(params.Get<int>("num_classes"));
    if (given != 0 && given < known.size())
    {
      throw std::invalid_argument("Invalid value of " +
          PRINT_PARAM_STRING("num_classes") + " specified (" +
          std::to_string(given) + "); there are " +
          std::to_string(known.size()) + " different labels in " +
          data.labelsName + "!");
    }
    arma::Col<size_t> mappings(known.size());
    std::copy(known.begin(), known.end(), mappings.begin());
    if (continues && (mappings.n_elem != model->mappings.n_elem ||
        arma::any(mappings != model->mappings)))
    {
      throw std::invalid_argument("The model in " +
          PRINT_PARAM_STRING("input_model") + " is for other labels than those "
          "in " + data.labelsName + "; train a new one!");
    }
    model->mappings = mappings;
    classes = (given == 0) ? mappings.n_elem : given;
    data.labels.transform([&](const size_t label)
    { return size_t(std::distance(known.begin(), known.find(label))); });
    if (!continues)
      dimensions = data.points.n_rows;
  }

  size_t Dimensions() const override { return dimensions; }
  std::string Origin() const override
  { return "the model, " + PRINT_PARAM_STRING("input_model"); }
  arma::mat& Parameters() override { return model->svm.Parameters(); }
  std::set<size_t> Classes() const override
  { return { model->mappings.begin(), model->mappings.end() }; }
  dasgd::cli::Batch Loss() const override { return dasgd::cli::Batch::Mean; }
  bool Intercept() const override { return intercept; }

  void ChangeWeights(
      const std::function<void(arma::mat&, arma::vec&)>& change) override
  {
    // A column for each class, its intercept in the last row.  A model with
    // other rows than these is not trained further, but anew.
    arma::mat& parameters = Parameters();
    if (parameters.n_rows != dimensions + intercept)
      return;
    arma::mat weights = parameters.head_rows(dimensions).t();
    arma::vec constant(weights.n_rows, arma::fill::zeros);
    if (intercept)
      constant = parameters.tail_rows(1).t();
    change(weights, constant);
    parameters.head_rows(dimensions) = weights.t();
    if (intercept)
      parameters.tail_rows(1) = constant.t();
  }

  void Train(dasgd::cli::Dataset& data, dasgd::cli::Captured optimizer) override
  {
    model->svm.Train(data.points, data.labels, classes, optimizer,
        params.Get<double>("lambda"), params.Get<double>("delta"), intercept);
  }

  arma::Row<size_t> Classify(const arma::mat& points, arma::mat& scores)
      override
  {
    arma::Row<size_t> numbers;
    model->svm.Classify(points, numbers, scores);
    if (numbers.max() >= model->mappings.n_elem)
    {
      throw std::runtime_error("The model predicts class " +
          std::to_string(numbers.max()) + ", for which it has no label; was it "
          "trained with too large a " + PRINT_PARAM_STRING("num_classes") +
          "?");
    }
    return numbers.transform([&](const size_t number)
        { return model->mappings[number]; });
  }

 private:
  util::Params& params;
  bool continues;
  bool intercept;
  LinearSVMModel* model;
  size_t dimensions;
  size_t classes = 0;
};

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  dasgd::cli::CheckClassifier(params);
  RequireParamValue<double>(params, "lambda", [](double x) { return x >= 0.0; },
      true, "lambda must be non-negative");
  RequireParamValue<double>(params, "delta", [](double x) { return x >= 0.0; },
      true, "delta must be non-negative");
  RequireParamValue<int>(params, "num_classes",
      [](int x) { return x >= 0 && x != 1; }, true, "number of classes must be "
      "at least 2 (or 0 to count them)");
  const size_t seed = dasgd::cli::Seed(params);
  SvmClassifier model(params);
  dasgd::cli::RunClassifier(params, timers, model, seed, "linear_svm");
}
