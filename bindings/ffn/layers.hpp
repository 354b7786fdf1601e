/**
 * @file layers.hpp
 *
 * Reads the description of a network, such as "conv:32x3x3 relu maxpool:2x2
 * linear:10 logsoftmax", and works out what each layer hands on and how many
 * parameters it has, as mlpack will; so that a mistake is found and explained
 * before any network exists.  Needs neither mlpack nor Armadillo.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_LAYERS_HPP
#define DASGD_BINDINGS_FFN_LAYERS_HPP

#include <terminal/suggest.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {
namespace ffn {

//! No number in a description may be larger.
constexpr uint64_t MaxNumber = (uint64_t(1) << 31) - 1;
//! No network may have more parameters: 16 GiB in double precision.
constexpr uint64_t MaxParameters = uint64_t(1) << 31;
//! No layer may work on more values for one point: 2 GiB in double precision.
constexpr uint64_t MaxValues = uint64_t(1) << 28;

//! Width, height and channels of one point; or one number, if it is flat.
struct Shape
{
  size_t width = 0;
  size_t height = 1;
  size_t channels = 1;
  //! A mere list of `width` values: input given as one number, and all that
  //! follows a linear layer.
  bool flat = true;

  //! Number of values.
  size_t Elements() const { return width * height * channels; }

  //! As mlpack's InputDimensions() wants it.
  std::vector<size_t> Dimensions() const
  {
    return flat ? std::vector<size_t>{ width } :
        std::vector<size_t>{ width, height, channels };
  }

  //! "28x28x1", or "784" if flat.
  std::string ToString() const
  {
    return flat ? std::to_string(width) : std::to_string(width) + "x" +
        std::to_string(height) + "x" + std::to_string(channels);
  }
};

enum class LayerKind
{
  Conv, MaxPool, MeanPool, Linear, ReLU, LeakyReLU, ELU, GELU, Sigmoid, TanH,
  SoftPlus, Dropout, BatchNorm, LogSoftMax
};

enum class PaddingKind { Given, Same, Valid };

//! One layer as described.  What a kind has no use for keeps its default.
struct LayerSpec
{
  LayerKind kind = LayerKind::Linear;
  //! Place in the description, counted from 1, and the word there; for errors.
  size_t number = 0;
  std::string text;

  //! Number of maps (conv) or of outputs (linear).
  size_t units = 0;
  //! Kernel or pooling window.
  size_t width = 0;
  size_t height = 0;
  size_t strideWidth = 1;
  size_t strideHeight = 1;
  PaddingKind padding = PaddingKind::Given;
  //! On each side; for PaddingKind::Given.
  size_t padWidth = 0;
  size_t padHeight = 0;
  //! alpha (leakyrelu, elu) or ratio (dropout).
  double value = 0.0;
};

//! What a layer hands on, and how many parameters it has.
struct LayerSize
{
  Shape output;
  size_t parameters = 0;
};

namespace detail {

//! A kind of layer, how to write it, and an example.
struct LayerName
{
  const char* name;
  LayerKind kind;
  const char* usage;
};

inline const std::vector<LayerName>& LayerNames()
{
  static const std::vector<LayerName> names = {
      { "conv", LayerKind::Conv, "conv:MAPSxWIDTHxHEIGHT, optionally with "
          ":stride=S or :stride=SxT and :pad=same, :pad=valid, :pad=P or "
          ":pad=PxQ, for example conv:32x3x3" },
      { "maxpool", LayerKind::MaxPool, "maxpool:WIDTHxHEIGHT, optionally with "
          ":stride=S or :stride=SxT, for example maxpool:2x2" },
      { "meanpool", LayerKind::MeanPool, "meanpool:WIDTHxHEIGHT, optionally "
          "with :stride=S or :stride=SxT, for example meanpool:2x2" },
      { "linear", LayerKind::Linear, "linear:OUTPUTS, for example linear:10" },
      { "relu", LayerKind::ReLU, "relu" },
      { "leakyrelu", LayerKind::LeakyReLU, "leakyrelu or leakyrelu:ALPHA with "
          "0 <= ALPHA <= 1, for example leakyrelu:0.03" },
      { "elu", LayerKind::ELU, "elu or elu:ALPHA with ALPHA > 0, for example "
          "elu:1" },
      { "gelu", LayerKind::GELU, "gelu" },
      { "sigmoid", LayerKind::Sigmoid, "sigmoid" },
      { "tanh", LayerKind::TanH, "tanh" },
      { "softplus", LayerKind::SoftPlus, "softplus" },
      { "dropout", LayerKind::Dropout, "dropout or dropout:RATIO with 0 <= "
          "RATIO < 1, for example dropout:0.5" },
      { "batchnorm", LayerKind::BatchNorm, "batchnorm" },
      { "logsoftmax", LayerKind::LogSoftMax, "logsoftmax" } };
  return names;
}

inline const LayerName& NameOf(const LayerKind kind)
{
  for (const LayerName& name : LayerNames())
  {
    if (name.kind == kind)
      return name;
  }
  throw std::logic_error("a kind of layer without a name");
}

//! In quotes, short, and without anything that upsets a terminal.
inline std::string Quote(const std::string& text)
{
  const size_t longest = 60;
  std::string quoted = "'";
  for (size_t i = 0; i < std::min(text.size(), longest); ++i)
  {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    quoted += (c < 32 || c == 127) ? '?' : text[i];
  }
  return quoted + (text.size() > longest ? "...'" : "'");
}

[[noreturn]] inline void Fail(const LayerSpec& layer, const std::string& what)
{
  throw std::invalid_argument("layer " + std::to_string(layer.number) + " " +
      Quote(layer.text) + ": " + what);
}

//! Fail, and say how such a layer is written.
[[noreturn]] inline void Misspelt(const LayerSpec& layer,
                                  const std::string& what)
{
  Fail(layer, what + "; write " + NameOf(layer.kind).usage);
}

//! Whatever the locale of the program.
inline std::string ToLower(std::string text)
{
  for (char& c : text)
  {
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  }
  return text;
}

inline std::vector<std::string> Split(const std::string& text, const char at)
{
  std::vector<std::string> parts(1);
  for (const char c : text)
  {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

inline std::string Join(const std::vector<std::string>& words)
{
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "" : ", ") + word;
  return all;
}

//! Read digits; the text must be nothing else.  Larger numbers than MaxNumber
//! come back as some number that is larger than it.
inline bool ReadNumber(const std::string& text, uint64_t& number)
{
  number = 0;
  for (const char c : text)
  {
    if (c < '0' || c > '9')
      return false;
    number = std::min(number * 10 + uint64_t(c - '0'), MaxNumber + 1);
  }
  return !text.empty();
}

//! Read numbers with 'x' between them, each of which must be allowed.
inline std::vector<size_t> ReadNumbers(const LayerSpec& layer,
                                       const std::string& text,
                                       const uint64_t least)
{
  std::vector<size_t> numbers;
  for (const std::string& part : Split(text, 'x'))
  {
    uint64_t number = 0;
    if (!ReadNumber(part, number))
    {
      Misspelt(layer, Quote(part) + (part == text ? "" : " in " + Quote(text)) +
          " is no whole number");
    }
    if (number < least || number > MaxNumber)
    {
      Misspelt(layer, Quote(part) + (part == text ? "" : " in " + Quote(text)) +
          " is out of range: numbers here go from " + std::to_string(least) +
          " to " + std::to_string(MaxNumber));
    }
    numbers.push_back(size_t(number));
  }
  return numbers;
}

//! "2" means "2x2".
inline void ReadPair(const LayerSpec& layer,
                     const std::string& text,
                     const uint64_t least,
                     size_t& horizontal,
                     size_t& vertical)
{
  const std::vector<size_t> numbers = ReadNumbers(layer, text, least);
  if (numbers.size() > 2)
  {
    Misspelt(layer, Quote(text) + " has " + std::to_string(numbers.size()) +
        " numbers where one or two belong");
  }
  horizontal = numbers.front();
  vertical = numbers.back();
}

//! Read what follows the name where that is one number, whole or not.
inline double ReadValue(const LayerSpec& layer, const std::string& text)
{
  // A program's locale may have a comma for the point.
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0.0;
  char rest = 0;
  if (text.size() > 40 || !(stream >> value) || stream >> rest ||
      !std::isfinite(value))
  {
    Misspelt(layer, Quote(text) + " is no number");
  }
  return value;
}

//! Read "stride=..." or "pad=...".
inline void ReadOption(LayerSpec& layer,
                       const std::string& part,
                       std::vector<std::string>& seen)
{
  const size_t equals = part.find('=');
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  const bool pool = layer.kind == LayerKind::MaxPool ||
      layer.kind == LayerKind::MeanPool;
  std::vector<std::string> known;
  if (layer.kind == LayerKind::Conv)
    known = { "stride", "pad" };
  else if (pool)
    known = { "stride" };

  if (std::find(known.begin(), known.end(), key) == known.end())
  {
    Misspelt(layer, "there is no option " + Quote(key) + " for " +
        NameOf(layer.kind).name + (known.empty() ? ", which takes none" :
        " (known: " + Join(known) + ")") + Suggest(key, known));
  }
  if (std::find(seen.begin(), seen.end(), key) != seen.end())
    Misspelt(layer, "option '" + key + "' is given twice");
  seen.push_back(key);

  if (key == "stride")
    ReadPair(layer, value, 1, layer.strideWidth, layer.strideHeight);
  else if (value == "same")
    layer.padding = PaddingKind::Same;
  else if (value == "valid")
    layer.padding = PaddingKind::Valid;
  else if (!value.empty() && value[0] >= '0' && value[0] <= '9')
    ReadPair(layer, value, 0, layer.padWidth, layer.padHeight);
  else
  {
    Misspelt(layer, "padding " + Quote(value) + " is neither 'same' nor "
        "'valid' nor a number of pixels");
  }
}

//! Find the kind; mlpack's names of classes and common spellings are known too.
inline LayerKind ReadName(const LayerSpec& layer, const std::string& written)
{
  std::string name;
  for (const char c : written)
  {
    if (c != '_' && c != '-')
      name += c;
  }
  if (name == "convolution")
    name = "conv";
  else if (name == "maxpooling" || name == "meanpooling")
    name.resize(name.size() - 3);

  std::vector<std::string> known;
  for (const LayerName& entry : LayerNames())
  {
    if (name == entry.name)
      return entry.kind;
    known.push_back(entry.name);
  }

  std::string hint;
  if (name == "flatten")
    hint = "; leave it out: linear takes images as they are";
  else if (name == "dense" || name == "fc" || name == "fullyconnected")
    hint = "; did you mean 'linear'?";
  else if (name == "avgpool" || name == "averagepool" || name == "avgpooling")
    hint = "; did you mean 'meanpool'?";
  else if (name == "softmax")
    hint = "; did you mean 'logsoftmax'?";
  else if (name.empty())
    hint = "; a layer starts with its name, without spaces before or after ':'";
  else if (written.find_first_of(",;+>|") != std::string::npos)
    hint = "; separate layers by spaces";
  else
    hint = Suggest(name, known);
  Fail(layer, Quote(written) + " is not a known layer" + hint + "; known are " +
      Join(known));
}

//! Read what stands between the name and the options, if it is given.
inline void ReadArgument(LayerSpec& layer,
                         const bool given,
                         const std::string& value)
{
  const auto require = [&](const bool right, const std::string& problem)
  {
    if (!right)
      Misspelt(layer, problem);
  };
  const std::string outOfRange = Quote(value) + " is out of range";
  std::vector<size_t> numbers;
  switch (layer.kind)
  {
    case LayerKind::Conv:
      require(given, "number of maps and size of the kernel are missing");
      numbers = ReadNumbers(layer, value, 1);
      require(numbers.size() == 3, Quote(value) + " has " +
          std::to_string(numbers.size()) + " number(s) where three belong");
      layer.units = numbers[0];
      layer.width = numbers[1];
      layer.height = numbers[2];
      break;

    case LayerKind::MaxPool:
    case LayerKind::MeanPool:
      require(given, "the size of the window is missing");
      ReadPair(layer, value, 1, layer.width, layer.height);
      layer.strideWidth = layer.width;
      layer.strideHeight = layer.height;
      break;

    case LayerKind::Linear:
      require(given, "the number of outputs is missing");
      numbers = ReadNumbers(layer, value, 1);
      require(numbers.size() == 1, Quote(value) + " has " +
          std::to_string(numbers.size()) + " numbers where one belongs");
      layer.units = numbers[0];
      break;

    case LayerKind::LeakyReLU:
      layer.value = given ? ReadValue(layer, value) : 0.03;
      require(layer.value >= 0.0 && layer.value <= 1.0, "alpha " + outOfRange);
      break;

    case LayerKind::ELU:
      layer.value = given ? ReadValue(layer, value) : 1.0;
      require(layer.value > 0.0, "alpha " + outOfRange);
      break;

    case LayerKind::Dropout:
      layer.value = given ? ReadValue(layer, value) : 0.5;
      require(layer.value >= 0.0 && layer.value < 1.0, "ratio " + outOfRange);
      break;

    default:
      require(!given, std::string(NameOf(layer.kind).name) + " takes no "
          "value, but has " + Quote(value));
  }
}

//! Read one word.
inline LayerSpec ReadLayer(const size_t number, const std::string& text)
{
  LayerSpec layer;
  layer.number = number;
  layer.text = text;
  const std::vector<std::string> parts = Split(ToLower(text), ':');
  layer.kind = ReadName(layer, parts[0]);

  // First at most one part that is not key=value, then options.
  const bool hasValue = parts.size() > 1 &&
      parts[1].find('=') == std::string::npos;
  ReadArgument(layer, hasValue, hasValue ? parts[1] : "");
  std::vector<std::string> seen;
  for (size_t i = hasValue ? 2 : 1; i < parts.size(); ++i)
  {
    if (parts[i].find('=') == std::string::npos)
      Misspelt(layer, Quote(parts[i]) + " is not of the form option=value");
    ReadOption(layer, parts[i], seen);
  }
  return layer;
}

//! A product that stays at the largest number instead of starting anew.
inline uint64_t Times(const uint64_t a, const uint64_t b)
{
  const uint64_t largest = std::numeric_limits<uint64_t>::max();
  return (b != 0 && a > largest / b) ? largest : a * b;
}

//! Values of an image, if a layer may have that many.
inline uint64_t CheckedValues(const LayerSpec& layer,
                              const char* where,
                              const uint64_t width,
                              const uint64_t height,
                              const uint64_t channels)
{
  const uint64_t values = Times(Times(width, height), channels);
  if (values > MaxValues)
  {
    Fail(layer, std::string("its ") + where + " would be " +
        std::to_string(width) + "x" + std::to_string(height) + "x" +
        std::to_string(channels) + ", more than " + std::to_string(MaxValues) +
        " values for each point; use a smaller layer, or a stride or pooling "
        "before it");
  }
  return values;
}

//! Where a window fits in one direction.
inline uint64_t Places(const LayerSpec& layer,
                       const char* direction,
                       const uint64_t size,
                       const uint64_t padding,
                       const uint64_t window,
                       const uint64_t stride)
{
  if (window > size + padding)
  {
    Fail(layer, std::string("the ") + direction + " of its window is " +
        std::to_string(window) + ", but that of its input is only " +
        std::to_string(size) + (padding == 0 ? std::string() :
        " and " + std::to_string(padding) + " of padding") +
        "; use a smaller window" + (layer.kind == LayerKind::Conv ?
        ", pad=same," : "") + " or less pooling before it");
  }
  return (size + padding - window) / stride + 1;
}

//! What conv and the pools make of an image.
inline Shape Slide(const LayerSpec& layer, const Shape& input)
{
  if (input.flat)
  {
    Fail(layer, std::string(NameOf(layer.kind).name) + " needs an image, but "
        "its input is flat (" + input.ToString() + " values); " +
        "move it before any linear layer, and give the shape of the input as "
        "WIDTHxHEIGHTxCHANNELS, for example 28x28x1");
  }

  uint64_t padWidth = 2 * uint64_t(layer.padWidth);
  uint64_t padHeight = 2 * uint64_t(layer.padHeight);
  if (layer.padding == PaddingKind::Valid)
  {
    padWidth = padHeight = 0;
  }
  else if (layer.padding == PaddingKind::Same)
  {
    // mlpack pads so much that even a stride leaves the size as it was.  No
    // factor has more than 31 bits, so this is exact.
    padWidth = uint64_t(layer.strideWidth - 1) * input.width + layer.width -
        layer.strideWidth;
    padHeight = uint64_t(layer.strideHeight - 1) * input.height +
        layer.height - layer.strideHeight;
  }
  CheckedValues(layer, "padded input", input.width + padWidth,
      input.height + padHeight, input.channels);

  const uint64_t width = Places(layer, "width", input.width, padWidth,
      layer.width, layer.strideWidth);
  const uint64_t height = Places(layer, "height", input.height, padHeight,
      layer.height, layer.strideHeight);
  const uint64_t channels = layer.kind == LayerKind::Conv ? layer.units :
      input.channels;
  CheckedValues(layer, "output", width, height, channels);
  return { size_t(width), size_t(height), size_t(channels), false };
}

} // namespace detail

/**
 * Read the description of a network: layers with white space between them; '#'
 * and what follows on its line is a comment.  Capitals, '-' and '_' in names do
 * not matter.
 *
 * @throw std::invalid_argument naming the layer, what is wrong and the remedy.
 */
