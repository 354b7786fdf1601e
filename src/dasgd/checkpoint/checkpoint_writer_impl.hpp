/**
 * @file checkpoint_writer_impl.hpp
 *
 * Implementation of CheckpointWriter.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_WRITER_IMPL_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_WRITER_IMPL_HPP

// In case it hasn't been included yet.
#include "checkpoint_writer.hpp"

#include "../files/whole_file.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <ostream>

namespace dasgd {

DASGD_INLINE CheckpointWriter::CheckpointWriter(const std::string& path,
                                                const double every) :
    path(path),
    every(std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::min(every, 1e9)))),
    next(Clock::now() + this->every)
{
  // Report it now rather than when the first one is due.
  const std::string reason = WholeFile::Problem(path);
  if (!reason.empty())
    problem = CannotWrite(path, reason);
}

DASGD_INLINE CheckpointWriter::~CheckpointWriter()
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

DASGD_INLINE void CheckpointWriter::Write(const Checkpoint& state,
                                          const bool wait)
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

DASGD_INLINE void CheckpointWriter::Fail(const std::string& reason)
{
  next = Clock::now() + every;
  const std::lock_guard<std::mutex> lock(mutex);
  problem = reason;
}

DASGD_INLINE void CheckpointWriter::Await()
{
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this]() { return !pending; });
}

DASGD_INLINE std::string CheckpointWriter::Warning()
{
  const std::lock_guard<std::mutex> lock(mutex);
  if (problem == told)
    return "";
  told = problem;
  return problem;
}

DASGD_INLINE std::string CheckpointWriter::Problem()
{
  const std::lock_guard<std::mutex> lock(mutex);
  return problem;
}

DASGD_INLINE std::uint64_t CheckpointWriter::Written()
{
  const std::lock_guard<std::mutex> lock(mutex);
  return written;
}

DASGD_INLINE void CheckpointWriter::Start()
{
  WholeFile::RemoveParts(path);
  // Block all signals: the program's own threads handle them.
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

DASGD_INLINE void CheckpointWriter::Work()
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
      SaveFile(path, [this](std::ostream& file)
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

} // namespace dasgd

#endif
