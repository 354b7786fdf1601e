/**
 * @file checksum.hpp
 *
 * The checksum of a checkpoint.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CHECKPOINT_CHECKSUM_HPP
#define DASGD_CHECKPOINT_CHECKSUM_HPP

#include "../core/random.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace dasgd {
namespace checkpoint {

/**
 * A number that any change of the bytes changes, but for one in 2^64.  Four
 * sums side by side, since one would wait for itself.
 */
inline std::uint64_t Checksum(const std::uint8_t* data, const size_t bytes)
{
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ull;
  std::uint64_t sums[4] = { 1, 2, 3, 4 };
  const auto add = [](std::uint64_t& sum, const std::uint64_t word)
  {
    sum = (sum ^ word) * factor;
    sum ^= sum >> 29;
  };
  size_t at = 0;
  for (; at + 32 <= bytes; at += 32)
  {
    std::uint64_t words[4];
    std::memcpy(words, data + at, 32);
    for (size_t i = 0; i < 4; ++i)
      add(sums[i], words[i]);
  }
  for (size_t i = 0; at < bytes; ++i)
  {
    const size_t count = std::min<size_t>(8, bytes - at);
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, count);
    add(sums[i % 4], word);
    at += count;
  }
  std::uint64_t all = bytes;
  for (const std::uint64_t sum : sums)
    all = Mix(all, sum);
  return all;
}

} // namespace checkpoint
} // namespace dasgd

#endif
