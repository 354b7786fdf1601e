# Finds what every program that uses dasgd needs, for dasgd's own build and for
# find_package(dasgd) alike.
#
# Afterwards DASGD_MISSING lists what was not found, one sentence each, and if
# it is empty these targets exist: Armadillo::Armadillo, MPI::MPI_CXX,
# Cereal::Cereal, Ensmallen::Ensmallen and Threads::Threads.

set(DASGD_MISSING "")

# Targets that come into being here must outlive the directory that asked, or a
# project that adds dasgd by add_subdirectory() could not link to it.
set(_dasgd_old_targets "")
foreach(target Armadillo::Armadillo MPI::MPI_CXX Cereal::Cereal
    Ensmallen::Ensmallen Threads::Threads)
  if(TARGET ${target})
    list(APPEND _dasgd_old_targets ${target})
  endif()
endforeach()

find_package(Armadillo 10.8 QUIET)
if(NOT ARMADILLO_FOUND AND NOT Armadillo_FOUND)
  list(APPEND DASGD_MISSING "Armadillo 10.8 or newer")
elseif(NOT TARGET Armadillo::Armadillo)
  add_library(Armadillo::Armadillo INTERFACE IMPORTED)
  set_target_properties(Armadillo::Armadillo PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${ARMADILLO_INCLUDE_DIRS}"
    INTERFACE_LINK_LIBRARIES "${ARMADILLO_LIBRARIES}")
endif()

# dasgd uses MPI's C interface only; the C++ one was removed from the standard.
set(MPI_CXX_SKIP_MPICXX TRUE)
# "-DMPI_CXX_COMPILER=mpicxx.mpich" should not start its programs by another
# MPI's mpiexec: Debian marks both by the same suffix.
if(MPI_CXX_COMPILER MATCHES "mpi(cxx|c\\+\\+|CC)(\\.[a-z]+)$")
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${CMAKE_MATCH_2}
    DOC "Executable for running MPI programs.")
endif()
find_package(MPI 3.1 QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  list(APPEND DASGD_MISSING "MPI 3.1 or newer (Open MPI, MPICH)")
endif()

find_package(Cereal 1.3.0 QUIET)
if(NOT Cereal_FOUND)
  list(APPEND DASGD_MISSING "cereal 1.3.0 or newer")
endif()

find_package(Ensmallen 2.21.0 QUIET)
if(NOT Ensmallen_FOUND)
  list(APPEND DASGD_MISSING "ensmallen 2.21.0 or newer")
endif()

# Checkpoints are written by a thread.
find_package(Threads QUIET)
if(NOT Threads_FOUND)
  list(APPEND DASGD_MISSING "threads")
endif()

foreach(target Armadillo::Armadillo MPI::MPI_CXX Cereal::Cereal
    Ensmallen::Ensmallen Threads::Threads)
  if(TARGET ${target} AND NOT target IN_LIST _dasgd_old_targets)
    set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endforeach()
unset(_dasgd_old_targets)
