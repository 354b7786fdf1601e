/**
 * @file npy_matrix.hpp
 *
 * Arrays as NumPy saves them, in .npy files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_NPY_MATRIX_HPP
#define DASGD_BINDINGS_DATA_NPY_MATRIX_HPP

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace dasgd {

/**
 * An array of numbers, in the bytes of an .npy file.  Everything wrong with them
 * throws std::runtime_error.
 */
class NpyMatrix
{
 public:
  //! Do bytes begin as an .npy file does?
  static bool Is(const char* begin, const char* end)
  { return end - begin >= 8 && std::memcmp(begin, "\x93NUMPY", 6) == 0; }

  NpyMatrix(const char* begin, const char* end)
  {
    if (!Is(begin, end))
      throw std::runtime_error("it is no .npy file");
    const size_t most = size_t(end - begin);
    const bool small = begin[6] == 1;
    const size_t start = small ? 10 : 12;
    size_t length = 0;
    for (size_t i = start; i > 8; --i)
      length = 256 * length + (i <= most ? std::uint8_t(begin[i - 1]) : 0);
    if (begin[6] < 1 || begin[6] > 3 || start > most || length > most - start)
      throw std::runtime_error("the header of the .npy file is damaged");
    const std::string header(begin + start, length);
    const std::string type = Quoted(header, "descr");
    columnMajor = After(header, "fortran_order").rfind("True", 0) == 0;
    ReadShape(After(header, "shape"));

    kind = type.size() < 3 ? ' ' : type[1];
    width = type.size() == 3 ? size_t(type[2] - '0') : 0;
    const std::string known = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ";
    if (type.size() != 3 || type[0] == '>' ||
        known.find(type.substr(1) + " ") == std::string::npos)
    {
      throw std::runtime_error("it holds values of NumPy's type '" + type +
          "'; save them as numbers, e.g. numpy.save(name, "
          "array.astype('float64'))");
    }
    data = begin + start + length;
    elements = 1;
    for (const size_t size : shape)
    {
      if (size != 0 && elements > (most / size))
        throw std::runtime_error("the .npy file is cut off");
      elements *= size;
    }
    if (size_t(end - data) < elements * width)
      throw std::runtime_error("the .npy file is cut off");
    if (size_t(end - data) > elements * width)
      throw std::runtime_error("the .npy file has bytes after its end");
  }

  const std::vector<size_t>& Shape() const { return shape; }
  size_t Elements() const { return elements; }
  //! Are the values whole numbers?
  bool Whole() const { return kind != 'f'; }

  //! Read all values, the last index fastest, as NumPy's a.ravel() gives them.
  template<typename T>
  void Read(T* out) const
  {
    if (width == 8)
      kind == 'f' ? Copy<double>(out) : kind == 'i' ?
          Copy<std::int64_t>(out) : Copy<std::uint64_t>(out);
    else if (width == 4)
      kind == 'f' ? Copy<float>(out) : kind == 'i' ?
          Copy<std::int32_t>(out) : Copy<std::uint32_t>(out);
    else if (width == 2)
      kind == 'i' ? Copy<std::int16_t>(out) : Copy<std::uint16_t>(out);
    else
      kind == 'i' ? Copy<std::int8_t>(out) : Copy<std::uint8_t>(out);
  }

 private:
  //! What follows a key of the header.
  static std::string After(const std::string& header, const std::string& key)
  {
    const size_t at = header.find("'" + key + "'");
    const size_t value = (at == std::string::npos) ? at :
        header.find_first_not_of(": ", at + key.size() + 2);
    if (value == std::string::npos)
    {
      throw std::runtime_error("the header of the .npy file gives no '" + key +
          "'");
    }
    return header.substr(value);
  }

  //! The same, a text in quotes.
  static std::string Quoted(const std::string& header, const std::string& key)
  {
    const std::string text = After(header, key);
    const size_t end = text.find('\'', 1);
    return text[0] == '\'' && end != std::string::npos ? text.substr(1,
        end - 1) : "of several fields";
  }

  //! Read "(60000, 28, 28)".
  void ReadShape(const std::string& text)
  {
    const size_t end = text.find(')');
    for (size_t i = 1; text[0] == '(' && i < std::min(end, text.size());)
    {
      const size_t digits = text.find_first_not_of("0123456789", i);
      if (digits > i)
      {
        if (digits == std::string::npos || digits - i > 18)
          break;
        shape.push_back(size_t(std::stoull(text.substr(i, digits - i))));
      }
      i = std::max(i + 1, digits);
    }
    if (text[0] != '(' || end == std::string::npos)
      throw std::runtime_error("the header of the .npy file is damaged");
  }

  //! Copy all values, which are of this type.
  template<typename FromType, typename T>
  void Copy(T* out) const
  {
    const auto value = [this](const size_t i)
    {
      FromType read; // They need not be aligned.
      std::memcpy(&read, data + i * sizeof(FromType), sizeof(FromType));
      return T(read);
    };
    if (!columnMajor || shape.size() < 2)
    {
      for (size_t i = 0; i < elements; ++i)
        out[i] = value(i);
      return;
    }
    // The first index is the fastest in the file, the last in the result.
    std::vector<size_t> index(shape.size(), 0), step(shape.size(), 1);
    for (size_t i = 1; i < shape.size(); ++i)
      step[i] = step[i - 1] * shape[i - 1];
    size_t from = 0;
    for (size_t i = 0; i < elements; ++i)
    {
      out[i] = value(from);
      for (size_t k = shape.size(); k-- > 0;)
      {
        from += step[k];
        if (++index[k] < shape[k])
          break;
        from -= step[k] * shape[k];
        index[k] = 0;
      }
    }
  }

  const char* data = nullptr;
  char kind = ' ';
  size_t width = 0;
  bool columnMajor = false;
  std::vector<size_t> shape;
  size_t elements = 0;
};

} // namespace dasgd

#endif
