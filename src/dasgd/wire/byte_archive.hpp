/**
 * @file byte_archive.hpp
 *
 * cereal archives over a plain range of bytes: no stream, no allocation, every
 * length checked before it is believed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_BYTE_ARCHIVE_HPP
#define DASGD_WIRE_BYTE_ARCHIVE_HPP

#include "../core/config.hpp"

#include <cereal/cereal.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace dasgd {

//! Bytes that are not what they should be.  Says where, and how many there are.
class WireError : public std::runtime_error
{
 public:
  explicit WireError(const std::string& what) :
      std::runtime_error("dasgd: " + what) { }
};

//! Writes into memory that somebody else owns.
class ByteOutputArchive :
    public cereal::OutputArchive<ByteOutputArchive,
        cereal::AllowEmptyClassElision>
{
 public:
  ByteOutputArchive(std::uint8_t* data, const size_t capacity) :
      cereal::OutputArchive<ByteOutputArchive,
          cereal::AllowEmptyClassElision>(this),
      data(data), capacity(capacity) { }

  //! Copy bytes, unless they already stand where they belong.
  void saveBinary(const void* source, const size_t bytes)
  {
    if (bytes > capacity - position)
      Overflow(bytes);
    if (bytes != 0 && source != data + position)
      std::memcpy(data + position, source, bytes);
    position += bytes;
  }

  size_t Position() const { return position; }

 private:
  [[noreturn]] void Overflow(const size_t bytes) const;

  std::uint8_t* data;
  size_t capacity;
  size_t position = 0;
};

//! Reads from memory that somebody else owns.
class ByteInputArchive :
    public cereal::InputArchive<ByteInputArchive,
        cereal::AllowEmptyClassElision>
{
 public:
  ByteInputArchive(const std::uint8_t* data, const size_t size) :
      cereal::InputArchive<ByteInputArchive,
          cereal::AllowEmptyClassElision>(this),
      data(data), size(size) { }

  void loadBinary(void* target, const size_t bytes)
  {
    const void* source = View(bytes);
    if (bytes != 0 && source != target)
      std::memcpy(target, source, bytes);
  }

  //! Step over bytes and say where they are, without copying.
  const std::uint8_t* View(const size_t bytes)
  {
    if (bytes > size - position)
      CutShort(bytes);
    const std::uint8_t* here = data + position;
    position += bytes;
    return here;
  }

  size_t Position() const { return position; }
  size_t Left() const { return size - position; }

 private:
  [[noreturn]] void CutShort(const size_t bytes) const;

  const std::uint8_t* data;
  size_t size;
  size_t position = 0;
};

template<typename T>
inline typename std::enable_if<std::is_arithmetic<T>::value>::type
CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive, const T& value)
{
  archive.saveBinary(&value, sizeof(value));
}

template<typename T>
inline typename std::enable_if<std::is_arithmetic<T>::value>::type
CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive, T& value)
{
  archive.loadBinary(&value, sizeof(value));
}

template<typename T>
inline void CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive,
                                      const cereal::BinaryData<T>& binary)
{
  archive.saveBinary(binary.data, size_t(binary.size));
}

template<typename T>
inline void CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive,
                                      cereal::BinaryData<T>& binary)
{
  archive.loadBinary(binary.data, size_t(binary.size));
}

/**
 * An unsigned number in as few bytes as it needs, seven bits in each: counters
 * are mostly small, and a version vector has one for every rank.
 */
struct Varint
{
  std::uint64_t value = 0;

  static constexpr size_t MaxBytes = 10;

  Varint() = default;
  explicit Varint(const std::uint64_t value) : value(value) { }
};

void CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive,
                               const Varint& varint);

void CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive,
                               Varint& varint);

} // namespace dasgd

// Not registered with CEREAL_REGISTER_ARCHIVE(): cereal would then instantiate
// it for every polymorphic type of the program, such as mlpack's layers with
// MLPACK_ENABLE_ANN_SERIALIZATION, which it was not made for.
CEREAL_SETUP_ARCHIVE_TRAITS(dasgd::ByteInputArchive, dasgd::ByteOutputArchive)

#ifndef DASGD_COMPILED
#include "byte_archive_impl.hpp"
#endif

#endif
