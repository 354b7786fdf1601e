/**
 * @file checkpoint_file_impl.hpp
 *
 * Implementation of reading checkpoints.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_FILE_IMPL_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_FILE_IMPL_HPP

// In case it hasn't been included yet.
#include "checkpoint_file.hpp"

#include "../files/whole_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

namespace dasgd {

DASGD_INLINE std::vector<std::uint8_t> ReadCheckpoint(
    const std::string& path, const std::uint64_t vectorBytes)
{
  std::vector<std::uint8_t> bytes;
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
  {
    if (errno == ENOENT)
      return bytes;
    throw CheckpointError(std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode))
    throw CheckpointError("it is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw CheckpointError(std::strerror(errno));
  // Of a foreign file, which may be of any size, no more than its beginning is
  // read.
  const std::uint64_t size = std::uint64_t(status.st_size);
  bytes.resize(size_t(std::min<std::uint64_t>(size,
      sizeof(checkpoint::Header))));
  file.read(reinterpret_cast<char*>(bytes.data()),
      std::streamsize(bytes.size()));
  if (!file)
    throw CheckpointError("it cannot be read");
  checkpoint::CheckHeader(bytes.data(), size);
  if ((size - (size_t(1) << 28)) / (checkpoint::MaxVectors + 1) >
      vectorBytes && size > size_t(1) << 28)
  {
    throw CheckpointError("it has " + std::to_string(size) + " bytes, which is "
        "too much for a model of " + std::to_string(vectorBytes));
  }
  const size_t begin = bytes.size();
  bytes.resize(size_t(size));
  file.read(reinterpret_cast<char*>(bytes.data()) + begin,
      std::streamsize(bytes.size() - begin));
  if (!file)
    throw CheckpointError("it cannot be read to its end");
  return bytes;
}

DASGD_INLINE bool IsForeignFile(const std::string& path)
{
  const checkpoint::Header header;
  std::array<char, 8> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), std::streamsize(begin.size()));
  return file.gcount() > 0 && begin != header.magic;
}

DASGD_INLINE std::string FullPath(const std::string& path)
{
  std::error_code ignored;
  return std::filesystem::absolute(WholeFile::Resolve(path), ignored).string();
}

} // namespace dasgd

#endif
