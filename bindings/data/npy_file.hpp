/**
 * @file npy_file.hpp
 *
 * Reads arrays of NumPy: .npy files, and .npz files, plain or compressed.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_NPY_FILE_HPP
#define DASGD_BINDINGS_DATA_NPY_FILE_HPP

#include <armadillo>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dasgd {

//! An array: the first dimension counts entries, each of which is a column.
struct NpyArray
{
  //! In an .npz file.
  std::string name;
  std::vector<size_t> sizes;
  //! The type of the file, if that is one of these, or one that holds all of
  //! its values exactly: whole numbers of up to 16 bits are in single
  //! precision.
  std::variant<arma::fmat, arma::mat, arma::Mat<arma::s64>> values;
};

namespace npy {

//! A part of a file, read from front to back.
class Bytes
{
 public:
  //! @param name For messages.
  explicit Bytes(const std::string& name) : name(name) { }
  virtual ~Bytes() = default;

  //! Read so many; throws if there are fewer.
  virtual void Read(unsigned char* to, const size_t count) = 0;

  //! No more than this can come.
  virtual std::uint64_t AtMost() const = 0;

  //! Throw unless all have been read, and were right.
  virtual void ExpectEnd() = 0;

  [[noreturn]] void Fail(const std::string& what) const
  { throw std::runtime_error(name + " " + what); }

  [[noreturn]] void Damaged() const
  { Fail("ends too early, or is damaged: get it again"); }

 private:
  std::string name;
};

//! A whole file, or a part that is not compressed.
class PlainBytes : public Bytes
{
 public:
  explicit PlainBytes(const std::string& path) : Bytes("it")
  {
    errno = 0;
    file.open(path, std::ios::binary | std::ios::ate);
    const std::streamoff end = file ? std::streamoff(file.tellg()) : -1;
    // A folder can be opened, and has a size that no file has.
    if (end < 0 || end == std::numeric_limits<std::streamoff>::max())
    {
      Fail(std::string("cannot be read (") + (errno ? std::strerror(errno) :
          "it is no file") + "); give the path of a file that exists");
    }
    size = left = std::uint64_t(end);
    file.seekg(0);
  }

  std::uint64_t Size() const { return size; }

  //! Go on with another part.
  void Part(const std::uint64_t begin, const std::uint64_t length)
  {
    if (begin > size || length > size - begin)
      Damaged();
    file.seekg(std::streamoff(begin));
    left = length;
  }

  void Read(unsigned char* to, const size_t count) override
  {
    if (count > left || !file.read(reinterpret_cast<char*>(to),
        std::streamsize(count)))
      Damaged();
    left -= count;
  }

  std::uint64_t AtMost() const override { return left; }

  void ExpectEnd() override
  {
    if (left > 0)
      Fail("goes on after its array; it is damaged: get it again");
  }

 private:
  std::ifstream file;
  std::uint64_t size = 0, left = 0;
};

//! A number of so many bytes, the lowest first.
inline std::uint64_t Number(const unsigned char* bytes, const size_t count)
{
  std::uint64_t number = 0;
  for (size_t i = count; i-- > 0;)
    number = number << 8 | bytes[i];
  return number;
}

//! A file within a .npz file, which is a ZIP archive.
struct Entry
{
  std::string name;
  unsigned method = 0;
  std::uint32_t checksum = 0;
  //! In the archive, and when unpacked.
  std::uint64_t packed = 0, size = 0;
  //! Of the header before its data.
  std::uint64_t begin = 0;
};

//! The content of such a file.
class EntryBytes : public Bytes
{
 public:
  EntryBytes(const std::string& path, const Entry& entry) :
      Bytes("array '" + entry.name + "'"), entry(entry), file(path),
      left(entry.size)
  {
    // The header there is may be longer than that in the directory.
    unsigned char header[30];
    file.Part(entry.begin, file.Size() - std::min(file.Size(), entry.begin));
    file.Read(header, sizeof(header));
    if (Number(header, 4) != 0x04034b50)
      Damaged();
    file.Part(entry.begin + 30 + Number(header + 26, 2) +
        Number(header + 28, 2), entry.packed);
    if (entry.method != 0 && entry.method != 8)
    {
      Fail("is compressed in a way that is not supported (" +
          std::to_string(entry.method) + "); write it with numpy.savez() or "
          "numpy.savez_compressed()");
    }
    // No more than this can be made of a byte.
    if (entry.method == 0 ? entry.size != entry.packed :
        entry.size / 1100 > entry.packed)
      Damaged();
    if (entry.method == 8 && inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      throw std::bad_alloc();
  }

  ~EntryBytes() override
  {
    if (entry.method == 8)
      inflateEnd(&stream);
  }
  EntryBytes(const EntryBytes&) = delete;
  EntryBytes& operator=(const EntryBytes&) = delete;

  void Read(unsigned char* to, const size_t count) override
  {
    if (count > left)
      Damaged();
    if (entry.method == 0)
      file.Read(to, count);
    else
      Inflate(to, count);
    left -= count;
    // zlib counts in 32 bits.
    for (size_t done = 0; done < count;)
    {
      const size_t piece = std::min(count - done, size_t(1) << 30);
      found = crc32(found, to + done, uInt(piece));
      done += piece;
    }
  }

  std::uint64_t AtMost() const override { return left; }

  void ExpectEnd() override
  {
    if (left > 0 || found != entry.checksum)
      Damaged();
  }

 private:
  void Inflate(unsigned char* to, const size_t count)
  {
    for (size_t done = 0; done < count;)
    {
      const size_t piece = std::min(count - done, size_t(1) << 30);
      stream.next_out = to + done;
      stream.avail_out = uInt(piece);
      if (stream.avail_in == 0)
      {
        const size_t some = size_t(std::min<std::uint64_t>(input.size(),
            file.AtMost()));
        file.Read(input.data(), some);
        stream.next_in = input.data();
        stream.avail_in = uInt(some);
      }
      const int status = inflate(&stream, Z_NO_FLUSH);
      const size_t got = piece - stream.avail_out;
      done += got;
      const bool stuck = got == 0 && stream.avail_in == 0 && file.AtMost() == 0;
      if ((status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END) ||
          (status == Z_STREAM_END && done < count) || stuck)
        Damaged();
    }
  }

  Entry entry;
  PlainBytes file;
  std::uint64_t left;
  z_stream stream{ };
  std::array<unsigned char, 65536> input;
  uLong found = crc32(0, nullptr, 0);
};

//! Go to where the directory of an archive begins; returns how many files are
//! in it.
inline std::uint64_t FindDirectory(PlainBytes& file)
{
  // Its end has a comment of up to 64 kB.
  const std::uint64_t tail = std::min<std::uint64_t>(file.Size(), 65557);
  std::vector<unsigned char> bytes(size_t(tail), 0);
  file.Part(file.Size() - tail, tail);
  file.Read(bytes.data(), bytes.size());
  size_t at = bytes.size() < 22 ? std::string::npos : bytes.size() - 22;
  while (at != std::string::npos && Number(&bytes[at], 4) != 0x06054b50)
    at = (at == 0) ? std::string::npos : at - 1;
  if (at == std::string::npos)
    file.Fail("is no .npz file: its directory is missing; it is damaged, or "
        "was not written by numpy.savez()");
  std::uint64_t count = Number(&bytes[at + 10], 2);
  std::uint64_t length = Number(&bytes[at + 12], 4);
  std::uint64_t begin = Number(&bytes[at + 16], 4);
  if (at >= 20 && Number(&bytes[at - 20], 4) == 0x07064b50)
  {
    // More than 4 GB: the numbers are in a record before.
    unsigned char record[56];
    const std::uint64_t place = Number(&bytes[at - 12], 8);
    if (place > file.Size())
      file.Damaged();
    file.Part(place, file.Size() - place);
    file.Read(record, sizeof(record));
    if (Number(record, 4) != 0x06064b50)
      file.Damaged();
    count = Number(record + 32, 8);
    length = Number(record + 40, 8);
    begin = Number(record + 48, 8);
  }
  file.Part(begin, length);
  return count;
}

//! Numbers that do not fit into 32 bits are in a part of their own.
inline void ReadLongNumbers(const std::vector<unsigned char>& extra,
                            Entry& entry)
{
  for (size_t e = 0; e + 4 <= extra.size();)
  {
    const size_t id = size_t(Number(&extra[e], 2));
    const size_t end = e + 4 + size_t(Number(&extra[e + 2], 2));
    size_t next = e + 4;
    // Only those that do not fit are there, in this order.
    for (std::uint64_t* number : { &entry.size, &entry.packed, &entry.begin })
    {
      if (id != 1 || *number != 0xffffffff || next + 8 > std::min(end,
          extra.size()))
        continue;
      *number = Number(&extra[next], 8);
      next += 8;
    }
    e = end;
  }
}

//! Read what the directory says of the next file.
inline Entry ReadEntry(PlainBytes& file)
{
  unsigned char header[46];
  file.Read(header, sizeof(header));
  if (Number(header, 4) != 0x02014b50)
    file.Damaged();
  Entry entry;
  entry.method = unsigned(Number(header + 10, 2));
  entry.checksum = std::uint32_t(Number(header + 16, 4));
  entry.packed = Number(header + 20, 4);
  entry.size = Number(header + 24, 4);
  entry.begin = Number(header + 42, 4);
  entry.name.resize(size_t(Number(header + 28, 2)));
  std::vector<unsigned char> extra(size_t(Number(header + 30, 2)));
  std::vector<unsigned char> comment(size_t(Number(header + 32, 2)));
  file.Read(reinterpret_cast<unsigned char*>(&entry.name[0]),
      entry.name.size());
  file.Read(extra.data(), extra.size());
  file.Read(comment.data(), comment.size());
  ReadLongNumbers(extra, entry);
  if (Number(header + 8, 2) & 1)
    file.Fail("is encrypted; write it with numpy.savez()");
  const size_t dot = entry.name.rfind(".npy");
  if (dot == std::string::npos || dot + 4 != entry.name.size())
  {
    file.Fail("holds '" + entry.name + "', which is no array; write it with "
        "numpy.savez()");
  }
  entry.name.resize(dot);
  return entry;
}

//! The files in an archive.
inline std::vector<Entry> Directory(const std::string& path)
{
  PlainBytes file(path);
  const std::uint64_t count = FindDirectory(file);
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i)
  {
    entries.push_back(ReadEntry(file));
    const std::string& name = entries.back().name;
    if (!names.insert(name).second)
      file.Fail("holds two arrays '" + name + "'");
  }
  if (entries.empty())
    file.Fail("holds no arrays");
  return entries;
}

//! What is said of an array before its values.
struct Header
{
  std::string type;
  //! Is the first index the one that changes from value to value?
  bool columns = false;
  std::vector<size_t> sizes;
  //! Values of an entry.
  size_t entrySize = 1;

  //! Where a value belongs that stands there in the file.
  size_t Place(const size_t number) const
  {
    if (!columns)
      return number;
    size_t row = 0, left = number / sizes[0], step = entrySize;
    for (size_t i = 1; i < sizes.size(); ++i)
    {
      step /= sizes[i];
      row += left % sizes[i] * step;
      left /= sizes[i];
    }
    return number % sizes[0] * entrySize + row;
  }
};

/**
 * The text of a header, a dictionary as Python writes it:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
 */