inline std::vector<LayerSpec> ParseLayers(const std::string& text)
{
  std::vector<LayerSpec> layers;
  std::string word;
  bool comment = false;
  // One blank more, to end the last word.
  for (size_t i = 0; i <= text.size(); ++i)
  {
    const char c = i < text.size() ? text[i] : '\n';
    comment = (comment || c == '#') && c != '\n';
    const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!comment && !blank)
    {
      word += c;
    }
    else if (!word.empty())
    {
      layers.push_back(detail::ReadLayer(layers.size() + 1, word));
      word.clear();
    }
  }

  if (layers.empty())
  {
    throw std::invalid_argument("the description of the network " +
        detail::Quote(text) + " has no layers; give some, for example "
        "'linear:128 relu linear:10 logsoftmax'");
  }
  return layers;
}

/**
 * Read the shape of the input: "28x28x1" (width, height, channels), "28x28"
 * (one channel), or "784" (no image).
 *
 * @throw std::invalid_argument naming the text, what is wrong and the remedy.
 */
inline Shape ParseShape(const std::string& text)
{
  const std::string remedy = "; give WIDTHxHEIGHTxCHANNELS, for example "
      "28x28x1, or one number for an input that is no image, for example 784";
  std::vector<size_t> numbers;
  uint64_t values = 1;
  for (const std::string& part : detail::Split(detail::ToLower(text), 'x'))
  {
    uint64_t number = 0;
    if (!detail::ReadNumber(part, number))
    {
      throw std::invalid_argument("input shape " + detail::Quote(text) + ": " +
          detail::Quote(part) + " is no whole number" + remedy);
    }
    values = detail::Times(values, number);
    if (number == 0 || values > MaxValues)
    {
      throw std::invalid_argument("input shape " + detail::Quote(text) + " has "
          + (number == 0 ? "a size of zero" : "more than " +
          std::to_string(MaxValues) + " values") + remedy);
    }
    numbers.push_back(size_t(number));
    if (numbers.size() > 3)
    {
      throw std::invalid_argument("input shape " + detail::Quote(text) +
          " has more than three sizes" + remedy);
    }
  }

  Shape shape;
  shape.flat = numbers.size() == 1;
  numbers.resize(3, 1);
  shape.width = numbers[0];
  shape.height = numbers[1];
  shape.channels = numbers[2];
  return shape;
}

