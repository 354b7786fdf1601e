/**
 * @file checkpoint_impl.hpp
 *
 * Implementation of checkpoints as bytes.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_IMPL_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_IMPL_HPP

// In case it hasn't been included yet.
#include "checkpoint.hpp"

#include "../wire/byte_archive.hpp"
#include "checksum.hpp"

#include <cstring>

namespace dasgd {

DASGD_INLINE std::array<std::string, 3> Checkpoint::TagDifference(
    const Checkpoint& other) const
{
  const auto value = [](const Checkpoint& of, const std::string& name)
  {
    for (const auto& tag : of.tags)
      if (tag.first == name)
        return tag.second;
    return std::string("nothing");
  };
  if (other.tags.empty())
    return {};
  for (const Checkpoint* one : { this, &other })
  {
    for (const auto& tag : one->tags)
    {
      const std::string mine = value(*this, tag.first);
      const std::string theirs = value(other, tag.first);
      if (mine != theirs)
        return { tag.first, mine, theirs };
    }
  }
  return {};
}

namespace checkpoint {

//! What can be believed of a count, before anything is allocated for it.
DASGD_INLINE std::uint64_t LoadCount(ByteInputArchive& archive,
                               const char* name,
                               const std::uint64_t atMost)
{
  std::uint64_t value = 0;
  archive(value);
  if (value > atMost)
  {
    throw CheckpointError("it has " + std::string(name) + " " +
        std::to_string(value) + ", more than " + std::to_string(atMost));
  }
  return value;
}

DASGD_INLINE void Save(ByteOutputArchive& archive, const std::string& text)
{
  const std::uint64_t length = std::min<std::uint64_t>(text.size(), MaxText);
  archive(length, cereal::binary_data(text.data(), size_t(length)));
}

DASGD_INLINE void Load(ByteInputArchive& archive, std::string& text)
{
  const size_t length = size_t(LoadCount(archive, "a text of length",
      std::min<size_t>(archive.Left(), MaxText)));
  const std::uint8_t* at = archive.View(length);
  text.assign(at, at + length);
}

template<typename NumberType>
inline void Save(ByteOutputArchive& archive,
                 const std::vector<NumberType>& numbers)
{
  archive(std::uint64_t(numbers.size()), cereal::binary_data(numbers.data(),
      numbers.size() * sizeof(NumberType)));
}

template<typename NumberType>
inline void Load(ByteInputArchive& archive, std::vector<NumberType>& numbers)
{
  const size_t count = size_t(LoadCount(archive, "a list of length",
      archive.Left() / sizeof(NumberType)));
  numbers.resize(count);
  archive.loadBinary(numbers.data(), count * sizeof(NumberType));
}

template<typename EnumType>
inline void LoadEnum(ByteInputArchive& archive,
                     const char* name,
                     const EnumType last,
                     EnumType& value)
{
  std::uint8_t number = 0;
  archive(number);
  if (number > std::uint8_t(last))
  {
    throw CheckpointError("it has " + std::string(name) + " " +
        std::to_string(number) + ", which there is not");
  }
  value = EnumType(number);
}

//! Everything but the vectors.
DASGD_INLINE void Save(ByteOutputArchive& archive, const Checkpoint& from)
{
  Save(archive, from.algorithm);
  archive(from.rows, from.cols, from.elementBytes, std::uint8_t(from.data),
      std::uint8_t(from.sharing), from.batchSize);
  Save(archive, from.held);
  archive(from.progress.before, from.progress.current);
  Save(archive, from.progress.points);
  Save(archive, from.progress.latest);
  archive(std::uint64_t(from.progress.open.size()));
  for (const auto& epoch : from.progress.open)
  {
    archive(epoch.first, epoch.second.total);
    Save(archive, epoch.second.points);
    Save(archive, epoch.second.objectives);
  }
  archive(from.judged, from.lastObjective, std::uint8_t(from.hasLast),
      from.seed, from.shuffled, from.givenStep, from.stepSize,
      from.smoothness);
  Save(archive, from.version);
  static_assert(std::is_trivially_copyable<StalenessMeter>::value &&
      sizeof(StalenessMeter) == 8 * (4 + StalenessMeter::Buckets),
      "StalenessMeter is written as it is.");
  archive(from.gradients, from.points, from.seconds,
      cereal::binary_data(&from.staleness, sizeof(from.staleness)),
      from.resumes, std::uint8_t(from.finished), std::uint8_t(from.reason),
      from.stopValue);
  Save(archive, from.policy);
  Save(archive, from.policyNumbers);
  static_assert(std::is_trivially_copyable<Fingerprint>::value &&
      sizeof(Fingerprint) == 48, "Fingerprint is written as it is.");
  archive(from.policyVectors,
      cereal::binary_data(&from.fingerprint, sizeof(from.fingerprint)));
  const std::uint64_t tags = std::min<std::uint64_t>(from.tags.size(), MaxTags);
  archive(tags);
  for (std::uint64_t i = 0; i < tags; ++i)
  {
    Save(archive, from.tags[i].first);
    Save(archive, from.tags[i].second);
  }
}

//! Counters are far from this in any real run.
constexpr std::uint64_t MaxCount = std::uint64_t(1) << 62;

//! Throw unless all have the same ranks, and their points can be added up.
DASGD_INLINE void CheckRanks(const Checkpoint& of)
{
  const size_t ranks = of.held.size();
  if (ranks == 0 || of.progress.points.size() != ranks ||
      of.progress.latest.size() != ranks || of.elementBytes == 0 ||
      of.batchSize == 0 || of.progress.current == 0)
    throw CheckpointError("its parts do not fit each other");
  // Sums of these must not overflow, either.
  std::uint64_t all = 0, known = of.progress.before;
  for (size_t i = 0; i < ranks; ++i)
  {
    if (of.held[i] > MaxCount - all || of.progress.points[i] > MaxCount - known)
      throw CheckpointError("its points are more than can be counted");
    all += of.held[i];
    known += of.progress.points[i];
  }
  if (of.EpochPoints() == 0)
    throw CheckpointError("it has no points");
}

//! Epochs that have begun, but of which not all is known.
DASGD_INLINE void LoadOpenEpochs(ByteInputArchive& archive,
                                 const size_t ranks,
                                 Progress::State& to)
{
  const std::uint64_t epochs = LoadCount(archive, "open epochs",
      Progress::maxOpen);
  std::uint64_t last = 0;
  to.open.clear();
  for (std::uint64_t i = 0; i < epochs; ++i)
  {
    const std::uint64_t number = LoadCount(archive, "an epoch", MaxCount);
    Progress::Epoch epoch;
    epoch.total = LoadCount(archive, "points", MaxCount);
    Load(archive, epoch.points);
    Load(archive, epoch.objectives);
    std::uint64_t sum = 0;
    for (const std::uint64_t points : epoch.points)
      sum += std::min(points, MaxCount / (ranks + 1));
    if (number <= last || number < to.current || sum != epoch.total ||
        epoch.points.size() != ranks + 1 ||
        epoch.objectives.size() != ranks + 1)
      throw CheckpointError("its epochs do not fit each other");
    last = number;
    to.open.emplace(number, std::move(epoch));
  }
}

//! The iterate and the policy's vectors, which are all that is left.
DASGD_INLINE void FindVectors(ByteInputArchive& archive, Checkpoint& to)
{
  // Divisions instead of products, which may overflow.
  const std::uint64_t vectors = to.policyVectors + 1;
  const std::uint64_t left = archive.Left() / vectors;
  if (to.rows == 0 || to.cols == 0 ||
      to.rows > left / to.elementBytes / to.cols ||
      to.VectorBytes() * vectors != archive.Left())
  {
    throw CheckpointError("it has " + std::to_string(archive.Left()) +
        " bytes for " + std::to_string(vectors) + " vector" +
        (vectors == 1 ? "" : "s") + " of " + std::to_string(to.rows) + " x " +
        std::to_string(to.cols) + " elements of " +
        std::to_string(to.elementBytes) + " bytes");
  }
  to.vectors.clear();
  for (std::uint64_t i = 0; i < vectors; ++i)
    to.vectors.push_back(archive.View(size_t(to.VectorBytes())));
}

/**
 * Read what Save() has written.  Whatever the bytes are, this ends with a
 * checkpoint whose parts fit each other, or with an exception.
 *
 * @param version That of the header.
 */
