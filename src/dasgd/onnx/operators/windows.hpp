/**
 * @file windows.hpp
 *
 * Where the windows of convolutions and pools lie.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_OPERATORS_WINDOWS_HPP
#define DASGD_ONNX_OPERATORS_WINDOWS_HPP

#include "operators.hpp"

namespace dasgd {
namespace graph {

//! For each dimension of images: sizes, and the padding that windows reach.
struct Windows
{
  Dims in, out, kernel, strides, dilations, begin, end;

  size_t Rank() const { return in.size(); }

  //! Places from the first of a window to behind the last.
  std::int64_t Extent(const size_t i) const
  { return (kernel[i] - 1) * dilations[i] + 1; }

  //! Padding as attributes have it: all beginnings, then all ends.
  Dims Pads() const
  {
    Dims pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    return pads;
  }

  //! Do two windows share a place?
  bool Overlap() const
  {
    for (size_t i = 0; i < Rank(); ++i)
    {
      if (out[i] > 1 && strides[i] < Extent(i))
        return true;
    }
    return false;
  }

  //! Do windows cover everything exactly once?
  bool Tile() const
  {
    for (size_t i = 0; i < Rank(); ++i)
    {
      if (dilations[i] != 1 || begin[i] != 0 || end[i] != 0 ||
          (out[i] > 1 && strides[i] != kernel[i]) ||
          in[i] != out[i] * kernel[i])
        return false;
    }
    return true;
  }
};

/**
 * The windows of a node whose first input and output are images, with padding
 * resolved.
 *
 * @param kernel The size of a window.
 */
Windows WindowsOf(const Context& c, const Dims& kernel);

//! The same of other images than input and output.
Windows WindowsOf(const Context& c,
                  const Dims& kernel,
                  const Dims& in,
                  const Dims& out);

} // namespace graph
} // namespace dasgd

#endif
