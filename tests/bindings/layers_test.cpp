/**
 * @file layers_test.cpp
 *
 * Descriptions of networks: what they mean, and what is said when they are
 * wrong.  That mlpack agrees about sizes is shown in network_test.cpp.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <ffn/layers.hpp>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace dasgd::ffn;
using Catch::Matchers::ContainsSubstring;

namespace {

using Texts = std::vector<std::string>;

//! The message of the std::invalid_argument that a call must end in.
template<typename CallType>
std::string Message(const CallType& call)
{
  try
  {
    call();
  }
  catch (const std::invalid_argument& error)
  {
    return error.what();
  }
  return "(nothing was thrown)";
}

std::string ParseMessage(const std::string& text)
{
  return Message([&text]() { ParseLayers(text); });
}

std::string SizeMessage(const std::string& text, const std::string& shape)
{
  const std::vector<LayerSpec> layers = ParseLayers(text);
  const Shape input = ParseShape(shape);
  return Message([&]() { LayerSizes(layers, input); });
}

//! Shapes of all outputs, and the number of parameters.
std::string Sizes(const std::string& text, const std::string& shape)
{
  const std::vector<LayerSize> sizes =
      LayerSizes(ParseLayers(text), ParseShape(shape));
  std::string all;
  for (const LayerSize& size : sizes)
    all += size.output.ToString() + " ";
  return all + "| " + std::to_string(ParameterCount(sizes));
}

} // namespace

TEST_CASE("A description becomes layers", "[layers]")
{
  const std::vector<LayerSpec> layers = ParseLayers(
      "conv:32x3x5:stride=2x1:pad=1x2 relu maxpool:2x3 meanpool:3:stride=2 "
      "linear:10 logsoftmax");
  REQUIRE(layers.size() == 6);

  REQUIRE(layers[0].kind == LayerKind::Conv);
  REQUIRE(layers[0].number == 1);
  REQUIRE(layers[0].text == "conv:32x3x5:stride=2x1:pad=1x2");
  REQUIRE(layers[0].units == 32);
  REQUIRE(layers[0].width == 3);
  REQUIRE(layers[0].height == 5);
  REQUIRE(layers[0].strideWidth == 2);
  REQUIRE(layers[0].strideHeight == 1);
  REQUIRE(layers[0].padding == PaddingKind::Given);
  REQUIRE(layers[0].padWidth == 1);
  REQUIRE(layers[0].padHeight == 2);

  REQUIRE(layers[1].kind == LayerKind::ReLU);

  REQUIRE(layers[2].kind == LayerKind::MaxPool);
  REQUIRE(layers[2].width == 2);
  REQUIRE(layers[2].height == 3);
  REQUIRE(layers[2].strideWidth == 2);
  REQUIRE(layers[2].strideHeight == 3);

  REQUIRE(layers[3].kind == LayerKind::MeanPool);
  REQUIRE(layers[3].width == 3);
  REQUIRE(layers[3].height == 3);
  REQUIRE(layers[3].strideWidth == 2);
  REQUIRE(layers[3].strideHeight == 2);

  REQUIRE(layers[4].kind == LayerKind::Linear);
  REQUIRE(layers[4].units == 10);

  REQUIRE(layers[5].kind == LayerKind::LogSoftMax);
  REQUIRE(layers[5].number == 6);
}

TEST_CASE("Defaults of a layer's values are mlpack's", "[layers]")
{
  REQUIRE(ParseLayers("leakyrelu")[0].value == 0.03);
  REQUIRE(ParseLayers("leakyrelu:0.2")[0].value == 0.2);
  REQUIRE(ParseLayers("elu")[0].value == 1.0);
  REQUIRE(ParseLayers("elu:0.5")[0].value == 0.5);
  REQUIRE(ParseLayers("dropout")[0].value == 0.5);
  REQUIRE(ParseLayers("dropout:0")[0].value == 0.0);
  REQUIRE(ParseLayers("conv:1x1x1")[0].strideWidth == 1);
  REQUIRE(ParseLayers("conv:1x1x1:pad=same")[0].padding == PaddingKind::Same);
  REQUIRE(ParseLayers("conv:1x1x1:pad=valid")[0].padding ==
      PaddingKind::Valid);
}

TEST_CASE("Case, spelling, lines and comments do not matter", "[layers]")
{
  const std::vector<LayerSpec> layers = ParseLayers(
      "# a network\n\n\tConvolution:8X3x3:PAD=Same\r\n  Leaky_ReLU:1e-1 # slope"
      "\nMaxPooling:2x2 MeanPooling:2x2 batch-norm SoftPlus TanH Sigmoid GELU "
      "linear:3#three\n#linear:4\nLogSoftMax#");
  const std::vector<LayerKind> kinds = { LayerKind::Conv, LayerKind::LeakyReLU,
      LayerKind::MaxPool, LayerKind::MeanPool, LayerKind::BatchNorm,
      LayerKind::SoftPlus, LayerKind::TanH, LayerKind::Sigmoid, LayerKind::GELU,
      LayerKind::Linear, LayerKind::LogSoftMax };
  REQUIRE(layers.size() == kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i)
    REQUIRE(layers[i].kind == kinds[i]);
  REQUIRE(layers[0].text == "Convolution:8X3x3:PAD=Same");
  REQUIRE(layers[1].value == 0.1);
}

TEST_CASE("Unknown names are listed, and the nearest is suggested", "[layers]")
{
  const std::string message = ParseMessage("relu maxpol:2x2");
  REQUIRE_THAT(message, ContainsSubstring("layer 2 'maxpol:2x2'"));
  REQUIRE_THAT(message, ContainsSubstring("did you mean 'maxpool'?"));
  REQUIRE_THAT(message, ContainsSubstring("conv, maxpool, meanpool, linear"));

  REQUIRE_THAT(ParseMessage("rleu"), ContainsSubstring("did you mean 'relu'"));
  REQUIRE_THAT(ParseMessage("dense:3"),
      ContainsSubstring("did you mean 'linear'"));
  REQUIRE_THAT(ParseMessage("avg_pool:2"),
      ContainsSubstring("did you mean 'meanpool'"));
  REQUIRE_THAT(ParseMessage("softmax"),
      ContainsSubstring("did you mean 'logsoftmax'"));
  REQUIRE_THAT(ParseMessage("Flatten"), ContainsSubstring("leave it out"));
  REQUIRE_THAT(ParseMessage("relu,tanh"), ContainsSubstring("by spaces"));
  REQUIRE_THAT(ParseMessage(":3"), ContainsSubstring("without spaces"));
  REQUIRE_THAT(ParseMessage("quux"), !ContainsSubstring("did you mean"));
  // A name without end is neither compared nor repeated in full.
  REQUIRE(ParseMessage(std::string(1000000, 'y')).size() < 500);
  REQUIRE_THAT(ParseMessage("\x1b[2J"), !ContainsSubstring("\x1b"));
}

TEST_CASE("Wrong values name layer, value and remedy", "[layers]")
{
  const std::vector<std::vector<std::string>> cases = {
      { "conv", "missing", "for example conv:32x3x3" },
      { "conv:", "'' is no whole number", "conv:MAPSxWIDTHxHEIGHT" },
      { "conv:32x3", "'32x3' has 2 number(s)", "three" },
      { "conv:32x3x3x3", "has 4 number(s)", "three" },
      { "conv:32xx3", "'' in '32xx3' is no whole", "conv:32x3x3" },
      { "conv:0x3x3", "'0' in '0x3x3' is out of range", "from 1" },
      { "conv:-1x3x3", "'-1' in '-1x3x3' is no whole", "conv:32x3x3" },
      { "conv:1x3x3:stride", "'stride' is not of the form", "option=value" },
      { "conv:1x3x3:stride=0", "'0' is out of range", "from 1" },
      { "conv:1x3x3:stride=1x2x3", "'1x2x3' has 3 numbers", "one or two" },
      { "conv:1x3x3:strid=2", "no option 'strid'", "did you mean 'stride'" },
      { "conv:1x3x3:stride=2:stride=2", "'stride' is given twice", "write" },
      { "conv:1x3x3:pad=full", "padding 'full'", "'same'" },
      { "conv:1x3x3:pad=", "padding ''", "'same'" },
      { "conv:1x3x3:=", "no option ''", "known: stride, pad" },
      { "maxpool", "window is missing", "maxpool:2x2" },
      { "maxpool:2x2x2", "has 3 numbers", "one or two" },
      { "maxpool:2x2:pad=1", "no option 'pad'", "known: stride" },
      { "linear", "outputs is missing", "linear:10" },
      { "linear:0", "'0' is out of range", "from 1" },
      { "linear:ten", "'ten' is no whole number", "linear:10" },
      { "linear:2x2", "has 2 numbers", "where one belongs" },
      { "linear:99999999999999999999999", "out of range", "to 2147483647" },
      { "linear:3:bias=no", "no option 'bias'", "takes none" },
      { "relu:3", "takes no value, but has '3'", "write relu" },
      { "relu:", "takes no value", "write relu" },
      { "dropout:1", "ratio '1' is out of range", "RATIO < 1" },
      { "dropout:-0.1", "out of range", "0 <= RATIO" },
      { "dropout:half", "'half' is no number", "dropout:0.5" },
      { "dropout:nan", "is no number", "dropout:0.5" },
      { "dropout:0.5x", "is no number", "dropout:0.5" },
      { "elu:0", "alpha '0'", "ALPHA > 0" },
      { "elu:1e999", "is no number", "ALPHA > 0" },
      { "leakyrelu:2", "alpha '2'", "ALPHA <= 1" } };
  for (const std::vector<std::string>& wrong : cases)
  {
    const std::string message = ParseMessage("tanh " + wrong[0]);
    REQUIRE_THAT(message, ContainsSubstring("layer 2 '" + wrong[0] + "'"));
    REQUIRE_THAT(message, ContainsSubstring(wrong[1]));
    REQUIRE_THAT(message, ContainsSubstring(wrong[2]));
  }
  for (const std::string& empty : Texts{ "", " \n", "# relu" })
    REQUIRE_THAT(ParseMessage(empty), ContainsSubstring("has no layers"));
}

TEST_CASE("Shapes of inputs", "[layers]")
{
  REQUIRE(ParseShape("28x30x3").Dimensions() ==
      std::vector<size_t>{ 28, 30, 3 });
  REQUIRE(ParseShape("28X28").ToString() == "28x28x1");
  REQUIRE(ParseShape("784").Dimensions() == std::vector<size_t>{ 784 });
  REQUIRE(ParseShape("784").flat);
  REQUIRE(ParseShape("784").Elements() == 784);

  for (const std::string& wrong : Texts{ "", "x", "28x", "28x28x1x1", "0",
      "28x0x1", "-1", "28 x 28", "2.5", "99999999999999999999",
      "2147483647x2147483647x2147483647" })
  {
    const std::string message = Message([&wrong]() { ParseShape(wrong); });
    REQUIRE_THAT(message, ContainsSubstring("input shape '" + wrong + "'"));
    REQUIRE_THAT(message, ContainsSubstring("for example 28x28x1"));
  }
}

TEST_CASE("Sizes of layers", "[layers]")
{
  REQUIRE(Sizes("conv:32x3x3 relu maxpool:2x2 linear:10 logsoftmax",
      "28x28x1") == "26x26x32 26x26x32 13x13x32 10 10 | 54410");
  // What does not fill a window is left out.
  REQUIRE(Sizes("maxpool:2x3 meanpool:4x4:stride=3", "15x14x2") ==
      "7x4x2 2x1x2 | 0");
  REQUIRE(Sizes("conv:4x5x3:pad=same conv:4x3x3:pad=same:stride=2 "
      "conv:2x3x3:pad=2x0:stride=3x2", "9x8x3") ==
      "9x8x4 9x8x4 4x3x2 | 406");
  REQUIRE(Sizes("batchnorm linear:5 batchnorm", "4x4x3") ==
      "4x4x3 5 5 | 261");
  REQUIRE(Sizes("batchnorm dropout", "7") == "7 7 | 14");
}

TEST_CASE("Layers that do not fit their input", "[layers]")
{
  std::string message = SizeMessage("relu maxpool:2x2 conv:8x3x3", "5x4x1");
  REQUIRE_THAT(message, ContainsSubstring("layer 3 'conv:8x3x3'"));
  REQUIRE_THAT(message, ContainsSubstring("width of its window is 3"));
  REQUIRE_THAT(message, ContainsSubstring("its input is only 2"));
  REQUIRE_THAT(message, ContainsSubstring("pad=same"));
  message = SizeMessage("maxpool:2x5", "9x4x1");
  REQUIRE_THAT(message, ContainsSubstring("height of its window is 5"));
  message = SizeMessage("conv:1x7x7:pad=1", "4x9x1");
  REQUIRE_THAT(message, ContainsSubstring("only 4 and 2 of padding"));

  for (const std::string& late : Texts{ "conv:1x1x1", "maxpool:1x1",
      "meanpool:1x1" })
  {
    message = SizeMessage("linear:9 relu " + late, "3x3x1");
    REQUIRE_THAT(message, ContainsSubstring("layer 3 '" + late + "'"));
    REQUIRE_THAT(message, ContainsSubstring("flat (9 values)"));
    REQUIRE_THAT(message, ContainsSubstring("before any linear layer"));
    REQUIRE_THAT(SizeMessage(late, "784"), ContainsSubstring("28x28x1"));
  }
}

TEST_CASE("Networks that no computer would hold are refused", "[layers]")
{
  const std::string most = "2147483647";
  REQUIRE_THAT(SizeMessage("linear:" + most, "3"),
      ContainsSubstring("more than"));
  REQUIRE_THAT(SizeMessage("linear:100000 linear:100000", "3"),
      ContainsSubstring("layer 2 'linear:100000'"));
  // Just beyond 2^31, and only together.
  REQUIRE_THAT(SizeMessage("linear:32768 linear:32768 linear:32768", "3"),
      ContainsSubstring("2147680256 parameters, more than 2147483648"));
  REQUIRE_THAT(SizeMessage("conv:" + most + "x1x1", "9x9x9"),
      ContainsSubstring("its output would be 9x9x" + most));
  for (const std::string& more : Texts{ ":pad=" + most,
      ":pad=same:stride=" + most })
  {
    for (const std::string& kernel : Texts{ "1x1x1", "1x" + most + "x" + most,
        most + "x" + most + "x" + most })
    {
      REQUIRE_THAT(SizeMessage("conv:" + kernel + more, "9x9x9"),
          ContainsSubstring("more than"));
    }
  }
}

TEST_CASE("A network that classifies ends in logsoftmax", "[layers]")
{
  const Shape input = ParseShape("4x4x1");
  REQUIRE(ClassCount(ParseLayers("linear:7 logsoftmax"), input) == 7);
  REQUIRE(ClassCount(ParseLayers("conv:3x4x4 logsoftmax"), input) == 3);

  auto message = [&input](const std::string& text)
  {
    const std::vector<LayerSpec> layers = ParseLayers(text);
    return Message([&]() { ClassCount(layers, input); });
  };
  REQUIRE_THAT(message("relu linear:7"),
      ContainsSubstring("layer 2 'linear:7'"));
  REQUIRE_THAT(message("relu linear:7"),
      ContainsSubstring("append logsoftmax"));
  REQUIRE_THAT(message("linear:1 logsoftmax"),
      ContainsSubstring("at least two classes"));
  REQUIRE_THAT(message("conv:1x5x5 logsoftmax"),
      ContainsSubstring("window is 5"));
  REQUIRE_THAT(Message([&input]() { ClassCount({}, input); }),
      ContainsSubstring("no layers"));
}

TEST_CASE("No text does harm", "[layers]")
{
  // Texts that are nearly right get furthest.
  const std::vector<std::string> pieces = { "conv", "maxpool", "linear",
      "dropout", "logsoftmax", ":", "x", "=", "stride", "pad", "same", " ",
      "\n", "#", "0", "1", "2", "3", "28", "2147483647", "4294967296", "-",
      ".", "e", "9", std::string(1, '\0'), "\xff" };
  std::mt19937 random(7);
  size_t understood = 0;
  for (size_t i = 0; i < 20000; ++i)
  {
    std::string text = i % 2 == 0 ? "conv:2x3x3:" : "";
    std::string shape;
    for (size_t j = random() % 12; j > 0; --j)
      text += pieces[random() % pieces.size()];
    for (size_t j = random() % 6; j > 0; --j)
      shape += pieces[random() % pieces.size()];

    try
    {
      const std::vector<LayerSpec> layers = ParseLayers(text);
      ++understood;
      LayerSizes(layers, ParseShape("28x28x1"));
      LayerSizes(layers, ParseShape(shape));
    }
    catch (const std::invalid_argument&)
    {
      // All else would fail the test.
    }
  }
  REQUIRE(understood > 0);
}
