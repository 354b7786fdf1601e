/**
 * @file vector_ops.hpp
 *
 * The passes over memory that an exchange costs, in one place so that they
 * stay few and simple enough for the compiler to vectorise.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_VECTOR_OPS_HPP
#define DASGD_CORE_VECTOR_OPS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dasgd {

//! target += source.
template<typename ElemType>
inline void Add(ElemType* __restrict target,
                const ElemType* __restrict source,
                const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
    target[i] += source[i];
}

//! target -= source.
template<typename ElemType>
inline void Subtract(ElemType* __restrict target,
                     const ElemType* __restrict source,
                     const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
    target[i] -= source[i];
}

//! update *= factor; iterate -= update.
template<typename ElemType>
inline void ScaleAndSubtract(ElemType* __restrict iterate,
                             ElemType* __restrict update,
                             const ElemType factor,
                             const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
    iterate[i] -= update[i] *= factor;
}

//! target = source; returns the largest difference that there was.
template<typename ElemType>
inline double CopyAndCompare(ElemType* __restrict target,
                             const ElemType* __restrict source,
                             const size_t elements)
{
  double difference = 0;
  for (size_t i = 0; i < elements; ++i)
  {
    difference = std::max(difference,
        std::abs(double(target[i]) - double(source[i])));
    target[i] = source[i];
  }
  return difference;
}

/**
 * Is every element a finite number?  Zero times a finite number is zero, and
 * not a number otherwise: one instruction for several elements.  The compiler
 * cannot know that it is zero, and bits are looked at in the end, so that this
 * also holds in programs built with -ffast-math.
 */
template<typename ElemType>
inline bool AllFinite(const ElemType* values, const size_t elements)
{
  static_assert(std::is_same<ElemType, double>::value ||
                std::is_same<ElemType, float>::value,
      "dasgd: elements must be float or double.");
  using Bits = typename std::conditional<sizeof(ElemType) == 8,
      std::uint64_t, std::uint32_t>::type;
  static const volatile ElemType nothing = 0;
  const ElemType zero = nothing;

  // Many sums, so that none has to wait for the addition before.
  constexpr size_t lanes = 128 / sizeof(ElemType);
  ElemType sums[lanes] = { };
  const size_t whole = elements / lanes * lanes;
  for (size_t i = 0; i < whole; i += lanes)
  {
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += zero * values[i + lane];
  }
  for (size_t i = whole; i < elements; ++i)
    sums[i - whole] += zero * values[i];

  Bits all = 0;
  for (const ElemType sum : sums)
  {
    Bits bits;
    std::memcpy(&bits, &sum, sizeof(bits));
    all |= bits;
  }
  return Bits(all << 1) == 0; // Zeros, whatever their sign.
}

/**
 * Form the paper's update and apply it in the same pass:
 * update = step * gradient; iterate -= update.  `update` may be `gradient`.
 *
 * Each part of the gradient is checked while it is in the cache.  If a number
 * is not finite, what was done is undone, up to rounding.
 *
 * @tparam add Add to what `update` holds, which is not the gradient then.
 * @return False if the gradient is not finite.
 */
template<bool add = false, typename ElemType>
inline bool FormAndApply(ElemType* __restrict iterate,
                         const ElemType* gradient,
                         ElemType* update,
                         const ElemType step,
                         const size_t elements)
{
  constexpr size_t part = 1024;
  for (size_t begin = 0; begin < elements; begin += part)
  {
    const size_t end = (elements - begin < part) ? elements : begin + part;
    if (!AllFinite(gradient + begin, end - begin))
    {
      for (size_t i = 0; i < begin; ++i)
      {
        const ElemType u = (update == gradient) ? update[i] :
            step * gradient[i];
        iterate[i] += u;
        if (add)
          update[i] -= u;
      }
      return false;
    }
    // Elements depend on no others, also if it is the same place.
#if defined(__GNUC__) && !defined(__clang__)
    #pragma GCC ivdep
#endif
    for (size_t i = begin; i < end; ++i)
    {
      const ElemType u = step * gradient[i];
      update[i] = add ? update[i] + u : u;
      iterate[i] -= u;
    }
  }
  return true;
}

//! An update on a model that is shared: model -= factor * update; iterate =
//! model.
template<typename ElemType>
inline void SubtractAndCopy(ElemType* __restrict model,
                            ElemType* __restrict iterate,
                            const ElemType* __restrict update,
                            const ElemType factor,
                            const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
    iterate[i] = model[i] = model[i] - factor * update[i];
}

//! The same, and sum += factor * update.
template<typename ElemType>
inline void SubtractCopyAndAdd(ElemType* __restrict model,
                               ElemType* __restrict iterate,
                               ElemType* __restrict sum,
                               const ElemType* __restrict update,
                               const ElemType factor,
                               const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
  {
    const ElemType u = factor * update[i];
    iterate[i] = model[i] = model[i] - u;
    sum[i] += u;
  }
}

//! target = source; source = 0.
template<typename ElemType>
inline void Take(ElemType* __restrict target,
                 ElemType* __restrict source,
                 const size_t elements)
{
  std::memcpy(target, source, elements * sizeof(ElemType));
  std::memset(source, 0, elements * sizeof(ElemType));
}

} // namespace dasgd

#endif