class HeaderText
{
 public:
  HeaderText(const std::string& text, const Bytes& file) :
      text(text), file(file) { }

  Header Parse()
  {
    Header header;
    std::set<std::string> keys;
    Expect("{");
    while (!Accept("}"))
    {
      const std::string key = Quoted();
      Expect(":");
      keys.insert(key);
      if (key == "descr")
        header.type = Quoted();
      else if (key == "fortran_order")
      {
        header.columns = Accept("True");
        if (!header.columns)
          Expect("False");
      }
      else if (key == "shape")
        ReadSizes(header.sizes);
      else
        Expect("a known key");
      if (!Accept(","))
      {
        Expect("}");
        break;
      }
    }
    Skip();
    if (at != text.size() || keys.size() != 3)
      Expect("the end");
    return header;
  }

 private:
  void Skip()
  {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }

  bool Accept(const std::string& word)
  {
    Skip();
    if (text.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    return true;
  }

  void Expect(const std::string& word)
  {
    if (!Accept(word))
    {
      file.Fail("has a header that is not understood ('" + text.substr(0, 80) +
          "'); save plain numbers, not records, with numpy.save()");
    }
  }

  std::string Quoted()
  {
    Expect("'");
    const size_t end = std::min(text.find('\'', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end;
    Expect("'");
    return word;
  }

  //! They are added to those of the same key before.
  void ReadSizes(std::vector<size_t>& sizes)
  {
    Expect("(");
    while (!Accept(")"))
    {
      Skip();
      size_t size = 0, digits = 0;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      {
        size = size * 10 + size_t(text[at] - '0');
        if (++digits > 15)
          file.Fail("claims impossible sizes; it is damaged: get it again");
      }
      if (digits == 0)
        Expect("a number");
      sizes.push_back(size);
      if (!Accept(","))
      {
        Expect(")");
        break;
      }
    }
  }

  const std::string& text;
  const Bytes& file;
  size_t at = 0;
};

//! A value of the type in the file.
template<typename StoredType>
StoredType Stored(const unsigned char* bytes)
{
  StoredType value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

//! A number of 16 bits, which has 5 for the exponent.
inline float Half(const unsigned char* bytes)
{
  const unsigned bits = Stored<std::uint16_t>(bytes);
  const int exponent = int(bits >> 10 & 31);
  const float fraction = float(bits & 1023);
  const float value = exponent == 31 ? (fraction == 0 ?
      std::numeric_limits<float>::infinity() :
      std::numeric_limits<float>::quiet_NaN()) : exponent == 0 ?
      std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/**
 * Read all values, in pieces.
 *
 * @param width Bytes of a value.
 * @param convert Makes a number of them.
 * @param reversed Is the highest byte first?
 */
template<typename ElemType, typename ConvertType>
arma::Mat<ElemType> ReadValues(Bytes& file,
                               const Header& header,
                               const size_t width,
                               const bool reversed,
                               ConvertType&& convert)
{
  arma::Mat<ElemType> values;
  values.set_size(header.entrySize, header.sizes[0]);
  std::vector<unsigned char> bytes(size_t(1) << 16);
  for (size_t i = 0; i < values.n_elem;)
  {
    const size_t count = std::min<size_t>(bytes.size() / width,
        values.n_elem - i);
    file.Read(bytes.data(), count * width);
    for (size_t j = 0; j < count; ++j, ++i)
    {
      unsigned char* value = &bytes[j * width];
      if (reversed)
        std::reverse(value, value + width);
      values[header.Place(i)] = ElemType(convert(value));
    }
  }
  file.ExpectEnd();
  return values;
}

//! What is said of an array, from where it begins.
inline Header ReadHeader(Bytes& file)
{
  unsigned char magic[8];
  file.Read(magic, sizeof(magic));
  if (std::memcmp(magic, "\x93NUMPY", 6) != 0 || magic[6] < 1 || magic[6] > 3)
  {
    file.Fail("is no array of NumPy; write it with numpy.save(), or with "
        "numpy.savez() if it ends in .npz");
  }
  unsigned char length[4] = { 0, 0, 0, 0 };
  file.Read(length, magic[6] == 1 ? 2 : 4);
  const std::uint64_t letters = Number(length, 4);
  if (letters > file.AtMost() || letters > 65536)
    file.Damaged();
  std::string text(size_t(letters), ' ');
  file.Read(reinterpret_cast<unsigned char*>(&text[0]), text.size());
  Header header = HeaderText(text, file).Parse();

  size_t elements = 1;
  for (size_t i = 0; i < header.sizes.size(); ++i)
  {
    const size_t size = header.sizes[i];
    // What is in the file has at least a byte for each.
    if (size > 0 && elements > file.AtMost() / size)
      file.Damaged();
    elements *= size;
    header.entrySize *= (i == 0) ? 1 : size;
  }
  if (header.sizes.empty() || elements == 0)
  {
    file.Fail("holds no points: its first dimension has to count them, and "
        "each has to have at least one value");
  }
  return header;
}

//! The values of an array, to where it ends.
inline NpyArray ReadArray(Bytes& file, const Header& header)
{
  NpyArray array;
  array.sizes = header.sizes;
  const bool reversed = !header.type.empty() && header.type[0] == '>';
  const std::string type = header.type.empty() ? "" : header.type.substr(1);
  const size_t width = type.size() == 2 && type[1] > '0' && type[1] <= '8' ?
      size_t(type[1] - '0') : 1;
  if (header.entrySize * header.sizes[0] > file.AtMost() / width)
    file.Damaged();
  const auto read = [&](auto element, const auto& convert)
  {
    array.values = ReadValues<decltype(element)>(file, header, width, reversed,
        convert);
  };
  if (type == "f4")
    read(float(), Stored<float>);
  else if (type == "f8")
    read(double(), Stored<double>);
  else if (type == "f2")
    read(float(), Half);
  else if (type == "b1")
    read(float(), [](const unsigned char* b) { return *b != 0; });
  else if (type == "u1")
    read(float(), Stored<std::uint8_t>);
  else if (type == "i1")
    read(float(), Stored<std::int8_t>);
  else if (type == "u2")
    read(float(), Stored<std::uint16_t>);
  else if (type == "i2")
    read(float(), Stored<std::int16_t>);
  else if (type == "u4")
    read(arma::s64(), Stored<std::uint32_t>);
  else if (type == "i4")
    read(arma::s64(), Stored<std::int32_t>);
  else if (type == "i8")
    read(arma::s64(), Stored<std::int64_t>);
  else if (type == "u8")
  {
    read(arma::s64(), [&](const unsigned char* bytes)
    {
      const std::uint64_t value = Stored<std::uint64_t>(bytes);
      if (value >> 63)
        file.Fail("has numbers that do not fit into 63 bits");
      return value;
    });
  }
  else
  {
    file.Fail("is of type '" + header.type + "', but has to be of numbers; "
        "convert it, for example with astype('float32') or astype('int64')");
  }
  return array;
}

} // namespace npy

//! Read an .npy file.
inline NpyArray LoadNpy(const std::string& path)
{
  npy::PlainBytes file(path);
  return npy::ReadArray(file, npy::ReadHeader(file));
}

//! Read all arrays of an .npz file, in its order.
inline std::vector<NpyArray> LoadNpz(const std::string& path)
{
  std::vector<NpyArray> arrays;
  for (const npy::Entry& entry : npy::Directory(path))
  {
    npy::EntryBytes file(path, entry);
    arrays.push_back(npy::ReadArray(file, npy::ReadHeader(file)));
    arrays.back().name = entry.name;
  }
  return arrays;
}

} // namespace dasgd

#endif
