/**
 * @file memory_file.hpp
 *
 * A file in memory, for readers that take nothing but a path.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_FUZZ_MEMORY_FILE_HPP
#define DASGD_TESTS_FUZZ_MEMORY_FILE_HPP

#include "require.hpp"

#include <cstddef>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace fuzz {

//! One file, whose content is replaced for every input.
class MemoryFile
{
 public:
  MemoryFile() :
      file(memfd_create("fuzz", MFD_CLOEXEC)),
      path("/proc/self/fd/" + std::to_string(file))
  {
    Require(file >= 0, "there are files in memory");
  }

  ~MemoryFile() { close(file); }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  //! Replace the content.
  void Put(const void* data, const size_t size)
  {
    Require(ftruncate(file, 0) == 0 &&
        pwrite(file, data, size, 0) == ssize_t(size), "the file was written");
  }

  //! A path by which it can be opened, to be read from its beginning.
  const std::string& Path() const { return path; }

 private:
  int file;
  std::string path;
};

} // namespace fuzz

#endif
