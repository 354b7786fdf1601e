# Packages for Debian and Ubuntu, by "cpack -G DEB" in the build folder: the
# programs, and the headers.  Only what the top-level project installs.

set(CPACK_PACKAGE_NAME dasgd)
set(CPACK_PACKAGE_VENDOR "the authors of dasgd")
set(CPACK_PACKAGE_CONTACT "the authors of dasgd <dasgd@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

# Programs: the libraries that they are linked to, by the system's own account,
# and mpirun, without which --ranks has nothing to start.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME dasgd)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
  "Command line programs that train models of mlpack decentrally, over MPI.")
if(MPIEXEC_EXECUTABLE)
  get_filename_component(mpiexec "${MPIEXEC_EXECUTABLE}" REALPATH)
  execute_process(COMMAND dpkg-query --search "${mpiexec}"
    OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([a-z0-9.+-]+)(:[a-z0-9]+)?: ")
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
  endif()
endif()

# Headers: what they include.  mlpack and ensmallen are not in every release.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdasgd-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libarmadillo-dev, libcereal-dev, libopenmpi-dev | mpi-default-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS
  "libensmallen-dev, libmlpack-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Headers: an optimizer for mlpack and ensmallen that trains decentrally.")

set(CPACK_COMPONENTS_ALL development)
if(TARGET mlpack_dasgd_ffn)
  list(APPEND CPACK_COMPONENTS_ALL programs)
endif()
include(CPack)
