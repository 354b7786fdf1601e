/**
 * @file checkpoint_lock_impl.hpp
 *
 * Implementation of CheckpointLock.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_LOCK_IMPL_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_LOCK_IMPL_HPP

// In case it hasn't been included yet.
#include "checkpoint_lock.hpp"

#include "../files/whole_file.hpp"
#include "checkpoint.hpp"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {

DASGD_INLINE CheckpointLock::CheckpointLock(const std::string& path,
                                            const double seconds) :
    name(WholeFile::Resolve(path) + ".lock") // Links share what they lead to.
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

DASGD_INLINE CheckpointLock::~CheckpointLock()
{
  if (file < 0)
    return;
  unlink(name.c_str());
  close(file);
}

DASGD_INLINE bool CheckpointLock::Try()
{
  const int opened = open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW |
      O_CLOEXEC, 0666);
  // A folder without write access is reported when a checkpoint is written,
  // and some file systems have no locks: neither is an error here.
  if (opened < 0)
    return true;
  if (flock(opened, LOCK_EX | LOCK_NB) != 0)
  {
    const bool taken = (errno == EWOULDBLOCK);
    close(opened);
    return !taken;
  }
  // The former owner may have removed the file, and another process may have
  // made a new one since.
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
    return true; // The lock holds all the same.
  return true;
}

} // namespace dasgd

#endif