DASGD_INLINE void Load(ByteInputArchive& archive,
                 Checkpoint& to,
                 const std::uint32_t version)
{
  Load(archive, to.algorithm);
  to.rows = LoadCount(archive, "rows", MaxCount);
  to.cols = LoadCount(archive, "columns", MaxCount);
  to.elementBytes = LoadCount(archive, "bytes in an element", 8);
  LoadEnum(archive, "a place of data", Data::Sharded, to.data);
  LoadEnum(archive, "a way of sharing", Sharing::Dynamic, to.sharing);
  to.batchSize = LoadCount(archive, "a batch size", MaxCount);
  Load(archive, to.held);
  to.progress.before = LoadCount(archive, "points", MaxCount);
  to.progress.current = LoadCount(archive, "an epoch", MaxCount);
  Load(archive, to.progress.points);
  Load(archive, to.progress.latest);
  CheckRanks(to);
  LoadOpenEpochs(archive, to.held.size(), to.progress);

  std::uint8_t flag = 0;
  archive(to.judged, to.lastObjective, flag);
  to.hasLast = (flag != 0);
  archive(to.seed, to.shuffled, to.givenStep, to.stepSize, to.smoothness);
  Load(archive, to.version);
  to.gradients = LoadCount(archive, "gradients", MaxCount);
  to.points = LoadCount(archive, "points", MaxCount);
  archive(to.seconds);
  archive.loadBinary(&to.staleness, sizeof(to.staleness));
  archive(to.resumes, flag);
  to.finished = (flag != 0);
  LoadEnum(archive, "a reason", StopReason::Signal, to.reason);
  archive(to.stopValue);
  Load(archive, to.policy);
  Load(archive, to.policyNumbers);
  to.policyVectors = LoadCount(archive, "vectors", MaxVectors);
  if (version >= 2)
    archive.loadBinary(&to.fingerprint, sizeof(to.fingerprint));
  to.tags.resize((version >= 3) ? size_t(LoadCount(archive, "tags",
      MaxTags)) : 0);
  for (auto& tag : to.tags)
  {
    Load(archive, tag.first);
    Load(archive, tag.second);
  }
  FindVectors(archive, to);
}

