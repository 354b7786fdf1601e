/**
 * @file idx_file.hpp
 *
 * Reads IDX files, the format of MNIST and of the data sets that followed it,
 * plain or compressed by gzip.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_IDX_FILE_HPP
#define DASGD_BINDINGS_DATA_IDX_FILE_HPP

#include <armadillo>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace dasgd {

/**
 * An IDX file of bytes, open to be read from front to back: sizes first, then
 * one byte for each value.  A size that the file claims is believed only as far
 * as there is data: nothing is allocated beforehand.
 *
 * What can go wrong with a file is reported as std::runtime_error that names
 * the file, what was found, what was expected and the remedy.
 */
class IdxFile
{
 public:
  //! Open a file of one to four dimensions.
  explicit IdxFile(const std::string& path);

  //! Open a file that must have the given number of dimensions.
  IdxFile(const std::string& path, const size_t dimensions);

  const std::string& Path() const { return path; }

  //! Size in each dimension; the first is the number of entries.
  const std::vector<size_t>& Sizes() const { return sizes; }

  //! Number of values that each entry has.
  size_t EntrySize() const { return entrySize; }

  //! Read values from here on.
  std::vector<unsigned char> Read(const size_t bytes);

  //! Pass over values.
  void Skip(const size_t bytes);

  //! Fail unless all values have been read or passed over and none is left.
  void ExpectEnd();

  //! Throw std::runtime_error about this file.
  [[noreturn]] void Fail(const std::string& what) const
  {
    throw std::runtime_error(path + " " + what);
  }

 private:
  struct Closer
  {
    void operator()(const gzFile open) const { gzclose(open); }
  };

  //! Fail unless a file begins like this.
  void CheckMagic(const unsigned char* magic, const size_t got) const;

  //! Read up to so many bytes; fewer at the end of the file.
  size_t ReadSome(unsigned char* to, const size_t bytes);

  //! Fail because the file ended.
  [[noreturn]] void TooShort(const size_t missing) const;

  std::string path;
  std::unique_ptr<std::remove_pointer<gzFile>::type, Closer> file;
  std::vector<size_t> sizes;
  size_t entrySize = 1;
  //! Bytes of values that the header promises.
  size_t promised = 0;
  //! Bytes of values that have been passed.
  size_t passed = 0;
};

inline IdxFile::IdxFile(const std::string& pathIn) : path(pathIn)
{
  errno = 0;
  file.reset(gzopen(path.c_str(), "rb"));
  if (!file)
  {
    Fail(std::string("cannot be opened (") + (errno == 0 ? "out of memory" :
        std::strerror(errno)) + "); give the path of an IDX file that exists "
        "and may be read");
  }

  unsigned char magic[4] = { 0, 0, 0, 0 };
  CheckMagic(magic, ReadSome(magic, 4));

  const size_t largest = std::numeric_limits<size_t>::max();
  for (size_t i = 0; i < magic[3]; ++i)
  {
    unsigned char bytes[4];
    const size_t read = ReadSome(bytes, 4);
    if (read != 4)
      Fail("ends within its header; it is damaged: get it again");
    size_t size = 0;
    for (const unsigned char byte : bytes)
      size = size * 256 + byte;
    sizes.push_back(size);
    if (i > 0 && size != 0 && entrySize > largest / size)
    {
      Fail("claims sizes whose product no computer could hold; it is damaged: "
          "get it again");
    }
    if (i > 0)
      entrySize *= size;
  }
  if (entrySize != 0 && sizes[0] > largest / entrySize)
  {
    Fail("claims sizes whose product no computer could hold; it is damaged: "
        "get it again");
  }
  promised = sizes[0] * entrySize;
}

inline void IdxFile::CheckMagic(const unsigned char* magic,
                                const size_t got) const
{
  if (got != 4 || magic[0] != 0 || magic[1] != 0)
  {
    std::string found;
    for (size_t i = 0; i < got; ++i)
      found += (i == 0 ? "" : " ") + std::to_string(unsigned(magic[i]));
    Fail("is no IDX file: it starts with " + (got == 0 ? "nothing" :
        "bytes " + found) + ", expected were 0 0 8 and the number of "
        "dimensions; give an IDX file, plain or compressed by gzip");
  }
  if (magic[2] != 0x08)
  {
    const char* type = magic[2] == 0x09 ? "signed bytes" :
        magic[2] == 0x0B ? "16-bit integers" :
        magic[2] == 0x0C ? "32-bit integers" :
        magic[2] == 0x0D ? "single precision" :
        magic[2] == 0x0E ? "double precision" : "none that is known";
    Fail("is an IDX file of type " + std::to_string(unsigned(magic[2])) + " (" +
        type + "), expected was type 8 (unsigned bytes); convert it, for "
        "example to unsigned bytes or to CSV");
  }
  if (magic[3] < 1 || magic[3] > 4)
  {
    Fail("is an IDX file of " + std::to_string(unsigned(magic[3])) +
        " dimensions, expected were 1 to 4; give images (3 dimensions) or "
        "labels (1 dimension)");
  }
}

inline IdxFile::IdxFile(const std::string& path, const size_t dimensions) :
    IdxFile(path)
{
  if (sizes.size() != dimensions)
  {
    Fail("is an IDX file of " + std::to_string(sizes.size()) +
        " dimension(s), expected was " + std::to_string(dimensions) +
        "; images have 3 dimensions and labels have 1: were the two mixed up?");
  }
}

