# Writes docs/settings.json: how check.py compiles and starts a program.  What a
# user of dasgd::compiled gets from the targets is spelled out here, since check.py
# calls the compiler without CMake: one call for a block.

set(DOCS_COMPILE "${CMAKE_CXX_COMPILER}" -std=c++17 -O0 -Wall -Wextra)
if(DASGD_WERROR)
  list(APPEND DOCS_COMPILE -Werror)
endif()
list(APPEND DOCS_COMPILE -DDASGD_COMPILED "-I${PROJECT_SOURCE_DIR}/src")
foreach(definition IN LISTS MPI_CXX_COMPILE_DEFINITIONS)
  list(APPEND DOCS_COMPILE "-D${definition}")
endforeach()
# An explicit -isystem of a default directory breaks #include_next.
set(docs_directories ${Ensmallen_INCLUDE_DIR} ${Mlpack_INCLUDE_DIR}
  ${Cereal_INCLUDE_DIR} ${ARMADILLO_INCLUDE_DIRS} ${MPI_CXX_INCLUDE_DIRS})
list(REMOVE_DUPLICATES docs_directories)
list(REMOVE_ITEM docs_directories
  ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES} "")
set(docs_header "${CMAKE_CURRENT_BINARY_DIR}/docs/precompiled/ensmallen.hpp")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  file(CONFIGURE OUTPUT "${docs_header}"
    CONTENT "#include \"${Ensmallen_INCLUDE_DIR}/ensmallen.hpp\"\n")
  list(PREPEND docs_directories "${CMAKE_CURRENT_BINARY_DIR}/docs/precompiled")
endif()
foreach(directory IN LISTS docs_directories)
  list(APPEND DOCS_COMPILE -isystem "${directory}")
endforeach()

# ensmallen takes longest to read.  GCC takes what is precompiled in the place of
# a header that is included first, and reads the header otherwise: so no block
# gets to see what it does not include.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_custom_command(OUTPUT "${docs_header}.gch"
    COMMAND ${DOCS_COMPILE} -x c++-header "${docs_header}"
      -MD -MF "${docs_header}.d" -MT "${docs_header}.gch"
      -o "${docs_header}.gch"
    DEPENDS "${docs_header}" DEPFILE "${docs_header}.d"
    COMMENT "Precompiling ensmallen.hpp for the documentation" VERBATIM)
  add_custom_target(dasgd_docs_precompiled ALL DEPENDS "${docs_header}.gch")
endif()

set(DOCS_COMPILE_MLPACK "")
get_target_property(docs_definitions Mlpack::Mlpack
  INTERFACE_COMPILE_DEFINITIONS)
if(docs_definitions)
  foreach(definition IN LISTS docs_definitions)
    list(APPEND DOCS_COMPILE_MLPACK "-D${definition}")
  endforeach()
endif()
if(OpenMP_CXX_FOUND)
  separate_arguments(docs_openmp UNIX_COMMAND "${OpenMP_CXX_FLAGS}")
  list(APPEND DOCS_COMPILE_MLPACK ${docs_openmp})
endif()

separate_arguments(docs_mpi_flags UNIX_COMMAND "${MPI_CXX_LINK_FLAGS}")
set(DOCS_LINK "$<TARGET_FILE:dasgd_compiled>" ${docs_mpi_flags} ${ARMADILLO_LIBRARIES} ${MPI_CXX_LIBRARIES})
foreach(library IN LISTS CMAKE_DL_LIBS)
  list(APPEND DOCS_LINK "-l${library}")
endforeach()
list(APPEND DOCS_LINK -pthread)

# Programs with ONNX models; without that component they are compiled only.
set(DOCS_LINK_ONNX "")
if(TARGET dasgd_onnx)
  get_filename_component(docs_runtime "${OnnxRuntime_LIBRARY}" DIRECTORY)
  set(DOCS_LINK_ONNX "$<TARGET_FILE:dasgd_onnx>" "${OnnxRuntime_LIBRARY}"
    "-Wl,-rpath,${docs_runtime}" "${OnnxProto_LIBRARY}" ${Protobuf_LIBRARIES})
endif()

set(DOCS_LAUNCHER "${CCACHE_PROGRAM}")
if(NOT CCACHE_PROGRAM)
  set(DOCS_LAUNCHER "")
endif()
set(DOCS_MPIEXEC "${MPIEXEC_EXECUTABLE}")
set(DOCS_SOURCE "${PROJECT_SOURCE_DIR}")
set(DOCS_DEPS "${DASGD_DEPS_DIR}")

set(json "{}")
foreach(key COMPILE COMPILE_MLPACK LINK LINK_ONNX LAUNCHER MPIEXEC SOURCE DEPS)
  set(values "[]")
  set(index 0)
  foreach(value IN LISTS DOCS_${key})
    string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" value "${value}")
    string(JSON values SET "${values}" ${index} "\"${value}\"")
    math(EXPR index "${index} + 1")
  endforeach()
  string(TOLOWER "${key}" key)
  string(JSON json SET "${json}" "${key}" "${values}")
endforeach()
file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/docs/settings.json"
  CONTENT "${json}\n")
