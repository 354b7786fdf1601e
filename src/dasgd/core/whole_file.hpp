/**
 * @file whole_file.hpp
 *
 * A file that appears at once, complete, or not at all.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_WHOLE_FILE_HPP
#define DASGD_CORE_WHOLE_FILE_HPP

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace dasgd {

//! What to say of a file that cannot be written.
inline std::string CannotWrite(const std::string& path,
                               const std::string& reason)
{
  return "dasgd: cannot write " + path + ": " + reason + "; choose another "
      "place, or make room there";
}

//! A file cannot be written.
class WriteError : public std::runtime_error
{
 public:
  WriteError(const std::string& path, const std::string& reason) :
      std::runtime_error(CannotWrite(path, reason)), reason(reason) { }

  //! Why, without the name of the file.
  const std::string& Reason() const { return reason; }

 private:
  std::string reason;
};

/**
 * The names of the files that this process has begun to write, in a place where
 * a handler of signals can read them.
 */
class PartFiles
{
 public:
  /**
   * Remember a name.
   *
   * @return What to give to Forget().
   */
  static size_t Remember(const std::string& path)
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
    return count; // It is not remembered, then.
  }

  static void Forget(const size_t which)
  {
    if (which < count)
      Slots()[which].owner = 0;
  }

  /**
   * Remove all files that have been begun, for a process that is about to die
   * by a signal; calls nothing that a handler must not call.
   */
  static void Remove()
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

 private:
  struct Slot
  {
    //! 0: free; -1: being filled.
    std::atomic<pid_t> owner{ 0 };
    char path[4096] = { };
  };

  static constexpr size_t count = 8;

  static Slot* Slots()
  {
    static Slot slots[count];
    return slots;
  }

  //! Armadillo writes to a name that begins with the one it is given; the
  //! system is asked for names since readdir() must not be called.
  static void RemoveLonger(const char* path)
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
};

/**
 * Write to Path(), then Commit(): the content goes to disk and takes the place
 * of what was there, with its permissions.  Without Commit() nothing remains.
 * Devices and pipes are written to directly.
 */
class WholeFile
{
 public:
  explicit WholeFile(const std::string& given) :
      given(given), target(Resolve(given))
  {
    there = stat(target.c_str(), &old) == 0;
    direct = there && (!S_ISREG(old.st_mode) || IsStream(target));
    // The name of a link may have an ending, which that of a device has not.
    path = direct ? given : Temporary(target);
    if (direct)
      return;
    remembered = PartFiles::Remember(path);
    // What only some may read is not for others while it is written.
    const int reason = Create(path, there ? (old.st_mode & 0666) | 0600 : 0666);
    if (reason != 0)
    {
      PartFiles::Forget(remembered);
      throw WriteError(given, std::strerror(reason));
    }
  }

  ~WholeFile()
  {
    if (direct || committed)
      return;
    unlink(path.c_str());
    // Armadillo writes to a name that begins with the one it is given.
    try
    {
      const std::string start = path.substr(Begin(path)) + ".tmp_";
      RemoveFrom(Folder(path), [&](const std::string& name)
      { return name.compare(0, start.size(), start) == 0; });
    }
    catch (const std::exception&)
    {
      // There is not even memory for a name; then it stays.
    }
    PartFiles::Forget(remembered);
  }

  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  //! Is it a device, a pipe or a stream, which is written to as it is?
  bool Direct() const { return direct; }

  //! Where to write.
  const std::string& Path() const { return path; }

