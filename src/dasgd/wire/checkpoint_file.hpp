/**
 * @file checkpoint_file.hpp
 *
 * Checkpoints on disk: read before a run, written beside it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_WIRE_CHECKPOINT_FILE_HPP
#define DASGD_WIRE_CHECKPOINT_FILE_HPP

#include "../core/whole_file.hpp"
#include "checkpoint.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include <sys/file.h>

namespace dasgd {

/**
 * The bytes of a checkpoint, or none if there is no such file.  Throws
 * CheckpointError if there is one that cannot be read; the content is yet to be
 * decoded.
 *
 * @param vectorBytes Bytes of the model; a file that is too large for it is not
 *     read.
 */
inline std::vector<std::uint8_t> ReadCheckpoint(
    const std::string& path,
    const std::uint64_t vectorBytes)
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

//! Is there a file that is not empty and no checkpoint, of whatever version?
inline bool IsForeignFile(const std::string& path)
{
  const checkpoint::Header header;
  std::array<char, 8> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), std::streamsize(begin.size()));
  return file.gcount() > 0 && begin != header.magic;
}

/**
 * Keeps other trainings from a checkpoint while this one has it: two that write
 * one file would each resume the other's.  Held by a file beside it, which the
 * system releases when the process dies, however it does.
 */
class CheckpointLock
{
 public:
  /**
   * @param path The checkpoint.
   * @param seconds How long to wait for a process that has it: one that was
   *     killed may take a moment to be gone.
   */
  explicit CheckpointLock(const std::string& path, const double seconds = 2) :
      name(path + ".lock")
  {
    const auto limit = std::chrono::steady_clock::now() +
        std::chrono::duration<double>(seconds);
    while (!Try())
    {
      if (std::chrono::steady_clock::now() > limit)
      {
        std::ifstream holder(name);
        std::string who;
        std::getline(holder, who);
        throw CheckpointError("the checkpoint " + path + " is in use by " +
            (who.empty() ? "another process" : who) + "; wait for it to end, "
            "or name another file.");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  ~CheckpointLock()
  {
    if (file < 0)
      return;
    unlink(name.c_str());
    close(file);
  }

  CheckpointLock(const CheckpointLock&) = delete;
  CheckpointLock& operator=(const CheckpointLock&) = delete;

 private:
  //! False if another process has it.
  bool Try()
  {
    const int opened = open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW |
        O_CLOEXEC, 0666);
    // Where no file can be made no checkpoint can, either, which is said when
    // one is to be written; and not all file systems know locks.
    if (opened < 0)
      return true;
    if (flock(opened, LOCK_EX | LOCK_NB) != 0)
    {
      const bool taken = (errno == EWOULDBLOCK);
      close(opened);
      return !taken;
    }
    // Whoever had it has removed it; another may have made a new one since.
    struct stat mine, there;
    if (fstat(opened, &mine) != 0 || stat(name.c_str(), &there) != 0 ||
        mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
    {
      close(opened);
      return false;
    }
    file = opened;
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    const std::string who = "process " + std::to_string(getpid()) + " on " +
        host + "\n";
    if (ftruncate(file, 0) != 0 || write(file, who.data(), who.size()) < 0)
      return true; // Then it does not say who.
    return true;
  }

  std::string name;
  int file = -1;
};

/**
 * Writes checkpoints while the training goes on, which waits only while its
 * vectors are copied.  A thread of its own does the rest; it knows no MPI and
 * touches nothing but its copy.
 */
class CheckpointWriter
{
 public:
  /**
   * @param path Where to.
   * @param every Seconds from one to the next.
   */
  CheckpointWriter(const std::string& path, const double every) :
      path(path),
      every(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(std::min(every, 1e9)))),
      next(Clock::now() + this->every)
  {
    // Better said now than when the first one is due.
    const std::string reason = WholeFile::Problem(path);
    if (!reason.empty())
      problem = CannotWrite(path, reason);
  }

  ~CheckpointWriter()
  {
    if (!thread.joinable())
      return;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    changed.notify_all();
    thread.join();
  }

  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  const std::string& Path() const { return path; }

  //! Is it time for the next, and is the last one done?
  bool Due()
  {
    if (Clock::now() < next)
      return false;
    const std::lock_guard<std::mutex> lock(mutex);
    return !pending;
  }

  /**
   * Save a checkpoint as it is now.  Failures are kept for Warning().
   *
   * @param wait Until it is on disk?
   */
  void Write(const Checkpoint& state, const bool wait = false)
  {
    Await(); // The bytes are in use till then.
    next = Clock::now() + every;
    try
    {
      checkpoint::Encode(state, bytes);
      if (!thread.joinable())
        Start();
    }
    catch (const std::exception& e)
    {
      Fail(e.what());
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex);
      pending = true;
    }
    changed.notify_all();
    if (wait)
      Await();
  }

  //! A checkpoint cannot be saved; the next one is tried when it is due.
  void Fail(const std::string& reason)
  {
    next = Clock::now() + every;
    const std::lock_guard<std::mutex> lock(mutex);
    problem = reason;
  }

  //! Wait until what was begun is on disk, or has failed.
  void Await()
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this]() { return !pending; });
  }

  //! Why the last one could not be written, if that is news; or nothing.
  std::string Warning()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (problem == told)
      return "";
    told = problem;
    return problem;
  }

  //! Why the last one could not be written; or nothing.
  std::string Problem()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return problem;
  }

  //! How many are on disk.
  std::uint64_t Written()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return written;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Start()
  {
    WholeFile::RemoveParts(path);
    // Signals are the program's: none of them is for this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try
    {
      thread = std::thread([this]() { Work(); });
    }
    catch (...)
    {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Work()
  {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;)
    {
      changed.wait(lock, [this]() { return pending || ending; });
      if (!pending)
        return;
      lock.unlock();
      std::string failure;
      try
      {
        checkpoint::Seal(bytes);
        SaveFile(path, [this](std::ofstream& file)
        {
          file.write(reinterpret_cast<const char*>(bytes.data()),
              std::streamsize(bytes.size()));
        });
      }
      catch (const std::exception& e)
      {
        failure = e.what();
      }
      lock.lock();
      problem = failure;
      if (failure.empty())
        ++written;
      pending = false;
      changed.notify_all();
    }
  }

  std::string path;
  Clock::duration every;
  Clock::time_point next;
  //! What is written; the thread's while `pending`.
  std::vector<std::uint8_t> bytes;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  bool pending = false;
  bool ending = false;
  std::string problem;
  std::string told;
  std::uint64_t written = 0;
};

//! The same name for the same file, wherever the process is.
inline std::string FullPath(const std::string& path)
{
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

//! Checkpoints of trainings that this process has brought to their end: the
//! next training by the same name is another one.
inline std::set<std::string>& FinishedCheckpoints()
{
  static std::set<std::string> paths;
  return paths;
}

} // namespace dasgd

#endif
