/**
 * @file blas_threads.hpp
 *
 * Keeps several ranks on one machine from using more BLAS threads than there
 * are cores.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_OPTIMIZER_BLAS_THREADS_HPP
#define DASGD_OPTIMIZER_BLAS_THREADS_HPP

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

//! How many cores does the machine have?
inline size_t Cores()
{
#if defined(_SC_NPROCESSORS_ONLN)
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0)
    return size_t(online);
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

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
  explicit BlasThreads(const size_t ranksHere)
  {
    // What the launcher bound this rank to, if it did, or all cores.
    const size_t mine = std::max(1u, std::thread::hardware_concurrency());
    if (ranksHere > 1)
      Limit(std::max<size_t>(1, std::min(mine, Cores() / ranksHere)));
  }

  //! At most so many threads, however many ranks there are.
  static BlasThreads AtMost(const size_t count)
  {
    BlasThreads threads(1);
    threads.Limit(std::max<size_t>(1, count));
    return threads;
  }

  BlasThreads(BlasThreads&& other) :
      blas(std::exchange(other.blas, Library())),
      omp(std::exchange(other.omp, Library()))
  { }

  ~BlasThreads()
  {
    if (omp.set)
      omp.set(omp.before);
    if (blas.set)
      blas.set(blas.before);
  }

  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

  //! Has the user chosen a number?
  static bool Chosen()
  {
    for (const char* name : { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS" })
    {
      if (std::getenv(name))
        return true;
    }
    return false;
  }

  //! How many OpenBLAS uses now, or OpenMP where there is no OpenBLAS; 0 if
  //! there is neither.
  static size_t InUse()
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

 private:
  struct Library
  {
    void (*set)(int) = nullptr;
    int before = 0;
  };

  void Limit(const size_t count)
  {
    if (Chosen())
      return;
    blas = Limit("openblas_get_num_threads", "openblas_set_num_threads",
        int(count));
    omp = Limit("omp_get_max_threads", "omp_set_num_threads", int(count));
  }

  static Library Limit(const char* getName, const char* setName, const int most)
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

  Library blas;
  Library omp;
};

} // namespace dasgd

#endif
