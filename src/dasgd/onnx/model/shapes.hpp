/**
 * @file shapes.hpp
 *
 * What is known of the values of a model for one size of batch.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_SHAPES_HPP
#define DASGD_ONNX_MODEL_SHAPES_HPP

#include "proto.hpp"

#include <map>
#include <stdexcept>
#include <string>

namespace dasgd {
namespace graph {

//! Dimensions and types of all values, and the values that do not depend on
//! points or parameters.
struct Shapes
{
  std::map<std::string, Dims> dims;
  //! Types of the numbers, as files have them.
  std::map<std::string, std::int32_t> types;
  std::map<std::string, pb::TensorProto> constants;

  //! Dimensions of a value, which must be known.
  const Dims& Of(const std::string& name) const
  {
    const auto found = dims.find(name);
    if (found == dims.end())
      throw std::invalid_argument("the dimensions of '" + name + "' are not "
          "known");
    return found->second;
  }

  //! Is a value of floating-point numbers?
  bool IsReal(const std::string& name) const
  {
    const auto found = types.find(name);
    return found != types.end() && graph::IsReal(found->second);
  }
};

} // namespace graph
} // namespace dasgd

#endif
