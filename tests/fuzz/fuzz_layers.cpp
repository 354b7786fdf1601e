/**
 * @file fuzz_layers.cpp
 *
 * Descriptions of networks: the first line is the shape of the input, the rest
 * describes the layers.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "require.hpp"

#include <ffn/layers.hpp>

#include <optional>

using namespace dasgd::ffn;
namespace ffn_detail = dasgd::ffn::detail;

namespace {

//! What a reader makes of a text; nothing if it refuses.
template<typename ReaderType>
auto ReadLayers(const ReaderType& reader) -> std::optional<decltype(reader())>
{
  try
  {
    return reader();
  }
  catch (const std::invalid_argument&)
  {
    return std::nullopt;
  }
}

bool SameLayer(const LayerSpec& a, const LayerSpec& b)
{
  return a.kind == b.kind && a.number == b.number && a.text == b.text &&
      a.units == b.units && a.width == b.width && a.height == b.height &&
      a.strideWidth == b.strideWidth && a.strideHeight == b.strideHeight &&
      a.padding == b.padding && a.padWidth == b.padWidth &&
      a.padHeight == b.padHeight && a.value == b.value;
}

void CheckShape(const Shape& shape)
{
  fuzz::Require(shape.width > 0 && shape.height > 0 && shape.channels > 0,
      "a shape has no size of zero");
  fuzz::Require(ffn_detail::Times(ffn_detail::Times(shape.width, shape.height),
      shape.channels) <= MaxValues, "a shape is no larger than allowed");
  fuzz::Require(!shape.flat || shape.Elements() == shape.width,
      "a flat shape has only a width");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::optional<Shape> input =
      ReadLayers([&]() { return ParseShape(text.substr(0, end)); });
  if (input)
    CheckShape(*input);

  const std::optional<std::vector<LayerSpec>> layers =
      ReadLayers([&]() { return ParseLayers(text.substr(end)); });
  if (!layers)
    return 0;
  fuzz::Require(!layers->empty(), "a network has layers");
  std::string words;
  for (const LayerSpec& layer : *layers)
    words += layer.text + " ";
  const std::vector<LayerSpec> again = ParseLayers(words);
  fuzz::Require(again.size() == layers->size() && std::equal(again.begin(),
      again.end(), layers->begin(), SameLayer),
      "layers are those of their words");
  if (!input)
    return 0;

  const std::optional<std::vector<LayerSize>> sizes =
      ReadLayers([&]() { return LayerSizes(*layers, *input); });
  const std::optional<size_t> classes =
      ReadLayers([&]() { return ClassCount(*layers, *input); });
  fuzz::Require(sizes || !classes, "what fits nothing has no classes");
  if (!sizes)
    return 0;
  fuzz::Require(sizes->size() == layers->size(), "every layer has a size");
  for (const LayerSize& one : *sizes)
  {
    CheckShape(one.output);
    fuzz::Require(one.parameters <= MaxParameters, "a layer is not too large");
  }
  fuzz::Require(ParameterCount(*sizes) <= MaxParameters,
      "a network is not too large");
  fuzz::Require(!classes || (*classes >= 2 &&
      *classes == sizes->back().output.Elements()),
      "the last layer has an output for each class");
  return 0;
}
