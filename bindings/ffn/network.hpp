/**
 * @file network.hpp
 *
 * Makes an mlpack network of layers as layers.hpp reads them, and prints the
 * layers of any mlpack network as a table.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_FFN_NETWORK_HPP
#define DASGD_BINDINGS_FFN_NETWORK_HPP

#include <mlpack/core.hpp>
#include <mlpack/methods/ann/ann.hpp>

#include "layers.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace dasgd {
namespace ffn {

//! Whether mlpack's convolution can have another stride down than across.
//! Version 4.6 takes the one for the other, and reads outside of its input.
constexpr bool UnequalStrides = MLPACK_VERSION_MAJOR > 4 ||
    (MLPACK_VERSION_MAJOR == 4 && MLPACK_VERSION_MINOR >= 8);

namespace detail {

//! The matrices that a network computes with.
template<typename NetworkType>
using MatTypeOf = std::decay_t<
    decltype(std::declval<const NetworkType&>().Parameters())>;

//! The same layer for other matrices than arma::mat.
template<typename LayerType, typename MatType>
struct Rebind;

template<template<typename...> class LayerType, typename... Args,
         typename MatType>
struct Rebind<LayerType<Args...>, MatType>
{
  using Type = LayerType<std::conditional_t<std::is_same_v<Args, arma::mat>,
      MatType, Args>...>;
};

//! BaseLayer, of which the activation functions are made, has a switch too.
template<template<typename, typename, bool> class LayerType,
         typename FunctionType, bool Switch, typename MatType>
struct Rebind<LayerType<FunctionType, arma::mat, Switch>, MatType>
{
  using Type = LayerType<FunctionType, MatType, Switch>;
};

// mlpack's names of layers are templates on the matrix type in newer versions,
// and the layer for arma::mat in older ones.  These two take either, so that
// AddLayer<mlpack::Linear>() means the same in all versions.
template<template<typename...> class LayerType, typename NetworkType,
         typename... Args>
void AddLayer(NetworkType& network, const Args... args)
{
  network.template Add<LayerType<MatTypeOf<NetworkType>>>(args...);
}

template<typename LayerType, typename NetworkType, typename... Args>
void AddLayer(NetworkType& network, const Args... args)
{
  network.template Add<
      typename Rebind<LayerType, MatTypeOf<NetworkType>>::Type>(args...);
}

//! Add a layer as it is described; `flat` tells of its input.
template<typename NetworkType>
void AddDescribed(NetworkType& network, const LayerSpec& layer, const bool flat)
{
  switch (layer.kind)
  {
    case LayerKind::Conv:
      AddLayer<mlpack::Convolution>(network, layer.units, layer.width,
          layer.height, layer.strideWidth, layer.strideHeight,
          layer.padWidth, layer.padHeight, std::string(
          layer.padding == PaddingKind::Same ? "same" :
          layer.padding == PaddingKind::Valid ? "valid" : "none"));
      break;
    case LayerKind::MaxPool:
      AddLayer<mlpack::MaxPooling>(network, layer.width, layer.height,
          layer.strideWidth, layer.strideHeight);
      break;
    case LayerKind::MeanPool:
      AddLayer<mlpack::MeanPooling>(network, layer.width, layer.height,
          layer.strideWidth, layer.strideHeight);
      break;
    case LayerKind::Linear:
      AddLayer<mlpack::Linear>(network, layer.units);
      break;
    case LayerKind::ReLU:
      AddLayer<mlpack::ReLU>(network);
      break;
    case LayerKind::LeakyReLU:
      AddLayer<mlpack::LeakyReLU>(network,
          typename MatTypeOf<NetworkType>::elem_type(layer.value));
      break;
    case LayerKind::ELU:
      AddLayer<mlpack::ELU>(network, layer.value);
      break;
    case LayerKind::GELU:
      AddLayer<mlpack::GELU>(network);
      break;
    case LayerKind::Sigmoid:
      AddLayer<mlpack::Sigmoid>(network);
      break;
    case LayerKind::TanH:
      AddLayer<mlpack::TanH>(network);
      break;
    case LayerKind::SoftPlus:
      AddLayer<mlpack::SoftPlus>(network);
      break;
    case LayerKind::Dropout:
      AddLayer<mlpack::Dropout>(network, layer.value);
      break;
    case LayerKind::BatchNorm:
      // mlpack's own choice is the third dimension, whatever comes in; after
      // a linear layer that would be one mean for all values together.
      AddLayer<mlpack::BatchNorm>(network, size_t(flat ? 0 : 2),
          size_t(flat ? 0 : 2));
      break;
    case LayerKind::LogSoftMax:
      AddLayer<mlpack::LogSoftMax>(network);
      break;
  }
}

//! The name of a type as it is written in a program.
inline std::string Demangle(const std::type_info& type)
{
#if __has_include(<cxxabi.h>)
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  if (status == 0 && name)
    return name.get();
#endif
  return type.name();
}

//! Without template arguments and namespaces.
inline std::string Bare(const std::string& name)
{
  const std::string head = name.substr(0, name.find('<'));
  const size_t colon = head.rfind(':');
  return colon == std::string::npos ? head : head.substr(colon + 1);
}

//! What mlpack's users call a layer, given its type.
inline std::string LayerTypeName(const std::string& type)
{
  std::string name = Bare(type);
  auto drop = [&name](const std::string& end)
  {
    if (name.size() > end.size() &&
        name.compare(name.size() - end.size(), end.size(), end) == 0)
      name.resize(name.size() - end.size());
  };

  // In older versions of mlpack the templates themselves are named so.
  drop("Type");
  if (name == "BaseLayer" && type.find('<') != std::string::npos)
  {
    // The activation functions: all one layer, told apart by an argument.
    const std::string arguments = type.substr(type.find('<') + 1);
    name = Bare(arguments.substr(0, arguments.find_first_of(",<>")));
    drop("Function");
    if (name == "Rectifier")
      name = "ReLU";
    else if (name == "Logistic")
      name = "Sigmoid";
    else if (name == "Tanh")
      name = "TanH";
    else if (name == "Softplus")
      name = "SoftPlus";
  }
  return name;
}

//! "26x26x32"; and "10" for what linear layers make of an image, {10, 1, 1}.
inline std::string DimensionsText(const std::vector<size_t>& dimensions)
{
  bool flat = true;
  std::string text;
  for (size_t i = 0; i < dimensions.size(); ++i)
  {
    flat &= i == 0 || dimensions[i] == 1;
    text += (i == 0 ? "" : "x") + std::to_string(dimensions[i]);
  }
  return flat && !dimensions.empty() ? std::to_string(dimensions[0]) : text;
}

} // namespace detail

/**
 * Add layers to a network that has none, and set its InputDimensions().  Its
 * weights are not made yet: mlpack does so in Train() and Reset().
 *
 * @throw std::invalid_argument if the layers do not fit the input, or mlpack is
 *     too old for one of them; the network is then as it was.
 */
