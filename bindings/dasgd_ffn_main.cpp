/**
 * @file dasgd_ffn_main.cpp
 *
 * Feed-forward and convolutional networks from the command line, trained
 * decentrally.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <ffn/model.hpp>

#undef BINDING_NAME
#define BINDING_NAME dasgd_ffn

#include <mlpack/core/util/mlpack_main.hpp>

#include <data/data_params.hpp>
#include <data/dataset.hpp>
#include <ffn/points.hpp>
#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>
#include <training/classifier.hpp>
#include <training/optimizer_params.hpp>
#include <training/train.hpp>

using namespace mlpack;
using namespace mlpack::util;

BINDING_USER_NAME("Decentralized Training of Neural Networks");

BINDING_SHORT_DESC(
    "A feed-forward or convolutional network for classification, described in "
    "one line and trained by decentralized asynchronous SGD on any number of "
    "processes.  Given labeled data, a network can be trained and saved; or a "
    "network can be used to classify new points.");

BINDING_LONG_DESC(
    "Trains a neural network of mlpack for classification on several processes "
    "at once, without a parameter server.  "
    "Each process computes gradients on its part of the points, sends them to "
    "the others without waiting, and applies everybody's; all end with the "
    "same model.  Start processes with " + PRINT_PARAM_STRING("ranks") +
    ", or run the program under mpirun; otherwise it is plain SGD."
    "\n\n"
    "The network is described by " + PRINT_PARAM_STRING("layers") + " or in " +
    PRINT_PARAM_STRING("layers_file") + ", one word per layer: "
    "conv:FxWxH (F maps, kernels of W x H; with :stride=S and "
    ":pad=same|valid|P), maxpool:WxH and meanpool:WxH (with :stride=S), "
    "linear:N, relu, leakyrelu:A, elu:A, gelu, sigmoid, tanh, softplus, "
    "dropout:RATIO, batchnorm and, at the end, logsoftmax.  " +
    PRINT_PARAM_STRING("input_shape") + " gives the shape of a point: 28x28x1 "
    "is a gray image of 28 x 28 pixels, 784 a vector.  The default is the "
    "shape of IDX images, and a vector for other files."
    "\n\n"
    "Training data is read from " + PRINT_PARAM_STRING("training_file") +
    ", and its labels, words or whole numbers, from " +
    PRINT_PARAM_STRING("labels_file") + " or a column.  Files may be CSV or "
    "TSV, with or without a header, ARFF, NumPy's .npy, Armadillo binaries, or "
    "IDX files as MNIST and Fashion-MNIST have them, also compressed; pixels "
    "of IDX files are scaled to the range 0 to 1.  " +
    PRINT_PARAM_STRING("predictions") + " saves the "
    "predicted class of each point in " + PRINT_PARAM_STRING("test_file") +
    ", and " + PRINT_PARAM_STRING("probabilities") + " the probabilities of "
    "the classes.  With " + PRINT_PARAM_STRING("test_labels_file") + " the "
    "accuracy and the confusion matrix are printed."
    "\n\n" +
    PRINT_PARAM_STRING("output_model") + " saves the network as mlpack's "
    "FFN<>, which any program with mlpack can load; " +
    PRINT_PARAM_STRING("input_model") + " loads one, to train it further or to "
    "use it.");

BINDING_EXAMPLE(
    "To train a small convolutional network with the images in " +
    PRINT_DATASET("images") + ", 28 x 28 pixels in each row, on two processes, "
    "and save it to " + PRINT_MODEL("cnn") + ":"
    "\n\n" +
    PRINT_CALL("dasgd_ffn", "training_file", "images.csv", "labels_file",
        "labels.csv", "input_shape", "28x28x1", "layers", "conv:8x5x5 relu "
        "maxpool:2x2 linear:10 logsoftmax", "update", "momentum", "step_size",
        0.05, "epochs", 5, "ranks", 2, "output_model", "cnn") +
    "\n\n"
    "To classify other images with it:"
    "\n\n" +
    PRINT_CALL("dasgd_ffn", "input_model", "cnn", "test_file", "test.csv",
        "predictions", "predictions"));

using dasgd::ffn::Network;

PARAM_STRING_IN("layers", "Layers of the network, one word per layer.", "y",
    "");
PARAM_STRING_IN("layers_file", "File with the layers; '#' starts a "
    "comment.", "Y", "");
PARAM_STRING_IN("input_shape", "Shape of a point: WIDTHxHEIGHTxCHANNELS or a "
    "number.", "i", "");
PARAM_DOUBLE_IN("scale", "Factor for all values, e.g. 0.00392157 for bytes; "
    "IDX files are scaled anyway.", "", 1.0);
PARAM_MODEL_IN(Network, "input_model", "Existing network, to use or to train "
    "further.", "m");
PARAM_MODEL_OUT(Network, "output_model", "File to save the network to.",
    "M");
PARAM_MATRIX_OUT("probabilities",
    "File to save the probabilities of the classes of each test point to.",
    "p");

//! A new network with random weights, as the parameters describe it.
static Network* MakeNetwork(util::Params& params, const dasgd::ffn::Shape& shape)
{
  const std::string name = params.Has("layers_file") ? "layers_file" : "layers";
  std::string text = params.Get<std::string>(name);
  if (name == "layers_file")
    text = dasgd::ffn::ReadText(text, PRINT_PARAM_STRING(name));
  try
  {
    const auto layers = dasgd::ffn::ParseLayers(text);
    dasgd::ffn::ClassCount(layers, shape);
    return dasgd::ffn::MakeNetwork(layers, shape).release();
  }
  catch (const std::invalid_argument& e)
  {
    throw std::invalid_argument("Invalid value of " + PRINT_PARAM_STRING(name) +
        " specified: " + e.what());
  }
}

//! The shape of a point: as given, or else as the file has it.
static dasgd::ffn::Shape InputShape(util::Params& params,
                                    const dasgd::cli::Dataset& data)
{
  dasgd::ffn::Shape shape;
  if (!params.Has("input_shape"))
  {
    shape.flat = data.width == 0;
    shape.width = shape.flat ? data.points.n_rows : data.width;
    shape.height = shape.flat ? 1 : data.height;
    return shape;
  }
  const std::string name = PRINT_PARAM_STRING("input_shape");
  try
  {
    shape = dasgd::ffn::ParseShape(params.Get<std::string>("input_shape"));
  }
  catch (const std::invalid_argument& e)
  {
    throw std::invalid_argument("Invalid value of " + name + " specified: " +
        e.what());
  }
  if (shape.Elements() != data.points.n_rows)
  {
    throw std::invalid_argument("Invalid value of " + name + " specified (" +
        shape.ToString() + "): these are " + std::to_string(shape.Elements()) +
        " values, but points in " + data.pointsName + " have " +
        std::to_string(data.points.n_rows) + "!");
  }
  return shape;
}

//! The number of values that a network takes, and of those that it puts out.
static size_t Inputs(const Network& network)
{
  const std::vector<size_t>& shape = network.InputDimensions();
  return std::accumulate(shape.begin(), shape.end(), size_t(1),
      std::multiplies<size_t>());
}
static size_t Outputs(const Network& network)
{ return network.Network().back()->OutputSize(); }

/**
 * Make a network of standardized points one of points as they were, or the other
 * way: its first layer, which must be linear, takes that up.
 */
