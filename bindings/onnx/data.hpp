/**
 * @file data.hpp
 *
 * What a model is given and what it should make of it, from files of any kind.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_DATA_HPP
#define DASGD_BINDINGS_ONNX_DATA_HPP

#include <dasgd_onnx.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace dasgd {
namespace onnx_program {

//! Points and what is known of them.
struct DataSet
{
  std::vector<OnnxArray> inputs;
  //! Empty if there are none.
  OnnxArray targets;

  bool Empty() const { return inputs.empty(); }
};

//! How files are read.
struct DataOptions
{
  //! Must there be targets?
  bool targeted = true;
  //! Are they classes?
  bool classes = true;
  bool sharded = false;
  double scale = 1;
  //! Bytes of a text that make a point; 0 if files are no texts.
  size_t textLength = 0;
};

/**
 * Read points and their targets.
 *
 * - Of a text, every piece of so many bytes is a point; its targets are the
 *   bytes that follow each.
 * - In an .npz file, arrays have the names of the model's inputs; targets are
 *   the one called labels, targets or y.
 * - Of all others, targets are in a file of their own or in the last column.
 *
 * @param points,targets Values of the parameters; targets may be empty.
 * @param pointsName,targetsName The parameters, for messages.
 */
DataSet ReadData(const std::string& points,
                 const std::string& targets,
                 const std::string& pointsName,
                 const std::string& targetsName,
                 const DataOptions& options);

} // namespace onnx_program
} // namespace dasgd

#endif
