/**
 * @file mpi_error.hpp
 *
 * Includes MPI, and turns its error codes into exceptions.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_ERROR_HPP
#define DASGD_MPI_MPI_ERROR_HPP

#include "../core/config.hpp"

// The C interface only: the C++ bindings are gone from the standard, and their
// headers cause warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

//! Can this MPI go on without a rank that died (ULFM)?
#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
#define DASGD_ULFM 1
#else
#define DASGD_ULFM 0
#endif

#include <stdexcept>
#include <string>

namespace dasgd {
namespace mpi {

//! A rank has died; thrown only where the others can go on.
class RankLost : public std::runtime_error
{
 public:
  RankLost() : std::runtime_error("dasgd: a rank has died") { }

  //! @param agreed Do all ranks that are left throw this?
  explicit RankLost(const std::string& text, const bool agreed = false) :
      std::runtime_error(text), agreed(agreed) { }

  bool Agreed() const { return agreed; }

 private:
  bool agreed = false;
};

//! Was the job started such that it survives the death of a rank?
bool Tolerant();

//! Does an error code say that a rank has died?
bool IsRankLoss(const int code);

//! Throws what an error code says: RankLost, or std::runtime_error.
[[noreturn]] void Fail(const int code, const char* call);

//! Turn an error code of MPI into an exception.
inline void Check(const int code, const char* call)
{
  if (code != MPI_SUCCESS)
    Fail(code, call);
}

} // namespace mpi
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "mpi_error_impl.hpp"
#endif

#endif
