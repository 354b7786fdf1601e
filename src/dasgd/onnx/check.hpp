/**
 * @file check.hpp
 *
 * Everything that keeps a model from being trained, said at once and without
 * data.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_CHECK_HPP
#define DASGD_ONNX_CHECK_HPP

#include "onnx_function.hpp"

#include <string>
#include <vector>

namespace dasgd {

//! What would be trained, and what is in the way.
struct OnnxReport
{
  //! Each names a node or a value, the reason, and what to do; without any the
  //! model can be trained.
  std::vector<std::string> problems;
  //! What holds only for the check, such as sizes that a model leaves open.
  std::vector<std::string> remarks;
  //! What would be trained; their elements added up are the weights.  Empty if
  //! the file cannot be read.
  std::vector<OnnxParameter> parameters;
  //! The nodes that a point passes, with dimensions where they are known.
  std::vector<OnnxNode> nodes;
};

/**
 * Read and differentiate a model as training would.
 *
 * @param options As for OnnxFunction; `frozen` changes what is trained.
 * @param loss With OnnxLoss::Model, the output that is the loss is looked at.
 */
OnnxReport CheckOnnxModel(const std::string& modelFile,
                          const OnnxOptions& options = OnnxOptions(),
                          const OnnxLoss loss = OnnxLoss::CrossEntropy);

} // namespace dasgd

#endif
