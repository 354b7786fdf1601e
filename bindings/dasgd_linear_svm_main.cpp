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
#include <data/dataset.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>
#include <training/train.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Linear SVM");

BINDING_SHORT_DESC(
    "A linear support vector machine for any number of classes, trained by "
    "decentralized asynchronous SGD on any number of processes.  Models are "
    "those of mlpack_linear_svm and can be exchanged with it.");

BINDING_LONG_DESC(
    "Trains mlpack's linear support vector machine on several processes at "
    "once, without a parameter server.  "
    "Each process computes gradients on its part of the points, sends them to "
    "the others without waiting, and applies everybody's; all end with the "
    "same model.  Start processes with " + PRINT_PARAM_STRING("ranks") +
    ", or run the program under mpirun; otherwise it is plain SGD."
    "\n\n"
    "Training data is given by " + PRINT_PARAM_STRING("training_file") + "; the "
    "labels, words or whole numbers, by " + PRINT_PARAM_STRING("labels_file") +
    " or in a column.  " + PRINT_PARAM_STRING("lambda") + " sets the "
    "regularization, " + PRINT_PARAM_STRING("delta") + " the margin.  " +
    PRINT_PARAM_STRING("output_model") + " saves the model; " +
    PRINT_PARAM_STRING("input_model") + " loads one, to train it further or to "
    "use it.  " + PRINT_PARAM_STRING("predictions") + " saves the predicted "
    "class of each point in " + PRINT_PARAM_STRING("test_file") + ", and " +
    PRINT_PARAM_STRING("probabilities") + " the scores of the classes.  "
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
    "save it to " + PRINT_MODEL("lsvm_model") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_linear_svm", "training_file", "data.csv", "labels_file",
        "labels.csv",
        "step_size", 0.1, "epochs", 10, "ranks", 2, "output_model",
        "lsvm_model") +
    "\n\n"
    "To predict the classes of the points in " + PRINT_DATASET("test") +
    " with it (mlpack_linear_svm can do so, too):"
    "\n\n" +
    PRINT_CALL("dasgd_linear_svm", "input_model", "lsvm_model", "test_file", "test.csv",
        "predictions", "predictions"));

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
  const bool trains = params.Has("training_file"), tests =
      params.Has("test_file"), continues = params.Has("input_model");

  // The binding owns a new model from here on.
  LinearSVMModel* model = continues ?
      params.Get<LinearSVMModel*>("input_model") : new LinearSVMModel();
  params.Get<LinearSVMModel*>("output_model") = model;
  arma::mat& parameters = model->svm.Parameters();
  dasgd::cli::DataNames names;
  dasgd::cli::OnAllRanks([&]()
  {
    if (continues)
      names = dasgd::cli::InputNames(params, parameters);
  });
  dasgd::cli::Dataset data = dasgd::cli::TrainingData(params, names);
  const size_t dimensions = trains && !continues ? data.points.n_rows :
      parameters.n_rows - (model->svm.FitIntercept() && parameters.n_rows > 0 ?
      1 : 0);
  if (trains)
  {
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
    if (continues)
    {
      dasgd::cli::OnAllRanks([&]()
      {
        dasgd::cli::CheckDimensions(data.points.n_rows, data.pointsName,
            dimensions, "the model, " + PRINT_PARAM_STRING("input_model"));
      });
      if (mappings.n_elem != model->mappings.n_elem ||
          arma::any(mappings != model->mappings))
      {
        throw std::invalid_argument("The model in " +
            PRINT_PARAM_STRING("input_model") + " is for other labels than "
            "those in " + data.labelsName + "; train a new one!");
      }
    }
    model->mappings = mappings;
    data.labels.transform([&](const size_t label)
    { return size_t(std::distance(known.begin(), known.find(label))); });
  }
  dasgd::cli::Dataset test;
  const auto readTest = [&]()
  { test = dasgd::cli::TestData(params, names, dimensions); };
  dasgd::cli::OnAllRanks([&]()
  {
    // Only the rank that writes looks at test data.
    if (tests && dasgd::cli::Rank() == 0)
      readTest();
  });

  dasgd::cli::Trained trained;
  if (trains)
  {
    const bool intercept = !params.Has("no_intercept");
    const dasgd::cli::Standardizer standardizer(params, data, names, intercept);
    // A column for each class, its intercept in the last row.
    arma::mat weights;
    arma::vec constant;
    const auto take = [&]()
    {
      weights = parameters.head_rows(dimensions).t();
      constant = intercept ? arma::vec(parameters.tail_rows(1).t()) :
          arma::vec(weights.n_rows, arma::fill::zeros);
    };
    const auto assign = [&]()
    {
      parameters.head_rows(dimensions) = weights.t();
      if (intercept)
        parameters.tail_rows(1) = constant.t();
    };
    if (continues && standardizer.Used() &&
        parameters.n_rows == dimensions + intercept)
    {
      take();
      standardizer.Enter(weights, constant);
      assign();
    }
    const size_t given = size_t(params.Get<int>("num_classes"));
    const size_t classes = (given == 0) ? model->mappings.n_elem : given;
    timers.Start("linear_svm_optimization");
    trained = dasgd::cli::Train(params, data, seed, dasgd::cli::Batch::Mean,
        standardizer.Scales(), continues ? dasgd::cli::ModelTag(parameters) :
        dasgd::cli::Tags(),
        [&](dasgd::cli::Captured optimizer)
        {
          model->svm.Train(data.points, data.labels, classes, optimizer,
              params.Get<double>("lambda"), params.Get<double>("delta"),
              intercept);
        });
    timers.Stop("linear_svm_optimization");
    if (standardizer.Used())
    {
      take();
      standardizer.Leave(weights, constant);
      assign();
    }
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
      arma::Row<size_t> classes;
      arma::mat scores;
      model->svm.Classify(test.points, classes, scores);
      if (classes.max() >= model->mappings.n_elem)
      {
        throw std::runtime_error("The model predicts class " +
            std::to_string(classes.max()) + ", for which it has no label; was "
            "it trained with too large a " +
            PRINT_PARAM_STRING("num_classes") + "?");
      }
      arma::Row<size_t> predictions(classes.n_elem);
      for (size_t i = 0; i < classes.n_elem; ++i)
        predictions[i] = model->mappings[classes[i]];
      accuracy = dasgd::cli::Predicted(params, test, names,
          std::move(predictions), std::set<size_t>(model->mappings.begin(),
          model->mappings.end()));
      if (params.Has("probabilities"))
        params.Get<arma::mat>("probabilities") = std::move(scores);
    }
    if (trains)
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
