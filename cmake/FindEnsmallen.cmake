# Finds ensmallen's headers.
#
# Looks into DASGD_DEPS_DIR first (where cmake/dependencies.sh puts what the
# system does not have), then wherever CMake looks by default, CMAKE_PREFIX_PATH
# included.  Sets Ensmallen_FOUND, Ensmallen_VERSION and Ensmallen_INCLUDE_DIR,
# and defines the target Ensmallen::Ensmallen.

if(DASGD_DEPS_DIR)
  find_path(Ensmallen_INCLUDE_DIR ensmallen.hpp
    PATHS "${DASGD_DEPS_DIR}/include" NO_DEFAULT_PATH)
endif()
find_path(Ensmallen_INCLUDE_DIR ensmallen.hpp)
mark_as_advanced(Ensmallen_INCLUDE_DIR)

include("${CMAKE_CURRENT_LIST_DIR}/DasgdHeaderVersion.cmake")
dasgd_header_version(Ensmallen_VERSION
  "${Ensmallen_INCLUDE_DIR}/ensmallen_bits/ens_version.hpp" ENS_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ensmallen
  REQUIRED_VARS Ensmallen_INCLUDE_DIR VERSION_VAR Ensmallen_VERSION)

if(Ensmallen_FOUND AND NOT TARGET Ensmallen::Ensmallen)
  add_library(Ensmallen::Ensmallen INTERFACE IMPORTED)
  set_target_properties(Ensmallen::Ensmallen PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Ensmallen_INCLUDE_DIR}")
endif()
