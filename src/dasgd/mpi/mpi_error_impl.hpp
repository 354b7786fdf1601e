/**
 * @file mpi_error_impl.hpp
 *
 * Implementation of error codes as exceptions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ERROR_IMPL_HPP
#define DASGD_MPI_MPI_ERROR_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_error.hpp"

namespace dasgd {
namespace mpi {

DASGD_INLINE bool Tolerant()
{
#if DASGD_ULFM
  void* value = nullptr;
  int set = 0;
  return MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &value, &set) ==
      MPI_SUCCESS && set && value && *static_cast<int*>(value);
#else
  return false;
#endif
}

DASGD_INLINE bool IsRankLoss(const int code)
{
#if DASGD_ULFM
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_REVOKED ||
      kind == MPIX_ERR_PROC_FAILED_PENDING ||
      (kind == MPI_ERR_IN_STATUS && Tolerant());
#else
  (void) code;
  return false;
#endif
}

[[noreturn]] DASGD_INLINE void Fail(const int code, const char* call)
{
  if (IsRankLoss(code))
    throw RankLost();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error("dasgd: " + std::string(call) + " failed: " +
      std::string(text, size_t(length)));
}

} // namespace mpi
} // namespace dasgd

#endif
