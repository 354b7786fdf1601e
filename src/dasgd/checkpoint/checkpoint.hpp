/**
 * @file checkpoint.hpp
 *
 * A training that is under way, as bytes to resume from.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKPOINT_HPP
#define DASGD_CHECKPOINT_CHECKPOINT_HPP

#include "../core/config.hpp"
#include "../core/fingerprint.hpp"
#include "../staleness/staleness.hpp"
#include "../run/run_snapshot.hpp"

#include <array>

namespace dasgd {

//! Bytes that are no checkpoint, or none that this program can use.
class CheckpointError : public std::runtime_error
{
 public:
  using std::runtime_error::runtime_error;
};

/**
 * A training under way: the state of the run as one rank knows it, the model
 * and what the update policy remembers, and what ties it to one training.
 */
struct Checkpoint : RunSnapshot
{
  //! What is trained, and in what kind of numbers.
  std::string algorithm;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t elementBytes = 0;

  //! StepSize() as it was given, and as it is.
  double givenStep = 0;
  double stepSize = 0;
  //! Smoothness that AutoStep reckoned with, if it did.
  double smoothness = 0;

  //! The time that it took, and the staleness of all gradients.
  double seconds = 0;
  StalenessMeter staleness;
  //! How often it was resumed.
  std::uint64_t resumes = 0;

  //! What the data of rank 0 looks like.
  Fingerprint fingerprint;

  //! What else must be the same when it is resumed: a name and a value each.
  std::vector<std::pair<std::string, std::string>> tags;

  //! The update policy, and what it remembers: numbers, and vectors of the
  //! model's size.
  std::string policy;
  std::vector<std::uint64_t> policyNumbers;
  std::uint64_t policyVectors = 0;

  //! Where the iterate and, after it, the policy's vectors stand, each of
  //! VectorBytes(); set by the reader or the writer.
  std::vector<const std::uint8_t*> vectors;

  std::uint64_t VectorBytes() const { return rows * cols * elementBytes; }

  //! Where the run is.
  RunSnapshot& Run() { return *this; }
  const RunSnapshot& Run() const { return *this; }

  /**
   * The first tag that is not the same in both: its name, and its values here
   * and there.  Empty names if all are, or if the other has none at all, being
   * of an earlier version.
   */
  std::array<std::string, 3> TagDifference(const Checkpoint& other) const;
};

namespace checkpoint {

//! What a file begins with.  The first bytes are not text, so that no tool
//! takes it for one.
struct Header
{
  //! Those of version 1 have no fingerprint, those of version 2 no tags.
  static constexpr std::uint32_t Version = 3;
  static constexpr std::uint32_t Order = 0x01020304;

  std::array<char, 8> magic{ { '\x89', 'd', 'a', 's', 'g', 'd', '\r', '\n' } };
  std::uint32_t version = Version;
  //! Reads as another number on a machine of the other byte order.
  std::uint32_t order = Order;
  //! Bytes that follow.
  std::uint64_t bytes = 0;
  //! Of those bytes.
  std::uint64_t checksum = 0;
};

static_assert(sizeof(Header) == 32, "written as it is");

//! Vectors that a policy may remember.
constexpr std::uint64_t MaxVectors = 64;

//! Tags, and letters in the name or the value of one.
constexpr std::uint64_t MaxTags = 1000;
constexpr std::uint64_t MaxText = 1000;

//! A checkpoint as bytes, without the checksum: copying is all that the
//! training waits for.
void Encode(const Checkpoint& from, std::vector<std::uint8_t>& bytes);

//! Put the header before it.
void Seal(std::vector<std::uint8_t>& bytes);

/**
 * Is this the beginning of a checkpoint that this program can read?
 *
 * @param size Bytes of the whole file.
 */
Header CheckHeader(const std::uint8_t* data, std::uint64_t size);

//! Read a checkpoint; its vectors then point into the bytes.
Checkpoint Decode(const std::vector<std::uint8_t>& bytes);

} // namespace checkpoint

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "checkpoint_impl.hpp"
#endif

#endif