  void Commit()
  {
    if (direct)
      return;
    const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && there)
      KeepAccess(file);
    const bool safe = file >= 0 && fsync(file) == 0;
    const int reason = errno;
    if (file >= 0)
      close(file);
    if (!safe)
      throw WriteError(given, std::strerror(reason));
    if (std::rename(path.c_str(), target.c_str()) != 0)
      throw WriteError(given, std::strerror(errno));
    committed = true;
    PartFiles::Forget(remembered);
    // The new name is to outlive a power cut, too.
    const std::string folder = Folder(target);
    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (directory >= 0)
    {
      fsync(directory); // Not all file systems know this.
      close(directory);
    }
  }

  /**
   * Why writing has failed, as far as it can be told afterwards.
   *
   * @param number errno after it, if it was 0 before.
   */
  std::string Reason(const int number) const
  {
    for (const int known : { ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EPIPE, ENXIO })
    {
      if (number == known)
        return std::strerror(number);
    }
    const int full = direct ? 0 : TryMore();
    return std::strerror(full == 0 ? EIO : full);
  }

  //! Remove what processes that were killed have left of the same file; call it
  //! only if nobody else is writing it.
  static void RemoveParts(const std::string& given)
  {
    const std::string target = Resolve(given);
    const std::string end = ".part." + target.substr(Begin(target));
    RemoveFrom(Folder(target), [&](const std::string& name)
    {
      return name.size() > end.size() + 1 && name[0] == '.' &&
          name.compare(name.size() - end.size(), end.size(), end) == 0 &&
          name.find_first_not_of("0123456789", 1) == name.size() - end.size();
    });
  }

  //! Why a file cannot be written; empty if it can.
  static std::string Problem(const std::string& target)
  {
    struct stat status;
    if (stat(target.c_str(), &status) == 0)
    {
      if (S_ISDIR(status.st_mode))
        return "it is a directory";
      if (access(target.c_str(), W_OK) != 0)
        return std::strerror(errno);
      if (!S_ISREG(status.st_mode) || IsStream(Resolve(target)))
        return "";
    }
    const std::string probe = Temporary(Resolve(target));
    const int reason = Create(probe, 0600);
    if (reason != 0)
      return std::strerror(reason);
    unlink(probe.c_str());
    return "";
  }

 private:
  //! Is it a stream that a process has open, such as /dev/stdout?  It may lead
  //! to a file, which others write to as well and must not be replaced.
  static bool IsStream(const std::string& name)
  {
    std::error_code failed;
    const std::string folder = std::filesystem::canonical(Folder(name),
        failed).string();
    return !failed && folder.compare(0, 6, "/proc/") == 0;
  }

  //! A link stays a link: what it points to is replaced, or made.
  static std::string Resolve(std::string target)
  {
    std::error_code failed;
    for (size_t i = 0; i < 40 && !IsStream(target) &&
        std::filesystem::is_symlink(target, failed); ++i)
    {
      const std::filesystem::path next = std::filesystem::read_symlink(target,
          failed);
      if (failed)
        break;
      target = (std::filesystem::path(target).parent_path() / next).string();
    }
    return target;
  }

  /**
   * Make an empty file that is this process's own.  Whoever writes to it later
   * does so by its name, so nobody else may have put a file or a link there.
   *
   * @return Why it cannot be made, as in errno, or 0.
   */
  static int Create(const std::string& name, const mode_t mode)
  {
    unlink(name.c_str()); // Of a process that had the same number and died.
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL |
        O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0)
      return errno;
    close(file);
    return 0;
  }

  //! Write some more, which is not kept: why it fails, as in errno, or 0.
  int TryMore() const
  {
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW |
        O_CLOEXEC);
    if (file < 0)
      return errno;
    const std::string more(65536, '\0');
    size_t done = 0;
    int reason = 0;
    while (done < more.size() && reason == 0)
    {
      const ssize_t length = write(file, more.data() + done,
          more.size() - done);
      if (length > 0)
        done += size_t(length);
      else if (length == 0 || errno != EINTR)
        reason = (length < 0) ? errno : EIO;
    }
    if (reason == 0 && fsync(file) != 0)
      reason = errno;
    close(file);
    return reason;
  }

  //! Give a file the permissions of what it replaces, and its owner and group
  //! where this is allowed.
  void KeepAccess(const int file) const
  {
    struct stat mine;
    if (fstat(file, &mine) != 0)
      return;
    mode_t mode = old.st_mode & 0777;
    const bool owned = mine.st_uid == old.st_uid ||
        fchown(file, old.st_uid, gid_t(-1)) == 0;
    // Another group gets no more than all others.
    if (mine.st_gid != old.st_gid &&
        fchown(file, uid_t(-1), old.st_gid) != 0)
      mode &= ~mode_t(070) | ((mode & 07) << 3);
    if (!owned)
      mode |= 0600; // Of no use to its new owner otherwise.
    if (fchmod(file, mode) != 0)
      return; // Not all file systems have permissions.
  }

  //! Remove files by their names, as far as they can be listed and removed.
  template<typename ConditionType>
  static void RemoveFrom(const std::string& folder, ConditionType&& condition)
  {
    // A range-based loop would throw where the folder cannot be read on.
    std::error_code failed, ignored;
    std::filesystem::directory_iterator entry(folder, failed);
    for (; !failed && entry != std::filesystem::directory_iterator();
        entry.increment(failed))
    {
      if (condition(entry->path().filename().string()))
        std::filesystem::remove(entry->path(), ignored);
    }
  }

  //! Beside the target, and with its ending, which tells the format.
  static std::string Temporary(const std::string& target)
  {
    return target.substr(0, Begin(target)) + "." + std::to_string(getpid()) +
        ".part." + target.substr(Begin(target));
  }

  //! Where a file's own name begins, after its folder's.
  static size_t Begin(const std::string& target)
  {
    const size_t slash = target.rfind('/');
    return (slash == std::string::npos) ? 0 : slash + 1;
  }

  static std::string Folder(const std::string& target)
  { return (Begin(target) == 0) ? "." : target.substr(0, Begin(target)); }

  std::string given;
  std::string target;
  std::string path;
  //! What is to be replaced, if it is there.
  struct stat old;
  bool there = false;
  size_t remembered = 0;
  bool direct = false;
  bool committed = false;
};

//! Write to a file, which appears when it is complete.
template<typename WriterType>
void SaveFile(const std::string& path, WriterType&& writer)
{
  WholeFile file(path);
  errno = 0;
  std::ofstream stream(file.Path(), file.Direct() ? std::ios::binary |
      std::ios::app : std::ios::binary);
  writer(stream);
  stream.close();
  if (!stream)
    throw WriteError(path, file.Reason(errno));
  file.Commit();
}

} // namespace dasgd

#endif
