/**
 * @file blas_threads.hpp
 *
 * Keeps several ranks on one machine from using more BLAS threads than there
 * are cores.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_BLAS_THREADS_HPP
#define DASGD_CORE_BLAS_THREADS_HPP

#include "config.hpp"

#include <cstddef>

namespace dasgd {

//! How many cores does the machine have?
size_t Cores();

/**
 * For its lifetime, each rank uses its share of the machine's cores for BLAS
 * and OpenMP.  A choice of the user's (OMP_NUM_THREADS and the like) is left
 * alone, and so is a library that already uses fewer.  Which BLAS is in use is
 * found out at run time: programs link what they like.
 */
class BlasThreads
{
 public:
  //! @param ranksHere How many ranks run on this machine.
  explicit BlasThreads(const size_t ranksHere);

  //! At most so many threads, however many ranks there are.
  static BlasThreads AtMost(const size_t count);

  BlasThreads(BlasThreads&& other);

  ~BlasThreads();

  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

  //! Has the user chosen a number?
  static bool Chosen();

  //! How many OpenBLAS uses now, or OpenMP where there is no OpenBLAS; 0 if
  //! there is neither.
  static size_t InUse();

 private:
  struct Library
  {
    void (*set)(int) = nullptr;
    int before = 0;
  };

  void Limit(const size_t count);

  static Library Limit(const char* getName,
                       const char* setName,
                       const int most);

  Library blas;
  Library omp;
};

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "blas_threads_impl.hpp"
#endif

#endif
