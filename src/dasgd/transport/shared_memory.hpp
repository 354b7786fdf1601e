/**
 * @file shared_memory.hpp
 *
 * Memory that processes of one machine have in common, and the lanes in it by
 * which they pass frames.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRANSPORT_SHARED_MEMORY_HPP
#define DASGD_TRANSPORT_SHARED_MEMORY_HPP

#include "../wire/buffer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#if defined(__linux__)
  #include <fcntl.h>
  #include <sys/mman.h>
  #include <sys/resource.h>
  #include <unistd.h>
#endif

namespace dasgd {

/**
 * A piece of memory with no name in any file system: nothing is left behind
 * whatever happens, the size of /dev/shm does not matter, and pages that are
 * never touched cost nothing, as in memory of one's own.  (MPI's shared windows
 * have none of this: Open MPI puts them into a file, and where there is no room
 * for it one rank gets an error and the others wait for ever.)
 *
 * There is none where the system has no such thing, or where processes may not
 * see each other: frames then travel as messages.
 */
class SharedMemory
{
 public:
  //! By which a process of the same machine finds it.
  struct Ticket
  {
    std::uint64_t process = 0;
    std::uint64_t file = 0;
    std::uint64_t bytes = 0;
    //! Drawn at random, part of the memory's name: on another machine, or in
    //! another container, no file goes by it.
    std::uint64_t token = 0;
  };

  //! None.
  SharedMemory() = default;

  /**
   * Does the system promise no more memory than it has?  Pages of shared memory
   * count when they are touched, and a lack ends the process then, so that they
   * must be had before.
   *
   * @param setting Where the system says so.
   */
  static bool Strict(const char* setting = "/proc/sys/vm/overcommit_memory")
  {
    std::ifstream file(setting);
    int mode = 0;
    return (file >> mode) && mode == 2;
  }

  /**
   * New memory, all zero; none if that cannot be had.
   *
   * @param reserve Have all of its pages now.
   */
  explicit SharedMemory(const size_t bytes, const bool reserve = Strict())
  {
#if defined(__linux__)
    // Beyond this limit the system would end the program.
    rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur !=
        RLIM_INFINITY && bytes > limit.rlim_cur) || !Draw(ticket.token))
      return;
    file = memfd_create(Name(ticket).c_str(), MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(bytes)) != 0 ||
        (reserve && !Reserve(bytes)))
    {
      Close(); // With what was reserved of it.
      return;
    }
    ticket.process = std::uint64_t(getpid());
    ticket.file = std::uint64_t(file);
    ticket.bytes = bytes;
    Map();
#else
    (void) bytes;
    (void) reserve;
#endif
  }

  //! Memory that another process has made; none if it cannot be reached.
  explicit SharedMemory(const Ticket& ticket) : ticket(ticket)
  {
#if defined(__linux__)
    const std::string path = "/proc/" + std::to_string(ticket.process) +
        "/fd/" + std::to_string(ticket.file);
    // Look before opening: it may be anything of anybody's.
    const std::string name = "/memfd:" + Name(ticket);
    char link[64] = { };
    if (ticket.bytes == 0 || readlink(path.c_str(), link, sizeof(link) - 1) <
        ssize_t(name.size()) || name.compare(0, name.size(), link,
        name.size()) != 0)
      return;
    file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0 && lseek(file, 0, SEEK_END) == off_t(ticket.bytes))
      Map();
    Close(); // What is mapped stays.
#endif
  }

  ~SharedMemory()
  {
#if defined(__linux__)
    if (memory)
      munmap(memory, size_t(ticket.bytes));
    Close();
#endif
  }

  SharedMemory(SharedMemory&& other) { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other)
  {
    std::swap(ticket, other.ticket);
    std::swap(file, other.file);
    std::swap(memory, other.memory);
    return *this;
  }

  explicit operator bool() const { return memory != nullptr; }
  std::uint8_t* Bytes() const { return memory; }
  size_t Size() const { return size_t(ticket.bytes); }
  //! For others; an empty one if there is no memory.
  Ticket Invitation() const { return memory ? ticket : Ticket(); }

 private:
  static std::string Name(const Ticket& ticket)
  {
    char name[32];
    std::snprintf(name, sizeof(name), "dasgd-%016llx",
        static_cast<unsigned long long>(ticket.token));
    return name;
  }

#if defined(__linux__)
  static bool Draw(std::uint64_t& token)
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

  //! Have all pages; false if there are too few.
  bool Reserve(const size_t bytes)
  {
    // In pieces, since a signal makes the system give back what it has of one.
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

  void Map()
  {
    void* place = mmap(nullptr, size_t(ticket.bytes), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_NORESERVE, file, 0);
    if (place != MAP_FAILED)
      memory = static_cast<std::uint8_t*>(place);
  }

  void Close()
  {
    if (file >= 0)
      close(file);
    file = -1;
  }
#endif

  Ticket ticket;
  int file = -1;
  std::uint8_t* memory = nullptr;
};

/**
 * Where one rank tells another which of its buffers hold frames for it, in
 * order, and is told which have been read.  It stands in the sender's memory;
 * a frame is never copied.
 */
class Lane
{
 public:
  struct Frame
  {
    //! Where it begins in the sender's memory.
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  //! Bytes of a lane with room for so many frames at a time.
  static size_t Bytes(const size_t window)
  {
    return Buffer::RoundUp(sizeof(Count) + window * sizeof(Frame)) +
        Buffer::RoundUp(sizeof(Count));
  }

  //! None.
  Lane() = default;

  //! The lane at this place, in memory that was all zero when it was made.
  Lane(std::uint8_t* place, const size_t window) :
      posted(reinterpret_cast<Count*>(place)),
      taken(reinterpret_cast<Count*>(place + Bytes(window) -
          Buffer::RoundUp(sizeof(Count)))),
      frames(reinterpret_cast<Frame*>(place + sizeof(Count))),
      window(window)
  { }

  explicit operator bool() const { return posted != nullptr; }

  //! The sender: here is a frame; call only if there is room.
  void Post(const Frame& frame)
  {
    frames[mine % window] = frame;
    posted->store(++mine, std::memory_order_release);
  }

  //! The sender: how many have been read so far?
  std::uint64_t Taken() const { return taken->load(std::memory_order_acquire); }

  //! The receiver: the next frame, or null.
  const Frame* Next() const
  {
    return posted->load(std::memory_order_acquire) == mine ? nullptr :
        &frames[mine % window];
  }

  //! The receiver: that frame has been read, its buffer may be used again.
  void Take() { taken->store(++mine, std::memory_order_release); }

 private:
  using Count = std::atomic<std::uint64_t>;
  static_assert(Count::is_always_lock_free && sizeof(Count) == 8,
      "dasgd: processes need 64-bit counters that work without a lock.");

  Count* posted = nullptr;
  Count* taken = nullptr;
  Frame* frames = nullptr;
  size_t window = 0;
  //! How many this side has posted, or taken.
  std::uint64_t mine = 0;
};

} // namespace dasgd

#endif
