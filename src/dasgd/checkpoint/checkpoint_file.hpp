/**
 * @file checkpoint_file.hpp
 *
 * Checkpoints on disk: read before a run, locked and written during it.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_FILE_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_FILE_HPP

#include "../core/config.hpp"
#include "../files/whole_file.hpp"
#include "checkpoint.hpp"
#include "checkpoint_lock.hpp"
#include "checkpoint_writer.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace dasgd {

/**
 * The bytes of a checkpoint, or none if there is no such file.  Throws
 * CheckpointError if there is one that cannot be read; the content is yet to be
 * decoded.
 *
 * @param vectorBytes Bytes of the model; a file that is too large for it is not
 *     read.
 */
std::vector<std::uint8_t> ReadCheckpoint(
    const std::string& path,
    const std::uint64_t vectorBytes);

//! Is there a file that is not empty and no checkpoint, of whatever version?
bool IsForeignFile(const std::string& path);

//! The same name for the same file, wherever the process is.
std::string FullPath(const std::string& path);

//! Checkpoints of trainings that this process has brought to their end: the
//! next training by the same name is another one.
inline std::set<std::string>& FinishedCheckpoints()
{
  static std::set<std::string> paths;
  return paths;
}

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "checkpoint_file_impl.hpp"
#endif

#endif
