/**
 * @file format.hpp
 *
 * How the elements of an update travel: as they are, or as fewer bytes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_FORMAT_HPP
#define DASGD_WIRE_FORMAT_HPP

#include "../core/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

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
  WireFormat(const std::string& text);
  WireFormat(const char* text);

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
  std::string Name() const;

  //! What is wrong with it; empty if nothing is.
  std::string Validate() const;

 private:
  constexpr WireFormat(const Kind kind, const double fraction) :
      kind(kind), fraction(fraction) { }

  [[noreturn]] static void Unknown(const std::string& text);

  Kind kind = Kind::Exact;
  double fraction = 1;
};

inline const WireFormat WireFormat::Exact = WireFormat();
inline const WireFormat WireFormat::Float32 = WireFormat(Kind::Float32, 1);
inline const WireFormat WireFormat::BFloat16 = WireFormat(Kind::BFloat16, 1);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "format_impl.hpp"
#endif

#endif
