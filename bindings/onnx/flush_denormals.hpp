/**
 * @file flush_denormals.hpp
 *
 * Numbers that are almost 0 count as 0.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_ONNX_FLUSH_DENORMALS_HPP
#define DASGD_BINDINGS_ONNX_FLUSH_DENORMALS_HPP

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dasgd {
namespace onnx_program {

/**
 * For this thread, as long as there is one of these.  What Adam keeps of
 * weights whose gradient is 0 halves every few steps.  In single precision it
 * soon is below the normal numbers, with which processors compute many times
 * slower.
 */
class FlushDenormals
{
 public:
  FlushDenormals() : before(Mode())
  {
#if defined(__SSE__)
    SetMode(before | 0x8040); // Results and operands.
#elif defined(__aarch64__)
    SetMode(before | (std::uint64_t(1) << 24));
#endif
  }

  ~FlushDenormals() { SetMode(before); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static std::uint64_t Mode()
  {
#if defined(__SSE__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    std::uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
#else
    return 0;
#endif
  }

  static void SetMode([[maybe_unused]] const std::uint64_t mode)
  {
#if defined(__SSE__)
    _mm_setcsr(unsigned(mode));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(mode));
#endif
  }

  std::uint64_t before;
};

} // namespace onnx_program
} // namespace dasgd

#endif
