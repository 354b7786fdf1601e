/**
 * @file short_vector.hpp
 *
 * Vectors in fewer bytes: rounded elements, or those that are not zero.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_SHORT_VECTOR_HPP
#define DASGD_WIRE_SHORT_VECTOR_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace dasgd {
namespace wire {

//! A number in the eight-bit exponent and significand of the upper half of a
//! float, rounded to nearest, ties to even.  Numbers that are too large become
//! the largest there is: what is missing is sent later.
struct BFloat
{
  std::uint16_t bits;

  BFloat() = default;
  explicit BFloat(const double value)
  {
    // Through float, rounded to odd there, so as not to round twice.
    constexpr double most = 3.3895313892515355e38;
    const double within = std::min(std::max(value, -most), most);
    float rounded = float(within);
    std::uint32_t word;
    std::memcpy(&word, &rounded, sizeof(word));
    if (double(rounded) != within && (word & 1) == 0)
    {
      // The neighbour on the other side of the exact number is odd.
      word += (std::abs(double(rounded)) < std::abs(within)) ? 1u : ~0u;
    }
    bits = std::uint16_t((word + 0x7FFFu + ((word >> 16) & 1u)) >> 16);
  }

  explicit operator double() const
  {
    const std::uint32_t word = std::uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return double(value);
  }
};

//! The same for float.
struct Float
{
  float value;

  Float() = default;
  explicit Float(const double number)
  {
    constexpr double most = double(std::numeric_limits<float>::max());
    value = float(std::min(std::max(number, -most), most));
  }
  explicit operator double() const { return double(value); }
};

/**
 * Make a vector shorter, where it stands.
 *
 * @param vector The vector; its start becomes the short form.
 * @param rest Gets what the short form lacks, unless it is null.
 * @return Whether the short form lacks anything.
 */
template<typename ShortType, typename ElemType>
bool Shorten(ElemType* vector, ElemType* rest, const size_t elements)
{
  std::uint8_t* out = reinterpret_cast<std::uint8_t*>(vector);
  bool lacks = false;
  for (size_t i = 0; i < elements; ++i)
  {
    const ElemType whole = vector[i];
    const ShortType part{ double(whole) };
    const ElemType lack = whole - ElemType(double(part));
    lacks |= (lack != ElemType(0));
    if (rest)
      rest[i] = lack;
    // Behind what has been read already.
    std::memcpy(out + i * sizeof(ShortType), &part, sizeof(ShortType));
  }
  return lacks;
}

//! The other way, from any place in memory.
template<typename ShortType, typename ElemType>
void Lengthen(const std::uint8_t* bytes, ElemType* vector,
              const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
  {
    ShortType part;
    std::memcpy(&part, bytes + i * sizeof(ShortType), sizeof(ShortType));
    vector[i] = ElemType(double(part));
  }
}

/**
 * Keep only the elements that are not zero, where the vector stands: first
 * their values, then their places.
 *
 * @param places Scratch.
 * @return How many there are; or `elements` if that would not be shorter, and
 *     nothing has been done.
 */
template<typename ElemType>
size_t Gather(ElemType* vector,
              const size_t elements,
              std::vector<std::uint32_t>& places)
{
  size_t count = 0;
  for (size_t i = 0; i < elements; ++i)
    count += (vector[i] != ElemType(0));
  if (count * (sizeof(ElemType) + sizeof(std::uint32_t)) >=
      elements * sizeof(ElemType) ||
      elements > std::numeric_limits<std::uint32_t>::max())
    return elements;
  places.clear();
  for (size_t i = 0; i < elements; ++i)
  {
    if (vector[i] == ElemType(0))
      continue;
    vector[places.size()] = vector[i];
    places.push_back(std::uint32_t(i));
  }
  if (count > 0)
  {
    std::memcpy(reinterpret_cast<std::uint8_t*>(vector + count), places.data(),
        count * sizeof(std::uint32_t));
  }
  return count;
}

} // namespace wire
} // namespace dasgd

#endif
