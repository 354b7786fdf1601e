/**
 * @file loss.hpp
 *
 * What a model is trained for.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_LOSS_HPP
#define DASGD_ONNX_LOSS_HPP

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

//! The loss of one point; that of a batch is the sum.
enum class OnnxLoss
{
  //! Minus the logarithm of the probability of the point's class, or the mean
  //! of that over the classes that a point has, such as one for each token.
  //! The outputs are taken for logits, unless the model ends in Softmax.
  CrossEntropy,
  //! The mean, over the outputs, of the square of the error.
  MeanSquaredError,
  //! The mean, over the outputs, of the cross entropy of a yes or no.  The
  //! outputs are taken for logits, unless the model ends in Sigmoid.
  BinaryCrossEntropy,
  //! The mean, over the outputs, of the size of the error.
  MeanAbsoluteError,
  //! An output of the model is the loss: the mean over a batch, or one number
  //! for each point.
  Model
};

//! By its name: cross_entropy, binary_cross_entropy, mse, mae or model.
inline OnnxLoss ParseOnnxLoss(const std::string& name)
{
  if (name == "cross_entropy")
    return OnnxLoss::CrossEntropy;
  if (name == "mse")
    return OnnxLoss::MeanSquaredError;
  if (name == "binary_cross_entropy")
    return OnnxLoss::BinaryCrossEntropy;
  if (name == "mae")
    return OnnxLoss::MeanAbsoluteError;
  if (name == "model")
    return OnnxLoss::Model;
  throw std::invalid_argument("there is no loss '" + name + "'; give "
      "cross_entropy, binary_cross_entropy, mse, mae or model");
}

namespace graph {

//! A loss and what it depends on besides outputs and targets.
struct Objective
{
  Objective(const OnnxLoss loss = OnnxLoss::CrossEntropy) : loss(loss) { }

  OnnxLoss loss;
  //! For the cross entropy, the dimension of the output that goes over classes;
  //! 0 for DefaultClassAxis().
  size_t classAxis = 0;
  //! Positions with this class are left out, if there are any.
  bool ignores = false;
  std::int64_t ignored = -100;
};

//! Where classes are unless targets tell: images have them after the batch, all
//! else at the end.
inline size_t DefaultClassAxis(const size_t rank)
{
  return rank > 3 || rank < 2 ? 1 : rank - 1;
}

/**
 * Which dimension of an output goes over classes: without it, the output has
 * the dimensions of the targets.
 *
 * @param output,targets Both without the batch.  Targets of one number may have
 *     no dimension.
 * @return 0 if they do not fit.
 */
inline size_t ClassAxis(const std::vector<std::int64_t>& output,
                        const std::vector<std::int64_t>& targets)
{
  const auto fits = [&](const size_t axis)
  {
    std::vector<std::int64_t> rest = output;
    rest.erase(rest.begin() + std::ptrdiff_t(axis - 1));
    std::int64_t elements = 1, wanted = 1;
    for (const std::int64_t dim : rest)
      elements *= dim;
    for (const std::int64_t dim : targets)
      wanted *= dim;
    // A table has rows of numbers, whatever their dimensions are.
    return rest == targets || (elements == wanted && targets.size() <= 1);
  };
  const size_t first = DefaultClassAxis(output.size() + 1);
  for (const size_t axis : { first, output.size(), size_t(1) })
  {
    if (axis > 0 && axis <= output.size() && fits(axis))
      return axis;
  }
  return 0;
}

} // namespace graph

} // namespace dasgd

#endif
