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

#include <data/load.hpp>
#include <onnx/data.hpp>
#include <onnx/flush_denormals.hpp>
#include <onnx/objective.hpp>
#include <onnx/table.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <training/confusion.hpp>
#include <training/optimizer_params.hpp>
#include <training/train.hpp>

#include <dasgd/report/json_writer.hpp>

#include <memory>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Training of ONNX Models");

BINDING_SHORT_DESC(
    "A model from an ONNX file, exported by any framework, trained by "
    "decentralized asynchronous SGD on any number of processes.  Given data, a "
    "model can be trained and saved as another ONNX file; or it can be used on "
    "new points.");

BINDING_LONG_DESC(
    "Trains a model that another framework has exported as an ONNX file, on "
    "several processes at once, without a parameter server.  Gradients are "
    "computed by ONNX Runtime, with one thread for each process.  " +
    ProcessesText() + PRINT_PARAM_STRING("model_file") + " is the model.  The "
    "first dimension of its inputs and of its output is the batch.  Export it "
    "in training mode, or an exporter may leave Dropout and BatchNormalization "
    "out.  " +
    PRINT_PARAM_STRING("check") + " says, without any data, what would be "
    "trained and what is in the way.  " + PRINT_PARAM_STRING("freeze") +
    " names initializers that are not trained."
    "\n\n" +
    PRINT_PARAM_STRING("loss") + " is 'cross_entropy' for classes, numbered "
    "from 0, of a point or of each of its tokens or pixels; "
    "'binary_cross_entropy' for one or several answers of yes (1) or no (0); "
    "'mse' or 'mae' for numbers, by the square or the size of the error; or "
    "'model', if the model has an output that is the loss.  The first two take "
    "outputs before or after Softmax and Sigmoid."
    "\n\n"
    "Training data is read from " + PRINT_PARAM_STRING("training_file") +
    ", and what the model should make of it from " +
    PRINT_PARAM_STRING("labels_file") + " or the last column.  Files may be "
    "NumPy's .npy and .npz, CSV, TSV, ARFF, Armadillo binaries, or IDX files "
    "as MNIST and Fashion-MNIST have them, also compressed; pixels of IDX "
    "files are scaled to the range 0 to 1.  In an .npz file arrays have the "
    "names of the model's inputs, and what the model should give is called "
    "labels, targets or y.  With " + PRINT_PARAM_STRING("text") + " files are "
    "texts, and the model predicts the next byte after each."
    "\n\n"
    "With " + PRINT_PARAM_STRING("test_file") + " and what it should give, the "
    "loss on it is printed, and the accuracy, the perplexity or R^2; with " +
    PRINT_PARAM_STRING("epochs") + " after each epoch, too.  " +
    PRINT_PARAM_STRING("predictions") + " saves the predicted class of each "
    "test point, " + PRINT_PARAM_STRING("outputs") + " all outputs."
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
PARAM_FLAG("check", "Say what would be trained and all that is in the way; "
    "needs no data.", "");
PARAM_STRING_IN("loss", "What is minimized: 'cross_entropy', "
    "'binary_cross_entropy', 'mse', 'mae' or 'model'.", "", "cross_entropy");
PARAM_INT_IN("ignore_index", "Class that stands for nothing: where it is, the "
    "cross entropy takes no notice.", "", -100);
PARAM_STRING_IN("model_output", "The output to use, if the model has several.",
    "", "");
PARAM_STRING_IN("training_file", "Training data: .npy, .npz, CSV with one "
    "point per line, IDX, or text.", "t", "");
PARAM_STRING_IN("labels_file", "What the model should give for the training "
    "data: classes from 0, or numbers.", "l", "");
PARAM_STRING_IN("test_file", "Points to use the model on.", "T", "");
PARAM_STRING_IN("test_labels_file", "What the model should give for the test "
    "points; prints how good it is.", "L", "");
PARAM_STRING_IN("output_model_file", "File to save the trained ONNX model "
    "to.", "M", "");
PARAM_STRING_IN("freeze", "Initializers that are not trained, separated by "
    "commas; '*' in a name stands for anything.", "f", "");
PARAM_FLAG("text", "Files are texts; the model predicts each byte from those "
    "before it.", "");
PARAM_INT_IN("sequence_length", "Bytes of a text that make a point, or the "
    "length that --check takes, where the model leaves it open.", "", 0);
PARAM_DOUBLE_IN("scale", "Factor for all values, e.g. 0.00392157 for bytes; "
    "IDX files are scaled anyway.", "", 1.0);
PARAM_UROW_OUT("predictions",
    "File to save the predicted class of each test point to.", "P");
PARAM_MATRIX_OUT("outputs", "File to save all outputs for each test point to.",
    "O");

using Function = dasgd::OnnxFunction<arma::fmat>;
using dasgd::OnnxLoss;
using dasgd::onnx_program::DataSet;

//! How the parameters say to read the model.
static dasgd::OnnxOptions Options(util::Params& params, const size_t seed)
{
  dasgd::OnnxOptions options;
  std::istringstream names(params.Get<std::string>("freeze"));
  for (std::string name; std::getline(names, name, ',');)
    options.frozen.push_back(name);
  options.output = params.Get<std::string>("model_output");
  options.ignored = params.Get<int>("ignore_index");
  options.open = size_t(params.Get<int>("sequence_length"));
  options.threads = size_t(params.Get<int>("threads"));
  // Every rank drops other values.
  options.seed = seed * 1000 + dasgd::cli::Rank();
  return options;
}

static OnnxLoss Loss(util::Params& params)
{ return dasgd::ParseOnnxLoss(params.Get<std::string>("loss")); }

//! Say all about a model, and fail if it cannot be trained.
static void Check(util::Params& params)
{
  dasgd::OnnxOptions options = Options(params, 1);
  const std::string file = params.Get<std::string>("model_file");
  const dasgd::OnnxReport report = dasgd::CheckOnnxModel(file, options,
      Loss(params));
  std::cout << dasgd::onnx_program::ReportText(report) << std::flush;
  if (!report.problems.empty())
    throw std::runtime_error("'" + file + "' cannot be trained as it is!");
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
  for (const std::string name : { "test_labels_file", "predictions",
      "outputs" })
    ReportIgnoredParam(params, {{ "test_file", false }}, name);
  for (const std::string name : { "labels_file", "test_labels_file" })
    ReportIgnoredParam(params, {{ "text", true }}, name);
  RequireParamValue<double>(params, "scale", [](double x)
      { return std::isfinite(x); }, true, "scale must be finite");
  RequireParamValue<int>(params, "sequence_length", [](int x)
      { return x >= 0; }, true, "a length is 1 or more");
  Loss(params);
}

//! Bytes in a point of a text: as many as the model takes tokens.
static size_t TextLength(util::Params& params,
                         const dasgd::OnnxOptions& options)
{
  const std::string file = params.Get<std::string>("model_file");
  std::vector<dasgd::OnnxInput> inputs;
  try
  {
    inputs = Function(file, options).Inputs();
  }
  catch (const std::exception& e)
  {
    if (options.open > 0)
      throw;
    throw std::invalid_argument(std::string(e.what()) + ".  If that is the "
        "length of the text that it takes, give " +
        PRINT_PARAM_STRING("sequence_length") + "!");
  }
  if (inputs.size() != 1 || inputs[0].dims.size() != 1)
  {
    throw std::invalid_argument("For texts, '" + file + "' has to have one "
        "input of two dimensions, batch and length; it has " +
        std::to_string(inputs.size()) + ", the first of them with " +
        std::to_string(inputs[0].dims.size() + 1) + " dimensions!");
  }
  return size_t(inputs[0].dims[0]);
}

//! Checksums of everything that training uses.
static dasgd::cli::Tags DataTags(util::Params& params, const DataSet& set)
{
  dasgd::cli::Tags tags;
  const auto add = [&](const std::string& name, const dasgd::OnnxArray& array)
  {
    std::visit([&](const auto& values)
    {
      dasgd::cli::Append(tags, dasgd::cli::DataTag(params, name,
          values.memptr(), values.n_elem * sizeof(*values.memptr())));
    }, array.values);
  };
  for (const dasgd::OnnxArray& array : set.inputs)
    add("points" + (array.name.empty() ? "" : " '" + array.name + "'"), array);
  add("labels", set.targets);
  return tags;
}

//! Is there more than one class for each point, as in a text?
static bool OfTokens(const dasgd::OnnxArray& targets)
{ return targets.Rows() > 1; }

//! What is found out about test points.
struct Tested
{
  double accuracy = arma::datum::nan;
  dasgd::cli::Tags tags;
};

//! Print how many predictions are right; false if points have labels that are
//! ignored, which have no place in a table.
static bool PrintConfusion(const arma::Row<size_t>& predictions,
                           const dasgd::OnnxArray& targets,
                           const size_t classes)
{
  arma::Row<size_t> labels(predictions.n_elem);
  bool all = true;
  std::visit([&](const auto& values)
  {
    for (size_t i = 0; i < labels.n_elem; ++i)
    {
      all = all && values[i] >= 0;
      labels[i] = size_t(values[i]);
    }
  }, targets.values);
  if (all)
  {
    std::cout << dasgd::cli::ConfusionText(predictions, labels,
        dasgd::cli::FirstNumbers(classes));
  }
  return all;
}

//! A model with the data that options name.
class OnnxRun
{
 public:
  OnnxRun(util::Params& params, const size_t seed) :
      params(params),
      seed(seed),
      trains(params.Has("training_file")),
      tests(params.Has("test_file")),
      loss(Loss(params)),
      options(Options(params, seed))
  { }

  //! All that may be wrong on one rank only is found before any goes on.
  void Load();

  void Train();

  //! Test and save what was trained, on the rank that writes.
  void Finish();

 private:
  DataSet Read(const std::string& points,
               const std::string& labels,
               const bool training) const;
  DataSet ReadTest() const
  { return Read("test_file", "test_labels_file", false); }

  //! Is there anything to compare outputs for test points with?
  bool Scored() const
  {
    return !test.Empty() && (test.targets.Points() > 0 ||
        loss == OnnxLoss::Model);
  }

  std::string TestText(const dasgd::OnnxScore& score) const
  {
    return "test " + dasgd::onnx_program::ScoreText(score,
        loss == OnnxLoss::CrossEntropy && OfTokens(test.targets));
  }

  //! Print how well training and test points are predicted after an epoch.
  void PrintEpoch(const arma::fmat& weights,
                  const size_t epoch,
                  const double mean);

  //! Predict test points.
  Tested Test();

  util::Params& params;
  size_t seed;
  bool trains;
  bool tests;
  OnnxLoss loss;
  dasgd::OnnxOptions options;
  //! Bytes that make a point of a text; 0 if files are no texts.
  size_t textLength = 0;
  DataSet test;
  std::unique_ptr<Function> function;
  arma::fmat iterate;
  dasgd::cli::Tags tags;
  dasgd::cli::Trained trained;
};

DataSet OnnxRun::Read(const std::string& points,
                      const std::string& labels,
                      const bool training) const
{
  dasgd::onnx_program::DataOptions how;
  how.classes = loss == OnnxLoss::CrossEntropy;
  how.scale = params.Get<double>("scale");
  how.textLength = textLength;
  how.targeted = training && loss != OnnxLoss::Model;
  how.sharded = training && params.Has("sharded");
  return dasgd::onnx_program::ReadData(params.Get<std::string>(points),
      params.Get<std::string>(labels), PRINT_PARAM_STRING(points),
      PRINT_PARAM_STRING(labels), how);
}

void OnnxRun::Load()
{
  const std::string file = params.Get<std::string>("model_file");
  if (params.Has("text"))
    textLength = TextLength(params, options);
  // Only rank 0 looks at test data.
  if (tests && dasgd::cli::Rank() == 0)
    test = ReadTest();
  DataSet train = trains ? Read("training_file", "labels_file", true) : test;
  if (trains)
    tags = DataTags(params, train);
  if (!train.Empty())
  {
    function = std::make_unique<Function>(file, std::move(train.inputs),
        std::move(train.targets), loss, options);
    iterate = function->GetInitialPoint();
    dasgd::cli::Append(tags, dasgd::cli::ModelTag(iterate));
  }
  if (function && dasgd::cli::Rank() == 0)
  {
    for (const std::string& name : function->Unmatched())
    {
      mlpack::Log::Warn << PRINT_PARAM_STRING("freeze") << ": no initializer "
          << "is called '" << name << "'; " << PRINT_PARAM_STRING("check")
          << " lists those that are trained." << std::endl;
    }
  }
  // What is wrong with test data shows before training, too.
  if (Scored())
    function->Score(iterate, test.inputs, test.targets);
}

void OnnxRun::PrintEpoch(const arma::fmat& weights,
                         const size_t epoch,
                         const double mean)
{
  std::cout << "epoch " << epoch << ": training loss "
      << dasgd::onnx_program::Short(mean);
  if (Scored())
  {
    // Those of this rank lag behind what others have done.
    const size_t batch = size_t(params.Get<int>("batch_size"));
    arma::fmat gradient;
    if (dasgd::cli::Ranks() > 1)
    {
      dasgd::RenewStatistics(*function, weights, gradient, batch, epoch,
          function->NumFunctions() / batch / 10);
    }
    std::cout << "; " << TestText(function->Score(weights, test.inputs,
        test.targets));
  }
  std::cout << std::endl;
}

void OnnxRun::Train()
{
  std::cout << dasgd::onnx_program::NodeTable(function->Nodes()) << std::endl;
  const bool lines = params.Get<int>("epochs") > 0;
  dasgd::onnx_program::Objective objective(*function,
      [&](const arma::fmat& weights, const size_t epoch, const double mean)
  {
    if (lines)
      PrintEpoch(weights, epoch, mean);
  });
  const dasgd::onnx_program::FlushDenormals flush;
  trained = dasgd::cli::Train(params, function->NumFunctions(), seed,
      dasgd::cli::Batch::Sum, tags, [&](dasgd::cli::Captured optimizer)
      { optimizer.Optimize(objective, iterate); });
}

Tested OnnxRun::Test()
{
  Tested tested;
  const bool single = loss == OnnxLoss::CrossEntropy &&
      function->OutputDims().size() == 1;
  if (params.Has("predictions") && !single)
  {
    throw std::invalid_argument(PRINT_PARAM_STRING("predictions") + " is for "
        "one class for each point; give " + PRINT_PARAM_STRING("outputs") +
        "!");
  }
  arma::fmat output;
  arma::Row<size_t> predictions;
  if (single || params.Has("outputs"))
    function->Predict(iterate, test.inputs, output);
  if (single)
  {
    predictions.set_size(output.n_cols);
    for (size_t i = 0; i < output.n_cols; ++i)
      predictions[i] = output.col(i).index_max();
  }
  if (Scored())
  {
    const dasgd::OnnxScore score = function->Score(iterate, test.inputs,
        test.targets);
    using dasgd::report::JsonNumber;
    tested.tags.emplace_back("test_loss", JsonNumber(score.loss));
    if (score.name == "accuracy")
      tested.accuracy = score.value;
    else if (!score.name.empty())
      tested.tags.emplace_back("test_r2", JsonNumber(score.value));
    if (!single || !PrintConfusion(predictions, test.targets,
        function->OutputSize()))
      std::cout << TestText(score) << '\n';
    std::cout << std::flush;
  }
  if (params.Has("predictions"))
    params.Get<arma::Row<size_t>>("predictions") = std::move(predictions);
  if (params.Has("outputs"))
  {
    params.Get<arma::mat>("outputs") =
        arma::conv_to<arma::mat>::from(output);
  }
  return tested;
}

void OnnxRun::Finish()
{
  // In place of rank 0.
  if (tests && test.Empty())
    test = ReadTest();
  Tested tested;
  if (tests)
    tested = Test();
  if (!trains)
    return;
  if (params.Has("output_model_file"))
    function->Save(params.Get<std::string>("output_model_file"), iterate);
  dasgd::cli::SaveReports(params, trained, tested.accuracy, tested.tags);
}

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  if (params.Has("check"))
  {
    Check(params);
    return;
  }
  dasgd::cli::CheckTraining(params);
  CheckOptions(params);
  OnnxRun run(params, dasgd::cli::Seed(params));
  timers.Start("loading_points");
  dasgd::cli::OnAllRanks([&]() { run.Load(); });
  timers.Stop("loading_points");
  if (params.Has("training_file"))
  {
    timers.Start("onnx_optimization");
    run.Train();
    timers.Stop("onnx_optimization");
  }
  dasgd::cli::OnAllRanks([&]()
  {
    if (dasgd::cli::Writes())
      run.Finish();
  });
}
