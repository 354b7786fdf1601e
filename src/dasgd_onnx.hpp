/**
 * @file dasgd_onnx.hpp
 *
 * Include this to train ONNX models; link to dasgd::onnx.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_HPP
#define DASGD_ONNX_HPP

#include "dasgd/onnx/check.hpp"
#include "dasgd/onnx/onnx_function.hpp"

#endif
