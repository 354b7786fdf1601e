/**
 * @file json_writer.hpp
 *
 * Writes JSON by RapidJSON, which comes with cereal.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_JSON_WRITER_HPP
#define DASGD_REPORT_JSON_WRITER_HPP

// It knows where RapidJSON is, and in which namespace.
#include <cereal/archives/json.hpp>

#include <cmath>
#include <ostream>
#include <string>
#include <type_traits>

namespace dasgd {
namespace report {

#ifdef CEREAL_RAPIDJSON_NAMESPACE
namespace rapid = CEREAL_RAPIDJSON_NAMESPACE;
#else
// Of Debian, whose cereal uses the RapidJSON of the system.
namespace rapid = RAPIDJSON_NAMESPACE;
#endif

/**
 * Objects, arrays and their values, in the order of the calls.
 *
 * @tparam Indented One line per field, for people; else without any space.
 */
template<bool Indented>
class JsonWriter
{
 public:
  explicit JsonWriter(std::ostream& stream) : target(stream), writer(target)
  {
    if constexpr (Indented)
    {
      writer.SetIndent(' ', 2);
      writer.SetFormatOptions(rapid::kFormatSingleLineArray);
    }
  }

  //! As many places after the decimal point as a value can need, at most.
  void Places(const int places) { writer.SetMaxDecimalPlaces(places); }

  void BeginObject() { writer.StartObject(); }
  void EndObject() { writer.EndObject(); }
  void BeginArray() { writer.StartArray(); }
  void EndArray() { writer.EndArray(); }

  void Name(const std::string& name)
  {
    writer.Key(name.data(), rapid::SizeType(name.size()));
  }

  void Value(const std::string& text)
  {
    writer.String(text.data(), rapid::SizeType(text.size()));
  }
  void Value(const char* text) { Value(std::string(text)); }

  //! JSON knows no numbers that are not finite: they are null.
  template<typename NumberType,
      std::enable_if_t<std::is_arithmetic<NumberType>::value, int> = 0>
  void Value(const NumberType value)
  {
    if constexpr (std::is_same<NumberType, bool>::value)
      writer.Bool(value);
    else if constexpr (std::is_floating_point<NumberType>::value)
      std::isfinite(value) ? writer.Double(value) : writer.Null();
    else if constexpr (std::is_signed<NumberType>::value)
      writer.Int64(value);
    else
      writer.Uint64(value);
  }

  //! A value that is null unless it is known.
  template<typename NumberType>
  void ValueIf(const bool known, const NumberType value)
  {
    known ? Value(value) : void(writer.Null());
  }

  //! Numbers, from begin up to end.
  template<typename IteratorType>
  void Values(IteratorType begin, const IteratorType end)
  {
    BeginArray();
    for (; begin != end; ++begin)
      Value(*begin);
    EndArray();
  }

  //! What is JSON already.
  void Raw(const std::string& json)
  {
    writer.RawValue(json.data(), json.size(), rapid::kObjectType);
  }

  template<typename ValueType>
  void Field(const std::string& name, const ValueType& value)
  {
    Name(name);
    Value(value);
  }

 private:
  using Stream = rapid::OStreamWrapper;

  Stream target;
  std::conditional_t<Indented, rapid::PrettyWriter<Stream>,
      rapid::Writer<Stream>> writer;
};

//! Counts of |S| = 0, 1, 2-3, 4-7, ... up to the last that is not 0.
template<typename CountsType, bool Indented>
void WriteHistogram(const CountsType& counts, JsonWriter<Indented>& out)
{
  size_t buckets = counts.size();
  while (buckets > 1 && counts[buckets - 1] == 0)
    --buckets;
  out.Name("staleness_histogram");
  out.Values(counts.begin(), counts.begin() + buckets);
}

} // namespace report
} // namespace dasgd

#endif
