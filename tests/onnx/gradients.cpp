/**
 * @file gradients.cpp
 *
 * The gradient of a model, for torch.py to compare: reads points and labels as
 * plain numbers, and prints for each initializer its name and place in the
 * gradient, which it writes to a file.
 *
 *   gradients MODEL POINTS LABELS COUNT GRADIENT [OUTPUT]
 *
 * POINTS are COUNT points of float, LABELS as many 64-bit numbers.  OUTPUT gets
 * the model's outputs as inference computes them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd_onnx.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

//! All numbers in a file.
template<typename Type>
std::vector<Type> ReadNumbers(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  std::string bytes(std::istreambuf_iterator<char>(file), { });
  std::vector<Type> numbers(bytes.size() / sizeof(Type));
  std::copy(bytes.begin(), bytes.begin() + std::ptrdiff_t(numbers.size() *
      sizeof(Type)), reinterpret_cast<char*>(numbers.data()));
  return numbers;
}

void WriteNumbers(const std::string& path, const arma::fmat& numbers)
{
  std::ofstream(path, std::ios::binary).write(
      reinterpret_cast<const char*>(numbers.memptr()),
      std::streamsize(numbers.n_elem * sizeof(float)));
}

} // namespace

int main(int argc, char** argv)
{
  if (argc < 6)
    return 2;
  try
  {
    const size_t count = std::stoul(argv[4]);
    const auto values = ReadNumbers<float>(argv[2]);
    const auto classes = ReadNumbers<std::int64_t>(argv[3]);
    arma::fmat points(values.data(), values.size() / count, count);
    arma::Row<size_t> labels(classes.size());
    std::copy(classes.begin(), classes.end(), labels.begin());
    dasgd::OnnxFunction<arma::fmat> function(argv[1], points, labels);
    arma::fmat gradient;
    const float loss = function.EvaluateWithGradient(
        function.GetInitialPoint(), 0, gradient, count);
    std::printf("loss %.9g\n", double(loss));
    for (const dasgd::OnnxParameter& each : function.Parameters())
    {
      std::printf("%s %zu %zu\n", each.name.c_str(), each.offset,
          each.elements);
    }
    WriteNumbers(argv[5], gradient);
    if (argc > 6)
    {
      arma::fmat output;
      function.Predict(function.GetInitialPoint(), points, output);
      WriteNumbers(argv[6], output);
    }
    return 0;
  }
  catch (const std::exception& e)
  {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
