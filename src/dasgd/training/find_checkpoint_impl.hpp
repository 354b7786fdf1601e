/**
 * @file find_checkpoint_impl.hpp
 *
 * Implementation of the search for a checkpoint to resume from.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TRAINING_FIND_CHECKPOINT_IMPL_HPP
#define DASGD_TRAINING_FIND_CHECKPOINT_IMPL_HPP

// In case it hasn't been included yet.
#include "find_checkpoint.hpp"

#include "agreement.hpp"

#include <iostream>
#include <sys/stat.h>

namespace dasgd {

/**
 * Throws if a checkpoint is not of this training.
 *
 * @param about This training, as its own checkpoints describe it.
 * @param stepName What the user calls StepSize().
 */
DASGD_INLINE void CheckFits(const Checkpoint& found,
                            const Checkpoint& about,
                            const std::string& stepName)
{
  const auto shape = [](const std::uint64_t rows,
                        const std::uint64_t cols,
                        const std::uint64_t bytes)
  {
    return std::to_string(rows) + " x " + std::to_string(cols) + " numbers "
        "of " + std::to_string(bytes) + " bytes";
  };
  if (found.algorithm != about.algorithm)
    throw CheckpointError("it is of " + found.algorithm);
  if (found.rows != about.rows || found.cols != about.cols ||
      found.elementBytes != about.elementBytes)
  {
    throw CheckpointError("it is of a model of " + shape(found.rows,
        found.cols, found.elementBytes) + ", but this one is of " +
        shape(about.rows, about.cols, about.elementBytes));
  }
  if (found.data == Data::Replicated && about.data == Data::Replicated &&
      found.held[0] != about.held[0])
  {
    throw CheckpointError("it is of a training on " +
        std::to_string(found.held[0]) + " points, but there are " +
        std::to_string(about.held[0]));
  }
  const auto [name, now, then] = about.TagDifference(found);
  if (!name.empty())
  {
    throw CheckpointError("it is of another training: " + name + " was " +
        then + ", but is " + now);
  }
  if (found.givenStep != about.givenStep)
  {
    const auto text = [](const double step)
    { return (step == AutoStep) ? "AutoStep" : ExactText(step); };
    throw CheckpointError("it is of another training: " +
        stepName + " was " + text(found.givenStep) +
        ", but is " + text(about.givenStep));
  }
  const size_t place = about.fingerprint.Difference(found.fingerprint);
  // It is of as many points as are in a batch.
  if (found.data == about.data && found.held[0] == about.held[0] &&
      found.batchSize == about.batchSize && place < Fingerprint::Places)
  {
    throw CheckpointError("it is of a training on other data: the objective "
        "of some points was " +
        NumberText(found.fingerprint.objectives[place]) + ", but is " +
        NumberText(about.fingerprint.objectives[place]));
  }
}

DASGD_INLINE std::vector<std::uint8_t> FindCheckpoint(
    const CommonSettings& settings,
    const Checkpoint& about)
{
  const std::string& path = settings.CheckpointFile();
  std::vector<std::uint8_t> bytes;
  struct stat status;
  if (!path.empty() && stat(path.c_str(), &status) == 0 &&
      !S_ISREG(status.st_mode))
  {
    throw CheckpointError("cannot keep a checkpoint in " + path + ": it is not "
        "a regular file; name another one.");
  }
  if (!path.empty() && IsForeignFile(path))
  {
    throw CheckpointError("cannot keep a checkpoint in " + path + ": it is not "
        "a checkpoint, and is not replaced; name another file, or remove it.");
  }
  if (path.empty() || settings.Restart())
    return bytes;
  if (FinishedCheckpoints().count(FullPath(path)) > 0)
  {
    std::cerr << about.algorithm << ": the checkpoint " << path
        << " is of an earlier training of this process, and is replaced; give "
        << "each training its own file." << std::endl;
    return bytes;
  }
  try
  {
    bytes = ReadCheckpoint(path, about.VectorBytes());
    if (bytes.empty())
      return bytes;
    CheckFits(checkpoint::Decode(bytes), about,
        settings.Messages().stepSize);
    return bytes;
  }
  catch (const CheckpointError& e)
  {
    throw CheckpointError("cannot resume from checkpoint " + path + ": " +
        e.what() + "; name another file, or use " +
        settings.Messages().restart + " to start over and replace it.");
  }
}

} // namespace dasgd

#endif
