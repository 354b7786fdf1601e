/**
 * @file random.hpp
 *
 * Seeded random numbers that are the same on every platform and that leave the
 * program's own generators alone.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_RANDOM_HPP
#define DASGD_CORE_RANDOM_HPP

#include <cstddef>
#include <cstdint>

namespace dasgd {

//! Scramble 64 bits (the finalizer of SplitMix64).
inline std::uint64_t Mix(std::uint64_t value)
{
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

//! A seed of its own for each (seed, index) pair.
inline std::uint64_t Mix(const std::uint64_t seed, const std::uint64_t index)
{
  return Mix(seed ^ Mix(index));
}

//! A small generator; the standard distributions differ between libraries.
class Random
{
 public:
  explicit Random(const std::uint64_t seed = 0) : state(seed) { }

  std::uint64_t Next()
  {
    const std::uint64_t value = Mix(state);
    state += 0x9E3779B97F4A7C15ull;
    return value;
  }

  //! Uniform in [0, 1).
  double Uniform() { return double(Next() >> 11) * 0x1.0p-53; }

  //! Uniform in [low, high).
  double Uniform(const double low, const double high)
  {
    return low + (high - low) * Uniform();
  }

  //! Uniform in 0, ..., bound - 1; the bias is below 2^-32 for small bounds.
  size_t Below(const size_t bound) { return size_t(Next() % bound); }

  //! True with the given probability.
  bool Chance(const double probability) { return Uniform() < probability; }

 private:
  std::uint64_t state;
};

} // namespace dasgd

#endif
