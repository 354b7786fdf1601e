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
#if defined(DASGD_HAS_DLSYM)
    if (ranksHere < 2)
      return;
    for (const char* name : { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS" })
    {
      if (std::getenv(name))
        return;
    }
    // What the launcher bound this rank to, if it did, or all cores.
    const size_t mine = std::max(1u, std::thread::hardware_concurrency());
    const int share = int(std::max<size_t>(1, std::min(mine,
        Cores() / ranksHere)));

    blas = Limit("openblas_get_num_threads", "openblas_set_num_threads", share);
    omp = Limit("omp_get_max_threads", "omp_set_num_threads", share);
#else
    (void) ranksHere;
#endif
  }

  ~BlasThreads()
  {
    if (omp.set)
      omp.set(omp.before);
    if (blas.set)
      blas.set(blas.before);
  }

  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  struct Library
  {
    void (*set)(int) = nullptr;
    int before = 0;
  };

#if defined(DASGD_HAS_DLSYM)
  static Library Limit(const char* getName, const char* setName, const int share)
  {
    Library library;
    const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, getName));
    const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT,
        setName));
    if (get && set && get() > share)
    {
      library.before = get();
      library.set = set;
      set(share);
    }
    return library;
  }
#endif

  Library blas;
  Library omp;
};

} // namespace dasgd

#endif
