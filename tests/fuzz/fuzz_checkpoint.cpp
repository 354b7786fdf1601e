/**
 * @file fuzz_checkpoint.cpp
 *
 * Checkpoints, by somebody who knows the checksum: whatever is read fits
 * together, and can be gone on from.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "require.hpp"

#include <dasgd/checkpoint/checkpoint.hpp>

using namespace dasgd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      const size_t size)
{
  // As a file: a foreign one, or one that was damaged.
  std::vector<std::uint8_t> bytes(data, data + size);
  try
  {
    checkpoint::Decode(bytes);
  }
  catch (const CheckpointError&)
  {
    // As it should be.
  }

  // With a header that is right.
  bytes.insert(bytes.begin(), sizeof(checkpoint::Header), 0);
  checkpoint::Seal(bytes);
  Checkpoint found;
  try
  {
    found = checkpoint::Decode(bytes);
  }
  catch (const CheckpointError&)
  {
    return 0;
  }
  fuzz::Require(found.vectors.size() == found.policyVectors + 1,
      "all vectors are there");
  for (const std::uint8_t* vector : found.vectors)
  {
    fuzz::Require(vector >= bytes.data() && vector + found.VectorBytes() <=
        bytes.data() + bytes.size(), "a vector is in the file");
  }

  // Written again, it is the same.
  std::vector<std::uint8_t> again;
  checkpoint::Encode(found, again);
  checkpoint::Seal(again);
  const Checkpoint same = checkpoint::Decode(again);
  fuzz::Require(same.SameDivision(found) && same.progress.Known() ==
      found.progress.Known() && same.version == found.version,
      "it is read as it is written");

  // The same ranks go on, or others.
  for (const size_t ranks : { found.held.size(), size_t(3) })
  {
    Division division = found;
    if (ranks != found.held.size())
      division.held.assign(ranks, found.EpochPoints());
    const RunSnapshot next = found.Resume(division);
    fuzz::Require(next.progress.points.size() == next.held.size(),
        "every rank has a place");
    if (next.held.size() > 64 || next.EpochPoints() > 1000000 ||
        *std::min_element(next.held.begin(), next.held.end()) == 0)
      continue; // Data that nobody has here, or that is refused before this.
    const std::vector<size_t> points(next.held.begin(), next.held.end());
    for (size_t rank = 0; rank < points.size(); ++rank)
    {
      Work work(points, rank, next.data, next.sharing, size_t(next.batchSize),
          size_t(next.Budget(found.points + 1000)), next.progress.before);
      work.Walk(next.progress.points[rank]);
      std::uint64_t known = next.progress.Known();
      for (size_t i = 0; i < 3 && work.Left(known); ++i)
      {
        const Batch batch = work.Next(known);
        fuzz::Require(batch.size > 0 && batch.begin < points[rank] &&
            batch.begin + batch.size <= points[rank], "points are there");
        known += batch.size;
      }
    }
    Progress progress(points.size(), size_t(next.EpochPoints()), next.sharing);
    progress.Restore(next.progress);
    double objective = 0;
    for (size_t i = 0; i < 3; ++i)
      progress.CloseEpoch(objective);
  }
  return 0;
}
