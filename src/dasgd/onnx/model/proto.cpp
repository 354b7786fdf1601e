/**
 * @file proto.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "dasgd/onnx/model/proto.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace dasgd {
namespace graph {

std::string Text(const Dims& dims)
{
  if (dims.empty())
    return "scalar";
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "" : "x") + std::to_string(dims[i]);
  return text;
}

size_t Elements(const Dims& dims, const std::string& what)
{
  // Far above any tensor, and far below where products of bytes overflow.
  const std::uint64_t limit = std::uint64_t(1) << 48;
  std::uint64_t elements = 1;
  for (const std::int64_t dim : dims)
  {
    if (dim < 0 || std::uint64_t(dim) > limit ||
        (dim > 0 && elements > limit / std::uint64_t(dim)))
    {
      throw std::invalid_argument(what + " has impossible dimensions (" +
          Text(dims) + ")");
    }
    elements *= std::uint64_t(dim);
  }
  return size_t(elements);
}

std::string Describe(const pb::NodeProto& node)
{
  std::string text = "node ";
  if (!node.name().empty())
    text += "'" + node.name() + "'";
  else if (node.output_size() > 0)
    text += "of '" + node.output(0) + "'";
  return text + " (" + (node.domain().empty() ? "" : node.domain() + ".") +
      node.op_type() + ")";
}

Dims DimsOf(const pb::TensorProto& tensor)
{
  return Dims(tensor.dims().begin(), tensor.dims().end());
}

bool IsWhole(const std::int32_t type)
{
  return Width(type) > 0 && !IsReal(type);
}

size_t Width(const std::int32_t type)
{
  switch (type)
  {
    case pb::TensorProto::BOOL:
    case pb::TensorProto::INT8:
    case pb::TensorProto::UINT8:
      return 1;
    case pb::TensorProto::INT16:
    case pb::TensorProto::UINT16:
    case pb::TensorProto::FLOAT16:
    case pb::TensorProto::BFLOAT16:
      return 2;
    case pb::TensorProto::FLOAT:
    case pb::TensorProto::INT32:
    case pb::TensorProto::UINT32:
      return 4;
    case pb::TensorProto::DOUBLE:
    case pb::TensorProto::INT64:
    case pb::TensorProto::UINT64:
      return 8;
    default:
      return 0;
  }
}

namespace {

//! What to call a tensor in messages.
std::string Name(const pb::TensorProto& tensor)
{
  return "the tensor '" + tensor.name() + "'";
}

//! How many values the field for a type holds.
size_t TypedValues(const pb::TensorProto& tensor)
{
  switch (tensor.data_type())
  {
    case pb::TensorProto::FLOAT: return size_t(tensor.float_data_size());
    case pb::TensorProto::DOUBLE: return size_t(tensor.double_data_size());
    case pb::TensorProto::INT64: return size_t(tensor.int64_data_size());
    case pb::TensorProto::UINT32:
    case pb::TensorProto::UINT64: return size_t(tensor.uint64_data_size());
    default: return size_t(tensor.int32_data_size());
  }
}

//! Values of a type as they stand in the file, after CheckTensor().
template<typename StoredType, typename ElemType, typename FieldType>
std::vector<ElemType> Values(const pb::TensorProto& tensor,
                             const FieldType& field)
{
  if (!tensor.has_raw_data())
    return std::vector<ElemType>(field.begin(), field.end());
  std::vector<ElemType> values(tensor.raw_data().size() / sizeof(StoredType));
  for (size_t i = 0; i < values.size(); ++i)
  {
    // The bytes of a file need not be aligned.
    StoredType value;
    std::memcpy(&value, tensor.raw_data().data() + i * sizeof(value),
        sizeof(value));
    values[i] = ElemType(value);
  }
  return values;
}

//! A number of 16 bits.
float FromHalf(const std::uint32_t bits, const std::int32_t type)
{
  std::uint32_t wide = bits << 16;
  if (type == pb::TensorProto::FLOAT16)
  {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 31;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0)
    {
      // Zero, or a number below the normal ones.
      const float value = float(fraction) / 16777216;
      return sign ? -value : value;
    }
    wide = sign | ((exponent == 31 ? 255 : exponent + 112) << 23) |
        (fraction << 13);
  }
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

//! The 16 bits that are nearest to a number; of two, those that end in 0.
std::uint16_t ToHalf(const float value, const std::int32_t type)
{
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) // Not a number.
    return std::uint16_t(sign | 0x7fffu);
  const auto rounded = [](const std::uint32_t from, const int drop)
  {
    const std::uint32_t half = 1u << (drop - 1);
    return (from + half - 1 + ((from >> drop) & 1)) >> drop;
  };
  if (type == pb::TensorProto::BFLOAT16)
    return std::uint16_t(sign | rounded(size, 16));
  if (size >= 0x477ff000u) // Rounds to infinity.
    return std::uint16_t(sign | 0x7c00u);
  if (size < 0x38800000u)
  {
    // In units of 2^-24; nearbyint() rounds to even.
    return std::uint16_t(sign | std::uint32_t(std::nearbyint(
        std::fabs(value) * 16777216)));
  }
  return std::uint16_t(sign | rounded(size - 0x38000000u, 13));
}

//! Numbers of 16 bits; without raw bytes, each is in a field of 32.
template<typename ElemType>
std::vector<ElemType> Halves(const pb::TensorProto& tensor)
{
  std::vector<ElemType> values;
  for (const std::uint32_t bits : Values<std::uint16_t, std::uint32_t>(tensor,
      tensor.int32_data()))
    values.push_back(ElemType(FromHalf(bits & 0xffffu, tensor.data_type())));
  return values;
}

} // namespace

void CheckTensor(const pb::TensorProto& tensor)
{
  if (tensor.external_data_size() > 0 ||
      tensor.data_location() == pb::TensorProto::EXTERNAL)
  {
    throw std::invalid_argument(Name(tensor) + " is in another file, which "
        "can be read for initializers of the model itself only; save the model "
        "with all its weights in one");
  }
  const size_t elements = Elements(DimsOf(tensor), Name(tensor));
  const size_t width = Width(tensor.data_type());
  if (width == 0)
    return;
  const size_t found = tensor.has_raw_data() ?
      tensor.raw_data().size() / width : TypedValues(tensor);
  if (found != elements ||
      (tensor.has_raw_data() && tensor.raw_data().size() % width != 0))
  {
    throw std::invalid_argument(Name(tensor) + " has dimensions " +
        Text(DimsOf(tensor)) + ", which are " + std::to_string(elements) +
        " values, but holds " + std::to_string(found) +
        "; the file is damaged");
  }
}

template<typename ElemType>
std::vector<ElemType> Reals(const pb::TensorProto& tensor)
{
  CheckTensor(tensor);
  if (tensor.data_type() == pb::TensorProto::FLOAT)
    return Values<float, ElemType>(tensor, tensor.float_data());
  if (tensor.data_type() == pb::TensorProto::DOUBLE)
    return Values<double, ElemType>(tensor, tensor.double_data());
  if (IsReal(tensor.data_type()))
    return Halves<ElemType>(tensor);
  throw std::invalid_argument(Name(tensor) + " is of type " +
      std::to_string(tensor.data_type()) + ", but has to be of floating-point "
      "numbers");
}

template std::vector<float> Reals<float>(const pb::TensorProto&);
template std::vector<double> Reals<double>(const pb::TensorProto&);

Dims Integers(const pb::TensorProto& tensor)
{
  CheckTensor(tensor);
  if (tensor.data_type() == pb::TensorProto::INT64)
    return Values<std::int64_t, std::int64_t>(tensor, tensor.int64_data());
  if (tensor.data_type() == pb::TensorProto::INT32)
    return Values<std::int32_t, std::int64_t>(tensor, tensor.int32_data());
  throw std::invalid_argument(Name(tensor) + " is of type " +
      std::to_string(tensor.data_type()) + ", but has to be of whole numbers");
}

pb::TensorProto MakeTensor(const std::string& name,
                           const std::int32_t type,
                           const Dims& dims,
                           const void* values,
                           const size_t bytes)
{
  pb::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_raw_data(values, bytes);
  return tensor;
}

template<typename ElemType>
pb::TensorProto MakeReals(const std::string& name,
                          const std::int32_t type,
                          const Dims& dims,
                          const ElemType* values)
{
  const size_t elements = Elements(dims, "the tensor '" + name + "'");
  if (type == pb::TensorProto::FLOAT)
  {
    const std::vector<float> converted(values, values + elements);
    return MakeTensor(name, type, dims, converted.data(),
        elements * sizeof(float));
  }
  if (type == pb::TensorProto::DOUBLE)
  {
    const std::vector<double> converted(values, values + elements);
    return MakeTensor(name, type, dims, converted.data(),
        elements * sizeof(double));
  }
  std::vector<std::uint16_t> converted(elements);
  for (size_t i = 0; i < elements; ++i)
    converted[i] = ToHalf(float(values[i]), type);
  return MakeTensor(name, type, dims, converted.data(),
      elements * sizeof(std::uint16_t));
}

template pb::TensorProto MakeReals<float>(const std::string&,
    const std::int32_t, const Dims&, const float*);
template pb::TensorProto MakeReals<double>(const std::string&,
    const std::int32_t, const Dims&, const double*);

void ConvertReals(pb::TensorProto& tensor, const std::int32_t type)
{
  if (!IsReal(tensor.data_type()) || tensor.data_type() == type)
    return;
  tensor = MakeReals(tensor.name(), type, DimsOf(tensor),
      Reals<double>(tensor).data());
}

const pb::AttributeProto* FindAttribute(const pb::NodeProto& node,
                                        const std::string& name)
{
  for (const pb::AttributeProto& attribute : node.attribute())
  {
    if (attribute.name() == name)
      return &attribute;
  }
  return nullptr;
}

namespace {

//! The same, of a type that is asked for.
const pb::AttributeProto* Typed(const pb::NodeProto& node,
                                const std::string& name,
                                const std::int32_t type)
{
  const pb::AttributeProto* attribute = FindAttribute(node, name);
  if (attribute && attribute->type() != type)
  {
    throw std::invalid_argument(Describe(node) + ": attribute '" + name +
        "' is of type " + std::to_string(attribute->type()) + ", but has to "
        "be of type " + std::to_string(type));
  }
  return attribute;
}

} // namespace

std::int64_t Int(const pb::NodeProto& node,
                 const std::string& name,
                 const std::int64_t otherwise)
{
  const auto* attribute = Typed(node, name, pb::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

double Real(const pb::NodeProto& node,
            const std::string& name,
            const double otherwise)
{
  const auto* attribute = Typed(node, name, pb::AttributeProto::FLOAT);
  return attribute ? double(attribute->f()) : otherwise;
}

std::string String(const pb::NodeProto& node,
                   const std::string& name,
                   const std::string& otherwise)
{
  const auto* attribute = Typed(node, name, pb::AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

Dims Ints(const pb::NodeProto& node,
          const std::string& name,
          const Dims& otherwise)
{
  const auto* attribute = Typed(node, name, pb::AttributeProto::INTS);
  return attribute ? Dims(attribute->ints().begin(), attribute->ints().end()) :
      otherwise;
}

void RemoveAttribute(pb::NodeProto& node, const std::string& name)
{
  for (int i = node.attribute_size() - 1; i >= 0; --i)
  {
    if (node.attribute(i).name() == name)
      node.mutable_attribute()->DeleteSubrange(i, 1);
  }
}

size_t Axis(const pb::NodeProto& node,
            const std::int64_t axis,
            const size_t rank)
{
  const std::int64_t dimensions = std::int64_t(rank);
  if (axis < -dimensions || axis >= dimensions)
  {
    throw std::invalid_argument(Describe(node) + ": there is no axis " +
        std::to_string(axis) + " in " + std::to_string(rank) + " dimensions");
  }
  return size_t(axis < 0 ? axis + dimensions : axis);
}

} // namespace graph
} // namespace dasgd
