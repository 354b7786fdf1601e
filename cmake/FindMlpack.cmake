# Finds mlpack's headers, and how they have to be compiled.
#
# Looks into DASGD_DEPS_DIR first, then wherever CMake looks by default.  Sets
# Mlpack_FOUND, Mlpack_VERSION and Mlpack_INCLUDE_DIR, and defines the target
# Mlpack::Mlpack, which stands for mlpack alone: Armadillo, ensmallen and cereal
# are found by their own modules.

if(DASGD_DEPS_DIR)
  find_path(Mlpack_INCLUDE_DIR mlpack.hpp
    PATHS "${DASGD_DEPS_DIR}/include" NO_DEFAULT_PATH)
endif()
find_path(Mlpack_INCLUDE_DIR mlpack.hpp)
mark_as_advanced(Mlpack_INCLUDE_DIR)

include("${CMAKE_CURRENT_LIST_DIR}/DasgdHeaderVersion.cmake")
dasgd_header_version(Mlpack_VERSION
  "${Mlpack_INCLUDE_DIR}/mlpack/core/util/version.hpp" MLPACK_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Mlpack
  REQUIRED_VARS Mlpack_INCLUDE_DIR VERSION_VAR Mlpack_VERSION)

if(Mlpack_FOUND AND NOT TARGET Mlpack::Mlpack)
  add_library(Mlpack::Mlpack INTERFACE IMPORTED)
  set_target_properties(Mlpack::Mlpack PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Mlpack_INCLUDE_DIR}")

  # Debian's libmlpack-dev leaves out the stb headers that mlpack bundles and
  # relies on the system's; mlpack wants to be told.
  if(NOT EXISTS "${Mlpack_INCLUDE_DIR}/mlpack/core/stb/bundled/stb_image.h")
    set_target_properties(Mlpack::Mlpack PROPERTIES
      INTERFACE_COMPILE_DEFINITIONS MLPACK_USE_SYSTEM_STB)
  endif()
endif()