/**
 * What each layer hands on, and its number of parameters.
 *
 * @throw std::invalid_argument if a layer does not fit its input or is too
 *     large, naming the layer, the sizes and the remedy.
 */
inline std::vector<LayerSize> LayerSizes(const std::vector<LayerSpec>& layers,
                                         const Shape& input)
{
  std::vector<LayerSize> sizes;
  Shape shape = input;
  uint64_t total = 0;
  for (const LayerSpec& layer : layers)
  {
    uint64_t parameters = 0;
    switch (layer.kind)
    {
      case LayerKind::Conv:
      {
        // Past the checks in Slide(), a kernel is no larger than MaxValues.
        const size_t maps = shape.channels;
        shape = detail::Slide(layer, shape);
        parameters = detail::Times(layer.units,
            uint64_t(layer.width) * layer.height * maps + 1);
        break;
      }

      case LayerKind::MaxPool:
      case LayerKind::MeanPool:
        shape = detail::Slide(layer, shape);
        break;

      case LayerKind::Linear:
        parameters = detail::Times(layer.units, uint64_t(shape.Elements()) + 1);
        detail::CheckedValues(layer, "output", layer.units, 1, 1);
        shape = { layer.units, 1, 1, true };
        break;

      case LayerKind::BatchNorm:
        parameters = 2 * uint64_t(shape.flat ? shape.width : shape.channels);
        break;

      default:
        break;
    }

    // Neither term is near the largest number: both are checked.
    if (parameters > MaxParameters || total + parameters > MaxParameters)
    {
      detail::Fail(layer, "with it the network would have " +
          (parameters > MaxParameters ? std::string() :
          std::to_string(total + parameters) + " parameters, ") + "more than " +
          std::to_string(MaxParameters) + " parameters; use fewer or smaller "
          "layers, or a stride or pooling before it");
    }
    total += parameters;
    sizes.push_back({ shape, size_t(parameters) });
  }
  return sizes;
}

