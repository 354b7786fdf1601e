/**
 * @file shared_memory_impl.hpp
 *
 * Implementation of SharedMemory.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_SHARED_MEMORY_IMPL_HPP
#define DASGD_TRANSPORT_SHARED_MEMORY_IMPL_HPP

// In case it hasn't been included yet.
#include "shared_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <utility>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace dasgd {

DASGD_INLINE bool SharedMemory::Strict(const char* setting)
{
  std::ifstream file(setting);
  int mode = 0;
  return (file >> mode) && mode == 2;
}

DASGD_INLINE SharedMemory::SharedMemory(const size_t bytes, const bool reserve)
{
#if defined(__linux__)
  // Beyond this limit the system would kill the program.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur !=
      RLIM_INFINITY && bytes > limit.rlim_cur) || !Draw(handle.token))
    return;
  file = memfd_create(Name(handle).c_str(), MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0 ||
      (reserve && !Reserve(bytes)))
  {
    Close(); // Frees what was allocated of it.
    return;
  }
  handle.process = std::uint64_t(getpid());
  handle.file = std::uint64_t(file);
  handle.bytes = bytes;
  Map();
#else
  (void) bytes;
  (void) reserve;
#endif
}

DASGD_INLINE SharedMemory::SharedMemory(const Handle& handle) :
    handle(handle)
{
#if defined(__linux__)
  const std::string path = "/proc/" + std::to_string(handle.process) +
      "/fd/" + std::to_string(handle.file);
  // Compare names before opening: the number may stand for any other file.
  const std::string name = "/memfd:" + Name(handle);
  char link[64] = { };
  if (handle.bytes == 0 || readlink(path.c_str(), link, sizeof(link) - 1) <
      ssize_t(name.size()) || name.compare(0, name.size(), link,
      name.size()) != 0)
    return;
  file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0 && lseek(file, 0, SEEK_END) == off_t(handle.bytes))
    Map();
  Close(); // The mapping stays.
#endif
}

DASGD_INLINE SharedMemory::~SharedMemory()
{
#if defined(__linux__)
  if (memory)
    munmap(memory, size_t(handle.bytes));
  Close();
#endif
}

DASGD_INLINE SharedMemory::SharedMemory(SharedMemory&& other)
{ *this = std::move(other); }

DASGD_INLINE SharedMemory& SharedMemory::operator=(SharedMemory&& other)
{
  std::swap(handle, other.handle);
  std::swap(file, other.file);
  std::swap(memory, other.memory);
  return *this;
}

DASGD_INLINE std::string SharedMemory::Name(const Handle& handle)
{
  char name[32];
  std::snprintf(name, sizeof(name), "dasgd-%016llx",
      static_cast<unsigned long long>(handle.token));
  return name;
}

#if defined(__linux__)
DASGD_INLINE bool SharedMemory::Draw(std::uint64_t& token)
{
  try
  {
    std::random_device random;
    token = (std::uint64_t(random()) << 32) ^ random();
    return true;
  }
  catch (const std::exception&)
  {
    return false;
  }
}

DASGD_INLINE bool SharedMemory::Reserve(const size_t bytes)
{
  // In pieces, since a signal undoes a call that is under way.
  const size_t piece = size_t(1) << 26;
  for (size_t done = 0; done < bytes; done += piece)
  {
    int result;
    do
    {
      result = fallocate(file, 0, off_t(done), off_t(std::min(piece,
          bytes - done)));
    }
    while (result != 0 && errno == EINTR);
    if (result != 0)
      return false;
  }
  return true;
}

DASGD_INLINE void SharedMemory::Map()
{
  void* place = mmap(nullptr, size_t(handle.bytes), PROT_READ | PROT_WRITE,
      MAP_SHARED | MAP_NORESERVE, file, 0);
  if (place != MAP_FAILED)
    memory = static_cast<std::uint8_t*>(place);
}

DASGD_INLINE void SharedMemory::Close()
{
  if (file >= 0)
    close(file);
  file = -1;
}
#endif

} // namespace dasgd

#endif
