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
#include <ranks/failure.hpp>
#include <training/classifier.hpp>
#include <training/confusion.hpp>
#include <training/optimizer_params.hpp>

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
    "at once, without a parameter server.  " + ProcessesText() +
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
static Network* MakeNetwork(util::Params& params,
                            const dasgd::ffn::Shape& shape)
{
  const std::string name = params.Has("layers_file") ? "layers_file" : "layers";
  std::string text = params.Get<std::string>(name);
  if (name == "layers_file")
    text = dasgd::cli::InputFile(text, PRINT_PARAM_STRING(name), false).Text();
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

//! A network of mlpack.
class NetworkClassifier : public dasgd::cli::Classifier
{
 public:
  explicit NetworkClassifier(util::Params& params) :
      params(params),
      network(params.Get<Network*>("input_model"))
  { }

  void Scale(dasgd::cli::Dataset& data) override
  {
    if (data.width == 0 && params.Get<double>("scale") != 1)
      data.points *= params.Get<double>("scale");
  }

  void Prepare(dasgd::cli::Dataset& data, dasgd::cli::DataNames& names) override
  {
    dasgd::cli::OnAllRanks([&]()
    {
      if (!network)
        network = MakeNetwork(params, InputShape(params, data));
      params.Get<Network*>("output_model") = network;
      dasgd::ffn::ComputeLayerSizes(*network);
    });
    if (!params.Has("training_file"))
      return;
    const size_t classes = Outputs(*network);
    dasgd::cli::NumberLabels(data, names, classes, "the network has " +
        std::to_string(classes) + " outputs: give the last linear layer as "
        "many as there are classes");
    const std::string first = dasgd::ffn::FirstLayer(*network);
    if (params.Has("standardize") && first != "Linear")
    {
      throw std::invalid_argument(PRINT_PARAM_STRING("standardize") + " needs "
          "a network whose first layer is 'linear', but it is '" + first +
          "'; leave it out, and use " + PRINT_PARAM_STRING("scale") +
          " or 'batchnorm'!");
    }
  }

  size_t Dimensions() const override { return Inputs(*network); }
  std::string Origin() const override { return "the network"; }
  arma::mat& Parameters() override { return network->Parameters(); }
  std::set<size_t> Classes() const override
  { return dasgd::cli::FirstNumbers(Outputs(*network)); }
  dasgd::cli::Batch Loss() const override { return dasgd::cli::Batch::Sum; }

  dasgd::cli::Tags CheckpointTags(const bool continues) override
  {
    dasgd::cli::Tags tags = Classifier::CheckpointTags(continues);
    if (params.Has("layers_file"))
    {
      tags.emplace_back("the layers in --layers_file",
          dasgd::cli::InputFile(params.Get<std::string>("layers_file"), "",
          false).Text());
    }
    return tags;
  }

  //! Those of the first layer, which is linear.
  void ChangeWeights(
      const std::function<void(arma::mat&, arma::vec&)>& change) override
  {
    const size_t inputs = Inputs(*network);
    // Through a const network: else mlpack forgets what it knows of the layers.
    const size_t units =
        std::as_const(*network).Network().front()->WeightSize() / (inputs + 1);
    arma::mat& parameters = network->Parameters();
    arma::mat weights(parameters.memptr(), units, inputs);
    arma::vec constant(parameters.memptr() + weights.n_elem, units);
    change(weights, constant);
    std::copy(weights.begin(), weights.end(), parameters.memptr());
    std::copy(constant.begin(), constant.end(), parameters.memptr() +
        weights.n_elem);
  }

  void Train(dasgd::cli::Dataset& data, dasgd::cli::Captured optimizer) override
  {
    std::cout << dasgd::ffn::NetworkTable(*network) << std::endl;
    dasgd::ffn::Train(*network, std::move(data.points), data.labels, optimizer);
  }

  arma::Row<size_t> Classify(const arma::mat& points, arma::mat& scores)
      override
  {
    dasgd::ffn::Predict(*network, points, scores);
    arma::Row<size_t> predictions(scores.n_cols);
    for (size_t i = 0; i < scores.n_cols; ++i)
      predictions[i] = scores.col(i).index_max();
    scores = arma::exp(scores);
    return predictions;
  }

 private:
  util::Params& params;
  Network* network;
};

void BINDING_FUNCTION(util::Params& params, util::Timers& timers)
{
  dasgd::cli::CheckTraining(params);
  dasgd::cli::CheckClassifier(params);
  if (params.Has("training_file"))
  {
    RequireOnlyOnePassed(params, { "layers", "layers_file", "input_model" },
        true, "these say what to train");
  }
  for (const std::string name : { "layers", "layers_file", "input_shape" })
    ReportIgnoredParam(params, {{ "training_file", false }}, name);
  RequireParamValue<double>(params, "scale", [](double x)
      { return std::isfinite(x); }, true, "scale must be finite");
  const size_t seed = dasgd::cli::Seed(params);
  NetworkClassifier model(params);
  dasgd::cli::RunClassifier(params, timers, model, seed, "ffn");
}
