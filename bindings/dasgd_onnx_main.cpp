/**
 * @file dasgd_onnx_main.cpp
 *
 * ONNX models from the command line, trained decentrally.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack/core.hpp>

#undef BINDING_NAME
#define BINDING_NAME dasgd_onnx

#include <mlpack/core/util/mlpack_main.hpp>

#include <common/classifier.hpp>
#include <common/optimizer_params.hpp>
#include <common/train.hpp>
#include <ffn/points.hpp>
#include <onnx/double_iterate.hpp>
#include <onnx/table.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>

#include <memory>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Training of ONNX Models");

BINDING_SHORT_DESC(
    "An ONNX model for classification, from any framework, trained by "
    "decentralized asynchronous SGD on any number of processes.  Given labeled "
    "data, a model can be trained and saved as another ONNX file; or it can be "
    "used to classify new points.");

BINDING_LONG_DESC(
    "Trains a model that another framework has exported as an ONNX file, on "
    "several processes at once, without a parameter server.  Gradients are "
    "computed by ONNX Runtime, with one thread for each process.  "
    "Each process computes gradients on its part of the points, sends them to "
    "the others without waiting, and applies everybody's; all end with the "
    "same model.  Start processes with " + PRINT_PARAM_STRING("ranks") +
    ", or run the program under mpirun; otherwise it is plain SGD."
    "\n\n" +
    PRINT_PARAM_STRING("model_file") + " is the model.  It has one input, "
    "whose first dimension is the batch and open, and one output: for each "
    "point a number for each class.  It is trained by the cross entropy of the softmax "
    "of these, whether the model ends in Softmax, in LogSoftmax or before.  "
    "Export it in training mode, or an exporter may leave Dropout and "
    "BatchNormalization out.  " + PRINT_PARAM_STRING("frozen") +
    " names initializers that are not trained."
    "\n\n"
    "Training data is read from " + PRINT_PARAM_STRING("training_file") +
    ", and its labels, numbered from 0, from " +
    PRINT_PARAM_STRING("labels_file") + " or the last column.  Files may be "
    "CSV, TSV, ARFF, Armadillo binaries, or IDX files as MNIST and "
    "Fashion-MNIST have them, also compressed; pixels of IDX files are scaled "
    "to the range 0 to 1.  Images are rows of pixels, one channel after the "
    "other.  " + PRINT_PARAM_STRING("predictions") + " saves the predicted "
    "class of each point in " + PRINT_PARAM_STRING("test_file") + ".  With " +
    PRINT_PARAM_STRING("test_labels_file") + " the accuracy and the confusion "
    "matrix are printed."
    "\n\n" +
    PRINT_PARAM_STRING("output_model_file") + " saves the trained model, which "
    "any program that reads ONNX files can use.");

BINDING_EXAMPLE(
    "To train a model with the images in " + PRINT_DATASET("images") +
    " on two processes and save it:"
    "\n\n" +
    PRINT_CALL("dasgd_onnx", "model_file", "net.onnx", "training_file",
        "images.csv", "labels_file", "labels.csv", "step_size", 0.05, "epochs",
        5, "ranks", 2, "output_model_file", "trained.onnx") +
    "\n\n"
    "To classify other images with it:"
    "\n\n" +
    PRINT_CALL("dasgd_onnx", "model_file", "trained.onnx", "test_file",
        "test.csv", "predictions", "predictions"));

PARAM_STRING_IN_REQ("model_file", "The ONNX model.", "m");
PARAM_STRING_IN("training_file", "Training data, one point per line, or IDX "
    "images.", "t", "");
PARAM_STRING_IN("labels_file", "Labels of the training data, from 0.", "l", "");
PARAM_STRING_IN("test_file", "Points to classify.", "T", "");
PARAM_STRING_IN("test_labels_file", "Labels of the test points; prints the "
    "accuracy.", "L", "");
PARAM_STRING_IN("output_model_file", "File to save the trained ONNX model "
    "to.", "M", "");
PARAM_STRING_IN("frozen", "Initializers that are not trained, separated by "
    "commas; NAME* stands for all that begin so.", "f", "");
PARAM_DOUBLE_IN("scale", "Factor for all values, e.g. 0.00392157 for bytes; "
    "IDX files are scaled anyway.", "", 1.0);
PARAM_UROW_OUT("predictions",
    "File to save the predicted class of each test point to.", "P");

using Function = dasgd::OnnxFunction<arma::fmat>;
using dasgd::onnx_program::DoubleIterate;

//! How the parameters say to read the model.
static dasgd::OnnxOptions Options(util::Params& params, const size_t seed)
{
  dasgd::OnnxOptions options;
  std::istringstream names(params.Get<std::string>("frozen"));
  for (std::string name; std::getline(names, name, ',');)
    options.frozen.push_back(name);
  options.threads = size_t(params.Get<int>("threads"));
  // Every rank drops other values.
  options.seed = seed * 1000 + dasgd::cli::Rank();
  return options;
}

//! Numbers of single precision, without a second copy in memory for long.
static arma::fmat Single(arma::mat&& values)
{
  arma::fmat result;
  DoubleIterate::Convert(values, result);
  values.reset();
  return result;
}

//! Predict test points; returns the accuracy, not a number without labels.
static double Test(util::Params& params,
                   Function& function,
                   const arma::fmat& weights,
                   dasgd::ffn::Points& test)
{
  arma::fmat output;
  function.Predict(weights, Single(std::move(test.values)), output);
  arma::Row<size_t> predictions(output.n_cols);
  for (size_t i = 0; i < output.n_cols; ++i)
    predictions[i] = output.col(i).index_max();
  double accuracy = arma::datum::nan;
  if (params.Has("test_labels_file"))
  {
    std::cout << dasgd::cli::ConfusionText(predictions, test.labels,
        dasgd::cli::FirstNumbers(function.OutputSize())) << std::flush;
    accuracy = dasgd::cli::Accuracy(predictions, test.labels);
  }
  if (params.Has("predictions"))
    params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
  return accuracy;
}

static void CheckOptions(util::Params& params)
{
  RequireAtLeastOnePassed(params, { "training_file", "test_file" }, true,
      "there is nothing to do");
  if (params.Has("training_file"))
  {
    RequireAtLeastOnePassed(params, { "output_model_file" }, false,
        "trained model will not be saved");
  }
  for (const std::string name : { "labels_file", "output_model_file" })
    ReportIgnoredParam(params, {{ "training_file", false }}, name);
  for (const std::string name : { "test_labels_file", "predictions" })
    ReportIgnoredParam(params, {{ "test_file", false }}, name);
  RequireParamValue<double>(params, "scale", [](double x)
      { return std::isfinite(x); }, true, "scale must be finite");
}

//! Check that points and labels suit a model.
static void CheckPoints(const dasgd::ffn::Points& points,
                        const Function& model,
                        const std::string& pointsName,
                        const std::string& labelsName)
{
  dasgd::cli::CheckDimensions(points.values.n_rows, pointsName,
      model.InputSize(), "the model");
  dasgd::cli::CheckRange(points.labels, model.OutputSize(), labelsName,
      "the model has " + std::to_string(model.OutputSize()) + " outputs: it "
      "needs one for each class");
}

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  const bool trains = params.Has("training_file");
  const bool tests = params.Has("test_file");
  CheckOptions(params);
  const size_t seed = dasgd::cli::Seed(params);
  const auto read = [&](const std::string& points, const std::string& labels,
                        const bool labelled, const bool sharded)
  {
    return dasgd::ffn::ReadPoints(params.Get<std::string>(points),
        params.Get<std::string>(labels), PRINT_PARAM_STRING(points),
        PRINT_PARAM_STRING(labels), labelled, sharded,
        params.Get<double>("scale"));
  };
  const std::string labelsName = PRINT_PARAM_STRING(
      params.Has("labels_file") ? "labels_file" : "training_file");

  // All that may be wrong on one rank only is found before any goes on.
  dasgd::ffn::Points train, test;
  std::unique_ptr<Function> function;
  dasgd::cli::Tags tags;
  arma::mat iterate;
  timers.Start("loading_points");
  dasgd::cli::OnAllRanks([&]()
  {
    const std::string file = params.Get<std::string>("model_file");
    const dasgd::OnnxOptions options = Options(params, seed);
    function = std::make_unique<Function>(file, options);
    DoubleIterate::Convert(function->GetInitialPoint(), iterate);
    // Only rank 0 looks at test data.
    if (tests && dasgd::cli::Rank() == 0)
    {
      test = read("test_file", "test_labels_file", false, false);
      CheckPoints(test, *function, PRINT_PARAM_STRING("test_file"),
          PRINT_PARAM_STRING("test_labels_file"));
    }
    if (!trains)
      return;
    train = read("training_file", "labels_file", true, params.Has("sharded"));
    CheckPoints(train, *function, PRINT_PARAM_STRING("training_file"),
        labelsName);
    tags = dasgd::cli::DataTags(params, train.values, train.labels);
    dasgd::cli::Append(tags, dasgd::cli::ModelTag(iterate));
    function = std::make_unique<Function>(file,
        Single(std::move(train.values)), train.labels, options);
  });
  timers.Stop("loading_points");

  dasgd::cli::Trained trained;
  if (trains)
  {
    dasgd::cli::RequireClasses(train.labels, labelsName);
    std::cout << dasgd::onnx_program::NodeTable(*function) << std::endl;
    timers.Start("onnx_optimization");
    DoubleIterate objective(*function);
    trained = dasgd::cli::Train(params, function->NumFunctions(), seed,
        dasgd::cli::Batch::Sum, tags, [&](dasgd::cli::Captured optimizer)
        { optimizer.Optimize(objective, iterate); });
    timers.Stop("onnx_optimization");
  }

  dasgd::cli::OnAllRanks([&]()
  {
    if (!dasgd::cli::Writes())
      return;
    // In place of rank 0.
    if (tests && test.values.empty())
      test = read("test_file", "test_labels_file", false, false);
    arma::fmat weights;
    DoubleIterate::Convert(iterate, weights);
    double accuracy = arma::datum::nan;
    if (tests)
      accuracy = Test(params, *function, weights, test);
    if (trains && params.Has("output_model_file"))
    {
      function->Save(params.Get<std::string>("output_model_file"), weights);
    }
    if (trains)
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
