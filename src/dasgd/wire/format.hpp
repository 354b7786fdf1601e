/**
 * @file format.hpp
 *
 * How the elements of an update travel: as they are, or as fewer bytes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FORMAT_HPP
#define DASGD_WIRE_FORMAT_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

/**
 * The format of updates on the wire.  Whatever it is, the origin of an update
 * applies what it sends, and keeps what was rounded away for its next update;
 * the last rest is sent as it is.  So nothing is lost, and replicas agree.
 */
class WireFormat
{
 public:
  enum class Kind : std::uint8_t { Exact, Float32, BFloat16, TopK };

  //! All elements in the iterate's own type.
  static const WireFormat Exact;
  //! All elements with 24 significant bits, in four bytes.
  static const WireFormat Float32;
  //! All elements with 8 significant bits, in two bytes.
  static const WireFormat BFloat16;
  //! Only the largest elements, each with its place.
  static WireFormat TopK(const double fraction)
  { return WireFormat(Kind::TopK, fraction); }

  constexpr WireFormat() = default;

  //! From a text: "exact", "float32", "bfloat16" or "topk:0.01".
  WireFormat(const std::string& text)
  {
    const std::string start = "topk:";
    char* end = nullptr;
    if (text == "exact")
      kind = Kind::Exact;
    else if (text == "float32")
      kind = Kind::Float32;
    else if (text == "bfloat16")
      kind = Kind::BFloat16;
    else if (text.compare(0, start.size(), start) == 0 &&
        text.size() > start.size())
    {
      kind = Kind::TopK;
      fraction = std::strtod(text.c_str() + start.size(), &end);
      if (*end != '\0')
        Unknown(text);
    }
    else
      Unknown(text);
  }
  WireFormat(const char* text) : WireFormat(std::string(text)) { }

  Kind Type() const { return kind; }
  double Fraction() const { return fraction; }

  //! Does it make elements of so many bytes any shorter?
  bool Shortens(const size_t bytes) const
  {
    return kind == Kind::BFloat16 || kind == Kind::TopK ||
        (kind == Kind::Float32 && bytes > sizeof(float));
  }

  //! Vectors that a rank holds for it: what was rounded away, what has come in
  //! full length, and for TopK the magnitudes.
  size_t Vectors(const size_t bytes) const
  { return !Shortens(bytes) ? 0 : kind == Kind::TopK ? 3 : 2; }

  //! As the constructor reads it.
  std::string Name() const
  {
    switch (kind)
    {
      case Kind::Float32: return "float32";
      case Kind::BFloat16: return "bfloat16";
      case Kind::TopK:
      {
        std::ostringstream text;
        text << "topk:" << fraction;
        return text.str();
      }
      default: return "exact";
    }
  }

  //! What is wrong with it; empty if nothing is.
  std::string Complaint() const
  {
    if (kind != Kind::TopK || (fraction > 0 && fraction <= 1))
      return "";
    std::ostringstream text;
    text << "WireFormat() is TopK with a fraction of " << fraction << ", but "
        "it must be above 0 and at most 1.";
    return text.str();
  }

 private:
  constexpr WireFormat(const Kind kind, const double fraction) :
      kind(kind), fraction(fraction) { }

  [[noreturn]] static void Unknown(const std::string& text)
  {
    throw std::invalid_argument("dasgd: wire format '" + text + "' is not "
        "known; known are exact, float32, bfloat16 and topk:FRACTION, for "
        "example topk:0.01");
  }

  Kind kind = Kind::Exact;
  double fraction = 1;
};

inline const WireFormat WireFormat::Exact = WireFormat();
inline const WireFormat WireFormat::Float32 = WireFormat(Kind::Float32, 1);
inline const WireFormat WireFormat::BFloat16 = WireFormat(Kind::BFloat16, 1);

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

//! The same for float, with which MPI's peers are at home.
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

/**
 * What an origin does before it sends: turns its update into one that the
 * format can express, applies that, and keeps the rest.
 */
template<typename ElemType>
class Rounding
{
 public:
  Rounding(const WireFormat& format, const size_t elements) : format(format)
  {
    active = elements > 0 && format.Shortens(sizeof(ElemType));
    if (active)
      rest.assign(elements, ElemType(0));
    if (active && format.Type() == WireFormat::Kind::TopK)
      sizes.resize(elements);
  }

  //! Is there anything to do?
  bool Active() const { return active; }

  /**
   * Replace an update that was applied by what is sent of it.
   *
   * @param iterate The model, from which `update` has been subtracted.
   * @param update Becomes what is to be sent.
   */
  void Apply(ElemType* iterate, ElemType* update)
  {
    if (format.Type() == WireFormat::Kind::Float32)
      Round<wire::Float>(iterate, update);
    else if (format.Type() == WireFormat::Kind::BFloat16)
      Round<wire::BFloat>(iterate, update);
    else
      Select(iterate, update);
  }

  /**
   * Give out what is left.
   *
   * @return The rest, or null if there is none; it is forgotten here.
   */
  const ElemType* Flush(ElemType* iterate)
  {
    bool any = false;
    for (size_t i = 0; i < rest.size(); ++i)
    {
      any |= (rest[i] != ElemType(0));
      iterate[i] -= rest[i];
    }
    flushed.swap(rest);
    rest.clear();
    active = false;
    return any ? flushed.data() : nullptr;
  }

 private:
  template<typename ShortType>
  void Round(ElemType* __restrict iterate, ElemType* __restrict update)
  {
    for (size_t i = 0; i < rest.size(); ++i)
    {
      const ElemType whole = update[i] + rest[i];
      const ElemType sent = ElemType(double(ShortType(double(whole))));
      rest[i] = whole - sent;
      iterate[i] += update[i] - sent;
      update[i] = sent;
    }
  }

  void Select(ElemType* __restrict iterate, ElemType* __restrict update)
  {
    const size_t elements = rest.size();
    const size_t count = std::min(elements, std::max<size_t>(1, size_t(
        std::ceil(format.Fraction() * double(elements)))));
    for (size_t i = 0; i < elements; ++i)
    {
      rest[i] += update[i];
      sizes[i] = std::abs(rest[i]);
    }
    std::nth_element(sizes.begin(), sizes.begin() + (count - 1), sizes.end(),
        std::greater<ElemType>());
    // No more than asked for, also where many are of the same size.
    const ElemType least = sizes[count - 1];
    size_t ties = size_t(std::count(sizes.begin(), sizes.begin() + count,
        least));
    for (size_t i = 0; i < elements; ++i)
    {
      const bool tie = std::abs(rest[i]) == least && ties > 0;
      const bool chosen = tie || std::abs(rest[i]) > least;
      const ElemType sent = chosen ? rest[i] : ElemType(0);
      ties -= tie;
      iterate[i] += update[i] - sent;
      rest[i] -= sent;
      update[i] = sent;
    }
  }

  WireFormat format;
  bool active = false;
  //! What was rounded away so far.
  std::vector<ElemType> rest;
  std::vector<ElemType> flushed;
  //! Scratch: magnitudes.
  std::vector<ElemType> sizes;
};

} // namespace dasgd

#endif
