/**
 * @file blas_threads_impl.hpp
 *
 * Implementation of BlasThreads.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_BLAS_THREADS_IMPL_HPP
#define DASGD_CORE_BLAS_THREADS_IMPL_HPP

// In case it hasn't been included yet.
#include "blas_threads.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <unistd.h>
#define DASGD_HAS_DLSYM 1
#endif

namespace dasgd {

DASGD_INLINE size_t Cores()
{
#if defined(_SC_NPROCESSORS_ONLN)
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0)
    return size_t(online);
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

DASGD_INLINE BlasThreads::BlasThreads(const size_t ranksHere)
{
  // What the launcher bound this rank to, if it did, or all cores.
  const size_t mine = std::max(1u, std::thread::hardware_concurrency());
  if (ranksHere > 1)
    Limit(std::max<size_t>(1, std::min(mine, Cores() / ranksHere)));
}

DASGD_INLINE BlasThreads BlasThreads::AtMost(const size_t count)
{
  BlasThreads threads(1);
  threads.Limit(std::max<size_t>(1, count));
  return threads;
}

DASGD_INLINE BlasThreads::BlasThreads(BlasThreads&& other) :
    blas(std::exchange(other.blas, Library())),
    omp(std::exchange(other.omp, Library()))
{ /* Nothing to do. */ }

DASGD_INLINE BlasThreads::~BlasThreads()
{
  if (omp.set)
    omp.set(omp.before);
  if (blas.set)
    blas.set(blas.before);
}

DASGD_INLINE bool BlasThreads::Chosen()
{
  for (const char* name : { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
      "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS" })
  {
    if (std::getenv(name))
      return true;
  }
  return false;
}

DASGD_INLINE size_t BlasThreads::InUse()
{
#if defined(DASGD_HAS_DLSYM)
  for (const char* name : { "openblas_get_num_threads",
      "omp_get_max_threads" })
  {
    const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name));
    if (get)
      return size_t(std::max(1, get()));
  }
#endif
  return 0;
}

DASGD_INLINE void BlasThreads::Limit(const size_t count)
{
  if (Chosen())
    return;
  blas = Limit("openblas_get_num_threads", "openblas_set_num_threads",
      int(count));
  omp = Limit("omp_get_max_threads", "omp_set_num_threads", int(count));
}

DASGD_INLINE BlasThreads::Library BlasThreads::Limit(const char* getName,
                                                     const char* setName,
                                                     const int most)
{
  Library library;
#if defined(DASGD_HAS_DLSYM)
  const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, getName));
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT,
      setName));
  if (get && set && get() > most)
  {
    library.before = get();
    library.set = set;
    set(most);
  }
#else
  (void) getName;
  (void) setName;
  (void) most;
#endif
  return library;
}

} // namespace dasgd

#endif