static void Rescale(Network& network,
                    const dasgd::cli::Standardizer& standardizer,
                    void (dasgd::cli::Standardizer::*action)(arma::mat&,
                        arma::vec&) const)
{
  if (!standardizer.Used())
    return;
  const size_t inputs = Inputs(network);
  // Through a const network: else mlpack forgets what it knows of the layers.
  const size_t units = std::as_const(network).Network().front()->WeightSize() /
      (inputs + 1);
  arma::mat& parameters = network.Parameters();
  arma::mat weights(parameters.memptr(), units, inputs);
  arma::vec constant(parameters.memptr() + weights.n_elem, units);
  (standardizer.*action)(weights, constant);
  std::copy(weights.begin(), weights.end(), parameters.memptr());
  std::copy(constant.begin(), constant.end(), parameters.memptr() +
      weights.n_elem);
}

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  const bool trains = params.Has("training_file");
  const bool tests = params.Has("test_file");
  dasgd::cli::CheckClassifier(params);
  if (trains)
  {
    RequireOnlyOnePassed(params, { "layers", "layers_file", "input_model" },
        true, "these say what to train");
  }
  for (const std::string name : { "layers", "layers_file", "input_shape" })
    ReportIgnoredParam(params, {{ "training_file", false }}, name);
  RequireParamValue<double>(params, "scale", [](double x)
      { return std::isfinite(x); }, true, "scale must be finite");
  const size_t seed = dasgd::cli::Seed(params);
  const auto scale = [&](dasgd::cli::Dataset& data)
  {
    if (data.width == 0 && params.Get<double>("scale") != 1)
      data.points *= params.Get<double>("scale");
  };

  Network* network = params.Get<Network*>("input_model");
  dasgd::cli::DataNames names;
  dasgd::cli::OnAllRanks([&]()
  {
    if (network)
      names = dasgd::cli::InputNames(params, network->Parameters());
  });
  timers.Start("loading_points");
  dasgd::cli::Dataset data = dasgd::cli::TrainingData(params, names);
  scale(data);
  timers.Stop("loading_points");
  dasgd::cli::OnAllRanks([&]()
  {
    if (!network)
      network = MakeNetwork(params, InputShape(params, data));
    params.Get<Network*>("output_model") = network;
    dasgd::ffn::ComputeLayerSizes(*network);
  });
  const size_t inputs = Inputs(*network), classes = Outputs(*network);
  if (trains)
  {
    dasgd::cli::NumberLabels(data, names, classes, "the network has " +
        std::to_string(classes) + " outputs: give the last linear layer as "
        "many as there are classes");
  }
  dasgd::cli::Dataset test;
  const auto readTest = [&]()
  {
    test = dasgd::cli::TestData(params, names, inputs);
    scale(test);
  };
  dasgd::cli::OnAllRanks([&]()
  {
    if (trains)
    {
      dasgd::cli::CheckDimensions(data.points.n_rows, data.pointsName, inputs,
          "the network");
    }
    if (params.Has("standardize") && trains && dasgd::ffn::FirstLayer(*network)
        != "Linear")
    {
      throw std::invalid_argument(PRINT_PARAM_STRING("standardize") + " needs a "
          "network whose first layer is 'linear', but it is '" +
          dasgd::ffn::FirstLayer(*network) + "'; leave it out, and use " +
          PRINT_PARAM_STRING("scale") + " or 'batchnorm'!");
    }
    // Only the rank that writes looks at test data.
    if (tests && dasgd::cli::Rank() == 0)
      readTest();
  });

  dasgd::cli::Trained trained;
  if (trains)
  {
    std::cout << dasgd::ffn::NetworkTable(*network) << std::endl;
    dasgd::cli::Tags tags;
    if (params.Has("input_model"))
      tags = dasgd::cli::ModelTag(network->Parameters());
    if (params.Has("layers_file"))
    {
      tags.emplace_back("the layers in --layers_file", dasgd::ffn::ReadText(
          params.Get<std::string>("layers_file"), ""));
    }
    const dasgd::cli::Standardizer standardizer(params, data, names, true);
    if (params.Has("input_model"))
      Rescale(*network, standardizer, &dasgd::cli::Standardizer::Enter);
    timers.Start("ffn_optimization");
    trained = dasgd::cli::Train(params, data, seed, dasgd::cli::Batch::Sum,
        standardizer.Scales(), tags,
        [&](dasgd::cli::Captured optimizer)
        {
          dasgd::ffn::Train(*network, std::move(data.points), data.labels,
              optimizer);
        });
    timers.Stop("ffn_optimization");
    Rescale(*network, standardizer, &dasgd::cli::Standardizer::Leave);
    dasgd::cli::SaveNames(params, names, network->Parameters());
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
      timers.Start("ffn_prediction");
      arma::mat output;
      dasgd::ffn::Predict(*network, test.points, output);
      timers.Stop("ffn_prediction");
      arma::Row<size_t> predictions(output.n_cols);
      for (size_t i = 0; i < output.n_cols; ++i)
        predictions[i] = output.col(i).index_max();
      accuracy = dasgd::cli::Predicted(params, test, names,
          std::move(predictions), dasgd::cli::FirstNumbers(classes));
      if (params.Has("probabilities"))
        params.Get<arma::mat>("probabilities") = arma::exp(output);
    }
    if (trains)
      dasgd::cli::SaveReports(params, trained, accuracy);
  });
}
