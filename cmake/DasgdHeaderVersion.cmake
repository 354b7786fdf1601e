# dasgd_header_version(<variable> <header> <prefix>)
#
# Sets <variable> to the version that <header> defines in its macros
# <prefix>_MAJOR, <prefix>_MINOR and <prefix>_PATCH; to nothing if there is no
# such header.
function(dasgd_header_version variable header prefix)
  set(version "")
  if(EXISTS "${header}")
    foreach(part MAJOR MINOR PATCH)
      file(STRINGS "${header}" line LIMIT_COUNT 1
        REGEX "^#define[ \t]+${prefix}_${part}[ \t]+[0-9]+")
      if(line)
        string(REGEX REPLACE "^.*${prefix}_${part}[ \t]+([0-9]+).*$" "\\1"
          number "${line}")
        list(APPEND version "${number}")
      endif()
    endforeach()
    list(JOIN version "." version)
  endif()
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
