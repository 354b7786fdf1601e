# Finds the messages of ONNX files, and protobuf, which they are made with.
#
# Sets OnnxProto_FOUND and defines the target OnnxProto::OnnxProto.

find_path(OnnxProto_INCLUDE_DIR onnx/onnx_pb.h)
find_library(OnnxProto_LIBRARY onnx_proto)
mark_as_advanced(OnnxProto_INCLUDE_DIR OnnxProto_LIBRARY)
find_package(Protobuf QUIET)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxProto
  REQUIRED_VARS OnnxProto_LIBRARY OnnxProto_INCLUDE_DIR Protobuf_LIBRARIES)

if(OnnxProto_FOUND AND NOT TARGET OnnxProto::OnnxProto)
  add_library(OnnxProto::OnnxProto UNKNOWN IMPORTED GLOBAL)
  set_target_properties(OnnxProto::OnnxProto PROPERTIES
    IMPORTED_LOCATION "${OnnxProto_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES
      "${OnnxProto_INCLUDE_DIR};${Protobuf_INCLUDE_DIRS}"
    INTERFACE_COMPILE_DEFINITIONS "ONNX_ML=1;ONNX_NAMESPACE=onnx"
    INTERFACE_LINK_LIBRARIES "${Protobuf_LIBRARIES}")
endif()
