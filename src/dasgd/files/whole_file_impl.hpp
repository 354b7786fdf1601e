/**
 * @file whole_file_impl.hpp
 *
 * Implementation of WholeFile.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FILES_WHOLE_FILE_IMPL_HPP
#define DASGD_FILES_WHOLE_FILE_IMPL_HPP

// In case it hasn't been included yet.
#include "whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {

DASGD_INLINE std::string CannotWrite(const std::string& path,
                                     const std::string& reason)
{
  return "dasgd: cannot write " + path + ": " + reason + "; choose another "
      "place, or make room there";
}

DASGD_INLINE WholeFile::WholeFile(const std::string& given) :
    WholeFile(given, Process())
{ }

DASGD_INLINE WholeFile::WholeFile(const std::string& given,
                                  const std::string& process) :
    given(given), target(Resolve(given))
{
  struct stat old;
  there = stat(target.c_str(), &old) == 0;
  if (there)
  {
    oldMode = old.st_mode;
    oldOwner = old.st_uid;
    oldGroup = old.st_gid;
  }
  direct = there && (!S_ISREG(oldMode) || IsStream(target));
  // The name of a link may have an ending, which that of a device has not.
  path = direct ? given : Temporary(target, process);
  if (direct)
    return;
  remembered = PartFiles::Remember(path);
  // No more access than to what it replaces, while it is being written.
  const int reason = Create(path, there ? (oldMode & 0666) | 0600 : 0666);
  if (reason != 0)
  {
    PartFiles::Forget(remembered);
    throw WriteError(given, std::strerror(reason));
  }
}

DASGD_INLINE WholeFile::~WholeFile()
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
    // Out of memory for a name: the file stays.
  }
  PartFiles::Forget(remembered);
}

DASGD_INLINE void WholeFile::Commit()
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
  // The new name must survive a power failure, too.
  const std::string folder = Folder(target);
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (directory >= 0)
  {
    fsync(directory); // Not all file systems know this.
    close(directory);
  }
}

DASGD_INLINE std::string WholeFile::Reason(const int number) const
{
  for (const int known : { ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EPIPE, ENXIO })
  {
    if (number == known)
      return std::strerror(number);
  }
  const int full = direct ? 0 : TryMore();
  return std::strerror(full == 0 ? EIO : full);
}

DASGD_INLINE void WholeFile::RemoveParts(const std::string& given)
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

DASGD_INLINE std::string WholeFile::Problem(const std::string& target)
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
  const std::string probe = Temporary(Resolve(target), Process());
  const int reason = Create(probe, 0600);
  if (reason != 0)
    return std::strerror(reason);
  unlink(probe.c_str());
  return "";
}

DASGD_INLINE bool WholeFile::IsStream(const std::string& name)
{
  std::error_code failed;
  const std::string folder = std::filesystem::canonical(Folder(name),
      failed).string();
  return !failed && folder.compare(0, 6, "/proc/") == 0;
}

DASGD_INLINE std::string WholeFile::Resolve(std::string target)
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

DASGD_INLINE int WholeFile::Create(const std::string& name, const mode_t mode)
{
  unlink(name.c_str()); // A process with the same number may have left one.
  const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL |
      O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0)
    return errno;
  close(file);
  return 0;
}

DASGD_INLINE int WholeFile::TryMore() const
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

DASGD_INLINE void WholeFile::KeepAccess(const int file) const
{
  struct stat mine;
  if (fstat(file, &mine) != 0)
    return;
  mode_t mode = oldMode & 0777;
  const bool owned = mine.st_uid == oldOwner ||
      fchown(file, oldOwner, gid_t(-1)) == 0;
  // Another group gets no more than all others.
  if (mine.st_gid != oldGroup &&
      fchown(file, uid_t(-1), oldGroup) != 0)
    mode &= ~mode_t(070) | ((mode & 07) << 3);
  if (!owned)
    mode |= 0600; // Its new owner must be able to read and write it.
  if (fchmod(file, mode) != 0)
    return; // Not all file systems have permissions.
}

DASGD_INLINE void WholeFile::RemoveFrom(
    const std::string& folder,
    const std::function<bool(const std::string&)>& condition)
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

DASGD_INLINE std::string WholeFile::Temporary(const std::string& target,
                                              const std::string& process)
{
  return target.substr(0, Begin(target)) + "." + process + ".part." +
      target.substr(Begin(target));
}

DASGD_INLINE std::string WholeFile::Process()
{ return std::to_string(getpid()); }

DASGD_INLINE size_t WholeFile::Begin(const std::string& target)
{
  const size_t slash = target.rfind('/');
  return (slash == std::string::npos) ? 0 : slash + 1;
}

DASGD_INLINE std::string WholeFile::Folder(const std::string& target)
{ return (Begin(target) == 0) ? "." : target.substr(0, Begin(target)); }

DASGD_INLINE void SaveFile(const std::string& path,
                           const std::function<void(std::ostream&)>& writer)
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