inline std::vector<unsigned char> IdxFile::Read(const size_t bytes)
{
  const size_t piece = size_t(1) << 20;
  std::vector<unsigned char> values;
  while (values.size() < bytes)
  {
    const size_t before = values.size();
    const size_t wanted = std::min(piece, bytes - before);
    values.resize(before + wanted);
    const size_t got = ReadSome(values.data() + before, wanted);
    passed += got;
    if (got != wanted)
      TooShort(bytes - before - got);
  }
  return values;
}

inline void IdxFile::Skip(const size_t bytes)
{
  // zlib's own seek finds out about the end of the file only later.
  std::vector<unsigned char> ignored(std::min(bytes, size_t(1) << 16));
  for (size_t left = bytes; left > 0;)
  {
    const size_t wanted = std::min(left, ignored.size());
    const size_t got = ReadSome(ignored.data(), wanted);
    passed += got;
    if (got != wanted)
      TooShort(left - got);
    left -= got;
  }
}

inline void IdxFile::ExpectEnd()
{
  if (passed < promised)
  {
    Fail("has " + std::to_string(promised - passed) + " more values than were "
        "expected");
  }
  unsigned char next;
  // This also makes zlib compare the check sum; but where the last read has
  // used up the file, only once it has forgotten that it is at the end.
  gzclearerr(file.get());
  if (ReadSome(&next, 1) != 0)
  {
    Fail("goes on after the " + std::to_string(promised) + " values that its "
        "header promises; it is damaged: get it again");
  }
}

inline size_t IdxFile::ReadSome(unsigned char* to, const size_t bytes)
{
  const int got = gzread(file.get(), to, unsigned(bytes));
  int code = Z_OK;
  const char* message = gzerror(file.get(), &code);
  // A compressed file that was cut off is Z_BUF_ERROR: it yields what there is.
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR))
  {
    Fail(std::string("cannot be read (") + (code == Z_ERRNO ?
        std::strerror(errno) : message) + "); it is no readable file or is "
        "damaged: get it again");
  }
  if (code == Z_BUF_ERROR && size_t(got) != bytes)
  {
    Fail("is compressed and was cut off; it is damaged: get it again");
  }
  return size_t(got);
}

inline void IdxFile::TooShort(const size_t missing) const
{
  Fail("ends too early: after " + std::to_string(passed) + " values, where its "
      "header promises " + std::to_string(promised) + " and " +
      std::to_string(missing) + " more were to be read; it is damaged: get it "
      "again");
}

/**
 * Read all images of a file.
 *
 * @param path File of three dimensions: images, rows and columns.
 * @param width Set to the width of the images.
 * @param height Set to their height.
 * @return A column for each image, with values from 0 to 1, first the topmost
 *     line of the image from left to right: the order of mlpack's images.
 */
inline arma::mat LoadIdxImages(const std::string& path,
                               size_t& width,
                               size_t& height)
{
  IdxFile file(path, 3);
  const size_t images = file.Sizes()[0];
  if (images == 0 || file.EntrySize() == 0)
  {
    file.Fail("holds " + std::to_string(images) + " images of " +
        std::to_string(file.Sizes()[2]) + "x" + std::to_string(file.Sizes()[1])
        + " pixels; give a file that has at least one image and pixel");
  }

  // First all bytes: only then is it sure that the sizes are no lie.
  const std::vector<unsigned char> bytes =
      file.Read(images * file.EntrySize());
  file.ExpectEnd();

  arma::mat result(arma::uword(file.EntrySize()), arma::uword(images));
  std::transform(bytes.begin(), bytes.end(), result.begin(),
      [](const unsigned char value) { return double(value) / 255; });
  width = file.Sizes()[2];
  height = file.Sizes()[1];
  return result;
}

//! Read all labels of a file of one dimension.
inline arma::Row<size_t> LoadIdxLabels(const std::string& path)
{
  IdxFile file(path, 1);
  if (file.Sizes()[0] == 0)
    file.Fail("holds no labels; give a file that has at least one");

  const std::vector<unsigned char> bytes = file.Read(file.Sizes()[0]);
  file.ExpectEnd();
  arma::Row<size_t> labels(arma::uword(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), labels.begin());
  return labels;
}

/**
 * Whether a file is to be read as an IDX file: by its name (such as
 * train-images-idx3-ubyte.gz or digits.idx); and if that says nothing, and is
 * none that mlpack's own loader knows, by what is in the file.
 */
inline bool IsIdxFile(const std::string& path)
{
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (char& c : name)
    c = (c >= 'A' && c <= 'Z') ? char(c - 'A' + 'a') : c;
  auto endsIn = [&name](const std::string& end)
  {
    return name.size() >= end.size() &&
        name.compare(name.size() - end.size(), end.size(), end) == 0;
  };

  if (endsIn(".gz"))
    name.resize(name.size() - 3);
  if (endsIn(".idx"))
    return true;
  for (const char* digit : { "1", "2", "3", "4" })
  {
    const std::string idx = std::string("idx") + digit;
    if (endsIn("." + idx) || endsIn("." + idx + "-ubyte") ||
        endsIn("-" + idx + "-ubyte"))
      return true;
  }

  for (const char* known : { "csv", "tsv", "txt", "arff", "bin", "pgm", "ppm",
      "h5", "hdf5", "hdf", "he5", "xml", "json", "jpg", "jpeg", "png", "tga",
      "bmp", "psd", "gif", "pic", "pnm", "hdr" })
  {
    if (endsIn(std::string(".") + known))
      return false;
  }

  // A pipe could be read only once.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return false;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (!file)
    return false;
  unsigned char magic[4];
  const int got = gzread(file, magic, 4);
  gzclose(file);
  return got == 4 && magic[0] == 0 && magic[1] == 0 && magic[2] == 0x08 &&
      magic[3] >= 1 && magic[3] <= 4;
}

} // namespace dasgd

#endif
