/**
 * @file loss.hpp
 *
 * What a model is trained for.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_LOSS_HPP
#define DASGD_ONNX_LOSS_HPP

#include <stdexcept>
#include <string>

namespace dasgd {

//! The loss of one point; that of a batch is the sum.
enum class OnnxLoss
{
  //! Minus the logarithm of the probability of the point's class.  The outputs
  //! are taken for logits, unless the model ends in Softmax.
  CrossEntropy,
  //! The mean, over the outputs, of the square of the error.
  MeanSquaredError,
  //! The mean, over the outputs, of the cross entropy of a yes or no.  The
  //! outputs are taken for logits, unless the model ends in Sigmoid.
  BinaryCrossEntropy
};

//! By its name: cross_entropy, mse or binary_cross_entropy.
inline OnnxLoss ParseOnnxLoss(const std::string& name)
{
  if (name == "cross_entropy")
    return OnnxLoss::CrossEntropy;
  if (name == "mse")
    return OnnxLoss::MeanSquaredError;
  if (name == "binary_cross_entropy")
    return OnnxLoss::BinaryCrossEntropy;
  throw std::invalid_argument("there is no loss '" + name + "'; give "
      "cross_entropy, mse or binary_cross_entropy");
}

} // namespace dasgd

#endif