//! Parameters of all layers together.
inline size_t ParameterCount(const std::vector<LayerSize>& sizes)
{
  size_t total = 0;
  for (const LayerSize& size : sizes)
    total += size.parameters;
  return total;
}

/**
 * Make sure that a network can be trained to classify, by the likelihood of
 * each class.
 *
 * @return Number of classes.
 * @throw std::invalid_argument if it does not end in logsoftmax, has only one
 *     class, or does not fit the input.
 */
inline size_t ClassCount(const std::vector<LayerSpec>& layers,
                         const Shape& input)
{
  if (layers.empty())
  {
    throw std::invalid_argument("the network has no layers; give some, for "
        "example 'linear:128 relu linear:10 logsoftmax'");
  }
  if (layers.back().kind != LayerKind::LogSoftMax)
  {
    detail::Fail(layers.back(), "a network that classifies must end in "
        "logsoftmax, not in this; append logsoftmax");
  }
  const size_t classes = LayerSizes(layers, input).back().output.Elements();
  if (classes < 2)
  {
    detail::Fail(layers.back(), "its input has 1 value, but there are at "
        "least two classes; put linear:CLASSES before it, for example "
        "linear:10 for ten classes");
  }
  return classes;
}

} // namespace ffn
} // namespace dasgd

#endif
