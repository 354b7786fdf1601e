/**
 * @file differences.hpp
 *
 * Gradients against finite differences.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_ONNX_DIFFERENCES_HPP
#define DASGD_TESTS_ONNX_DIFFERENCES_HPP

#include "models.hpp"

#include <dasgd_onnx.hpp>

#include "catch.hpp"

namespace differences {

//! Points, and responses that are not met, from a seed.
template<typename MatType>
MatType Random(const size_t rows,
               const size_t cols,
               const double from,
               const double to,
               const unsigned seed)
{
  const auto numbers = models::Numbers(rows * cols, from, to, seed);
  MatType matrix(rows, cols);
  for (size_t i = 0; i < numbers.size(); ++i)
    matrix[i] = typename MatType::elem_type(numbers[i]);
  return matrix;
}

//! The message of an exception.
template<typename ActionType>
std::string Message(ActionType&& action)
{
  try
  {
    action();
  }
  catch (const std::exception& e)
  {
    return e.what();
  }
  return "nothing was thrown";
}

/**
 * Compare the gradient of a model, trained by the squared error, with central
 * differences.
 *
 * @param inputs,outputs Numbers of a point, and of the output for it.
 * @param step Of the differences.
 * @param tolerance Largest difference, relative to the largest element.
 */
template<typename MatType>
void Check(const std::string& bytes,
           const size_t inputs,
           const size_t outputs,
           const double step,
           const double tolerance,
           const double from = -1,
           const double to = 1)
{
  const size_t batch = 3;
  models::TemporaryFile file;
  file.Write(bytes);
  dasgd::OnnxFunction<MatType> function(file.Path(),
      Random<MatType>(inputs, batch, from, to, 101),
      Random<MatType>(outputs, batch, -1, 1, 102),
      dasgd::OnnxLoss::MeanSquaredError);
  MatType iterate = function.GetInitialPoint(), gradient;
  function.EvaluateWithGradient(iterate, 0, gradient, batch);
  arma::vec found(iterate.n_elem), expected(iterate.n_elem);
  for (size_t i = 0; i < iterate.n_elem; ++i)
  {
    const auto value = iterate[i];
    iterate[i] = typename MatType::elem_type(value + step);
    const double above = double(function.Evaluate(iterate, 0, batch));
    const double high = double(iterate[i]);
    iterate[i] = typename MatType::elem_type(value - step);
    const double below = double(function.Evaluate(iterate, 0, batch));
    expected[i] = (above - below) / (high - double(iterate[i]));
    iterate[i] = value;
    found[i] = double(gradient[i]);
  }
  const double scale = arma::abs(expected).max();
  CAPTURE(found.t(), expected.t());
  CHECK(scale > 1e-3);
  CHECK(arma::abs(found - expected).max() / scale < tolerance);
}

//! In double precision.
inline void CheckDouble(const std::string& bytes,
                        const size_t inputs,
                        const size_t outputs,
                        const double from = -1,
                        const double to = 1)
{
  // Truncation is of the order of the step's square, rounding of 1e-16 / step.
  Check<arma::mat>(bytes, inputs, outputs, 1e-5, 1e-7, from, to);
}

/**
 * In single precision, where the runtime has no other: of an output that is
 * linear in each weight.  The loss is quadratic then, differences are exact for
 * any step, and only rounding remains.
 */
inline void CheckLinear(const std::string& bytes,
                        const size_t inputs,
                        const size_t outputs,
                        const double step = 0.5,
                        const double tolerance = 1e-4)
{
  Check<arma::fmat>(bytes, inputs, outputs, step, tolerance);
}

/**
 * In single precision, where the runtime has no other, of smooth outputs:
 * truncation and rounding are about equal.
 */
inline void CheckSingle(const std::string& bytes,
                        const size_t inputs,
                        const size_t outputs)
{
  Check<arma::fmat>(bytes, inputs, outputs, 1e-2, 1e-3);
}

/**
 * What is written out for training gives what the runtime's own operator gives:
 * the loss of training is that of predictions.
 */
inline void CheckAgainstRuntime(const std::string& bytes,
                                const size_t inputs,
                                const size_t outputs)
{
  models::TemporaryFile file;
  file.Write(bytes);
  const arma::fmat points = Random<arma::fmat>(inputs, 4, -1, 1, 103);
  const arma::fmat responses = Random<arma::fmat>(outputs, 4, -1, 1, 104);
  dasgd::OnnxFunction<arma::fmat> function(file.Path(), points, responses,
      dasgd::OnnxLoss::MeanSquaredError);
  const arma::fmat iterate = function.GetInitialPoint();
  arma::fmat output;
  function.Predict(iterate, points, output);
  const double expected = double(arma::accu(arma::square(output -
      responses))) / double(outputs);
  CHECK(double(function.Evaluate(iterate, 0, 4)) ==
      Approx(expected).epsilon(1e-5));
}

} // namespace differences

#endif
