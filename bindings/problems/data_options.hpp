/**
 * @file data_options.hpp
 *
 * Options that say what is trained, for programs that train nothing for keeps.
 * Include it once in such a program, after mlpack_main.hpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PROBLEMS_DATA_OPTIONS_HPP
#define DASGD_BINDINGS_PROBLEMS_DATA_OPTIONS_HPP

#include "read_data.hpp"

#include <data/text.hpp>
#include <ffn/layers.hpp>
#include <ranks/ranks.hpp>
#include <terminal/suggest.hpp>

PARAM_STRING_IN("problem", "What to train: 'logistic', 'softmax', 'mlp', "
    "'cnn' or, in a study, 'onnx'.", "p", "softmax");
PARAM_STRING_IN("data", "Data to train with: 'fashion_mnist', 'cifar10', "
    "'synthetic', or 'synthetic_sparse' for 'logistic'.", "d",
    "fashion_mnist");
PARAM_STRING_IN("data_dir", "Folder with the files of 'fashion_mnist' or "
    "'cifar10'.", "", "");
PARAM_STRING_IN("training_file", "Your own points to train with: a matrix, or "
    "images in the IDX format.", "t", "");
PARAM_STRING_IN("labels_file", "Labels of the training points, from 0 on; "
    "without this file, they are the last column of the points.", "l", "");
PARAM_STRING_IN("test_file", "Your own points to test with.", "T", "");
PARAM_STRING_IN("test_labels_file", "Labels of the test points.", "L", "");
PARAM_STRING_IN("input_shape", "Shape of a point: WIDTHxHEIGHTxCHANNELS, or a "
    "single number.", "i", "");
PARAM_STRING_IN("layers", "Layers of the network, one word for each, as in "
    "mlpack_dasgd_ffn (but no batchnorm).", "y", "");
PARAM_INT_IN("points", "Maximum number of points to train with; 0 takes all.",
    "n", 10000);
PARAM_INT_IN("test_points", "Maximum number of points to test with; 0 stands "
    "for 2000, or 500 for 'cnn'.", "", 0);
PARAM_INT_IN("batch_size", "Number of points in each gradient.", "b", 32);

namespace dasgd {
namespace study {

//! A value that cannot be.
[[noreturn]] inline void Refuse(const std::string& name,
                                const std::string& value,
                                const std::string& why)
{
  throw std::invalid_argument("Invalid value of " + PRINT_PARAM_STRING(name) +
      " specified (" + value + "): " + why + "!");
}

//! One of some words.
inline std::string OneOf(mlpack::util::Params& params,
                         const std::string& name,
                         const std::vector<std::string>& known)
{
  const std::string value = params.Get<std::string>(name);
  if (std::find(known.begin(), known.end(), value) == known.end())
  {
    const std::string best = Nearest(value, known);
    Refuse(name, value, "known are " + Join(known, ", ") +
        (best.empty() ? "" : "; did you mean '" + best + "'"));
  }
  return value;
}

//! A number of which there may be none below a limit.
inline size_t AtLeast(mlpack::util::Params& params,
                      const std::string& name,
                      const int least)
{
  const int value = params.Get<int>(name);
  if (value < least)
  {
    Refuse(name, std::to_string(value), "give a whole number from " +
        std::to_string(least) + " on");
  }
  return size_t(value);
}

//! Seconds or a loss: 0 stands for what the program chooses.
inline double NotNegative(mlpack::util::Params& params, const std::string& name)
{
  const double value = params.Get<double>(name);
  if (!std::isfinite(value) || value < 0)
  {
    const std::string given = std::isnan(value) ? "nan" :
        std::isinf(value) ? (value < 0 ? "-inf" : "inf") :
        NumberText(value);
    Refuse(name, given, "give a finite number of at least 0");
  }
  return value;
}

//! The command that was given, as one would type it, to go on or to repeat it.
inline std::string CommandText()
{
  std::string text;
  for (std::string word : cli::CommandWords())
  {
    if (word == "--restart")
      continue;
    if (text.empty())
      word = word.substr(word.rfind('/') + 1);
    const bool plain = !word.empty() && word.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "_-+=.,:/@%") == std::string::npos;
    if (!plain)
    {
      std::string quoted = "'";
      for (const char c : word)
        quoted += (c == '\'') ? "'\\''" : std::string(1, c);
      word = quoted + "'";
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

//! Which points are asked for.
inline DataRequest RequestOf(mlpack::util::Params& params,
                             const std::string& problem,
                             const size_t batchSize,
                             const size_t seed)
{
  DataRequest request;
  request.data = OneOf(params, "data", { "fashion_mnist", "cifar10",
      "synthetic", "synthetic_sparse" });
  if (request.data == "synthetic_sparse" && problem != "logistic")
  {
    Refuse("data", "synthetic_sparse", "this is for '--problem logistic', not "
        "for '" + problem + "'");
  }
  request.training = params.Get<std::string>("training_file");
  request.labels = params.Get<std::string>("labels_file");
  request.test = params.Get<std::string>("test_file");
  request.testLabels = params.Get<std::string>("test_labels_file");
  request.shape = params.Get<std::string>("input_shape");
  request.folder = params.Get<std::string>("data_dir");
  if (params.Has("training_file"))
  {
    if (params.Has("data"))
    {
      Refuse("data", request.data, "the points are those of " +
          PRINT_PARAM_STRING("training_file") + "; give only one of the two");
    }
    request.data = "files";
  }
  else
  {
    for (const std::string name : { "labels_file", "test_file",
        "test_labels_file", "input_shape" })
    {
      if (params.Has(name))
      {
        Refuse(name, params.Get<std::string>(name), "this is for points of "
            "your own; give them with " + PRINT_PARAM_STRING("training_file"));
      }
    }
  }
  if (request.folder.empty() && request.data == "fashion_mnist")
    request.folder = "/usr/share/datasets/fashion-mnist";
  if (request.folder.empty() && request.data == "cifar10")
  {
    const char* home = std::getenv("HOME");
    request.folder = std::string(home ? home : ".") +
        "/.cache/dasgd/cifar-10-batches-bin";
  }
  request.points = AtLeast(params, "points", 0);
  request.testPoints = AtLeast(params, "test_points", 0);
  if (request.testPoints == 0)
    request.testPoints = (problem == "cnn") ? 500 : 2000;
  request.batch = batchSize;
  request.binary = (problem == "logistic");
  request.seed = seed;
  return request;
}

//! The layers of a network: as given, or else those of the problem.
inline std::string LayersOf(mlpack::util::Params& params,
                            const std::string& problem,
                            const DataSet& data)
{
  const bool network = problem == "mlp" || problem == "cnn";
  std::string text = params.Get<std::string>("layers");
  if (!network)
  {
    if (!text.empty())
    {
      Refuse("layers", text, "'" + problem + "' has none; give "
          "'--problem mlp' or '--problem cnn'");
    }
    return "";
  }
  const std::string end = "linear:" + std::to_string(data.classes) +
      " logsoftmax";
  if (text.empty() && problem == "mlp")
    text = "linear:64 relu " + end;
  else if (text.empty())
  {
    text = "conv:8x5x5 relu maxpool:2x2 conv:16x5x5 relu maxpool:2x2 " + end;
  }
  try
  {
    const auto layers = ffn::ParseLayers(text);
    for (const auto& layer : layers)
    {
      if (layer.kind == ffn::LayerKind::BatchNorm)
      {
        throw std::invalid_argument("batchnorm keeps means that are no "
            "parameters, so copies of the model lack them; leave it out");
      }
    }
    const size_t classes = ffn::ClassCount(layers, ffn::ParseShape(data.shape));
    if (classes < data.classes)
    {
      throw std::invalid_argument("the network has " +
          std::to_string(classes) + " outputs, but the data " +
          std::to_string(data.classes) + " classes; end with '" + end + "'");
    }
  }
  catch (const std::invalid_argument& e)
  {
    Refuse("layers", text, e.what());
  }
  return text;
}

} // namespace study
} // namespace dasgd

#endif
