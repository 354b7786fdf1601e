/**
 * @file proto.hpp
 *
 * The messages of which ONNX files consist, and access to parts of them that
 * does not trust the file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ONNX_MODEL_PROTO_HPP
#define DASGD_ONNX_MODEL_PROTO_HPP

// The macro decides which of two generated headers is read.
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dasgd {
namespace graph {

namespace pb = ::onnx;

//! Sizes of a tensor, or any list of whole numbers.
using Dims = std::vector<std::int64_t>;

//! Is this a type of floating-point numbers?  All of a model become one of the
//! two that dasgd computes with.
inline bool IsReal(const std::int32_t type)
{
  return type == pb::TensorProto::FLOAT || type == pb::TensorProto::DOUBLE ||
      type == pb::TensorProto::FLOAT16 || type == pb::TensorProto::BFLOAT16;
}

//! Is this a type of whole numbers, or of truth values?
bool IsWhole(const std::int32_t type);

//! Bytes of one value; 0 for types that are not looked into.
size_t Width(const std::int32_t type);

//! "32x1x28x28"; "scalar" without dimensions.
std::string Text(const Dims& dims);

//! The number of elements; throws if it is negative or overflows.
size_t Elements(const Dims& dims, const std::string& what);

//! "node 'conv1' (Conv)", or by what it computes if it has no name.
std::string Describe(const pb::NodeProto& node);

//
// Tensors.
//

Dims DimsOf(const pb::TensorProto& tensor);

//! Throws unless a tensor holds as many values as its dimensions say, in the
//! file itself.
void CheckTensor(const pb::TensorProto& tensor);

//! The values of a tensor of floating-point numbers, as other ones if need be.
template<typename ElemType>
std::vector<ElemType> Reals(const pb::TensorProto& tensor);

//! The values of a tensor of whole numbers.
Dims Integers(const pb::TensorProto& tensor);

//! A tensor of values that are given as bytes.
pb::TensorProto MakeTensor(const std::string& name,
                           const std::int32_t type,
                           const Dims& dims,
                           const void* values,
                           const size_t bytes);

//! A tensor of the given type of floating-point numbers.
template<typename ElemType>
pb::TensorProto MakeReals(const std::string& name,
                          const std::int32_t type,
                          const Dims& dims,
                          const ElemType* values);

//! The same tensor of another floating-point type, if it is of one.
void ConvertReals(pb::TensorProto& tensor, const std::int32_t type);

//
// Attributes of nodes.  All throw if the attribute is of another type.
//

//! Null if there is none.
const pb::AttributeProto* FindAttribute(const pb::NodeProto& node,
                                        const std::string& name);

std::int64_t Int(const pb::NodeProto& node,
                 const std::string& name,
                 const std::int64_t otherwise);
double Real(const pb::NodeProto& node,
            const std::string& name,
            const double otherwise);
std::string String(const pb::NodeProto& node,
                   const std::string& name,
                   const std::string& otherwise);
Dims Ints(const pb::NodeProto& node,
          const std::string& name,
          const Dims& otherwise);

void RemoveAttribute(pb::NodeProto& node, const std::string& name);

/**
 * An axis counted from the front.
 *
 * @param rank Dimensions that there are; the axis must be one of them.
 */
size_t Axis(const pb::NodeProto& node,
            const std::int64_t axis,
            const size_t rank);

} // namespace graph
} // namespace dasgd

#endif