//! No less than Save() needs.
DASGD_INLINE size_t MetaBytes(const Checkpoint& from)
{
  const size_t ranks = from.held.size();
  size_t tags = 0;
  for (const auto& tag : from.tags)
    tags += 16 + tag.first.size() + tag.second.size();
  return 1024 + sizeof(StalenessMeter) + from.algorithm.size() +
      from.policy.size() + tags + 8 * (4 * ranks + from.version.size() +
      from.policyNumbers.size()) + from.progress.open.size() *
      (32 + 16 * (ranks + 1));
}

/**
 * A checkpoint as bytes, without the checksum: copying is all that the training
 * waits for.
 */
DASGD_INLINE void Encode(const Checkpoint& from,
    std::vector<std::uint8_t>& bytes)
{
  const size_t vector = size_t(from.VectorBytes());
  bytes.resize(sizeof(Header) + MetaBytes(from) + from.vectors.size() *
      vector);
  ByteOutputArchive archive(bytes.data() + sizeof(Header),
      bytes.size() - sizeof(Header));
  Save(archive, from);
  for (const std::uint8_t* each : from.vectors)
    archive.saveBinary(each, vector);
  bytes.resize(sizeof(Header) + archive.Position());
}

//! Put the header before it.
DASGD_INLINE void Seal(std::vector<std::uint8_t>& bytes)
{
  Header header;
  header.bytes = bytes.size() - sizeof(Header);
  header.checksum = Checksum(bytes.data() + sizeof(Header),
      size_t(header.bytes));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

/**
 * Is this the beginning of a checkpoint that this program can read?
 *
 * @param size Bytes of the whole file.
 */
DASGD_INLINE Header CheckHeader(const std::uint8_t* data,
    const std::uint64_t size)
{
  Header header;
  const Header expected;
  if (size < sizeof(header) || std::memcmp(data, expected.magic.data(),
      expected.magic.size()) != 0)
    throw CheckpointError("it is not a checkpoint");
  std::memcpy(static_cast<void*>(&header), data, sizeof(header));
  if (header.order != Header::Order)
  {
    throw CheckpointError("it was written on a machine of the other byte "
        "order, or is damaged");
  }
  if (header.version > Header::Version)
  {
    throw CheckpointError("it is of version " + std::to_string(header.version) +
        ", but this program knows checkpoints up to version " +
        std::to_string(Header::Version));
  }
  if (header.version == 0)
    throw CheckpointError("it is damaged: there is no version 0");
  if (header.bytes != size - sizeof(header))
  {
    throw CheckpointError("it is damaged: it has " + std::to_string(size) +
        " bytes instead of " + std::to_string(header.bytes + sizeof(header)));
  }
  return header;
}

//! Read a checkpoint; its vectors then point into the bytes.
DASGD_INLINE Checkpoint Decode(const std::vector<std::uint8_t>& bytes)
{
  const Header header = CheckHeader(bytes.data(), bytes.size());
  const std::uint8_t* content = bytes.data() + sizeof(Header);
  if (Checksum(content, bytes.size() - sizeof(Header)) != header.checksum)
    throw CheckpointError("it is damaged: its checksum is wrong");
  Checkpoint result;
  try
  {
    ByteInputArchive archive(content, bytes.size() - sizeof(Header));
    Load(archive, result, header.version);
  }
  catch (const WireError&)
  {
    throw CheckpointError("it is cut short");
  }
  return result;
}

} // namespace checkpoint
} // namespace dasgd

#endif
