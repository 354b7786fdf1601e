# Finds ONNX Runtime.
#
# Looks into DASGD_DEPS_DIR/onnx first, then wherever CMake looks by default.
# Sets OnnxRuntime_FOUND, OnnxRuntime_VERSION (of the interface),
# OnnxRuntime_INCLUDE_DIR and OnnxRuntime_LIBRARY, and defines the target
# OnnxRuntime::OnnxRuntime.

if(DASGD_DEPS_DIR)
  find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_cxx_api.h
    PATHS "${DASGD_DEPS_DIR}/onnx/include/onnxruntime" NO_DEFAULT_PATH)
  find_library(OnnxRuntime_LIBRARY onnxruntime
    PATHS "${DASGD_DEPS_DIR}/onnx/lib" NO_DEFAULT_PATH)
endif()
find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_cxx_api.h
  PATH_SUFFIXES onnxruntime onnxruntime/core/session
    onnx/include/onnxruntime)
find_library(OnnxRuntime_LIBRARY onnxruntime PATH_SUFFIXES onnx/lib)
mark_as_advanced(OnnxRuntime_INCLUDE_DIR OnnxRuntime_LIBRARY)

set(OnnxRuntime_VERSION "")
if(OnnxRuntime_INCLUDE_DIR)
  file(STRINGS "${OnnxRuntime_INCLUDE_DIR}/onnxruntime_c_api.h" version
    REGEX "^#define ORT_API_VERSION [0-9]+")
  string(REGEX REPLACE "^#define ORT_API_VERSION ([0-9]+).*$" "1.\\1"
    OnnxRuntime_VERSION "${version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime
  REQUIRED_VARS OnnxRuntime_LIBRARY OnnxRuntime_INCLUDE_DIR
  VERSION_VAR OnnxRuntime_VERSION)

if(OnnxRuntime_FOUND AND NOT TARGET OnnxRuntime::OnnxRuntime)
  add_library(OnnxRuntime::OnnxRuntime UNKNOWN IMPORTED GLOBAL)
  set_target_properties(OnnxRuntime::OnnxRuntime PROPERTIES
    IMPORTED_LOCATION "${OnnxRuntime_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OnnxRuntime_INCLUDE_DIR}")
endif()
