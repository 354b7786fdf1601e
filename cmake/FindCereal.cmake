# Finds cereal's headers.
#
# Looks into DASGD_DEPS_DIR first, then wherever CMake looks by default.  Sets
# Cereal_FOUND, Cereal_VERSION and Cereal_INCLUDE_DIR, and defines the target
# Cereal::Cereal.

if(DASGD_DEPS_DIR)
  find_path(Cereal_INCLUDE_DIR cereal/cereal.hpp
    PATHS "${DASGD_DEPS_DIR}/include" NO_DEFAULT_PATH)
endif()
find_path(Cereal_INCLUDE_DIR cereal/cereal.hpp)
mark_as_advanced(Cereal_INCLUDE_DIR)

include("${CMAKE_CURRENT_LIST_DIR}/DasgdHeaderVersion.cmake")
dasgd_header_version(Cereal_VERSION
  "${Cereal_INCLUDE_DIR}/cereal/version.hpp" CEREAL_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cereal
  REQUIRED_VARS Cereal_INCLUDE_DIR VERSION_VAR Cereal_VERSION)

if(Cereal_FOUND AND NOT TARGET Cereal::Cereal)
  add_library(Cereal::Cereal INTERFACE IMPORTED)
  set_target_properties(Cereal::Cereal PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Cereal_INCLUDE_DIR}")
endif()
