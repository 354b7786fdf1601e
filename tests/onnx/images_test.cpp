/**
 * @file images_test.cpp
 *
 * Gradients of convolutions and pools, for which ONNX Runtime computes in
 * single precision only.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "differences.hpp"

#include <map>

using differences::CheckLinear;
using models::Attributes;
using models::Dims;
using models::Maker;

namespace {

//! A convolution whose images are trained as well; checks its gradient.
void CheckConv(const Dims& point,
               const Dims& kernels,
               const size_t outputs,
               const Attributes& attributes)
{
  Maker maker(point);
  Dims all{ 1 };
  all.insert(all.end(), point.begin(), point.end());
  const std::string images = maker.Add("Mul", { "x", maker.Weight(all) });
  CheckLinear(maker.Finish(maker.Add("Conv", { images, maker.Weight(kernels),
      maker.Weight({ kernels[0] }) }, attributes)),
      dasgd::graph::Elements(point, ""), outputs);
}

//! A pool of images with values that are far apart.
void CheckPool(const std::string& operation,
               const Dims& point,
               const size_t outputs,
               const Attributes& attributes,
               const std::int64_t opset = 17)
{
  Maker maker(point, opset);
  Dims all{ 1 };
  all.insert(all.end(), point.begin(), point.end());
  const size_t count = dasgd::graph::Elements(point, "");
  // Distinct whole numbers, in no order: a step of 0.2 changes no maximum.
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = double(i * 37 % 101) / 2;
  maker.build.AddConstant(dasgd::graph::MakeReals("images",
      models::pb::TensorProto::FLOAT, all, values.data()));
  const std::string images = maker.Add("Add", { "images", maker.Add("Mul",
      { "x", maker.build.Scalar(0.01) }) });
  // Comparable to the responses.
  CheckLinear(maker.Finish(maker.Add("Mul", { maker.Add(operation, { images },
      attributes), maker.build.Scalar(0.05) })), count, outputs, 0.2, 5e-4);
}

} // namespace

TEST_CASE("Conv has the right gradient", "[onnx]")
{
  CheckConv({ 2, 5, 4 }, { 3, 2, 3, 2 }, 27, { });
  CheckConv({ 2, 5, 4 }, { 3, 2, 3, 2 }, 60,
      { { "pads", Dims{ 1, 1, 1, 0 } } });
  // Steps that leave something over.
  CheckConv({ 1, 6, 7 }, { 2, 1, 3, 2 }, 8, { { "strides", Dims{ 2, 3 } } });
  CheckConv({ 1, 6, 7 }, { 2, 1, 2, 2 }, 50, { { "dilations", Dims{ 2, 3 } },
      { "pads", Dims{ 0, 0, 1, 1 } } });
  CheckConv({ 1, 7, 7 }, { 1, 1, 2, 2 }, 9, { { "dilations", Dims{ 2, 2 } },
      { "strides", Dims{ 2, 2 } } });
  CheckConv({ 4, 4, 4 }, { 6, 2, 3, 3 }, 24, { { "group", 2 } });
  CheckConv({ 3, 4, 4 }, { 3, 1, 2, 2 }, 27, { { "group", 3 } });
  CheckConv({ 1, 5, 5 }, { 2, 1, 2, 2 }, 18, { { "strides", Dims{ 2, 2 } },
      { "auto_pad", std::string("SAME_UPPER") } });
  CheckConv({ 1, 4, 4 }, { 2, 1, 2, 2 }, 32,
      { { "auto_pad", std::string("SAME_LOWER") } });
  CheckConv({ 3, 4, 4 }, { 2, 3, 1, 1 }, 32, { });
  CheckConv({ 2, 6 }, { 2, 2, 3 }, 8, { });
  CheckConv({ 1, 3, 3, 3 }, { 2, 1, 2, 2, 2 }, 16, { });
}

TEST_CASE("ConvTranspose has the right gradient", "[onnx]")
{
  const auto check = [](const Dims& point, const Dims& kernels,
                        const std::int64_t channels, const size_t outputs,
                        const Attributes& attributes)
  {
    Maker maker(point);
    Dims all{ 1 };
    all.insert(all.end(), point.begin(), point.end());
    const std::string images = maker.Add("Mul", { "x", maker.Weight(all) });
    CheckLinear(maker.Finish(maker.Add("ConvTranspose", { images,
        maker.Weight(kernels), maker.Weight({ channels }) }, attributes)),
        dasgd::graph::Elements(point, ""), outputs);
  };
  check({ 2, 3, 2 }, { 2, 3, 2, 2 }, 3, 72, { { "strides", Dims{ 2, 2 } } });
  check({ 2, 3, 3 }, { 2, 1, 3, 3 }, 1, 36, { { "strides", Dims{ 2, 2 } },
      { "pads", Dims{ 1, 1, 1, 1 } }, { "output_padding", Dims{ 1, 1 } } });
  check({ 4, 3, 2 }, { 4, 1, 2, 2 }, 2, 24, { { "group", 2 } });
  check({ 1, 3, 3 }, { 1, 2, 2, 2 }, 2, 50, { { "dilations", Dims{ 2, 2 } } });
  check({ 2, 4 }, { 2, 2, 3 }, 2, 18, { { "strides", Dims{ 2 } } });
}

TEST_CASE("Resize has the right gradient", "[onnx]")
{
  struct Case
  {
    const char* mode;
    const char* transformation;
    std::vector<double> scales;
    Dims sizes;
    size_t outputs;
  };
  for (const Case& each : {
      Case{ "nearest", "asymmetric", { 1, 1, 2, 2 }, { }, 48 },
      Case{ "nearest", "half_pixel", { 1, 1, 1.5, 2 }, { }, 32 },
      Case{ "linear", "half_pixel", { 1, 1, 2, 2 }, { }, 48 },
      Case{ "linear", "align_corners", { }, { 5, 7 }, 70 },
      Case{ "linear", "pytorch_half_pixel", { }, { 2, 4 }, 16 },
      Case{ "cubic", "half_pixel", { 1, 1, 2, 2 }, { }, 48 } })
  {
    DYNAMIC_SECTION(each.mode << " " << each.transformation)
    {
      Maker maker({ 2, 3, 2 });
      const std::string images = maker.Add("Mul", { "x", maker.Weight({ 2, 3,
          2 }) });
      models::Names inputs{ images, "" };
      if (each.scales.empty())
      {
        inputs.push_back("");
        inputs.push_back(maker.Add("Concat", { maker.Add("Shape", { images },
            { { "end", 2 } }), maker.Ints(each.sizes) }, { { "axis", 0 } }));
      }
      else
        inputs.push_back(maker.build.Tensor({ 4 }, each.scales));
      CheckLinear(maker.Finish(maker.Add("Resize", inputs, {
          { "mode", std::string(each.mode) }, { "nearest_mode",
          std::string("floor") }, { "coordinate_transformation_mode",
          std::string(each.transformation) } })), 12, each.outputs);
    }
  }
}

TEST_CASE("MaxPool has the right gradient", "[onnx]")
{
  const Attributes plain{ { "kernel_shape", Dims{ 2, 2 } },
      { "strides", Dims{ 2, 2 } } };
  CheckPool("MaxPool", { 2, 4, 6 }, 12, plain);
  CheckPool("MaxPool", { 2, 5, 5 }, 8, plain);
  CheckPool("MaxPool", { 2, 5, 5 }, 18, { { "kernel_shape", Dims{ 2, 2 } },
      { "strides", Dims{ 2, 2 } }, { "ceil_mode", 1 } });
  CheckPool("MaxPool", { 1, 5, 5 }, 9, { { "kernel_shape", Dims{ 3, 3 } } });
  CheckPool("MaxPool", { 1, 6, 6 }, 9, { { "kernel_shape", Dims{ 3, 3 } },
      { "strides", Dims{ 2, 2 } }, { "pads", Dims{ 1, 1, 1, 1 } } });
  CheckPool("MaxPool", { 2, 6 }, 6, { { "kernel_shape", Dims{ 2 } },
      { "strides", Dims{ 2 } } });
}

TEST_CASE("AveragePool has the right gradient", "[onnx]")
{
  const Dims two{ 2, 2 }, three{ 3, 3 }, pads{ 1, 1, 1, 1 };
  CheckPool("AveragePool", { 2, 4, 6 }, 12, { { "kernel_shape", two },
      { "strides", two } });
  CheckPool("AveragePool", { 2, 5, 5 }, 8, { { "kernel_shape", two },
      { "strides", two } });
  CheckPool("AveragePool", { 2, 5, 5 }, 18, { { "kernel_shape", three } });
  for (const int count : { 0, 1 })
  {
    CheckPool("AveragePool", { 2, 5, 5 }, 18, { { "kernel_shape", three },
        { "strides", two }, { "pads", pads }, { "count_include_pad", count } });
  }
  CheckPool("AveragePool", { 1, 5, 5 }, 9, { { "kernel_shape", two },
      { "strides", two }, { "ceil_mode", 1 } });
  CheckPool("GlobalAveragePool", { 3, 2, 4 }, 3, { });
}

TEST_CASE("images are laid out as mlpack lays them out", "[onnx]")
{
  // One kernel that is 1 at channel 1, row 0, column 2 takes that pixel of each
  // window.  mlpack: columns within rows within channels.
  const size_t channels = 2, rows = 3, cols = 5;
  Maker maker({ std::int64_t(channels), std::int64_t(rows),
      std::int64_t(cols) });
  std::vector<double> kernel(channels * 2 * 3, 0.0);
  kernel[1 * 6 + 0 * 3 + 2] = 1;
  maker.build.AddConstant(dasgd::graph::MakeReals("kernel",
      models::pb::TensorProto::FLOAT, { 1, 2, 2, 3 }, kernel.data()));
  models::TemporaryFile file;
  file.Write(maker.Finish(maker.Add("Conv", { "x", "kernel" })));
  dasgd::OnnxFunction<arma::fmat> function(file.Path());
  const arma::fmat points = differences::Random<arma::fmat>(
      channels * rows * cols, 2, -1, 1, 5);
  arma::fmat output;
  function.Predict(function.GetInitialPoint(), points, output);
  REQUIRE(output.n_rows == 2 * 3);
  for (size_t n = 0; n < 2; ++n)
  {
    // The image as a cube of mlpack: width x height x channels.
    const arma::fcube image(const_cast<float*>(points.colptr(n)), cols, rows,
        channels, false, true);
    for (size_t row = 0; row < 2; ++row)
    {
      for (size_t col = 0; col < 3; ++col)
        CHECK(output(row * 3 + col, n) == image(col + 2, row, 1));
    }
  }
}
