# Fails if a header includes a layer above its own, or a library that its layer
# must do without.  Run as: cmake -DSOURCE_DIR=<include root> -P layers.cmake

# From the bottom up; each may include itself and what stands before it.
set(layers core files topology staleness run wire checkpoint report protocol mpi
  transport algorithms dasgd simulation training ensmallen optimizer baselines
  onnx)

set(errors "")
file(GLOB_RECURSE headers RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/*.hpp")
if(NOT headers)
  message(FATAL_ERROR "There are no headers in '${SOURCE_DIR}'.")
endif()

# The place of a header among the layers: the version is below all of them, and
# the header that users include is above.
function(layer_of variable header)
  if(header MATCHES "^dasgd/([a-z]+)/")
    list(FIND layers "${CMAKE_MATCH_1}" index)
    if(index EQUAL -1)
      message(FATAL_ERROR "${header} is in none of the layers ${layers}; "
        "if that layer is new, add it to ${CMAKE_CURRENT_LIST_FILE}.")
    endif()
  elseif(header STREQUAL "dasgd/version.hpp")
    set(index -1)
  else()
    list(LENGTH layers index)
  endif()
  set(${variable} ${index} PARENT_SCOPE)
endfunction()
list(FIND layers wire wire)
list(FIND layers ensmallen ensmallen)

foreach(header IN LISTS headers)
  layer_of(own "${header}")
  get_filename_component(folder "${header}" DIRECTORY)
  file(STRINGS "${SOURCE_DIR}/${header}" lines
    REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]*)[>\"].*$"
      "\\1" included "${line}")

    # Names in quotes are relative to the header, if there is such a file.
    if(line MATCHES "include[ \t]*\"")
      get_filename_component(path "${SOURCE_DIR}/${folder}/${included}"
        ABSOLUTE)
      if(EXISTS "${path}")
        file(RELATIVE_PATH included "${SOURCE_DIR}" "${path}")
      endif()
    endif()

    if(included MATCHES "^dasgd/|^dasgd\\.hpp$")
      if(NOT EXISTS "${SOURCE_DIR}/${included}")
        list(APPEND errors "${header} includes ${included}: no such header")
        continue()
      endif()
      layer_of(other "${included}")
      if(other GREATER own)
        list(APPEND errors "${header} includes ${included}: a layer above")
      endif()
    elseif(included MATCHES "^mpi(-ext)?\\.h$" AND
        NOT header MATCHES "^dasgd/(mpi|transport)/mpi_[^/]*\\.hpp$")
      list(APPEND errors "${header} includes ${included}: \
only dasgd/mpi/mpi_*.hpp and dasgd/transport/mpi_*.hpp may")
    elseif(included MATCHES "^cereal/" AND own LESS wire)
      list(APPEND errors "${header} includes ${included}: not in this layer")
    elseif(included MATCHES "^ensmallen" AND own LESS ensmallen)
      list(APPEND errors "${header} includes ${included}: \
only dasgd/ensmallen and what is above it may")
    elseif(included MATCHES "^onnx" AND NOT header MATCHES "^dasgd/onnx/")
      list(APPEND errors "${header} includes ${included}: \
only dasgd/onnx may")
    elseif(included MATCHES "^mlpack" AND
        NOT header STREQUAL "dasgd/drop_in.hpp" AND # It is for mlpack.
        NOT included STREQUAL "mlpack/core/util/version.hpp") # Macros only.
      list(APPEND errors "${header} includes ${included}: \
mlpack is for tests, examples and bindings")
    endif()
  endforeach()
endforeach()

if(errors)
  list(JOIN errors "\n  " errors)
  message(FATAL_ERROR "Layers are mixed:\n  ${errors}")
endif()
list(LENGTH headers count)
message(STATUS "${count} headers keep to their layers")
