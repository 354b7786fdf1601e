/**
 * @file part_files_impl.hpp
 *
 * Implementation of PartFiles.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FILES_PART_FILES_IMPL_HPP
#define DASGD_FILES_PART_FILES_IMPL_HPP

// In case it hasn't been included yet.
#include "part_files.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace dasgd {

DASGD_INLINE size_t PartFiles::Remember(const std::string& path)
{
  for (size_t i = 0; i < count && path.size() < sizeof(Slot::path); ++i)
  {
    pid_t nobody = 0;
    Slot& slot = Slots()[i];
    if (!slot.owner.compare_exchange_strong(nobody, -1))
      continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.owner = getpid();
    return i;
  }
  return count; // All slots are taken: the file is not remembered.
}

DASGD_INLINE void PartFiles::Forget(const size_t which)
{
  if (which < count)
    Slots()[which].owner = 0;
}

DASGD_INLINE void PartFiles::Remove()
{
  const int number = errno;
  for (size_t i = 0; i < count; ++i)
  {
    const Slot& slot = Slots()[i];
    // A child of fork() has a copy, but the files are its parent's.
    if (slot.owner == getpid())
    {
      unlink(slot.path);
      RemoveLonger(slot.path);
    }
  }
  errno = number;
}

DASGD_INLINE void PartFiles::RemoveLonger(const char* path)
{
#if defined(__linux__)
  const char* slash = std::strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  char folder[sizeof(Slot::path) + 1] = ".";
  if (slash)
  {
    std::memcpy(folder, path, size_t(name - path));
    folder[name - path] = '\0';
  }
  const int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return;
  // As the system lays it out: two numbers of 8 bytes, the length of the
  // entry in 2, its type in 1, and its name.
  constexpr size_t lengthAt = 16, nameAt = 19;
  const size_t begin = std::strlen(name);
  alignas(8) char entries[4096];
  long length = 0;
  while ((length = syscall(SYS_getdents64, directory, entries,
      sizeof(entries))) > 0)
  {
    std::uint16_t step = 0;
    for (long at = 0; at < length; at += step)
    {
      std::memcpy(&step, entries + at + lengthAt, sizeof(step));
      const char* entry = entries + at + nameAt;
      if (std::strncmp(entry, name, begin) == 0 &&
          std::strncmp(entry + begin, ".tmp_", 5) == 0)
        unlinkat(directory, entry, 0);
    }
  }
  close(directory);
#else
  (void) path;
#endif
}

} // namespace dasgd

#endif
