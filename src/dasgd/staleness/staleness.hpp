/**
 * @file staleness.hpp
 *
 * The staleness of the paper (Definition 1), measured as gradients are applied.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_STALENESS_HPP
#define DASGD_STALENESS_STALENESS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dasgd {

/**
 * Per origin, how many of its gradients a model has applied.  Gradients of one
 * origin are applied in order everywhere, so this says exactly which ones.
 */
using VersionVector = std::vector<std::uint64_t>;

/**
 * |S|: the size of the symmetric difference between the gradients that the
 * applying model has and those that the computing model had.
 *
 * @param applied Version vector of the model that applies a gradient.
 * @param computed Version vector of the model that the gradient was computed
 * at.
 * @param ranks Length of both.
 */
inline std::uint64_t Staleness(const std::uint64_t* applied,
                               const std::uint64_t* computed,
                               const size_t ranks)
{
  std::uint64_t size = 0;
  for (size_t i = 0; i < ranks; ++i)
  {
    size += (applied[i] > computed[i]) ? applied[i] - computed[i] :
        computed[i] - applied[i];
  }
  return size;
}

/**
 * Mean, maximum and histogram of |S| over the gradients that one rank applied.
 * Gradients whose version vector was folded away under a stalled link (see
 * Manifest) are counted apart instead of being guessed.
 */
class StalenessMeter
{
 public:
  //! Bucket 0 holds |S| = 0, bucket k holds 2^(k-1) <= |S| < 2^k.
  static constexpr size_t Buckets = 65;

  void Add(const std::uint64_t size)
  {
    ++measured;
    sum += size;
    largest = std::max(largest, size);
    size_t bucket = 0;
    for (std::uint64_t rest = size; rest != 0; rest >>= 1)
      ++bucket;
    ++histogram[bucket];
  }

  //! Note gradients whose staleness is not known.
  void Skip(const std::uint64_t count) { skipped += count; }

  std::uint64_t Measured() const { return measured; }
  std::uint64_t Skipped() const { return skipped; }
  std::uint64_t Sum() const { return sum; }
  std::uint64_t Max() const { return largest; }
  double Mean() const { return measured ? double(sum) / double(measured) : 0; }
  const std::array<std::uint64_t, Buckets>& Histogram() const
  { return histogram; }

 private:
  std::uint64_t measured = 0;
  std::uint64_t skipped = 0;
  std::uint64_t sum = 0;
  std::uint64_t largest = 0;
  std::array<std::uint64_t, Buckets> histogram{};
};

} // namespace dasgd

#endif