template<typename NetworkType>
void Build(NetworkType& network,
           const std::vector<LayerSpec>& layers,
           const Shape& input)
{
  using namespace detail;
  const std::vector<LayerSize> sizes = LayerSizes(layers, input);
  if (layers.empty() || !std::as_const(network).Network().empty())
  {
    throw std::invalid_argument(layers.empty() ?
        "a network cannot be made of no layers; give some" :
        "layers can only be given to a network that has none yet; use a new "
        "one");
  }
  for (const LayerSpec& layer : layers)
  {
    if (!UnequalStrides && layer.kind == LayerKind::Conv &&
        layer.strideWidth != layer.strideHeight)
    {
      Fail(layer, "a stride of " + std::to_string(layer.strideWidth) +
          " across and " + std::to_string(layer.strideHeight) + " down needs "
          "mlpack 4.8 or newer, and this program was built with an older one; "
          "use the same stride both ways");
    }
  }

  for (size_t i = 0; i < layers.size(); ++i)
  {
    AddDescribed(network, layers[i], i == 0 ? input.flat :
        sizes[i - 1].output.flat);
  }
  network.InputDimensions() = input.Dimensions();
}

/**
 * Let every layer compute its sizes, which mlpack otherwise does no sooner than
 * a network is used; OutputDimensions() and WeightSize() of the layers are
 * right afterwards.  Unlike FFN::Reset(), this touches no weights, so that it
 * may be called for a network that was trained or loaded.
 *
 * @throw std::invalid_argument if the network does not know its input.
 */
template<typename NetworkType>
void ComputeSizes(const NetworkType& network)
{
  // Through a const network: else mlpack forgets what it knows of the layers.
  std::vector<size_t> dimensions = network.InputDimensions();
  if (dimensions.empty() ||
      std::count(dimensions.begin(), dimensions.end(), size_t(0)) > 0)
  {
    throw std::invalid_argument("the sizes of a network's layers cannot be "
        "told while the shape of its input is not known; set "
        "InputDimensions(), or train the network first");
  }
  for (auto* layer : network.Network())
  {
    layer->InputDimensions() = dimensions;
    dimensions = layer->OutputDimensions();
  }
}

/**
 * A network's layers, with what each hands on and its number of parameters; one
 * line each, with headings and a total.  For any network, built here or loaded.
 *
 * @throw std::invalid_argument if the network does not know its input.
 */
template<typename NetworkType>
std::string LayerTable(const NetworkType& network)
{
  ComputeSizes(network);

  std::vector<std::vector<std::string>> rows = {
      { "#", "Layer", "Output", "Parameters" },
      { "", "Input", detail::DimensionsText(network.InputDimensions()), "" } };
  size_t total = 0;
  for (auto* layer : network.Network())
  {
    const auto& known = *layer;
    rows.push_back({ std::to_string(rows.size() - 1),
        detail::LayerTypeName(detail::Demangle(typeid(known))),
        detail::DimensionsText(layer->OutputDimensions()),
        std::to_string(layer->WeightSize()) });
    total += layer->WeightSize();
  }
  rows.push_back({ "", "Total", "", std::to_string(total) });

  std::vector<size_t> widths(4, 0);
  for (const std::vector<std::string>& row : rows)
  {
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }

  std::string table;
  for (const std::vector<std::string>& row : rows)
  {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i)
    {
      // Numbers to the right, words to the left.
      const std::string blanks(widths[i] - row[i].size(), ' ');
      const bool right = i == 0 || i == 3;
      line += (i == 0 ? "" : "  ") + (right ? blanks + row[i] :
          row[i] + blanks);
    }
    table += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

} // namespace ffn
} // namespace dasgd

#endif
