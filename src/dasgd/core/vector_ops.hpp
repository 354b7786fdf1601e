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

/**
 * Form the paper's update and apply it in the same pass:
 * update = step * gradient; iterate -= update.  `update` may be `gradient`.
 */
template<typename ElemType>
inline void FormAndApply(ElemType* __restrict iterate,
                         const ElemType* gradient,
                         ElemType* update,
                         const ElemType step,
                         const size_t elements)
{
  for (size_t i = 0; i < elements; ++i)
  {
    const ElemType u = step * gradient[i];
    update[i] = u;
    iterate[i] -= u;
  }
}

/**
 * Is every element a finite number?  Looks at the exponent bits: no early exit
 * and no floating-point reduction, so it vectorises, and it also holds in
 * programs built with -ffast-math.
 */
template<typename ElemType>
inline bool AllFinite(const ElemType* values, const size_t elements)
{
  static_assert(std::is_same<ElemType, double>::value ||
                std::is_same<ElemType, float>::value,
      "dasgd: elements must be float or double.");
  using Bits = typename std::conditional<sizeof(ElemType) == 8,
      std::uint64_t, std::uint32_t>::type;
  constexpr Bits exponent = (sizeof(ElemType) == 8) ?
      Bits(0x7FF0000000000000ull) : Bits(0x7F800000u);

  Bits bad = 0;
  for (size_t i = 0; i < elements; ++i)
  {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof(Bits));
    bad |= Bits((bits & exponent) == exponent);
  }
  return bad == 0;
}

} // namespace dasgd

#endif
