/**
 * @file shared_memory.hpp
 *
 * Memory that processes of one machine share.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_SHARED_MEMORY_HPP
#define DASGD_TRANSPORT_SHARED_MEMORY_HPP

#include "../core/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace dasgd {

/**
 * An anonymous file in memory (memfd): nothing is left behind whatever happens,
 * the size of /dev/shm does not matter, and pages that are never touched cost
 * nothing.  (MPI's shared windows have none of this: Open MPI puts them into a
 * file, and where there is no room for it one rank gets an error and the others
 * wait for ever.)
 *
 * Empty where the system has no memfd, or where processes may not see each
 * other: frames then travel as messages.
 */
class SharedMemory
{
 public:
  //! By which another process of the same machine opens it.
  struct Handle
  {
    std::uint64_t process = 0;
    std::uint64_t file = 0;
    std::uint64_t bytes = 0;
    //! Random, part of the name of the file: no file on another machine, or in
    //! another container, has this name.
    std::uint64_t token = 0;
  };

  //! Empty.
  SharedMemory() = default;

  /**
   * Does the system not overcommit memory?  It commits pages of shared memory
   * when they are touched and kills the process if there are none left, so they
   * have to be allocated before.
   *
   * @param setting The file with the system's setting.
   */
  static bool Strict(const char* setting = "/proc/sys/vm/overcommit_memory");

  /**
   * New memory, all zero; empty if that fails.
   *
   * @param reserve Allocate all of its pages now.
   */
  explicit SharedMemory(const size_t bytes, const bool reserve = Strict());

  //! Memory that another process has made; empty if it cannot be opened.
  explicit SharedMemory(const Handle& handle);

  ~SharedMemory();

  SharedMemory(SharedMemory&& other);
  SharedMemory& operator=(SharedMemory&& other);

  explicit operator bool() const { return memory != nullptr; }
  std::uint8_t* Bytes() const { return memory; }
  size_t Size() const { return size_t(handle.bytes); }
  //! For other processes; all zero if there is no memory.
  Handle Export() const { return memory ? handle : Handle(); }

 private:
  static std::string Name(const Handle& handle);

#if defined(__linux__)
  //! Draw a random number; false if the system has none.
  static bool Draw(std::uint64_t& token);

  //! Allocate all pages; false if there are too few.
  bool Reserve(const size_t bytes);

  void Map();

  void Close();
#endif

  Handle handle;
  int file = -1;
  std::uint8_t* memory = nullptr;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "shared_memory_impl.hpp"
#endif

#endif
